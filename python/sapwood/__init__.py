"""sapwood: a solver for compliant frictional contact.

The next velocity of a multibody system with frictional contact is the minimiser of a convex
function (Castro, Permenter, Han, "An Unconstrained Convex Formulation of Compliant Contact"). This
package finds it and proves how accurate it is::

    problem = sapwood.load_problem("problem.npz")   # or sapwood.ContactProblem(...)
    solution = sapwood.solve(problem)
    print(solution)

``sapwood.mujoco`` steps MuJoCo models with it; ``sapwood.reference`` is the same algorithm in plain
NumPy; ``sapwood.stepping`` is the theta-method for models of your own; ``sapwood.scenes``,
``sapwood.experiments`` and ``sapwood.plotting`` are what the experiments are made of. These are
loaded when first used: ``import sapwood`` needs NumPy alone.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from sapwood._core import __version__
from sapwood.batch import solve_batch
from sapwood.constraint_materials import ConstraintMaterial
from sapwood.constraints import Bilaterals, Controllers, DryFrictions, JointLimits
from sapwood.contact_law import Projection, contact_cost, project
from sapwood.io import load_problem, save_problem
from sapwood.materials import ContactMaterial
from sapwood.problem import ContactProblem
from sapwood.rigid_core import CoreKind, RigidCore
from sapwood.row_law import ClampedRows, clamp
from sapwood.settings import SapSettings, factorizations
from sapwood.solution import ConstraintSolution, Region, Solution, Status
from sapwood.solver import Evaluation, LineValues, SapSolver, solve

__all__ = [
    "Bilaterals",
    "ClampedRows",
    "ConstraintMaterial",
    "ConstraintSolution",
    "ContactMaterial",
    "ContactProblem",
    "Controllers",
    "CoreKind",
    "DryFrictions",
    "Evaluation",
    "JointLimits",
    "LineValues",
    "Projection",
    "Region",
    "RigidCore",
    "SapSettings",
    "SapSolver",
    "Solution",
    "Status",
    "__version__",
    "clamp",
    "contact_cost",
    "factorizations",
    "load_problem",
    "project",
    "save_problem",
    "solve",
    "solve_batch",
]

if TYPE_CHECKING:
    from sapwood import experiments as experiments
    from sapwood import mujoco as mujoco
    from sapwood import plotting as plotting
    from sapwood import reference as reference
    from sapwood import scenes as scenes
    from sapwood import stepping as stepping
else:
    _LOADED_WHEN_USED = ("experiments", "mujoco", "plotting", "reference", "scenes", "stepping")

    def __getattr__(name: str) -> ModuleType:
        if name in _LOADED_WHEN_USED:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
