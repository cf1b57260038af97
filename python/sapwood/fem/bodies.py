"""Soft bodies: their state, what holds them and what loads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import array, boolean, instance, real
from sapwood.base.equality import compared_by_value
from sapwood.geometry.plot import plot_faces

from .body_checks import checked_pose, ranged
from .elements import Evaluation, MassKind, evaluate, mass_matrix
from .material import Material
from .meshes.mesh import Mesh, check_manifold
from .meshes.render import RenderMesh

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d.axes3d import Axes3D

_Float = NDArray[np.float64]

#: "faces": one contact for each boundary face, at the centroid of its part inside the other body;
#: "vertices": one for each boundary vertex, which corners and edges of rigid bodies may pass;
#: "none"
ContactKind = Literal["faces", "vertices", "none"]


@compared_by_value
@dataclass(frozen=True, eq=False)
class Attachment:
    """Vertices of a soft body that a rigid body of a model holds.

    Attributes
    ----------
    body : str
        Name of the rigid body.
    vertices : ndarray of int32 (n,)
        The vertices.
    places : ndarray (n, 3)
        Their places in the frame of the rigid body, m.
    """

    body: str
    vertices: NDArray[np.int32]
    places: _Float


def _checked_surface(surface: RenderMesh | None, mesh: Mesh) -> RenderMesh | None:
    if not isinstance(surface, RenderMesh | None):
        raise TypeError(f"render_mesh must be a RenderMesh, not {type(surface).__name__}")
    if surface is not None and surface.mesh is not mesh:
        raise ValueError("render_mesh: must follow the mesh of the body, and follows another one")
    return surface


def check_distinct(bodies: Sequence[SoftBody], name: str) -> None:
    """Raise ValueError where a body is listed twice."""
    if len({id(body) for body in bodies}) < len(bodies):
        raise ValueError(f"{name}: has the same body twice")


class SoftBody:
    """A deformable body: a mesh, its material and its state.

    Parameters
    ----------
    mesh : Mesh
        The mesh at rest.
    material : Material
        The material.
    friction : float, optional
        Coefficient of friction of the surface, >= 0.
    dissipation_time : float, optional
        Dissipation time of the surface, s, >= 0; those of two bodies add up.
    contact_stiffness : float, optional
        Stiffness of the surface per area, Pa/m, > 0. By default a cube of side L of 1000 kg/m^3
        rests 1e-4 L deep.
    contact : {"faces", "vertices", "none"}, optional
        What makes contacts with rigid bodies: boundary faces, or boundary vertices, which takes
        less time, works ahead of an overlap, and does not feel what fits between vertices.
    self_contact : bool, optional
        Whether parts of the body touch each other that are farther apart at rest than twice the
        edge of the tetrahedra.
    mass : {"lumped", "consistent", "one_point"}, optional
        Mass matrix, see :func:`mass_matrix`.
    pose : array_like (4, 4), optional
        Initial pose; the reference positions stay those of the mesh.
    velocity : array_like (3,) or (n, 3), optional
        Initial velocity of the body or of each vertex, m/s.
    name : str, optional
        Name for errors and results.
    render_mesh : RenderMesh, optional
        A surface that follows `mesh`; the viewer shows it in place of the boundary, and
        files of :class:`SeriesWriter` have it too.

    Attributes
    ----------
    positions, velocities : ndarray (n, 3)
        State at the present time, m, m/s; may be written to between steps.
    fixed : ndarray of int8 (n,)
        1 for vertices that move with `fixed_velocities` only.
    fixed_velocities : ndarray (n, 3)
        Velocities of fixed vertices, m/s.
    loads : ndarray (n, 3)
        External forces at the vertices beside gravity, N.
    pressures : ndarray (f,)
        Pressures on the boundary faces, Pa; see :meth:`pressure`.
    attachments : list of Attachment
        Vertices that are held, see :meth:`attach`.

    Raises
    ------
    TypeError, ValueError
        For a value out of range, or a boundary on which an edge or a vertex joins two parts.

    Examples
    --------
    A cube held at its lower side and stretched by a tenth:

    >>> from sapwood import fem
    >>> rubber = fem.Material(young=1e5, poisson=0.3, density=1000.0, model="linear")
    >>> cube = fem.SoftBody(fem.box([0.1, 0.1, 0.1], cells=2), rubber)
    >>> cube.fixed[cube.positions[:, 2] < -0.049] = 1
    >>> cube.positions[:, 2] *= 1.1
    >>> print(f"{cube.evaluate().energy:.3f} J")
    0.673 J
    """

    def __init__(
        self,
        mesh: Mesh,
        material: Material,
        *,
        friction: float = 0.5,
        dissipation_time: float = 0.1,
        contact_stiffness: float = 1e8,
        contact: ContactKind = "faces",
        self_contact: bool = False,
        mass: MassKind = "lumped",
        pose: ArrayLike | None = None,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        name: str = "soft",
        render_mesh: RenderMesh | None = None,
    ) -> None:
        instance(mesh, Mesh, "mesh")
        instance(material, Material, "material")
        if contact not in get_args(ContactKind):
            raise ValueError(f"contact = {contact!r}: must be faces, vertices or none")
        self.self_contact = boolean(self_contact, "self_contact")
        if self.self_contact and contact == "none":
            raise ValueError("self_contact: a body with contact = 'none' touches nothing")
        self.mesh, self.material, self.contact, self.mass, self.name = (
            mesh, material, contact, mass, name,
        )  # fmt: skip
        self.render_mesh = _checked_surface(render_mesh, mesh)
        self.friction = ranged(friction, "friction")
        self.dissipation_time = ranged(dissipation_time, "dissipation_time")
        self.contact_stiffness = ranged(contact_stiffness, "contact_stiffness", positive=True)
        self.vertex_mass, self.pair_mass = mass_matrix(mesh, material.density, mass)
        if contact != "none":
            check_manifold(mesh.faces)
        X = checked_pose(pose)
        n = len(mesh.vertices)
        self.positions: _Float = mesh.vertices @ X[:3, :3].T + X[:3, 3]
        given = _core.as_float64(velocity, "velocity", rule="finite")
        if given.shape not in ((3,), (n, 3)):
            raise ValueError(f"velocity has shape {given.shape}, expected (3,) or ({n}, 3)")
        self.velocities: _Float = np.array(np.broadcast_to(given, (n, 3)))
        self.fixed = np.zeros(n, np.int8)
        self.fixed_velocities, self.loads = np.zeros((n, 3)), np.zeros((n, 3))
        self.pressures: _Float = np.zeros(len(mesh.faces))
        self.attachments: list[Attachment] = []
        names = ("positions", "velocities", "fixed_velocities", "loads")
        self._shapes = {**dict.fromkeys(names, (n, 3)), "pressures": (len(mesh.faces),)}

    def fix(self, where: ArrayLike, velocity: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Hold vertices, or move them at a given velocity.

        Parameters
        ----------
        where : array_like of bool (n,) or of int
            The vertices.
        velocity : array_like (3,), optional
            Their velocity, m/s.

        Raises
        ------
        TypeError, ValueError
            For a vertex that is not there.
        """
        index = self._vertices(where)
        self._check_free(index, "attached")
        self.fixed[index] = 1
        self.fixed_velocities[index] = _core.as_float64(velocity, "velocity", (3,), "finite")

    def attach(self, where: ArrayLike, body: str, pose: ArrayLike) -> None:
        """Let a rigid body of a model hold vertices, which keep their places in its frame.

        Parameters
        ----------
        where : array_like of bool (n,) or of int
            The vertices.
        body : str
            Name of the rigid body.
        pose : array_like (4, 4)
            Its pose where it has these vertices at their present positions, such as
            :func:`sapwood.mujoco.body_pose` gives.

        Raises
        ------
        TypeError, ValueError
            For a vertex that is not there, or that is held already.
        """
        if not isinstance(body, str):
            raise TypeError(f"body must be the name of a body, not {type(body).__name__}")
        index, X = np.unique(self._vertices(where)), checked_pose(pose)
        if not index.size:
            raise ValueError("where: names no vertex")
        self._check_free(index, "attached")
        for i in np.flatnonzero(self.fixed[index]):
            raise ValueError(f"where: vertex {index[i]} is fixed")
        places = (self.positions[index] - X[:3, 3]) @ X[:3, :3]
        self.attachments.append(Attachment(body, index, places))

    def _check_free(self, index: NDArray[np.int32], what: str) -> None:
        held = [attachment.vertices for attachment in self.attachments]
        for i in np.flatnonzero(np.isin(index, np.concatenate([index[:0], *held]))):
            raise ValueError(f"where: vertex {index[i]} is {what}")

    def fault(self) -> str:
        """Describe the first fault of the state and the numbers; empty without one."""
        for name, shape in self._shapes.items():
            given = _core.as_float64(getattr(self, name), f"{self.name}.{name}", shape)
            # entries are finite if their sum is
            if not math.isfinite(given.sum()):
                wrong = np.argwhere(~np.isfinite(given))[:, 0]
                if wrong.size:
                    return f"{self.name}.{name}[{wrong[0]}]: must be finite"
        fixed, n = np.asarray(self.fixed), len(self.positions)
        if fixed.dtype != np.int8 or fixed.shape != (n,):
            return f"{self.name}.fixed: must be an array of int8 of shape ({n},)"
        try:
            instance(self.material, Material, "material")
            for name in ("friction", "dissipation_time", "contact_stiffness"):
                ranged(getattr(self, name), name, positive=name == "contact_stiffness")
        except (TypeError, ValueError) as error:
            return f"{self.name}.{error}"
        if self.contact not in get_args(ContactKind):
            return f"{self.name}.contact = {self.contact!r}: must be faces, vertices or none"
        return ""

    def force(self, where: ArrayLike, force: ArrayLike) -> None:
        """Set the external force on each of the vertices, beside gravity.

        Parameters
        ----------
        where : array_like of bool (n,) or of int
            The vertices.
        force : array_like (3,)
            Force on each of them, N.

        Raises
        ------
        TypeError, ValueError
            For a vertex that is not there.
        """
        self.loads[self._vertices(where)] = _core.as_float64(force, "force", (3,), "finite")

    def pressure(self, where: ArrayLike, pressure: float) -> None:
        """Set the pressure on boundary faces; it acts along their present normals.

        A step takes the faces at its start. Positive pressures push inwards; all around a free body
        they speed up its turning, except with ``linear_corotated``.

        Parameters
        ----------
        where : array_like of bool (f,) or of int
            The faces, by their number in ``mesh.faces``.
        pressure : float
            Pressure, Pa.

        Raises
        ------
        TypeError, ValueError
            For a face that is not there, or a pressure that is not finite.

        Examples
        --------
        >>> from sapwood import fem
        >>> foam = fem.Material(young=1e5, poisson=0.3, density=1000.0)
        >>> body = fem.SoftBody(fem.box([0.1] * 3, 2), foam)
        >>> body.pressure(np.arange(len(body.mesh.faces)), 1000.0)
        >>> bool(np.allclose(body.external_loads().sum(axis=0), 0))
        True
        """
        value = real(pressure, "pressure")
        if not math.isfinite(value):
            raise ValueError(f"pressure = {value}: must be finite")
        self.pressures[self._numbers(where, len(self.pressures), "face")] = value

    def external_loads(self) -> _Float:
        """Find the loads beside gravity: `loads`, and the pressures on the present faces.

        Returns
        -------
        ndarray (n, 3)
            Forces at the vertices, N.
        """
        loads: _Float = self.loads.copy()
        pressed = np.flatnonzero(self.pressures)
        if pressed.size:
            corners = self.mesh.faces[pressed]
            a, b, c = np.swapaxes(self.positions[corners], 0, 1)
            # a third of the area vector, times the pressure
            third = np.cross(b - a, c - a) * (self.pressures[pressed] / -6)[:, None]
            np.add.at(loads, corners, third[:, None])
        return loads

    def evaluate(self) -> Evaluation:
        """Evaluate energy, forces, stiffness and stresses at the present positions.

        Returns
        -------
        Evaluation
            The results.
        """
        return evaluate(self.mesh, self.material, self.positions)

    def plot(self, ax: Axes3D | None = None) -> Axes3D:
        """Draw the boundary, coloured by von Mises' stress, with Matplotlib.

        Parameters
        ----------
        ax : Axes3D, optional
            The axes to draw on; by default new ones.

        Returns
        -------
        Axes3D
            The axes, with a colour bar; ``ax.figure.savefig`` writes it.
        """
        stress = self.evaluate().von_mises[self.mesh.face_tetrahedra]
        faces = list(self.positions[self.mesh.faces])
        return plot_faces(faces, stress, ax, "von Mises stress (Pa)")

    @property
    def kinetic_energy(self) -> float:
        """Kinetic energy, J."""
        return 0.5 * float(np.sum(self.velocities * self._momenta()))

    @property
    def momentum(self) -> _Float:
        """Linear momentum (3,), N s."""
        total: _Float = self._momenta().sum(axis=0)
        return total

    @property
    def angular_momentum(self) -> _Float:
        """Angular momentum about the origin (3,), N m s."""
        total: _Float = np.cross(self.positions, self._momenta()).sum(axis=0)
        return total

    def _momenta(self) -> _Float:
        """M v of each vertex."""
        first, second = self.mesh.pairs.T
        momenta = self.vertex_mass[:, None] * self.velocities
        np.add.at(momenta, first, self.pair_mass[:, None] * self.velocities[second])
        np.add.at(momenta, second, self.pair_mass[:, None] * self.velocities[first])
        return momenta

    def _vertices(self, where: ArrayLike) -> NDArray[np.int32]:
        return self._numbers(where, len(self.fixed), "vertex")

    @staticmethod
    def _numbers(where: ArrayLike, n: int, kind: str) -> NDArray[np.int32]:
        given = array(where, "where")
        if given.dtype == bool:
            if given.shape != (n,):
                raise ValueError(f"where has shape {given.shape}, expected ({n},)")
            given = np.flatnonzero(given)
        index = _core.as_int32(given.ravel(), "where")
        wrong = np.flatnonzero((index < 0) | (index >= n))
        if wrong.size:
            i = wrong[0]
            raise ValueError(f"where[{i}] = {index[i]}: names a {kind} that is not there")
        return index

    def __repr__(self) -> str:
        return f"SoftBody({self.name!r}, {self.mesh!r}, {self.material.model})"
