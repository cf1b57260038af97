"""The scenes: what they hold, that they begin without overlap, and that seeds decide."""

from __future__ import annotations

import math

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import Stepper
from sapwood.studies import scenes

ALL = {
    "clutter": lambda: scenes.clutter(),
    "open clutter": lambda: scenes.clutter(40, walls=False),
    "box_on_slope": lambda: scenes.box_on_slope(0.3, 0.5),
    "sliding_box": lambda: scenes.sliding_box(1.0, 0.5),
    "sphere_on_floor": lambda: scenes.sphere_on_floor(),
    "free_flight": lambda: scenes.free_flight(),
    "free_flight_chain": lambda: scenes.free_flight(chain=True),
    "humanoids": lambda: scenes.humanoids(3),
}


@pytest.mark.parametrize("name", ALL)
def test_scenes_run_and_begin_without_overlap(name):
    model = ALL[name]().compile()
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert (data.contact.dist >= -1e-12).all()
    assert model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC
    stepper = Stepper(model)
    for _ in range(20):
        stepper.step(data)
    assert np.isfinite(data.qpos).all()
    assert stepper.stalled_steps == stepper.iteration_limit_steps == 0


@pytest.mark.parametrize("bodies", [0, 1, 4, 41, 200])
def test_clutter_is_that_of_the_paper(bodies):
    model = scenes.clutter(bodies, seed=bodies).compile()
    assert model.nv == 6 * bodies
    assert model.opt.timestep == 0.01
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.ncon == 0

    # spheres of 5 cm (0.524 kg) and boxes of 10 cm (1 kg), friction 1
    geoms = np.flatnonzero(model.geom_bodyid > 0)
    spheres = model.geom_type[geoms] == mujoco.mjtGeom.mjGEOM_SPHERE
    masses = model.body_mass[model.geom_bodyid[geoms]]
    np.testing.assert_allclose(masses[spheres], 4 / 3 * math.pi * 0.05**3 * 1000)
    np.testing.assert_allclose(masses[~spheres], 1.0)
    np.testing.assert_array_equal(model.geom_size[geoms[~spheres]], 0.05)
    np.testing.assert_array_equal(model.geom_friction[:, 0], 1.0)
    if bodies >= 40:
        assert 0.25 < spheres.mean() < 0.75

    # four columns with as many bodies each, but for the remainder, within the walls
    columns = np.sign(data.qpos.reshape(-1, 7)[:, :2]).astype(int)
    counts = np.unique(columns, axis=0, return_counts=True)[1]
    assert len(counts) == min(bodies, 4)
    assert np.ptp(counts) <= 1 if bodies else True
    assert (np.abs(data.qpos.reshape(-1, 7)[:, :2]) < scenes.BOX_SIZE / 2 - 0.1).all()


def test_clutter_material_is_near_rigid():
    model = scenes.clutter(4, time_step=0.004).compile()
    data = mujoco.MjData(model)
    stepper = Stepper(model, speculative=False)
    while stepper.n_contacts == 0:
        stepper.step(data)
    problem = stepper.problem(data)
    np.testing.assert_allclose(problem.k, scenes.CLUTTER_STIFFNESS / 2)
    np.testing.assert_allclose(problem.tau_d, 0.004)
    np.testing.assert_allclose(problem.mu, 1.0)
    assert problem.dt == 0.004


def test_walls_close_the_box():
    """Eighty centimetres inside, without gaps at the corners or at the floor."""
    model = scenes.clutter(0, walls=True).compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for angle in np.linspace(0, 2 * math.pi, 73):
        for height in (0.0, 0.4, 0.799):
            hit = np.zeros(1, dtype=np.int32)
            distance = mujoco.mj_ray(
                model, data, [0, 0, height], [math.cos(angle), math.sin(angle), 0],
                None, 1, -1, hit,
            )  # fmt: skip
            inner = 0.4 / max(abs(math.cos(angle)), abs(math.sin(angle)))
            assert distance == pytest.approx(inner, rel=1e-9)
    assert scenes.clutter(0, walls=False).compile().ngeom == 1


def same(first, second):
    a, b = first.compile(), second.compile()
    if a.nq != b.nq or not np.array_equal(a.geom_type, b.geom_type):
        return False
    return np.array_equal(a.qpos0, b.qpos0) and np.array_equal(a.key_qvel, b.key_qvel)


@pytest.mark.parametrize("make", [scenes.clutter, scenes.free_flight])
def test_seeds_decide(make):
    assert same(make(16, seed=3), make(16, seed=3))
    assert not same(make(16, seed=3), make(16, seed=4))


@pytest.mark.parametrize(
    ("make", "arguments", "error", "message"),
    [
        (scenes.clutter, {"bodies": -1}, ValueError, "bodies = -1: must be >= 0"),
        (scenes.clutter, {"bodies": 2.5}, TypeError, "bodies must be an integer, not float"),
        (scenes.clutter, {"bodies": "a"}, TypeError, "bodies must be an integer, not str"),
        (scenes.clutter, {"bodies": True}, TypeError, "bodies must be an integer, not bool"),
        (scenes.clutter, {"seed": -1}, ValueError, "seed = -1: must be >= 0"),
        (scenes.clutter, {"seed": None}, TypeError, "seed must be an integer, not NoneType"),
        (scenes.clutter, {"time_step": 0.0}, ValueError, "time_step = 0: must be finite and > 0"),
        (scenes.clutter, {"time_step": "a"}, TypeError, "time_step must hold real numbers"),
        (scenes.free_flight, {"bodies": -1}, ValueError, "bodies = -1: must be >= 0"),
        (scenes.free_flight, {"seed": -1}, ValueError, "seed = -1: must be >= 0"),
        (scenes.humanoids, {"count": "a"}, TypeError, "count must be an integer, not str"),
    ],
)
def test_wrong_arguments_are_named(make, arguments, error, message):
    with pytest.raises(error, match=f"^{message}"):
        make(**arguments)


def test_free_flight_meets_in_the_middle():
    model = scenes.free_flight(8).compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    assert (model.opt.gravity == 0).all()
    stepper = Stepper(model)
    struck = set()
    for _ in range(250):
        stepper.step(data)
        struck |= set(model.geom_bodyid[data.contact.geom].ravel().tolist())
    assert len(struck) >= 8
