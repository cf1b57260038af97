"""The arm with a box in its hand: scene, plan, and what the quick version of its figure shows."""

from __future__ import annotations

import math

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("matplotlib")

from sapwood.mujoco import actuated_dofs
from sapwood.studies.experiments.figures import make_figure
from sapwood.studies.grasping import grasp
from sapwood.studies.grasping.controllers import CONTROLLERS
from sapwood.studies.grasping.grasp import CLOSED, GAINS, plan
from sapwood.studies.grasping.scene import EDGE, GRIP, MASS, N_JOINTS, arm, displacement, gripping
from sapwood.studies.plotting import read_steps, select
from sapwood.studies.plotting.grasp import dropped_at


def test_fingertips_touch_the_cube_on_two_faces():
    model = arm(1.0, 1e-3)
    data = gripping(model)
    mujoco.mj_forward(model, data)
    assert list(actuated_dofs(model)) == list(range(N_JOINTS))
    assert model.nv == N_JOINTS + 6
    assert math.isclose(model.body_mass.sum(), 1.1 + MASS)
    assert math.isclose(6000.0 * EDGE**3, MASS)
    assert displacement(data) < 1e-12
    assert data.ncon == 4
    assert np.all((data.contact.dist < 0.0) & (data.contact.dist > -2e-5))
    # each normal points from a fingertip into the cube: two along the hand's z, two against it
    hand = data.body("link_6").xmat.reshape(3, 3)
    normals = data.contact.frame[:, :3] @ hand
    assert np.allclose(np.abs(normals), [0.0, 0.0, 1.0], atol=1e-9)
    assert np.isclose(normals[:, 2].sum(), 0.0)


def test_moments_of_inertia_are_those_of_bodies():
    model = arm(1.0, 1e-3)
    moments = model.body_inertia[1:]
    assert np.all(2.0 * moments.max(axis=1) <= moments.sum(axis=1) * (1 + 1e-12))


def test_the_plan_is_consistent(rng):
    t, h = rng.uniform(0.0, 3.0), 1e-5
    (before, v_before, _), (q, v, a), (after, v_after, _) = (plan(t + s) for s in (-h, 0.0, h))
    assert np.allclose((after - before) / (2 * h), v, atol=1e-7)
    assert np.allclose((v_after - v_before) / (2 * h), a, atol=1e-6)
    assert np.array_equal(plan(0.0)[0][:7], np.full(7, math.pi / 2))
    assert np.all(q[7:] == CLOSED)


def test_an_arm_that_is_lost_ends_the_run(monkeypatch):
    """Feedback alone lets the arm sag by more than 0.03 rad within 0.1 s."""
    monkeypatch.setattr(grasp, "LOST", 0.03)
    rows = grasp.simulate("pid", 1.0, "dynamics", 0.2)
    assert 1 < rows.size < 20
    assert np.all(rows["position_error"][:-1] <= 0.03)
    assert rows["position_error"][-1] > 0.03


@pytest.fixture(scope="module")
def result(quick_results):
    return make_figure("id-18", quick_results, quick=True, progress=False)


@pytest.fixture
def run(result):
    """Rows of one run."""
    rows = read_steps(result.sweeps[0].csv)
    return lambda name, mu, fingers="dynamics": select(
        rows, controller=name, mu=mu, fingers=fingers
    )


@pytest.mark.slow
@pytest.mark.parametrize("mu", [1.0, 100.0])
def test_predicted_forces_track_far_better_than_feedback(run, mu):
    errors = {name: run(name, mu)["position_error"].mean() for name in CONTROLLERS}
    assert 10 * errors["qp_coulomb"] < errors["pid"]
    assert 10 * errors["qp_coulomb"] < errors["blind"]
    assert errors["blind"] < errors["pid"]
    for name in ("qp_coulomb", "pid", "sensed_1"):
        assert dropped_at(run(name, mu)) is None


@pytest.mark.slow
def test_the_grip_is_what_is_predicted_and_what_feedback_adds(run):
    """Four fingers press with K_p (0.785 - 0.775) on a lever of 5 cm cos 0.785 each."""
    squeeze = 4 * GAINS[0] * (GRIP - CLOSED) / (0.05 * math.cos(GRIP))
    rows = run("qp_coulomb", 100.0)
    settled = rows["time"] > 0.05
    added = (rows["normal_force"] - rows["predicted"])[settled].mean()
    assert 0.9 * squeeze < added < 1.1 * squeeze
    # by the feedback alone there is nothing else
    alone = run("qp_coulomb", 100.0, "feedback")["normal_force"][settled].mean()
    assert 0.8 * squeeze < alone < 1.2 * squeeze


@pytest.mark.slow
@pytest.mark.parametrize("mu", [1.0, 100.0])
def test_measured_forces_are_fed_back_to_the_fingers(run, mu):
    """The squeeze of each step is added to all that came before: the grip grows and grows."""
    force = run("sensed_1", mu)["normal_force"]
    assert np.all(np.diff(force) > 0.0)
    assert force[-1] > 10 * run("qp_coulomb", mu)["normal_force"][-1]
    assert (
        run("sensed_1", mu, "feedback")["normal_force"].max()
        < 2 * run("pid", mu)["normal_force"].max()
    )


def test_complementarity_does_not_squeeze_the_box_without_bounds():
    """In a pinch it has solutions with any force, of which Lemke's method may find a large one."""
    rows = grasp.simulate("lcp_coulomb", 100.0, "dynamics", 0.12)
    assert rows["time"][-1] == pytest.approx(0.12)
    assert rows["normal_force"].max() < 100.0
