"""MuJoCo models by the schemes of the theta-method."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import ELEMENTS, MIXED, take_explicit_rotation
from sapwood.mujoco import NotSupported, Rollout, StepError, Stepper
from sapwood.stepping import SCHEMES, FreeMotionError, Scheme, SpringCylinder, ThetaStepper
from stepping_models import ORDERS, Pendulum, Top, advance

all_schemes = pytest.mark.parametrize("scheme", SCHEMES)
other_schemes = pytest.mark.parametrize("scheme", [s for s in SCHEMES if s != "symplectic_euler"])

# the thetas of the default, but not by its name: its steps are taken in Python
SAME_THETAS = Scheme("in Python", 0.0, 0.0, 1.0)
TIGHT = sapwood.SapSettings(relative_tolerance=1e-12)


def compiled(xml):
    return mujoco.MjModel.from_xml_string(xml)


def moved(stepper, steps, start=None):
    """Data after some steps."""
    data = mujoco.MjData(stepper.model)
    if start is not None:
        start(data)
    for _ in range(steps):
        stepper.step(data)
    return data


# ---- against models of which all is known ------------------------------------------------------

CYLINDER = """
<mujoco><option gravity="0 0 -9.81"/><worldbody>
  <geom type="plane" size="5 5 1" margin=".1"/>
  <body pos="0 0 .05">
    <joint name="x" type="slide" axis="1 0 0" stiffness="100"/>
    <joint name="z" type="slide" axis="0 0 1"/>
    <joint name="angle" type="hinge" axis="0 1 0"/>
    <inertial mass=".5" pos="0 0 0" diaginertia="1 .000625 1"/>
    <geom size=".05" friction="1"/>
  </body>
