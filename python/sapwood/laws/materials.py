"""Contact material of geoms: stiffness, dissipation, friction, restitution; where they come from.

Two geoms in contact act like their materials in series, the rules of Drake::

    k     = k1 k2/(k1 + k2)
    tau_d = k2/(k1 + k2) tau1 + k1/(k1 + k2) tau2
    mu    = 2 mu1 mu2/(mu1 + mu2)     where the material of either geom has a friction
    mu_s  = 2 mu_s1 mu_s2/(mu_s1 + mu_s2)     likewise, of contacts that stick
    e     = 2 e1 e2/(e1 + e2)         where both geoms are rigid

tau_d is Drake's rule for its dissipation of Hunt and Crossley, which weighs each side by its share
of the compliance: of two equal materials the pair has the dissipation time of either. (For the
linear model Drake takes the plain sum of the two.) A rigid geom, with infinite stiffness, leaves k
and tau_d to the other one; between two rigid geoms contact is as stiff as the time step allows,
Eq. (21), and tau_d is the mean.

If no material gives friction, mu is the model's. In MuJoCo that is the larger one of both geoms, or
the one of the geom of higher ``priority``, or the one of a ``<pair>``, which precedes materials. If
one material gives friction, the other geom has the friction of the model.

The coefficient mu is that of a contact that slips. One that slips by less than a hundredth of the
release speed of the model in the state before a step has up to mu_s, by a smooth function of that
speed. mu_s is mu without a static friction.

The restitution e is that of an impact: the speed of separation over the speed of approach before
the step. It is 0 unless both materials have one, and for an approach of less than 4 g dt. A
compliant contact rebounds by its stiffness and dissipation time alone.

Each geom takes the share k/k_i of the depth, or half of it if both are rigid. A geom reaches its
rigid core when its share is delta_i, and the pair has the core that is reached first::

    delta = min_i delta_i k_i/k
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.checks import stiffness
from sapwood.base.equality import compared_by_value
from sapwood.base.hints import explained, nearest
from sapwood.laws.custom_numbers import Entry, read_entries
from sapwood.laws.rigid_core import CoreKind, RigidCore

# entries of `sapwood.constraints.materials` and of `sapwood.mujoco.reading.field_numbers`
OTHER_KINDS = ("constraint", "joint", "tendon", "equality", "field")


@explained()
@dataclasses.dataclass(frozen=True)
class ContactMaterial:
    """Material of a geom in contact; immutable, checked when made.

    Parameters
    ----------
    stiffness : float
        k > 0 in N/m; infinite for a rigid geom.
    dissipation_time : float, optional
        tau_d >= 0 in s. None is the time step, as in section X-C.
    friction : float, optional
        Coefficient mu >= 0. None leaves it to the model.
    core : RigidCore, optional
        The rigid core below the compliant layer; None for none.
    restitution : float
        Coefficient e of impacts, 0 to 1. A material with e > 0 is rigid and has no core.
    static_friction : float, optional
        Coefficient mu_s >= mu of contacts that stick, with `friction` given. None is mu.

    Raises
    ------
    TypeError, ValueError
        If a value is not a number or out of range; the text names the field.

    Examples
    --------
    >>> ContactMaterial(stiffness=1e7, friction=0.8).friction
    0.8
    >>> ContactMaterial(friction=0.3, restitution=0.7).restitution
    0.7
    >>> ContactMaterial(friction=0.3, static_friction=0.5).static_friction
    0.5
    """

    stiffness: float = math.inf
    dissipation_time: float | None = None
    friction: float | None = None
    core: RigidCore | None = None
    restitution: float = 0.0
    static_friction: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "stiffness", stiffness(self.stiffness, "stiffness"))
        for name in ("dissipation_time", "friction", "static_friction"):
            value = getattr(self, name)
            if value is not None:
                _core.as_float64(value, name, (), "non-negative")
                object.__setattr__(self, name, float(value))
        mu, mu_s = self.friction, self.static_friction
        if mu_s is not None and (mu is None or mu_s < mu):
            raise ValueError(
                f"static_friction = {mu_s:g}: must be >= friction, which must be given, not {mu}"
            )
        if self.core is not None and not isinstance(self.core, RigidCore):
            raise TypeError(f"core must be a RigidCore, not {type(self.core).__name__}")
        e = float(_core.as_float64(self.restitution, "restitution", (), "non-negative"))
        object.__setattr__(self, "restitution", e)
        if e > 1.0:
            raise ValueError(f"restitution = {e:g}: must be <= 1")
        if e > 0.0 and (math.isfinite(self.stiffness) or self.core is not None):
            raise ValueError(
                f"restitution = {e:g}: must be 0 with a finite stiffness or a core; such a contact "
                "rebounds by its stiffness and dissipation time"
            )


@compared_by_value
@dataclasses.dataclass(frozen=True, eq=False)
class Geoms:
    """The fields of a model that the rules below read.

    Attributes
    ----------
    names : sequence of str
        Name of each geom, empty for none.
    groups : ndarray of int (n_geoms,)
        Group of each geom.
    friction : ndarray (n_geoms,)
        The model's own sliding friction of each geom.
    entries : mapping of str to sequence of float
        The model's custom numbers by name; see :func:`custom_materials`.

    Examples
    --------
    Two geoms, of which the model says that the second is soft:

    >>> geoms = Geoms(["floor", "foot"], np.zeros(2, np.int32), np.array([1.0, 0.6]),
    ...               {"sapwood/geom/foot": [1e5, 0.02]})
    >>> custom_materials(geoms)["foot"].dissipation_time
    0.02
    """

    names: Sequence[str]
    groups: NDArray[np.int32]
    friction: NDArray[np.float64]
    entries: Mapping[str, Sequence[float]]


def _of_numbers(
    stiffness: float,
    dissipation_time: float | None = None,
    friction: float | None = None,
    restitution: float = 0.0,
    static_friction: float | None = None,
) -> ContactMaterial:
    """The material of these numbers; -1 stands for no dissipation time or friction."""
    given = (dissipation_time, friction, static_friction)
    tau_d, mu, mu_s = (None if x == -1.0 else x for x in given)
    return ContactMaterial(
        stiffness or math.inf, tau_d, mu, restitution=restitution, static_friction=mu_s
    )


def custom_materials(
    geoms: Geoms, faults: list[str] | None = None
) -> dict[str | int | None, ContactMaterial]:
    """Materials that a model carries in its own custom numbers.

    In MJCF::

        <custom>
          <numeric name="sapwood/default"      data="1e7 0.01"/>
          <numeric name="sapwood/group/3"      data="1e5 0.02"/>
          <numeric name="sapwood/geom/foot"    data="1e5 0.02 0.9"/>
          <numeric name="sapwood/geom/ball"    data="0 -1 -1 0.8"/>
          <numeric name="sapwood/geom/crate"   data="0 -1 0.3 0 0.5"/>
        </custom>

    The numbers are stiffness (N/m, 0 for rigid), dissipation time (s), friction, restitution and
    static friction; the last ones may be left out, and -1 stands for no dissipation time or
    friction. A prefix that
    attaching one model to another puts before the names is taken off again:
    ``robot/sapwood/geom/foot`` is for the geom ``robot/foot``, while default and groups are read
    without a prefix only.

    Parameters
    ----------
    geoms : Geoms
        Names and custom numbers of the model.
    faults : list of str, optional
        Collects the faults of malformed custom numbers; without it they raise ValueError.

    Returns
    -------
    dict
        Materials by geom name, by group number, and the default by None.

    Raises
    ------
    ValueError
        For a name that fits none of these forms or names no geom, or values out of range.

    Examples
    --------
    >>> geoms = Geoms(["floor", "foot"], np.zeros(2, np.int32), np.ones(2),
    ...               {"sapwood/geom/foot": [1e5, 0.02]})
    >>> custom_materials(geoms)["foot"].stiffness
    100000.0
    """
    known = set(geoms.names)

    def read(entry: Entry) -> tuple[str | int | None, ContactMaterial] | None:
        _, before, kind, name, _ = entry
        if kind in OTHER_KINDS:
            return None
        material = entry.read(
            _of_numbers,
            ("stiffness", "dissipation time", "friction", "restitution", "static friction"),
        )
        if kind == "geom" and before + name in known and name:
            return before + name, material
        if kind == "geom":
            hint = nearest(before + name, geoms.names)
            raise ValueError(f"numeric '{entry.text}': there is no geom '{before + name}'{hint}")
        if not before and kind == "group" and name.isdecimal():
            return int(name), material
        if entry.text == "sapwood/default":
            return None, material
        raise ValueError(
            f"numeric '{entry.text}': must be sapwood/default, sapwood/group/NUMBER or "
            "sapwood/geom/NAME, the first two without a prefix"
        )

    return read_entries(geoms.entries, read, faults)


class GeomMaterials(NamedTuple):
    """Materials of geoms, one entry per geom."""

    stiffness: NDArray[np.float64]
    """k, N/m, infinite for rigid."""
    dissipation_time: NDArray[np.float64]
    """tau_d, s."""
    friction: NDArray[np.float64]
    """mu, dimensionless."""
    friction_given: NDArray[np.int8]
    """1 if mu is from a material, 0 if it is the model's."""
    static_friction: NDArray[np.float64]
    """mu_s >= mu, dimensionless."""
    restitution: NDArray[np.float64]
    """e, dimensionless."""
    core: NDArray[np.int8]
    """:class:`sapwood.CoreKind`."""
    delta: NDArray[np.float64]
    """Depth of the core, m, infinite without one."""
    core_lambda: NDArray[np.float64]
    """Exponent of the core, dimensionless."""


