"""The solver in plain NumPy: the executable specification of `sapwood`.

Every kernel of the C core has its counterpart here, written as in the paper (Castro, Permenter
and Han, "An Unconstrained Convex Formulation of Compliant Contact") with the equation numbers
beside the lines, and the same tests run on both. It is meant to be read and to be checked against,
not to be fast.

    contact         projection, cost and Hessian of a contact                    (18), (29)-(33)
    rigid_core      barriers around contacts: the rigid core
    disk            friction with a given bound, and without gliding
    torsional       both with torsional and rolling friction
    clamp           impulse, cost and derivative of every other kind of constraint
    pools           the interface of a kind for the objective
    regularization  physical parameters to R and v_hat                           (21), (22)
    graph           islands, minimum-degree order, junction tree                 VIII-D
    cholesky        block Cholesky factorization over the junction tree          VIII-D
    elimination     velocities that no constraint moves
    objective       cost, gradient, Hessian, and the cost along a line           (17), VIII-A, C
    direction       Newton's direction, primal-dual friction, sticking start    VIII-A
    line_search     exact search and backtracking                                VIII-B
    certificate     proved bounds on the error                                   lemma 2
    newton          algorithm 1, stopping rule (20)
    coulomb         lagged and Coulomb's friction, around it
    unsymmetric     factorization of its matrices
    disputes        contacts whose regions depend on each other, solved beside it
    small_problem   the impulses of a few contacts, exactly
    solver          island by island, errors (24), (25)
    proximal        rigid contact, by solves of compliant contact
    sensitivity     derivatives of a solution, in reverse mode
    complementarity Lemke's method and principal pivoting
    pressure_fields contact surfaces, for each pair of cells
    free_rotation   rotation of bodies and trees at the middle of the step
    rebounds        energy of impacts with a coefficient of restitution
    stiction        static and dynamic coefficient of friction
    parts           time steps in parts that meet a tolerance
    elements        elastic tetrahedra
    face_contacts   contacts of the boundary of soft bodies
    far_pairs       tetrahedra of a soft body that may touch each other
    quadratic       interior point method of quadratic programs, polishing
    task_control    torques within limits that come nearest to tasks
    task_rows       rows of tasks and of held contacts, limits of torques
    held_contacts   contacts that stay in a plan while their geoms are near
"""

from sapwood.settings import SapSettings
from sapwood.solution import Region, Solution, Status
from sapwood.solver import Evaluation, LineValues

from .certificate import gradient_round_off, velocity_error_bound
from .cholesky import BlockCholesky, NotPositiveDefinite
from .clamp import clamp, clamp_cost_difference
from .complementarity import solve_lcp
from .contact import contact_cost_difference
from .disk import disk_cost, disk_cost_difference, project_disk
from .disk_pool import DiskPool
from .elements import evaluate_elements
from .elimination import eliminate
from .face_contacts import contact_axes, contact_rows, plane_contacts
from .far_pairs import far_pairs
from .graph import Clique, contact_graph, islands, junction_tree, minimum_degree, touching
from .held_contacts import held_contacts
from .motions import point_motion
from .objective import Line, Objective, Part, Point
from .parts import Parts, take_in_parts
from .pools import ContactPool, Patch, Pool, RowPool
from .pressure_fields import Face, contact_faces, limit_depth
from .quadratic import solve_qp
from .regularization import (
    constraint_inverse_mass,
    delassus_block,
    effective_inverse_mass,
    regularize,
    regularize_group,
    sigma_of_slip,
)
from .rigid_core import contact_cost, project
from .sensitivity import solution_gradient
from .solver import SapSolver, solve
from .task_control import solve_tasks
from .task_rows import bound_torques, rotation_vector, task_program
from .torsional import lift_impulse, lift_matrix, radial, radial_step
from .torsional_pool import WidePool

__all__ = [
    "BlockCholesky",
    "Clique",
    "ContactPool",
    "DiskPool",
    "Evaluation",
    "Face",
    "Line",
    "LineValues",
    "NotPositiveDefinite",
    "Objective",
    "Part",
    "Parts",
    "Patch",
    "Point",
    "Pool",
    "Region",
    "RowPool",
    "SapSettings",
    "SapSolver",
    "Solution",
    "Status",
    "WidePool",
    "bound_torques",
    "clamp",
    "clamp_cost_difference",
    "constraint_inverse_mass",
    "contact_axes",
    "contact_cost",
    "contact_cost_difference",
    "contact_faces",
    "contact_graph",
    "contact_rows",
    "delassus_block",
    "disk_cost",
    "disk_cost_difference",
    "effective_inverse_mass",
    "eliminate",
    "evaluate_elements",
    "far_pairs",
    "gradient_round_off",
    "held_contacts",
    "islands",
    "junction_tree",
    "lift_impulse",
    "lift_matrix",
    "limit_depth",
    "minimum_degree",
    "plane_contacts",
    "point_motion",
    "project",
    "project_disk",
    "radial",
    "radial_step",
    "regularize",
    "regularize_group",
    "rotation_vector",
    "sigma_of_slip",
    "solution_gradient",
    "solve",
    "solve_lcp",
    "solve_qp",
    "solve_tasks",
    "take_in_parts",
    "task_program",
    "touching",
    "velocity_error_bound",
]
