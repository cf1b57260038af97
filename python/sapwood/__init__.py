"""sapwood: a solver for compliant frictional contact.

The next velocity of a multibody system with frictional contact is the minimiser of a convex
function (Castro, Permenter, Han, "An Unconstrained Convex Formulation of Compliant Contact"). This
package finds it and proves how accurate it is::

    problem = sapwood.load_problem("problem.npz")   # or sapwood.ContactProblem(...)
    solution = sapwood.solve(problem)
    print(solution)

``sapwood.geometry`` finds contact patches of pressure fields, and ``sapwood.fem`` has deformable
bodies. ``sapwood.mujoco`` steps MuJoCo
models with it, and ``sapwood.viewer`` shows them; ``sapwood.invdyn`` is inverse dynamics with
contact; ``sapwood.lcp`` and ``sapwood.qp`` solve complementarity problems and quadratic programs;
``sapwood.reference`` is the same algorithm in plain NumPy; ``sapwood.stepping`` is the theta-method
for models of your own; ``sapwood.trajectory`` is runs with derivatives; ``sapwood.studies`` are the
experiments. These are loaded when first used: ``import sapwood`` needs NumPy alone.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from sapwood._core import __version__
from sapwood.batch import solve_batch
from sapwood.constraints.kinds import Bilaterals, Controllers, DryFrictions, JointLimits
from sapwood.constraints.materials import ConstraintMaterial
from sapwood.derivatives.differential import (
    Differential,
    Gradient,
    GroupDifferential,
    SolutionDifferential,
)
from sapwood.derivatives.sensitivity import Sensitivity
from sapwood.geometry.field import PressureField
from sapwood.laws.barrier_table import tabulate_barrier
from sapwood.laws.contact import Projection, contact_cost, project
from sapwood.laws.disk import disk_cost, project_disk
from sapwood.laws.materials import ContactMaterial
from sapwood.laws.rigid_core import CoreKind, RigidCore
from sapwood.laws.rows import ClampedRows, clamp
from sapwood.problem.contact_problem import ContactProblem
from sapwood.problem.io import load_problem, save_problem
from sapwood.problem.sparse_problem import SparseProblem
from sapwood.sensitivity_batch import jvp_batch, vjp_batch
from sapwood.settings import SapSettings
from sapwood.solution import ConstraintSolution, IslandAlgorithm, Region, Solution, Status
from sapwood.solver import Evaluation, LineValues, SapSolver, solve, solve_dense

__all__ = [
    "Bilaterals",
    "ClampedRows",
    "ConstraintMaterial",
    "ConstraintSolution",
    "ContactMaterial",
    "ContactProblem",
    "Controllers",
    "CoreKind",
    "Differential",
    "DryFrictions",
    "Evaluation",
    "Gradient",
    "GroupDifferential",
    "IslandAlgorithm",
    "JointLimits",
    "LineValues",
    "PressureField",
    "Projection",
    "Region",
    "RigidCore",
    "SapSettings",
    "SapSolver",
    "Sensitivity",
    "Solution",
    "SolutionDifferential",
    "SparseProblem",
    "Status",
    "__version__",
    "clamp",
    "contact_cost",
    "disk_cost",
    "jvp_batch",
    "load_problem",
    "project",
    "project_disk",
    "save_problem",
    "solve",
    "solve_batch",
    "solve_dense",
    "tabulate_barrier",
    "vjp_batch",
]

if TYPE_CHECKING:
    from sapwood import bridge as bridge
    from sapwood import fem as fem
    from sapwood import gymnasium as gymnasium
    from sapwood import invdyn as invdyn
    from sapwood import jax as jax
    from sapwood import lcp as lcp
    from sapwood import mujoco as mujoco
    from sapwood import qp as qp
    from sapwood import reference as reference
    from sapwood import stepping as stepping
    from sapwood import studies as studies
    from sapwood import torch as torch
    from sapwood import trajectory as trajectory
    from sapwood import viewer as viewer

_LOADED = ("constraints", "geometry", "laws", "problem")
_LOADED_WHEN_USED = (
    "bridge",
    "fem",
    "gymnasium",
    "invdyn",
    "jax",
    "lcp",
    "mujoco",
    "qp",
    "reference",
    "stepping",
    "studies",
    "torch",
    "trajectory",
    "viewer",
)
# names that are looked for here, by the module that has them
_ELSEWHERE = {
    "sapwood.mujoco": (
        "DifferentiableModel",
        "NotSupported",
        "Rollout",
        "StepError",
        "Stepper",
        "patch",
        "rollout",
    ),
    "sapwood.invdyn": ("InverseDynamics",),
    "sapwood.viewer": ("Viewer",),
}


def __getattr__(name: str) -> ModuleType:
    if name in _LOADED_WHEN_USED:
        return import_module(f"{__name__}.{name}")
    module = next((module for module, names in _ELSEWHERE.items() if name in names), "")
    hint = f": write {module}.{name}" if module else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_LOADED, *_LOADED_WHEN_USED})
