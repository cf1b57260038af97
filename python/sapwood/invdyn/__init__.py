"""Inverse dynamics with rigid contact and friction (Zapolsky and Drumwright), and task control.

Torques and contact forces that realise desired joint accelerations, of any multibody system given
as arrays; the motion of what no motor moves comes with them::

    controller = InverseDynamics("qp_coulomb", actuated=range(6, 18), dt=1e-3)
    result = controller.solve(M, h, v, qdd_desired, J_n, J_t, mu)
    result.tau, result.forces, result.status

`forward` is the step of rigid contact that it inverts. The paper compares with `SensedForces` and
`Pid`. For MuJoCo models: ``sapwood.mujoco.inverse_dynamics``, and whole-body control::

    control = TaskController(model, tasks=[JointTask(), BaseTask()])
    control.solve(data).apply(model, data)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sapwood.base.optional import imported_for

from .controller import InverseDynamics
from .forward import forward
from .options import InvdynOptions
from .references import Pid, SensedForces
from .result import ContactState, InvdynStatus, InverseDynamicsResult, Residuals

if TYPE_CHECKING:
    from .task_controller import TaskController, TaskResult, TaskStatus
    from .tasks import BaseTask, ComTask, FrameTask, JointTask

__all__ = [
    "BaseTask",
    "ComTask",
    "ContactState",
    "FrameTask",
    "InvdynOptions",
    "InvdynStatus",
    "InverseDynamics",
    "InverseDynamicsResult",
    "JointTask",
    "Pid",
    "Residuals",
    "SensedForces",
    "TaskController",
    "TaskResult",
    "TaskStatus",
    "forward",
]

# names that need MuJoCo, and their modules
_OF_MODELS = {
    "BaseTask": "tasks",
    "ComTask": "tasks",
    "FrameTask": "tasks",
    "JointTask": "tasks",
    "TaskController": "task_controller",
    "TaskResult": "task_controller",
    "TaskStatus": "task_controller",
}


def __getattr__(name: str) -> Any:
    if name not in _OF_MODELS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with imported_for(f"sapwood.invdyn.{name}", "mujoco"):
        module = import_module(f"{__name__}.{_OF_MODELS[name]}")
    return getattr(module, name)
