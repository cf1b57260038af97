"""Inverse dynamics with rigid contact and friction (Zapolsky and Drumwright).

Torques and contact forces that realise desired joint accelerations, of any multibody system given
as arrays; the motion of what no motor moves comes with them::

    controller = InverseDynamics("qp_coulomb", actuated=range(6, 18), dt=1e-3)
    result = controller.solve(M, h, v, qdd_desired, J_n, J_t, mu)
    result.tau, result.forces, result.status

`forward` is the step of rigid contact that it inverts. The paper compares with `SensedForces` and
`Pid`. For MuJoCo models: ``sapwood.mujoco.inverse_dynamics``.
"""

from .controller import InverseDynamics
from .forward import forward
from .options import InvdynOptions
from .references import Pid, SensedForces
from .result import ContactState, InvdynStatus, InverseDynamicsResult, Residuals

__all__ = [
    "ContactState",
    "InvdynOptions",
    "InvdynStatus",
    "InverseDynamics",
    "InverseDynamicsResult",
    "Pid",
    "Residuals",
    "SensedForces",
    "forward",
]
