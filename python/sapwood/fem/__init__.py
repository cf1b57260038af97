"""Deformable bodies: finite elements of linear tetrahedra.

A mesh and a material give energy, forces, stiffness and stresses::

    mesh = sapwood.fem.box([0.1, 0.1, 0.1], cells=4)
    soft = sapwood.fem.Material(young=1e5, poisson=0.4, density=1000.0)
    found = sapwood.fem.evaluate(mesh, soft, 1.01 * mesh.vertices)
    found.energy, found.force, found.K, found.stress

The formulas are in the header ``sapwood/fem.h``.
"""

from .bodies import Attachment, SoftBody
from .contacts import SoftContacts
from .derivatives.linearization import SoftChange, SoftGradient, SoftLinearization, linearize
from .elements import Evaluation, evaluate, mass_matrix, rotations, scatter_blocks
from .material import Material
from .meshes.files import read_mesh, write_mesh
from .meshes.mesh import Mesh
from .meshes.render import RenderMesh
from .meshes.shapes import ball, box, rod
from .meshes.surfaces import fill_surface, read_surface
from .results import Reaction, SoftStepResult, Touch
from .rigid_bodies import HalfSpace, RigidBody
from .series import SeriesWriter
from .soft_step import Scheme
from .state import SoftState
from .world import World

__all__ = [
    "Attachment",
    "Evaluation",
    "HalfSpace",
    "Material",
    "Mesh",
    "Reaction",
    "RenderMesh",
    "RigidBody",
    "Scheme",
    "SeriesWriter",
    "SoftBody",
    "SoftChange",
    "SoftContacts",
    "SoftGradient",
    "SoftLinearization",
    "SoftState",
    "SoftStepResult",
    "Touch",
    "World",
    "ball",
    "box",
    "evaluate",
    "fill_surface",
    "linearize",
    "mass_matrix",
    "read_mesh",
    "read_surface",
    "rod",
    "rotations",
    "scatter_blocks",
    "write_mesh",
]
