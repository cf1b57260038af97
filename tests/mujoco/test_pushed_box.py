"""A box that slides on a floor stays on it, and slides as Coulomb's law says."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import Stepper

MASS, G, SECONDS = 2.0, 9.81, 3.0

BOX = """<mujoco><option timestep="{dt}"/><worldbody>
  <geom type="plane" size="20 20 1" friction="{mu}"/>
  <body pos="0 0 .01"><freejoint/>
    <geom type="box" size=".05 .05 .01" mass="2" friction="{mu}"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("dt", [2e-3, 1e-2])
@pytest.mark.parametrize(("mu", "force", "speed"), [(0.5, 12.0, 0.0), (0.8, 0.0, 2.0)])
def test_a_sliding_box_stays_down(dt, mu, force, speed):
    """Nothing but the default stepper: it comes to rest for 0.2 s, and is pushed or set going."""
    model = mujoco.MjModel.from_xml_string(BOX.format(dt=dt, mu=mu))
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, round(0.2 / dt))
    data.xfrc_applied[1, 0] = force
    data.qvel[0] = speed
    height, normal, velocity = [], [], []
    for _ in range(round(SECONDS / dt)):
        stepper.step(data)
        height.append(data.qpos[2] - 0.01)
        normal.append(stepper.contacts.force[:, 2].sum())
        velocity.append(data.qvel[0])
    time = dt * np.arange(1, 1 + len(velocity))
    exact = np.maximum(speed + (force / MASS - mu * G) * time, 0.0)
    assert max(height) < 1e-4
    np.testing.assert_allclose(normal, MASS * G, rtol=0.01)
    np.testing.assert_allclose(velocity, exact, rtol=0, atol=1e-3 * max(exact))
    assert stepper.steps == round(0.2 / dt) + round(SECONDS / dt)
    assert stepper.friction_limit_steps == stepper.stalled_steps == 0