def geom_materials(
    geoms: Geoms,
    default: ContactMaterial | None,
    overrides: Mapping[str | int, ContactMaterial] | None,
    time_step: float,
    faults: list[str] | None = None,
) -> GeomMaterials:
    """Material of every geom.

    The first of these that has something to say about a geom decides: ``overrides`` by name,
    ``overrides`` by group, the model's custom numbers by name, by group, ``default``, the model's
    custom default, and last a rigid material.

    Parameters
    ----------
    geoms : Geoms
        The model's geoms.
    default : ContactMaterial or None
        Material of geoms that nothing more special speaks of.
    overrides : mapping or None
        Materials by geom name (str) or group (int).
    time_step : float
        Dissipation time of materials without one, s.
    faults : list of str, optional
        Collects the faults of malformed custom numbers; without it they raise ValueError.

    Returns
    -------
    GeomMaterials
        Arrays (n_geoms,).

    Raises
    ------
    TypeError, ValueError
        For a key that is no name or group of the model, or a value that is no ContactMaterial.
    """
    if overrides is None:
        overrides = {}
    elif not isinstance(overrides, Mapping):
        raise TypeError(f"materials must be a mapping, not {type(overrides).__name__}")
    known = [name for name in geoms.names if name]
    groups = {int(group) for group in geoms.groups}
    for key, material in overrides.items():
        if isinstance(key, bool) or not isinstance(key, (str, int)):
            raise TypeError(f"materials[{key!r}]: keys must be geom names or group numbers")
        if key not in (known if isinstance(key, str) else groups):
            by_name = isinstance(key, str)
            kind = "geom of this name" if by_name else "geom in this group"
            hint = nearest(str(key), known) if by_name else ""
            raise ValueError(f"materials[{key!r}]: the model has no {kind}{hint}")
        if not isinstance(material, ContactMaterial):
            raise TypeError(
                f"materials[{key!r}] must be a ContactMaterial, not {type(material).__name__}"
            )
    if default is not None and not isinstance(default, ContactMaterial):
        raise TypeError(
            f"contact must be a ContactMaterial, not {type(default).__name__}: write "
            "contact=sapwood.ContactMaterial(stiffness=..., friction=...)"
        )
    custom = custom_materials(geoms, faults)
    last = default if default is not None else custom.get(None, ContactMaterial())

    n = len(geoms.names)
    stiffness, dissipation_time = np.empty(n), np.empty(n)
    friction = np.array(geoms.friction, dtype=np.float64)
    friction_given, restitution = np.zeros(n, np.int8), np.zeros(n)
    static_friction = np.zeros(n)
    core, delta, core_lambda = np.zeros(n, np.int8), np.full(n, np.inf), np.ones(n)
    for i, (name, group) in enumerate(zip(geoms.names, geoms.groups.tolist(), strict=True)):
        candidates = (
            overrides.get(name),
            overrides.get(group),
            custom.get(name),
            custom.get(group),
        )
        material = next((m for m in candidates if m is not None), last)
        stiffness[i], restitution[i] = material.stiffness, material.restitution
        tau_d = material.dissipation_time
        dissipation_time[i] = time_step if tau_d is None else tau_d
        if material.friction is not None:
            friction[i], friction_given[i] = material.friction, 1
        static_friction[i] = friction[i]
        if material.static_friction is not None:
            static_friction[i] = material.static_friction
        if material.core is not None:
            core[i] = CoreKind[material.core.kind]
            delta[i], core_lambda[i] = material.core.delta, material.core.strength
    return GeomMaterials(
        stiffness, dissipation_time, friction, friction_given, static_friction, restitution, core,
        delta, core_lambda,
    )  # fmt: skip
