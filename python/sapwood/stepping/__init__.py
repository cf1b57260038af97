"""Time stepping by the theta-method, section IV, with contact by the solver of this package.

A model is anything with the few methods of :class:`Model`; a step has two stages: the free motion,
by Newton's method where the scheme is implicit, and contact, by the convex problem (17) in the
linearized momentum of Eq. (14)::

    model = sapwood.stepping.SpringCylinder()
    stepper = sapwood.stepping.ThetaStepper(model, 0.02, "midpoint")
    state = model.start()
    while state.time < 1.0:
        state = stepper.step(state)

MuJoCo models take the same schemes: ``sapwood.mujoco.Stepper(model, scheme="midpoint")``.
"""

from sapwood.stepping.contact_stage import contact_problem
from sapwood.stepping.free_motion import FreeMotion, FreeMotionError, SteppingError, free_motion
from sapwood.stepping.model import Contacts, Dynamics, FreeModel, Model
from sapwood.stepping.quaternions import integrate_quaternion
from sapwood.stepping.schemes import SCHEMES, Scheme
from sapwood.stepping.spring_cylinder import SpringCylinder
from sapwood.stepping.theta import State, ThetaStepper

__all__ = [
    "SCHEMES",
    "Contacts",
    "Dynamics",
    "FreeModel",
    "FreeMotion",
    "FreeMotionError",
    "Model",
    "Scheme",
    "SpringCylinder",
    "State",
    "SteppingError",
    "ThetaStepper",
    "contact_problem",
    "free_motion",
    "integrate_quaternion",
]