</worldbody></mujoco>
"""


class MujocoCylinder(SpringCylinder):
    """MuJoCo puts the point of contact in the middle of the overlap."""

    def contacts(self, q):
        found = super().contacts(q)
        J = found.J.copy()
        J[2] = -(self.R + found.phi[0] / 2)
        return dataclasses.replace(found, J=J)


@pytest.mark.parametrize("friction", ["convex", "coulomb"])
@all_schemes
def test_spring_cylinder_is_the_analytic_one(scheme, friction):
    """A sphere that moves in a plane has the point of contact of the cylinder."""
    settings = dataclasses.replace(TIGHT, friction=friction)
    # two equal materials in series
    material = sapwood.ContactMaterial(stiffness=2e4, dissipation_time=0.02, friction=1.0)
    stepper = Stepper(
        compiled(CYLINDER),
        time_step=0.01,
        contact=material,
        sigma=1e-3,
        scheme=scheme,
        settings=settings,
        friction=friction,
    )
    model = MujocoCylinder()
    state = model.start()

    def start(data):
        data.qpos[:] = state.q - [0.0, 0.05, 0.0]

    data = moved(stepper, 100, start)
    exact = advance(ThetaStepper(model, 0.01, scheme, settings=settings), state, 100)
    np.testing.assert_allclose(data.qpos + [0.0, 0.05, 0.0], exact.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(data.qvel, exact.v, rtol=0, atol=1e-8)
    assert data.time == pytest.approx(1.0)


def pendulum_error(scheme, n):
    known = Pendulum()
    model = compiled(f"""
    <mujoco><option gravity="0 0 -{known.g}"/><worldbody><body>
      <joint type="hinge" axis="0 1 0"/><geom size=".1" contype="0"/>
      <inertial pos="0 0 -{known.l}" mass="{known.m}" diaginertia="1e-9 1e-9 1e-9"/>
    </body></worldbody></mujoco>""")

    def start(data):
        data.qpos[0] = known.amplitude

    data = moved(Stepper(model, time_step=0.5 / n, scheme=scheme), n, start)
    return abs(data.qpos[0] - known.exact(0.5)[0])


def top_error(scheme, n):
    known = Top()
    model = compiled("""
    <mujoco><option gravity="0 0 0"/><worldbody><body>
      <joint type="ball"/><geom size=".1" contype="0"/>
      <inertial pos="0 0 0" mass="1" diaginertia="1 1 1.8"/>
    </body></worldbody></mujoco>""")

    def start(data):
        data.qvel[:] = known.start().v

    data = moved(Stepper(model, time_step=0.5 / n, scheme=scheme), n, start)
    return np.linalg.norm(data.qpos - known.exact(0.5))


@all_schemes
@pytest.mark.parametrize("error", [pendulum_error, top_error])
def test_order_of_free_motion(error, scheme):
    errors = [error(scheme, n) for n in (100, 200)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[scheme], abs=0.15)


def test_midpoint_conserves_what_a_free_body_conserves():
    """Energy and angular momentum of a tumbling box, to the tolerance of the free motion."""
    model = compiled("""
    <mujoco><option gravity="0 0 0"/><worldbody><body><freejoint/>
      <geom type="box" size=".1 .2 .3"/>
    </body></worldbody></mujoco>""")
    stepper = Stepper(model, time_step=0.02, scheme="midpoint")

    def start(data):
        data.qvel[:] = 0.3, -0.2, 0.1, 3.0, 2.0, -1.0

    ends = [moved(stepper, steps, start) for steps in (0, 300)]
    inertia = model.body_inertia[1]
    for power in (1, 2):
        first, last = (np.sum((inertia**power) * data.qvel[3:] ** 2) for data in ends)
        assert last == pytest.approx(first, rel=1e-9)


# ---- against the default -----------------------------------------------------------------------


DEFAULTS = {
    "elliptic": MIXED.format(cone="elliptic"),
    "pyramidal": MIXED.format(cone="pyramidal"),
    "elements": ELEMENTS.format(cone="elliptic", jacobian="sparse"),
    "elements, dense": ELEMENTS.format(cone="pyramidal", jacobian="dense"),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_default_in_python_is_the_default(name, monkeypatch):
    """Everything that a step leaves in the data, where no joint is damped, no actuator has feedback
    and gyroscopic torques are explicit: these the default takes as implicit."""
    model = compiled(DEFAULTS[name])
    take_explicit_rotation(monkeypatch)
    model.dof_damping[:] = 0.0
    options = {
        "contact": sapwood.ContactMaterial(stiffness=1e5),
        # R_t of what hardly slips is 1e-6 w, and impulses from velocities have ten digits
        "settings": dataclasses.replace(TIGHT, relative_tolerance=1e-11),
        "implicit_actuators": False,
        "speculative": False,
        "release_speed": np.inf,
    }
    steppers = [Stepper(model, scheme=s, **options) for s in ("symplectic_euler", SAME_THETAS)]

    def start(data):
        data.qvel[:] = np.random.default_rng(3).normal(0.0, 0.2, model.nv)
        data.ctrl[:] = 0.05

    one, two = (moved(stepper, 30, start) for stepper in steppers)
    assert steppers[0].n_contacts >= 4
    for field in ("qpos", "qvel", "qacc", "qfrc_constraint", "efc_force", "sensordata", "act"):
        expected = getattr(one, field)
        size = 1.0 + np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(
            getattr(two, field), expected, rtol=0, atol=1e-7 * size, err_msg=field
        )
    assert one.time == two.time
    contacts = [stepper.contacts for stepper in steppers]
    np.testing.assert_array_equal(contacts[1].index, contacts[0].index)
    pairs = [(contacts, ("distance", "slip_speed", "force"))]
    groups = [stepper.constraints for stepper in steppers]
    assert len(groups[0]) == len(groups[1]) == (3 if "elements" in name else 0)
    for pair in zip(*groups, strict=True):
        assert (pair[0].kind, pair[0].names) == (pair[1].kind, pair[1].names)
        pairs.append((pair, ("position", "velocity", "force")))
    for (expected, found), fields in pairs:
        for field in fields:
            e, f = getattr(expected, field), getattr(found, field)
            np.testing.assert_allclose(f, e, rtol=0, atol=1e-6 * (1 + np.abs(e).max()))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["implicit_euler", "midpoint"])
def test_all_elements_together(scheme):
    """Equality constraints and limits hold to half a millimetre or milliradian, near-rigid as they
    are, with actuators that couple trees."""
    model = compiled(ELEMENTS.format(cone="elliptic", jacobian="sparse"))
    stepper = Stepper(model, scheme=scheme)
    data = mujoco.MjData(model)
    assert stepper.run(data, 200).converged
    assert len(stepper.problem(data).tree_nv) < model.ntree
    for group in stepper.constraints:
        if group.kind == "bilateral":
            assert np.abs(group.position).max() < 5e-4
        if group.kind == "limit":
            assert group.position.min() > -5e-4
    # the pin, by the sites that it holds together
    mujoco.mj_kinematics(stepper.model, data)
    gap = data.site("end").xpos - data.site("anchor").xpos
    assert np.linalg.norm(gap) < 5e-4
    angle = data.joint("shoulder").qpos[0]
    assert np.radians(-40) - 5e-4 < angle < np.radians(50) + 5e-4


def test_the_default_is_by_name():
    model = compiled(CYLINDER)
    assert type(Stepper(model)._steps) is type(Stepper(model, scheme="symplectic_euler")._steps)


# ---- forces with slopes ------------------------------------------------------------------------


def test_trees_that_a_spring_couples_are_solved_together():
    """A tendon between two balls that lie on the floor, with a third ball between them."""
    balls = "".join(
        f'<body pos="{x} 0 .1"><joint name="{name}" type="slide" axis="1 0 0"/>'
        f'<joint type="slide" axis="0 0 1"/><geom size=".1"/></body>'
        for name, x in (("a", 0), ("b", 1), ("c", 2), ("d", 3))
    )
    model = compiled(f"""
    <mujoco><worldbody><geom type="plane" size="5 5 1"/>{balls}</worldbody>
    <tendon><fixed stiffness="1e4"><joint joint="a" coef="1"/><joint joint="c" coef="-1"/></fixed>
    </tendon></mujoco>""")
    stepper = Stepper(model, time_step=0.01, scheme="midpoint")
    data = mujoco.MjData(model)
    data.qpos[0] = 0.02
    problem = stepper.problem(data)
    np.testing.assert_array_equal(problem.tree_nv, [6, 2])
    assert problem.n_contacts == 4
    A, J = problem.to_dense()
    mass = model.body_mass[1]
    K = np.zeros((8, 8))
    K[np.ix_([0, 4], [0, 4])] = 1e4 * np.array([[1, -1], [-1, 1]])
    np.testing.assert_allclose(A, mass * np.eye(8) + 0.01**2 / 4 * K, rtol=1e-12, atol=1e-12)
    # each ball touches the floor below it
    for i in range(4):
        np.testing.assert_allclose(np.abs(J[3 * i + 2]), np.eye(8)[2 * i + 1], atol=1e-12)
        np.testing.assert_allclose(np.abs(J[3 * i : 3 * i + 2]).sum(axis=0), np.eye(8)[2 * i])
    # the spring turns no momentum into any other
    for _ in range(20):
        stepper.step(data)
    assert data.qvel[[0, 4]].any()
    assert not data.qvel[[2, 6]].any()


SERVO = """
<mujoco><option gravity="0 0 0"/><worldbody>
  <body><joint name="x" type="slide" axis="1 0 0"/><geom size=".1" mass="2"/></body>
