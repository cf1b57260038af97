"""Rollouts of worlds that have a model each, and MuJoCo's toolbox for identification with them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import rollout, sysid_rollout

BLOCK = """
<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="9 9 .1" friction=".01"/>
  <body name="block" pos="0 0 .1"><joint name="x" type="slide" axis="1 0 0" damping="{damping}"/>
    <joint type="slide" axis="0 0 1"/>
    <geom name="block" type="box" size=".1 .1 .1" mass="{mass}" friction="{friction}"/></body>
  </worldbody><actuator><motor joint="x"/></actuator>
  <sensor><jointpos name="place" joint="x"/><jointvel name="speed" joint="x"/></sensor></mujoco>
"""


def made(mass=2.0, friction=0.35, damping=3.0):
    text = BLOCK.format(mass=mass, friction=friction, damping=damping)
    return mujoco.MjModel.from_xml_string(text)


def start_of(model, speed=0.0):
    data = mujoco.MjData(model)
    data.qvel[0] = speed
    spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.empty(mujoco.mj_stateSize(model, spec))
    mujoco.mj_getState(model, data, state, spec)
    return state


@pytest.mark.parametrize("nthread", [1, 3])
def test_each_world_has_its_model(rng, nthread):
    light, heavy = made(), made(mass=5.0)
    models = [light, light, heavy, light]
    starts = np.array([start_of(light, speed) for speed in (0.0, 1.0, 1.0, 2.0)])
    forces = 10.0 * rng.standard_normal((4, 30, 1))
    result = rollout(models, starts, forces, nthread=nthread)
    assert result.converged
    assert result.sensordata.shape == (4, 30, 2)
    for k, model in enumerate(models):
        own = rollout(model, starts[k], forces[k], nthread=1)
        np.testing.assert_array_equal(result.state[k], own.state[0])
        np.testing.assert_array_equal(result.sensordata[k], own.sensordata[0])
        assert result.steps[k] == 30
    # one start and no controls for all
    shared = rollout(models, starts[1], nstep=5)
    assert shared.state.shape[:2] == (4, 5)
    assert not np.array_equal(shared.state[0], shared.state[2])


def test_failures_have_the_number_of_the_world():
    models = [made(), made(mass=3.0)]
    starts = np.array([start_of(models[0]), start_of(models[1])])
    starts[1, 1] = np.nan
    with pytest.warns(RuntimeWarning, match="worlds failed"):
        result = rollout(models, starts, nstep=3)
    assert [error.world for error in result.failures] == [1]
    assert np.isfinite(result.state[0]).all()
    assert np.isnan(result.state[1]).all()


def test_wrong_models():
    start = start_of(made())
    with pytest.raises(ValueError, match="model has length 0: there are no worlds"):
        rollout([], start, nstep=1)
    with pytest.raises(TypeError, match=r"model\[1\] must be a mujoco\.MjModel, not int"):
        rollout([made(), 1], start, nstep=1)
    other = mujoco.MjModel.from_xml_string("<mujoco/>")
    with pytest.raises(ValueError, match=r"model\[1\] has other elements than model\[0\]"):
        rollout([made(), other], start, nstep=1)
    with pytest.raises(ValueError, match="initial_state has length 3 along axis 0, model has 2"):
        rollout([made(), made()], np.tile(start, (3, 1)), nstep=1)


def test_the_toolbox_of_mujoco():
    """Its prediction with the true numbers is the run of our own stepper."""
    sysid = pytest.importorskip("mujoco.sysid")
    if not hasattr(sysid, "optimize"):
        pytest.skip("needs mujoco[sysid]")
    model = made()
    dt, n = model.opt.timestep, 60
    forces = 12.0 * np.sin(0.1 * np.arange(n + 1))[:, None]
    measured = rollout(model, start_of(model), forces[:-1]).sensordata[0]
    spec = mujoco.MjSpec.from_string(BLOCK.format(mass=2.0, friction=0.35, damping=3.0))
    parameters = sysid.ParameterDict()
    parameters.add(
        sysid.Parameter(
            "mass", nominal=2.0, min_value=0.5, max_value=9.0,
            modifier=lambda s, p: setattr(s.geom("block"), "mass", p.value[0]),
        )
    )  # fmt: skip
    sequences = sysid.ModelSequences(
        "block", spec, "pushed", start_of(model), sysid.TimeSeries(dt * np.arange(n + 1), forces),
        sysid.TimeSeries.from_names(dt * np.arange(1, n + 1), measured, model),
    )  # fmt: skip
    residual = sysid.build_residual_fn(
        models_sequences=[sequences], custom_rollout=sysid_rollout(nthread=1), n_threads=1
    )
    assert np.abs(np.concatenate(residual(np.array([2.0]), parameters)[0])).max() <= 1e-12
    parameters["mass"].value[:] = 3.0  # above 3.5 kg friction holds it, whatever its mass
    found, _ = sysid.optimize(parameters, residual, verbose=False)
    assert found["mass"].value[0] == pytest.approx(2.0, abs=1e-4)
    again = pickle.loads(pickle.dumps(sysid_rollout(nthread=1)))
    copied = sysid.build_residual_fn(
        models_sequences=[sequences], custom_rollout=again, n_threads=1
    )
    assert np.abs(np.concatenate(copied(np.array([2.0]), parameters)[0])).max() <= 1e-12
    with pytest.raises(TypeError, match="frictn: sysid_rollout has no such option"):
        sysid_rollout(frictn="convex")
    fails = sysid_rollout(settings=1)
    broken = sysid.build_residual_fn(
        models_sequences=[sequences], custom_rollout=fails, n_threads=1
    )
    with pytest.raises(TypeError, match="settings must be"):
        broken(np.array([2.0]), parameters)
