"""sapwood: a solver for compliant frictional contact.

The next velocity of a multibody system with frictional contact is the minimiser of a convex
function (Castro, Permenter, Han, "An Unconstrained Convex Formulation of Compliant Contact"). This
package finds it and proves how accurate it is::

    problem = sapwood.load_problem("problem.npz")   # or sapwood.ContactProblem(...)
    solution = sapwood.solve(problem)
    print(solution)

``sapwood.mujoco`` steps MuJoCo models with it; ``sapwood.reference`` is the same algorithm in plain
NumPy. Both are imported by name.
"""

from sapwood._core import __version__
from sapwood.contact_law import Projection, contact_cost, project
from sapwood.io import load_problem, save_problem
from sapwood.problem import ContactProblem
from sapwood.settings import SapSettings, factorizations
from sapwood.solution import Region, Solution, Status
from sapwood.solver import Evaluation, LineValues, SapSolver, solve

__all__ = [
    "ContactProblem",
    "Evaluation",
    "LineValues",
    "Projection",
    "Region",
    "SapSettings",
    "SapSolver",
    "Solution",
    "Status",
    "__version__",
    "contact_cost",
    "factorizations",
    "load_problem",
    "project",
    "save_problem",
    "solve",
]