</worldbody><actuator><position joint="x" kp="1e7" kv="1e3" forcerange="{}"/></actuator></mujoco>
"""


def test_stiff_actuator_is_stable_and_stops_at_its_limit():
    """1e7 N/m at 10 ms, which explicit forces would blow up; at the limit the force is constant."""

    def pull(limits, steps):
        stepper = Stepper(compiled(SERVO.format(limits)), time_step=0.01, scheme="implicit_euler")
        return moved(stepper, steps, lambda data: np.copyto(data.ctrl, 0.3))

    assert pull("-1e9 1e9", 200).qpos[0] == pytest.approx(0.3, abs=1e-6)
    np.testing.assert_allclose(pull("-4 4", 5).qvel[0], 5 * 0.01 * 4.0 / 2.0, rtol=1e-12)


# ---- steps -------------------------------------------------------------------------------------


@other_schemes
def test_forces_sensors_and_counts(scheme):
    """Weight on the floor, read in every way that there is."""
    model = compiled("""
    <mujoco><worldbody><geom type="plane" size="1 1 1"/>
      <body pos="0 0 .0999"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/>
        <site name="s" type="box" size=".2 .2 .2"/></body></worldbody>
      <sensor><touch site="s"/></sensor></mujoco>""")
    stepper = Stepper(model, time_step=0.01, scheme=scheme)
    steps = 400 if scheme == "explicit_euler" else 100
    data = mujoco.MjData(stepper.model)
    # explicit Euler moves by old velocities: softer, and well damped
    result = stepper.run(data, steps)
    assert result.steps == stepper.steps == steps
    assert result.converged
    np.testing.assert_allclose(result.time, 0.01 * np.arange(1, steps + 1))
    assert np.all(result.contacts[-1] == stepper.n_contacts)
    total = sum(contact_force(stepper, data, i)[0] for i in range(data.ncon))
    np.testing.assert_allclose(stepper.contacts.force[:, 2].sum(), total, rtol=1e-12)
    np.testing.assert_allclose(data.sensordata[0], total, rtol=1e-12)
    np.testing.assert_allclose(data.qfrc_constraint[2], total, rtol=1e-9)
    if scheme != "explicit_euler":
        assert total == pytest.approx(2 * 9.81, rel=1e-6)
        assert np.abs(data.qvel).max() < 1e-8
    assert str(stepper.solution).startswith("converged")


def contact_force(stepper, data, i):
    force = np.zeros(6)
    mujoco.mj_contactForce(stepper.model, data, i, force)
    return force


def test_activations_and_callbacks_go_on():
    model = compiled("""
    <mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body>
    </worldbody><actuator><general joint="j" dyntype="integrator"/></actuator></mujoco>""")
    stepper = Stepper(model, time_step=0.01, scheme="midpoint")
    calls = []

    def control(_model, data):
        calls.append(data.time)
        data.ctrl[0] = 2.0

    mujoco.set_mjcb_control(control)
    try:
        data = moved(stepper, 10)
    finally:
        mujoco.set_mjcb_control(None)
    np.testing.assert_allclose(calls, 0.01 * np.arange(10), atol=1e-15)
    assert data.act[0] == pytest.approx(0.2)


# ---- what goes wrong ---------------------------------------------------------------------------

FALLING = """
<mujoco><worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 .09"><freejoint/><geom size=".1"/></body></worldbody></mujoco>
"""


def without_solution(_model, data):
    data.qfrc_passive[0] += 1e3 * (1.0 + data.qvel[0] ** 2) * (data.time > 0.025)


def test_newton_failure_leaves_the_state_before_the_step():
    stepper = Stepper(compiled(FALLING), time_step=0.01, scheme="implicit_euler")
    data = mujoco.MjData(stepper.model)
    mujoco.set_mjcb_passive(without_solution)
    try:
        with pytest.raises(
            StepError, match=r"step 3 at time 0\.03 s: free motion \(implicit_e"
        ) as raised:
            stepper.run(data, 10)
        before = data.qpos.copy(), data.qvel.copy(), data.time
        with pytest.raises(StepError, match="residual"):
            stepper.step(data)
    finally:
        mujoco.set_mjcb_passive(None)
    assert isinstance(raised.value.__cause__, FreeMotionError)
    assert stepper.last_run.steps == stepper.steps == 3
    np.testing.assert_array_equal(data.qpos, before[0])
    np.testing.assert_array_equal(data.qvel, before[1])
    stepper.step(data)
    assert data.time == pytest.approx(0.04)


def test_ctrl_c_keeps_the_steps_before_it():
    stepper = Stepper(compiled(FALLING), scheme="midpoint")
    data = mujoco.MjData(stepper.model)

    def press(_model, data):
        if data.time > 0.019:
            raise KeyboardInterrupt

    mujoco.set_mjcb_control(press)
    try:
        with pytest.raises(KeyboardInterrupt):
            stepper.run(data, 100)
    finally:
        mujoco.set_mjcb_control(None)
    assert 0 < stepper.last_run.steps < 100
    assert data.time == pytest.approx(stepper.last_run.time[-1])


def test_bad_states_are_named():
    stepper = Stepper(compiled(FALLING), scheme="midpoint")
    data = mujoco.MjData(stepper.model)
    data.qvel[1] = np.nan
    with pytest.raises(StepError, match=r"qvel\[1\] = nan"):
        stepper.step(data)
    stepper.model.opt.timestep = 0.1
    data.qvel[1] = 0.0
    with pytest.raises(ValueError, match="timestep"):
        stepper.step(data)


def test_what_is_not_supported_is_refused():
    model = compiled(FALLING)
    with pytest.raises(ValueError, match="scheme = 'leapfrog'"):
        Stepper(model, scheme="leapfrog")
    with pytest.raises(TypeError, match="scheme must be"):
        Stepper(model, scheme=0.5)
    with pytest.raises(NotSupported, match="rollouts are by symplectic_euler"):
        Rollout(model, scheme="midpoint")
    if hasattr(mujoco.MjModel, "jnt_springyield"):
        plastic = compiled("""
        <mujoco><worldbody><body><joint name="bend" stiffness="1" springyield=".1"/>
        <geom size=".1"/></body></worldbody></mujoco>""")
        Stepper(plastic)
        with pytest.raises(
            NotSupported, match="scheme midpoint cannot take plastic springs: joint 'bend'"
        ):
            Stepper(plastic, scheme="midpoint")
    plugin = compiled("""
    <mujoco><extension><plugin plugin="mujoco.pid"><instance name="pid"/></plugin></extension>
    <worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
    <actuator><plugin joint="j" plugin="mujoco.pid" instance="pid"/></actuator></mujoco>""")
    Stepper(plugin)
    with pytest.raises(NotSupported, match="scheme midpoint cannot take plugin 'pid'"):
        Stepper(plugin, scheme="midpoint")
