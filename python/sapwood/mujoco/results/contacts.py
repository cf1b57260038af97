"""The contacts of a step of a MuJoCo model, with their geoms, places and forces."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.base.hints import counted
from sapwood.mujoco.reading.names import GeomNames
from sapwood.solution import Region

_Float = NDArray[np.float64]
_Int = NDArray[np.int32]

# rows that a table shows
_MOST_ROWS = 20

_AXES = ("t1", "t2", "n")


@dataclasses.dataclass(frozen=True, eq=False)
class StepContacts:
    """The contacts of one step, as its problem has them: contacts that stay open are left out.

    A contact has a frame of its own: the normal n from its first geom to its second, and two
    tangents. Components along it are always in the order (t1, t2, n), here as in
    ``Solution.gamma``; ``world_force`` and ``world_torque`` are along the axes of the world.
    Positions and frames are taken at the start of the step. Schemes of :mod:`sapwood.stepping`
    other than the default take them at the state where they take forces. Forces are means over the
    step. ``print(contacts)`` shows a table.

    Attributes
    ----------
    records : structured ndarray (n,)
        The numbers of each contact, without names and derived columns; also for ``numpy.save``.
    geom_names : GeomNames
        Names of the geoms of the model and of their bodies.

    Examples
    --------
    A ball of 2 kg rests on the floor:

    >>> import mujoco, sapwood.mujoco
    >>> model = mujoco.MjModel.from_xml_string('''<mujoco><worldbody>
    ...   <geom name="floor" type="plane" size="1 1 1"/>
    ...   <body pos="0 0 .1"><freejoint/><geom name="ball" size=".1" mass="2"/></body>
    ... </worldbody></mujoco>''')
    >>> stepper, data = sapwood.mujoco.Stepper(model), mujoco.MjData(model)
    >>> result = stepper.run(data, 200)
    >>> contacts = stepper.contacts
    >>> contacts.names
    (('floor', 'ball'),)
    >>> contacts.force[0, 2].round(2)
    np.float64(19.62)
    """

    records: NDArray[np.void]
    geom_names: GeomNames

    def __len__(self) -> int:
        return len(self.records)

    # ---- which --------------------------------------------------------------------------------

    @property
    def index(self) -> _Int:
        """Position of each contact in ``data.contact`` (n,).

        It is -1 for a face of a patch, and for an open contact without force, which
        ``data.contact`` does not have.
        """
        return self.records["index"]

    @property
    def geoms(self) -> _Int:
        """Numbers of both geoms (n, 2)."""
        return self.records["geom"]

    @property
    def bodies(self) -> _Int:
        """Numbers of the bodies of both geoms (n, 2)."""
        return self.geom_names.body_of[self.geoms]

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """Names of both geoms, such as ``geom 3`` for one without."""
        return self._labels("geom", self.geoms)

    @property
    def body_names(self) -> tuple[tuple[str, str], ...]:
        """Names of the bodies of both geoms."""
        return self._labels("body", self.bodies)

    def _labels(self, kind: str, numbers: _Int) -> tuple[tuple[str, str], ...]:
        label = self.geom_names.label
        return tuple((label(kind, a), label(kind, b)) for a, b in numbers.tolist())

    # ---- where --------------------------------------------------------------------------------

    @property
    def position(self) -> _Float:
        """Point of each contact in the world (n, 3), m."""
        return self.records["position"]

    @property
    def frame(self) -> _Float:
        """Axes t1, t2, n of each contact in the world, its rows (n, 3, 3)."""
        return self.records["frame"]

    @property
    def distance(self) -> _Float:
        """Signed distance at the start of the step (n,), m; negative for an overlap."""
        return self.records["distance"]

    @property
    def penetration(self) -> _Float:
        """Depth of the overlap at the start of the step (n,), m."""
        return np.maximum(-self.distance, 0.0)

    # ---- what they do -------------------------------------------------------------------------

    @property
    def acts(self) -> NDArray[np.bool_]:
        """Whether each contact has a force (n,)."""
        acts: NDArray[np.bool_] = np.any(self.force != 0.0, axis=1)
        return acts

    @property
    def region(self) -> _Int:
        """:class:`sapwood.Region` of each contact (n,): stiction, sliding or none."""
        return self.records["region"]

    @property
    def force(self) -> _Float:
        """Mean force (t1, t2, n) on the second geom by the first (n, 3), N."""
        return self.records["force"]

    @property
    def world_force(self) -> _Float:
        """The same force along the axes of the world (n, 3), N."""
        return self._in_world(self.force)

    @property
    def torque(self) -> _Float:
        """Mean torque of torsional and rolling friction about (t1, t2, n) (n, 3), N m; else 0."""
        return self.records["torque"]

    @property
    def world_torque(self) -> _Float:
        """The same torque about the axes of the world (n, 3), N m."""
        return self._in_world(self.torque)

    @property
    def slip_speed(self) -> _Float:
        """Tangential speed of the surfaces against each other at the end of the step (n,), m/s."""
        return self.records["slip_speed"]

    @property
    def friction(self) -> _Float:
        """Coefficient mu of sliding friction (n,)."""
        return self.records["friction"]

    @property
    def core_scale(self) -> _Float:
        """The scale of the core depth delta of each contact in this step (n,).

        Above 1 for a contact that started deeper than its core, else 1.
        """
        return self.records["core_scale"]

    @property
    def deepened(self) -> NDArray[np.intp]:
        """Indices (n,) of the contacts that started deeper than their rigid core."""
        return np.flatnonzero(self.core_scale > 1.0)

    def _in_world(self, components: _Float) -> _Float:
        """The vectors (n, 3) in the world, from components along the frames."""
        vectors: _Float = np.einsum("ijk,ij->ik", self.frame, components)
        return vectors

    # ---- of some geoms --------------------------------------------------------------------------

    def between(self, first: str | int, second: str | int) -> StepContacts:
        """The contacts between two geoms, in either order.

        Parameters
        ----------
        first, second : str or int
            Names or numbers of geoms.

        Returns
        -------
        StepContacts
            Those contacts.

        Raises
        ------
        TypeError, ValueError
            If there is no such geom.
        """
        a = self.geom_names.find("geom", first, "first")
        b = self.geom_names.find("geom", second, "second")
        chosen = np.all(self.geoms == (a, b), axis=1) | np.all(self.geoms == (b, a), axis=1)
        return StepContacts(self.records[chosen], self.geom_names)

    def on(self, body: str | int) -> StepContacts:
        """The contacts of all geoms of a body.

        Parameters
        ----------
        body : str or int
            Name or number of a body.

        Returns
        -------
        StepContacts
            Those contacts.

        Raises
        ------
        TypeError, ValueError
            If there is no such body.
        """
        number = self.geom_names.find("body", body, "body")
        return StepContacts(self.records[np.any(self.bodies == number, axis=1)], self.geom_names)

    def force_on_geom(self, geom: str | int) -> _Float:
        """Sum of the forces of these contacts on a geom.

        Parameters
        ----------
        geom : str or int
            Name or number of the geom.

        Returns
        -------
        ndarray (3,)
            The force along the axes of the world, N.

        Raises
        ------
        TypeError, ValueError
            If there is no such geom.
        """
        return self._force_on(self.geoms == self.geom_names.find("geom", geom, "geom"))

    def force_on_body(self, body: str | int) -> _Float:
        """Sum of the forces of these contacts on a body.

        Parameters
        ----------
        body : str or int
            Name or number of the body.

        Returns
        -------
        ndarray (3,)
            The force along the axes of the world, N.

        Raises
        ------
        TypeError, ValueError
            If there is no such body.
        """
        return self._force_on(self.bodies == self.geom_names.find("body", body, "body"))

    def _force_on(self, sides: NDArray[np.bool_]) -> _Float:
        """Sum of the forces on the given sides (n, 2); the first geom of a contact gets -force."""
        total: _Float = (sides @ np.array([-1.0, 1.0])) @ self.world_force
        return total

    # ---- as text and tables ---------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All columns by name, each one-dimensional: for ``pandas.DataFrame``.

        Returns
        -------
        dict
            Lists of str for names, arrays (n,) for numbers.
        """
        names = self.names
        vectors = {
            "position": (self.position, "xyz"),
            "force": (self.force, _AXES),
            "torque": (self.torque, _AXES),
            "world_force": (self.world_force, "xyz"),
        }
        return {
            "geom1": [first for first, _ in names],
            "geom2": [second for _, second in names],
            **{
                name: self.records[name]
                for name in (
                    "index",
                    "face",
                    "dim",
                    "region",
                    "distance",
                    "slip_speed",
                    "friction",
                )
            },
            **{
                f"{name}_{axis}": array[:, i]
                for name, (array, axes) in vectors.items()
                for i, axis in enumerate(axes)
            },
            "core_scale": self.core_scale,
        }

    def __repr__(self) -> str:
        return f"StepContacts({counted(len(self), 'contact')}, {np.count_nonzero(self.acts)} act)"

    def __str__(self) -> str:
        if not len(self):
            return "no contacts"
        geoms = [f"{a} - {b}" for a, b in self.names[:_MOST_ROWS]]
        width = max(len("geoms"), *map(len, geoms))
        titles = "region    distance (m)  normal (N)  friction (N)  slip (m/s)  position (m)"
        lines = [f"{'geoms':{width}}  {titles}"]
        friction = np.hypot(self.force[:, 0], self.force[:, 1])
        for i, label in enumerate(geoms):
            point = ", ".join(f"{x:.4g}" for x in self.position[i])
            lines.append(
                f"{label:{width}}  {Region(self.region[i])!s:8}  {self.distance[i]:12.4g}  "
                f"{self.force[i, 2]:10.4g}  {friction[i]:12.4g}  {self.slip_speed[i]:10.4g}  "
                f"({point})"
            )
        if len(self) > _MOST_ROWS:
            lines.append(f"and {len(self) - _MOST_ROWS} more")
        return "\n".join(lines)
