"""linearize: contacts that slip slowly, beside extrapolated differences of steps."""

import mujoco
import numpy as np
import pytest

from sapwood import SapSettings
from sapwood.mujoco import Stepper, linearize

# a light leg that turns against dry friction under a body, with a contact at its end; a ball falls
LEG = """
<mujoco>
  <option timestep=".005"/>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <body pos="0 0 .5">
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="slide" axis="0 0 1"/>
      <geom type="sphere" size=".1" mass="5" contype="0" conaffinity="0"/>
      <body name="leg">
        <joint axis="0 1 0" damping=".5" frictionloss=".01"/>
        <joint axis="1 0 0" damping=".5" frictionloss=".01"/>
        <geom type="capsule" fromto="0 0 0 .1 .05 -.45" size=".05" mass=".2"/>
      </body>
      <body pos="1 0 0">
        <joint type="slide" axis="0 0 1"/><geom type="sphere" size=".05" mass="1"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def make_stepper() -> Stepper:
    settings = SapSettings(relative_tolerance=1e-12, max_iterations=1000)
    return Stepper(mujoco.MjModel.from_xml_string(LEG), settings=settings)


def slip_slowly(
    stepper: Stepper, turn: list[float], slip: list[float], ball: float
) -> mujoco.MjData:
    """A state whose leg turns, rad/s, and slips, m/s, under a ball that falls by 1 m/s."""
    model, data = stepper.model, mujoco.MjData(stepper.model)
    data.qpos[2], data.qpos[5] = -1e-4, ball
    data.qvel[3:5] = turn
    mujoco.mj_forward(model, data)
    J = np.zeros((3, model.nv))
    leg = model.body("leg").id
    (at,) = (c.pos for c in data.contact if leg in model.geom_bodyid[c.geom])
    mujoco.mj_jac(model, data, J, None, at, leg)
    data.qvel[:3] = -(J @ data.qvel)
    data.qvel[:2] += slip
    data.qvel[5] = -1.0 - data.qvel[2]
    return data


def error_of(stepper: Stepper, data: mujoco.MjData) -> float:
    """Distance of A from the best of extrapolated differences, over its largest entry."""
    found = linearize(stepper, data)
    assert (found.contacts, found.status) == (1, "ok")
    errors = []
    for h in (1e-5, 1e-6, 1e-7):
        wide, narrow = (linearize(stepper, data, mode="difference", step=x).A for x in (h, h / 2))
        errors.append(np.abs((4.0 * narrow - wide) / 3.0 - found.A).max())
    return float(min(errors) / np.abs(found.A).max())


def random_slip(rng: np.random.Generator, speed: float) -> tuple[list[float], list[float]]:
    angle = rng.uniform(0.0, 2.0 * np.pi)
    return list(rng.normal(0.0, 1.0, 2)), [speed * np.cos(angle), speed * np.sin(angle)]


@pytest.mark.parametrize("speed", [3e-4, 3e-3])
def test_small_slips(rng: np.random.Generator, speed: float) -> None:
    """Sigma follows the slip, whose length bends; impulses at a fixed velocity bend with it."""
    stepper = make_stepper()
    for _ in range(8):
        data = slip_slowly(stepper, *random_slip(rng, speed), 1.0)
        assert error_of(stepper, data) <= 1e-9


def test_ball_that_one_side_of_a_difference_lists(rng: np.random.Generator) -> None:
    """Both sides of a difference take the same way, if an open contact is listed in one alone."""
    stepper = make_stepper()
    for _ in range(4):
        turn, slip = random_slip(rng, 3e-4)

        def state(ball: float) -> mujoco.MjData:
            return slip_slowly(stepper, turn, slip, ball)  # noqa: B023

        low, high = -0.449, 0.5
        assert [stepper.problem(state(x)).n_contacts for x in (low, high)] == [2, 1]
        while high - low > 1e-9:
            middle = (low + high) / 2
            if stepper.problem(state(middle)).n_contacts == 2:
                low = middle
            else:
                high = middle
        assert error_of(stepper, state(low)) <= 3e-7
