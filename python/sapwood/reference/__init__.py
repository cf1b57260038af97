"""The solver in plain NumPy: the executable specification of `sapwood`.

Every kernel of the C core has its counterpart here, written as in the paper (Castro, Permenter
and Han, "An Unconstrained Convex Formulation of Compliant Contact") with the equation numbers
beside the lines, and the same tests run on both. It is meant to be read and to be checked against,
not to be fast.

Folders are named as those of ``csrc/``:

    linalg
        cholesky         block Cholesky factorization over the junction tree      VIII-D
        unsymmetric      factorization of the matrices of Coulomb's friction
    constraints
        contact          projection, cost and Hessian of a contact                (18), (29)-(33)
        rigid_core       barriers around contacts: the rigid core
        disk             friction with a given bound, and without gliding
        torsional        both with torsional and rolling friction
        clamp            impulse, cost and derivative of every other kind of constraint
        pools            the interface of a kind for the objective; ``*_pool`` of the others
    problem
        regularization   physical parameters to R and v_hat                       (21), (22)
        stiction         static and dynamic coefficient of friction
        graph            islands, minimum-degree order, junction tree             VIII-D
        elimination      velocities that no constraint moves
    solver
        objective        cost, gradient, Hessian, and the cost along a line       (17), VIII-A, C
        direction        Newton's direction, primal-dual friction, stick start    VIII-A
        line_search      exact search and backtracking                            VIII-B
        feasible         starts inside of rigid cores
        certificate      proved bounds on the error                               lemma 2
        newton           algorithm 1, stopping rule (20)
        coulomb          lagged and Coulomb's friction, around it
        disputes         contacts whose regions depend on each other, solved beside it
        small_problem    the impulses of a few contacts, exactly
        dense, impulses  small components, by their impulses
        solver           island by island, errors (24), (25)
        proximal         rigid contact, by solves of compliant contact
        sensitivity      derivatives of a solution, in reverse mode
    lcp
        complementarity  Lemke's method and principal pivoting
        quadratic        interior point method of quadratic programs, polishing
        active_set       nearest points of polyhedra
    invdyn
        invdyn_solver    torques for accelerations; `noslip`, `coulomb_lcp`, `nearest_lcp`, `stages`
        unactuated       reduction to the joints with motors
        task_control     torques within limits that come nearest to tasks
        task_rows        rows of tasks and of held contacts, limits of torques
        held_contacts    contacts that stay in a plan while their geoms are near
    fem
        elements         elastic tetrahedra
        flexes           elasticity of lengths of edges
        face_contacts    contacts of the boundary of soft bodies
        far_pairs        tetrahedra of a soft body that may touch each other
    geometry
        pressure_fields  contact surfaces, for each pair of cells
    step
        free_rotation    rotation of bodies and trees at the middle of the step
        rebounds         energy of impacts with a coefficient of restitution
    mujoco
        parts            time steps in parts that meet a tolerance
"""

from sapwood.settings import SapSettings
from sapwood.solution import Region, Solution, Status
from sapwood.solver import Evaluation, LineValues

from .constraints.clamp import clamp, clamp_cost_difference
from .constraints.contact import contact_cost_difference
from .constraints.disk import disk_cost, disk_cost_difference, project_disk
from .constraints.disk_pool import DiskPool
from .constraints.pools import ContactPool, Patch, Pool, RowPool
from .constraints.rigid_core import contact_cost, project
from .constraints.torsional import lift_impulse, lift_matrix, radial, radial_step
from .constraints.torsional_pool import WidePool
from .fem.elements import evaluate_elements
from .fem.face_contacts import contact_axes, contact_rows, plane_contacts, shape_contacts
from .fem.far_pairs import far_pairs
from .geometry.pressure_fields import Face, contact_faces, limit_depth
from .invdyn.held_contacts import held_contacts
from .invdyn.motions import point_motion
from .invdyn.task_control import solve_tasks
from .invdyn.task_rows import bound_torques, rotation_vector, task_program
from .lcp.complementarity import solve_lcp
from .lcp.quadratic import solve_qp
from .linalg.cholesky import BlockCholesky, NotPositiveDefinite
from .mujoco.parts import Parts, take_in_parts
from .problem.elimination import eliminate
from .problem.graph import Clique, contact_graph, islands, junction_tree, minimum_degree, touching
from .problem.regularization import (
    constraint_inverse_mass,
    delassus_block,
    effective_inverse_mass,
    regularize,
    regularize_group,
    sigma_of_slip,
)
from .solver.certificate import gradient_round_off, velocity_error_bound
from .solver.objective import Line, Objective, Part, Point
from .solver.sensitivity import solution_gradient
from .solver.solver import SapSolver, solve

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
    "shape_contacts",
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
