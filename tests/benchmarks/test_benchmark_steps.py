"""The benchmark of a simulation step: its scenes, its parts and its files."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from benchmarks import rows, scenes, steps
from benchmarks.windows import Window
from sapwood.mujoco import Stepper
from sapwood.studies.peers.mujoco_variants import recommended_model


@pytest.mark.parametrize(
    "name", ["clutter-5", "open-5", "humanoids-1", "quadrupeds-2", "wall-3", "rope-6"]
)
def test_scenes_come_to_rest_on_the_floor(name):
    kind, size = scenes.parse(name)
    assert kind.early(size) < kind.late(size)
    window = Window(kind, size, 2)
    window.move_to(kind.late(size))
    assert window.contacts >= 3
    for _ in range(3):
        window.leave()
    model, data = window.model, window.data
    assert data.xpos[1:, 2].min() > 0.0
    # all but what rolls away
    ball = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "ball")
    resting = model.dof_bodyid != ball if ball >= 0 else np.ones(model.nv, dtype=bool)
    assert np.median(np.abs(data.qvel[resting])) < 0.05
    assert np.abs(data.qvel).max() < 20.0


def test_window_is_the_same_every_time():
    """Our steps, MuJoCo's stages and MuJoCo's steps all begin at the start of the window."""
    kind, size = scenes.parse("clutter-5")
    window = Window(kind, size, 4)
    window.move_to(1.0)
    start = window.data.time - 4 * window.stepper.time_step

    def end(call):
        call()
        return window.data.time, window.data.qpos.copy()

    ends = [end(call) for call in (window.ours, window.leave, window.ours)]
    for time, qpos in ends:
        assert time == ends[0][0]
        np.testing.assert_array_equal(qpos, ends[0][1])
    np.testing.assert_allclose(ends[0][0] - start, 4 * window.stepper.time_step)

    # the stages, then one step of MuJoCo's own
    window.stages()
    np.testing.assert_allclose(window.data.time, ends[0][0])
    window.mujoco_steps(window.default_model(), 4)
    np.testing.assert_allclose(window.data.time, ends[0][0])
    assert 0.0 < window.solve < 1.0
    # the same numbers as steps one by one
    window.restore()
    alone = Stepper(window.model, friction="convex")
    for _ in range(4):
        alone.step(window.data)
    np.testing.assert_array_equal(window.data.qpos, ends[0][1])


def test_matched_model_has_our_regularization():
    """R_n = beta^2/(4 pi^2) A, R_t = sigma A, and the reference velocity -phi0/(dt + tau_d)."""
    kind, size = scenes.parse("clutter-5")
    window = Window(kind, size, 1)
    window.move_to(kind.late(size))
    sigma, beta = 1e-2, 0.7
    model, data = window.matched_model(sigma, beta), window.data
    window.restore()
    mujoco.mj_forward(model, data)
    assert data.ncon >= 5
    dt = model.opt.timestep
    # its name before MuJoCo 4
    estimates = data.efc_diagA if hasattr(data, "efc_diagA") else data.efc_diagApprox
    for contact in data.contact:
        n = contact.efc_address
        estimate = estimates[n]
        np.testing.assert_allclose(data.efc_R[n], beta**2 / (4 * np.pi**2) * estimate, rtol=1e-9)
        np.testing.assert_allclose(data.efc_R[n + 1 : n + 3], sigma * estimate, rtol=1e-9)
        # reference accelerations: (v_hat - v)/dt
        v_hat = np.array([-contact.dist / (2 * dt), 0.0, 0.0])
        np.testing.assert_allclose(
            data.efc_aref[n : n + 3], (v_hat - data.efc_vel[n : n + 3]) / dt, rtol=1e-9, atol=1e-9
        )


def test_recommended_options_reach_pairs_and_flexes():
    """MuJoCo reads the parameters of such contacts from arrays of their own. It refuses elastic
    flexes under implicitfast.
    """
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body pos="0 0 .05"><freejoint/><geom name="ball" size=".1"/></body>
      <flexcomp name="sheet" type="grid" count="3 3 1" spacing=".1 .1 .1" pos="1 0 -.01"
        radius=".02" dim="2"><contact selfcollide="none"/>
        <elasticity young="1e4" thickness=".01" elastic2d="both"/></flexcomp></worldbody>
    <contact><pair geom1="floor" geom2="ball"/></contact></mujoco>""")
    model = recommended_model(model)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data)
    kinds = {bool(flex.max() >= 0) for flex in data.contact.flex}
    assert kinds == {False, True}
    np.testing.assert_array_equal(data.contact.solref, np.tile([5e-3, 1.0], (data.ncon, 1)))
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_EULER


@pytest.mark.slow
def test_quick_run(quick):
    out, _ = quick("steps")
    measured = rows.read(out / "steps.csv", steps.Row)
    assert [(row.scene, row.window) for row in measured] == [
        (scene, window) for scene in ("clutter-4", "quadrupeds-1") for window in ("early", "late")
    ]
    for row in measured:
        assert row.how in ("run", "step")
        np.testing.assert_allclose(row.stages + row.solve + row.rest, row.step)
        assert min(row.stages, row.solve) > 0.0
        assert min(row.mj_default, row.mj_recommended, row.mj_matched) > 0.0
        assert row.step <= row.step_median
        assert row.contacts > 0
        assert 1 <= row.samples <= 2
    assert "processor" in (out / "steps.json").read_text(encoding="utf-8")
