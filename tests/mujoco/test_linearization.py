"""linearize: A and B of a step beside central differences of steps."""

from typing import Any

import mujoco
import numpy as np
import pytest

import mujoco_steps
from sapwood import ContactMaterial, RigidCore, SapSettings
from sapwood.mujoco import Stepper, linearize, linearize_batch
from sapwood.mujoco.stepper import Stepper as _Stepper

EXACT = SapSettings(relative_tolerance=1e-11, max_iterations=1000)

BOX = """
<mujoco>
  <option timestep="{dt}" integrator="{integrator}"/>
  <worldbody>
    <geom type="plane" size="2 2 .1" friction="0.5"/>
    <body name="box" pos="0 0 {height}">
      <freejoint/>
      <geom type="box" size=".1 .15 .1" mass="1" friction="0.5"/>
    </body>
  </worldbody>
</mujoco>
"""

# a ball joint, implicit and explicit actuators, an activation, a limit, an equality constraint,
# damping, friction loss and a tendon
ARM = """
<mujoco>
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <geom type="plane" size="2 2 .1" friction="0.6"/>
    <body pos="0 0 .5">
      <joint name="ball" type="ball" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass="1" contype="0" conaffinity="0"/>
      <body pos=".3 0 0">
        <joint name="elbow" axis="0 1 0" range="-60 40" limited="true" damping=".2"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".5"/>
        <body pos=".3 0 0">
          <joint name="wrist" axis="0 1 0" frictionloss=".01" stiffness="1"/>
          <geom type="sphere" size=".05" mass=".2"/>
        </body>
      </body>
    </body>
    <body pos=".5 .5 .1">
      <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <geom type="sphere" size=".1" mass="1"/>
    </body>
  </worldbody>
  <tendon><fixed name="pull"><joint joint="elbow" coef="1"/><joint joint="wrist" coef=".5"/></fixed>
  </tendon>
  <equality><joint joint1="x" joint2="y" polycoef="0 1 0 0 0"/></equality>
  <actuator>
    <position joint="elbow" kp="20" kv="1"/>
    <motor tendon="pull" gear="2"/>
    <general joint="x" dyntype="filter" dynprm=".05" gainprm="3"/>
    <motor joint="wrist" ctrllimited="true" ctrlrange="0 1"/>
  </actuator>
</mujoco>
"""


def error_of(stepper: _Stepper, data: mujoco.MjData, **options: Any) -> float:
    """Distance of A and B from the best of differences of steps, over the largest entry."""
    found = linearize(stepper, data, **options)
    errors = []
    for h in (1e-5, 1e-6, 1e-7, 3e-8, 1e-8):
        other = linearize(stepper, data, mode="difference", step=h)
        apart = [np.abs(x - y).max(initial=0.0) for x, y in zip(found[:2], other[:2], strict=True)]
        errors.append(max(apart) / np.abs(found.A).max())
    return float(min(errors))


def box_at(dt: float, steps: int, integrator: str = "Euler", **options: Any) -> tuple[Any, Any]:
    model = mujoco.MjModel.from_xml_string(BOX.format(dt=dt, height=0.1, integrator=integrator))
    stepper, data = Stepper(model, settings=EXACT, **options), mujoco.MjData(model)
    stepper.run(data, steps)
    return stepper, data


@pytest.mark.parametrize("dt", [0.001, 0.002, 0.01])
def test_box_at_rest(dt: float) -> None:
    stepper, data = box_at(dt, 200)
    found = linearize(stepper, data)
    assert found.contacts == 4
    assert found.status == "ok"
    assert 0.0 < found.distance < 1e-3
    assert error_of(stepper, data) <= 1e-7


@pytest.mark.parametrize("friction", ["convex", "coulomb"])
@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
def test_sliding_and_turning_box(friction: str, integrator: str) -> None:
    stepper, data = box_at(0.002, 50, integrator, friction=friction)
    data.qvel[:] = 0.5, 0.1, -0.02, 0.3, -0.2, 0.4
    assert error_of(stepper, data) <= 1e-7
    stepper.step(data)
    assert error_of(stepper, data) <= 1e-7


def test_free_body() -> None:
    model = mujoco.MjModel.from_xml_string(BOX.format(dt=0.01, height=5.0, integrator="Euler"))
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[:] = 0.5, 0.1, -0.02, 3.0, -2.0, 4.0
    found = linearize(stepper, data)
    assert found.contacts == 0
    assert found.distance == np.inf
    assert error_of(stepper, data) <= 1e-8
    # at rest, without the gyroscopic torque, that has another rule in MuJoCo
    data.qvel[3:] = 0.0
    found = linearize(stepper, data)
    A, B = np.empty((12, 12)), np.empty((12, 0))
    mujoco.mjd_transitionFD(stepper.model, data, 1e-6, True, A, B, None, None)
    assert np.abs(found.A - A).max() <= 1e-8
    # a large turn within the step, beside the closed form of no turn
    data.qvel[3:] = 100.0, 50.0, -200.0
    assert error_of(stepper, data) <= 1e-7


# tight solves stall at round-off
@pytest.mark.filterwarnings("ignore:.*ended in stalled:RuntimeWarning")
@pytest.mark.parametrize("friction", ["convex", "coulomb"])
def test_arm_with_everything(rng: np.random.Generator, friction: str) -> None:
    model = mujoco.MjModel.from_xml_string(ARM)
    settings = SapSettings(relative_tolerance=1e-10, max_iterations=1000)
    stepper, data = Stepper(model, settings=settings, friction=friction), mujoco.MjData(model)
    data.ctrl[:] = 0.3, 0.2, 0.5, 0.4
    worst, seen = 0.0, 0
    for _ in range(8):
        stepper.run(data, 60)
        data.ctrl[:3] = rng.normal(size=3)
        found = linearize(stepper, data)
        seen += found.contacts
        if found.status == "ok" and found.distance > 1e-5:
            worst = max(worst, error_of(stepper, data))
    assert seen > 0
    assert worst <= 3e-7  # differences of near-rigid contacts reach this accuracy


def test_controls_at_the_ends_of_their_ranges() -> None:
    model = mujoco.MjModel.from_xml_string(ARM)
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.ctrl[3] = 0.4
    inside = linearize(stepper, data).B[:, 3].copy()
    for u, factor in ((0.5, 1.0), (1.0, 1.0), (2.0, 0.0), (-1.0, 0.0)):
        data.ctrl[3] = u
        B = linearize(stepper, data).B[:, 3]
        assert np.abs(B - factor * inside).max() <= 1e-6 * np.abs(inside).max()
    stepper.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL
    B = linearize(stepper, data).B[:, 3]
    assert np.abs(B - inside).max() <= 1e-6 * np.abs(inside).max()


def test_a_gap_of_zero_is_near_a_kink() -> None:
    model = mujoco.MjModel.from_xml_string(BOX.format(dt=0.002, height=0.1, integrator="Euler"))
    stepper, data = Stepper(model), mujoco.MjData(model)
    assert linearize(stepper, data).status == "near_kink"


@pytest.mark.parametrize(("y", "status"), [(1e-3, "ok"), (0.0, "near_kink")])
def test_a_contact_that_jumps_is_near_a_kink(y: float, status: str) -> None:
    """The engine's iteration finds the point of an ellipsoid on the other side of y = 0."""
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><option timestep="0.002"/><worldbody>
    <geom type="box" size=".3 .4 .2" pos="0 0 -.2"/>
    <body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
    <joint type="slide" axis="0 0 1"/><joint type="hinge" axis="1 0 0"/>
    <geom type="ellipsoid" size=".02 .06 .05" density="500"/></body></worldbody></mujoco>""")
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qpos[:3], data.qvel[:2] = (1e-3, y, 0.0499), (0.1, 0.02)
    sides = []
    for h in (-1e-7, 1e-7):
        aside = mujoco.MjData(model)
        aside.qpos[:] = data.qpos
        aside.qpos[1] += h
        mujoco.mj_forward(model, aside)
        sides.append(aside.contact.pos[0].copy())
    assert (np.abs(sides[1] - sides[0]).max() > 1e-6) == (status == "near_kink")
    assert linearize(stepper, data).status == status


@pytest.mark.parametrize("soften", [1.0, 10.0, 1000.0])
def test_softer_contact_of_one_mass(soften: float) -> None:
    """m v' = m (v - g dt) + gamma, gamma = (-z/(dt + tau) - v')/R, where R grows by a factor."""
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="1 1 .1"/>
    <body pos="0 0 .099"><joint type="slide" axis="0 0 1"/><geom size=".1" mass="2"/></body>
    </worldbody></mujoco>""")
    dt, k, tau, m = 0.01, 1e4, 0.02, 2.0  # k: of two geoms in series
    material = ContactMaterial(stiffness=2.0 * k, dissipation_time=tau)
    stepper = Stepper(model, contact=material)
    found = linearize(stepper, mujoco.MjData(model), soften=soften)
    stiffness = dt * k * (dt + tau) / soften  # 1/R
    by_v = m / (m + stiffness)
    by_z = -stiffness / (dt + tau) / (m + stiffness)
    expected = [[1.0 + dt * by_z, dt * by_v], [by_z, by_v]]
    assert np.abs(found.A - expected).max() <= 1e-7 * abs(by_z)


@pytest.mark.parametrize("friction", ["convex", "coulomb"])
def test_softer_contact_of_a_box(friction: str) -> None:
    """The softer the law of a box that sticks, the smaller are derivatives of velocities."""
    stepper, data = box_at(0.002, 200, friction=friction)
    sizes = []
    for soften in (1.0, 10.0, 100.0, 1e6):
        found = linearize(stepper, data, soften=soften)
        sizes.append(np.abs(found.A[6:, :6]).max())
        assert np.array_equal(found.v, linearize(stepper, data).v)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= 0.1 * sizes[0]


def test_state_and_stepper_stay() -> None:
    stepper, data = box_at(0.002, 100)
    other = mujoco.MjData(stepper.model)
    mujoco.mj_copyData(other, stepper.model, data)
    solution = stepper.solution
    found = linearize(stepper, data)
    assert stepper.solution == solution
    stepper.step(data)
    stepper.step(other)
    assert np.array_equal(data.qpos, other.qpos)
    assert np.abs(found.v - data.qvel).max() <= 1e-12
    mujoco.mj_copyData(data, stepper.model, other)
    again = linearize(stepper, data)
    once_more = linearize(stepper, data)
    assert np.array_equal(again.A, once_more.A)


def test_changes_of_the_model_are_followed() -> None:
    stepper, data = box_at(0.002, 100)
    before = linearize(stepper, data).A
    stepper.model.opt.gravity[2] *= 2.0
    after = linearize(stepper, data)
    assert not np.array_equal(before, after.A)
    assert np.abs(after.v[2]) <= 1.0
    fresh = Stepper(stepper.model, settings=EXACT)
    assert np.array_equal(linearize(fresh, data).A, after.A)
    # the C core has its own copy of the dampings
    stepper.model.dof_damping[:] = 0.5
    damped = linearize(stepper, data)
    assert not np.array_equal(damped.A, after.A)
    fresh = Stepper(stepper.model, settings=EXACT)
    assert np.array_equal(linearize(fresh, data).A, damped.A)


@pytest.mark.parametrize("nthread", [1, 2])
def test_batch(rng: np.random.Generator, nthread: int) -> None:
    model = mujoco.MjModel.from_xml_string(ARM)
    stepper, data = Stepper(model), mujoco.MjData(model)
    q, v, u = [], [], rng.normal(size=(5, model.nu))
    for k in range(5):
        data.ctrl[:] = u[k]
        stepper.run(data, 40)
        q.append(data.qpos.copy())
        v.append(data.qvel.copy())
    data.act[:] = 0.3
    A, B, status = linearize_batch(stepper, q, v, u, nthread=nthread, data=data)
    for k in range(5):
        data.qpos, data.qvel, data.ctrl = q[k], v[k], u[k]
        found = linearize(stepper, data)
        assert np.array_equal(found.A, A[k])
        assert np.array_equal(found.B, B[k])
        assert found.status == status[k]
    A, B, _ = linearize_batch(stepper, q, v)
    assert A.shape == (5, 2 * model.nv + 1, 2 * model.nv + 1)
    assert B.shape == (5, 2 * model.nv + 1, model.nu)


def test_bad_input() -> None:
    stepper, data = box_at(0.002, 1)
    other = mujoco.MjData(mujoco.MjModel.from_xml_string(ARM))
    with pytest.raises(TypeError, match="stepper must be a Stepper, not int"):
        linearize(1, data)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="data belongs to another model"):
        linearize(stepper, other)
    with pytest.raises(TypeError, match=r"data must be a mujoco\.MjData, not int"):
        linearize(stepper, 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="step = 'none': must be 'auto' or a number > 0"):
        linearize(stepper, data, step="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="step = 0: must be finite and > 0"):
        linearize(stepper, data, step=0.0)
    with pytest.raises(ValueError, match="soften = -1: must be finite and > 0"):
        linearize(stepper, data, soften=-1.0)
    with pytest.raises(ValueError, match="mode = 'best': must be"):
        linearize(stepper, data, mode="best")  # type: ignore[arg-type]
    model = stepper.model
    with pytest.raises(ValueError, match="must be the default one"):
        linearize(Stepper(model, scheme="midpoint"), data)
    with pytest.raises(ValueError, match="lagged"):
        linearize(Stepper(model, friction="lagged"), data)
    data.qvel[0] = np.nan
    with pytest.raises(RuntimeError, match="qvel"):
        linearize(stepper, data)
    q, v = np.zeros((3, 7)), np.zeros((3, 6))
    q[:, 3] = 1.0
    with pytest.raises(ValueError, match=r"qvel has shape \(2, 6\), expected \(3, 6\)"):
        linearize_batch(stepper, q, v[:2])
    with pytest.raises(ValueError, match=r"ctrl has shape \(3, 1\), expected \(3, 0\)"):
        linearize_batch(stepper, q, v, np.zeros((3, 1)))
    with pytest.raises(ValueError, match="nthread = 0: must be"):
        linearize_batch(stepper, q, v, nthread=0)
    assert len(linearize_batch(stepper, q, v, nthread=2**40)[0]) == 3
    with pytest.raises(TypeError, match="stepper must be a Stepper"):
        linearize_batch(None, q, v)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"qpos\[1, 2\] = nan: must be finite"):
        linearize_batch(stepper, np.where(np.arange(21).reshape(3, 7) == 9, np.nan, q), v)


def test_a_box_at_rest_stays_on_the_least_sigma() -> None:
    """Differences of velocities, 1e-5 m/s, pass the slip at which sigma begins to grow."""
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="5 5 1"/>'
        '<body pos="0 0 .0999"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>'
        "</worldbody></mujoco>"
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 500)
    fixed = Stepper(model, sigma=1e-6)
    by_rule, by_number = linearize(stepper, data), linearize(fixed, data)
    assert by_rule.contacts == 4
    np.testing.assert_allclose(by_rule.A, by_number.A, atol=1e-9)


def test_sigma_follows_what_slides_slowly() -> None:
    """Between the least and the full sigma the derivative has that of the rule."""
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 1"/>'
        '<body pos="0 0 .0499"><freejoint/><geom size=".05" mass="1"/></body>'
        "</worldbody></mujoco>"
    )
    stepper, data = Stepper(model, settings=EXACT), mujoco.MjData(model)
    stepper.run(data, 100)
    data.qvel[0] = 1e-3
    assert linearize(stepper, data).contacts == 1
    assert error_of(stepper, data) <= 1e-6


SENSORS = """
  <sensor>
    <jointpos joint="elbow"/><ballquat joint="ball"/><ballangvel joint="ball"/>
    <accelerometer site="tip"/><touch site="ball"/><actuatorfrc actuator="servo"/>
    <framelinvel objtype="body" objname="ball"/><jointactuatorfrc joint="wrist"/>
  </sensor>
"""


@pytest.mark.parametrize("friction", ["convex", "coulomb"])
def test_sensors(rng: np.random.Generator, friction: str) -> None:
    """C and D beside differences of the sensors of steps."""
    text = ARM.replace("<actuator>", SENSORS + "<actuator>").replace(
        '<geom type="sphere" size=".05" mass=".2"/>',
        '<geom type="sphere" size=".05" mass=".2"/><site name="tip"/>',
    )
    text = text.replace('<body pos=".5 .5 .1">', '<body name="ball" pos=".5 .5 .0999">').replace(
        '<geom type="sphere" size=".1" mass="1"/>',
        '<geom type="sphere" size=".1" mass="1"/><site name="ball" size=".11"/>',
    )
    text = text.replace("<position joint", '<position name="servo" joint')
    model = mujoco.MjModel.from_xml_string(text)
    soft = ContactMaterial(stiffness=1e4, dissipation_time=0.01)
    stepper = Stepper(model, settings=EXACT, friction=friction, contact=soft, sigma=1e-3)
    data = mujoco.MjData(model)
    data.ctrl[:] = 0.3, 0.2, 0.5, 0.4
    stepper.run(data, 100)
    data.ctrl[:] = rng.uniform(0.1, 0.9, 4)
    found = linearize(stepper, data, outputs="ABCD")
    assert found.contacts > 0
    assert found.C is not None
    assert found.D is not None
    assert found.C.shape == (model.nsensordata, 2 * model.nv + 1)
    errors = []
    for h in (1e-6, 1e-7, 1e-8):
        other = linearize(stepper, data, mode="difference", step=h, outputs="ABCD")
        assert other.C is not None
        assert other.D is not None
        errors.append(
            [
                np.abs(x - y).max(axis=1) / np.abs(y).max(axis=1).clip(1e-3)
                for x, y in ((found.C, other.C), (found.D, other.D))
            ]
        )
    assert np.min(errors, axis=0).max() <= 5e-3
    assert linearize(stepper, data).C is None


def test_parameters() -> None:
    """P of a box that slides without friction: (m + c dt) v' = m v."""
    text = BOX.format(dt=0.002, height=0.0999, integrator="Euler").replace(
        "<freejoint/>",
        '<joint name="x" type="slide" axis="1 0 0" damping="2"/><joint type="slide" axis="0 0 1"/>',
    )
    text = text.replace('mass="1" friction="0.5"', 'name="box" mass="1" friction="0"')
    text = text.replace('friction="0.5"', 'friction="0"')
    model = mujoco.MjModel.from_xml_string(text)
    stepper, data = Stepper(model, settings=EXACT), mujoco.MjData(model)
    data.qvel[:] = 0.5, -0.01
    names = [("body", "box", "mass"), ("joint", "x", "damping")]
    P = linearize(stepper, data, parameters=names).P
    assert P is not None
    assert P.shape == (4, 2)
    dt, m, c = 0.002, 1.0, 2.0
    v = m * 0.5 / (m + c * dt)
    after = np.array([0.5 - v, -dt * v]) / (m + c * dt)
    np.testing.assert_allclose(P[2], after, rtol=1e-5)
    np.testing.assert_allclose(P[0], dt * after, rtol=1e-5)
    with pytest.raises(ValueError, match=r"parameters\[0\] = .*: the model has no body"):
        linearize(stepper, data, parameters=[("body", "ball", "mass")])
    with pytest.raises(ValueError, match="outputs = 'C': must be 'AB' or 'ABCD'"):
        linearize(stepper, data, outputs="C")  # type: ignore[arg-type]
    core = ContactMaterial(stiffness=1e8, dissipation_time=0.002, core=RigidCore(delta=1e-3))
    with pytest.raises(ValueError, match="contacts with a rigid core have no derivatives"):
        linearize(Stepper(model, contact=core), data)


@pytest.mark.parametrize("friction", ["convex", "coulomb"])
def test_a_sliding_box_on_two_joints(friction: str) -> None:
    """The normal velocity alone moves the bound of the friction."""
    text = BOX.format(dt=0.002, height=0.0999, integrator="Euler").replace(
        "<freejoint/>",
        '<joint type="slide" axis="1 0 0" damping="2"/><joint type="slide" axis="0 0 1"/>',
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:] = 0.5, -0.01
    assert error_of(Stepper(model, settings=EXACT, friction=friction), data) <= 1e-6


def test_controls_of_a_tree_that_turns():
    """Bias forces at the middle of the step are found anew for each control."""
    stepper = mujoco_steps.make_stepper()
    data = mujoco.MjData(stepper.model)
    data.qpos[2] = 1.0
    data.qvel[3:] = [1.5, -1.0, 2.0, 3.0]

    def velocity_after(control):
        end = mujoco.MjData(stepper.model)
        end.qpos[:], end.qvel[:], end.ctrl[:] = data.qpos, data.qvel, control
        stepper.step(end)
        return end.qvel.copy()

    expected = (velocity_after(1e-4) - velocity_after(-1e-4)) / 2e-4
    B = linearize(stepper, data).B[stepper.model.nv :, 0]
    np.testing.assert_allclose(B, expected, rtol=1e-8, atol=1e-10)


SLIDER = """
<mujoco><option timestep=".002" gravity="0 0 0"/><worldbody><body>
<joint name="x" type="slide" axis="1 0 0" {joint}/><geom size=".1" mass="2" contype="0"
 conaffinity="0"/></body></worldbody>{rest}</mujoco>"""
TENDON = '<tendon><fixed name="t" {}><joint joint="x" coef="1"/></fixed></tendon>'
SERVO = '<actuator><position joint="x" kp="1000" kv="10" forcerange="-3 3"/></actuator>'
LIMIT, LOSS = 'range="-1 .1" limited="true"', 'frictionloss="2"'


@pytest.mark.parametrize(
    ("joint", "rest", "q", "v", "ctrl"),
    [
        (LIMIT, "", 0.09998, 0.0, 0.0),  # open
        (LIMIT, "", 0.05, 0.0, 0.0),  # far open
        (LIMIT, "", 0.0999, 0.4, 0.0),  # acts
        (LOSS, "", 0.0, 0.004, 0.0),  # slides
        ("", TENDON.format(LIMIT), 0.09999, 0.02, 0.0),
        ("", TENDON.format(LOSS), 0.0, 0.004, 0.0),
        ("", SERVO, 0.0, 0.0, 0.0029),
    ],
)
def test_distance_of_rows(joint: str, rest: str, q: float, v: float, ctrl: float) -> None:
    """The derivative changes where the velocity changes by more than the distance of a row."""
    model = mujoco.MjModel.from_xml_string(SLIDER.format(joint=joint, rest=rest))
    stepper, data = Stepper(model, settings=EXACT), mujoco.MjData(model)
    data.qpos[0] = q
    data.ctrl[:] = ctrl

    def slope(velocity: float) -> tuple[float, float]:
        data.qvel[0] = velocity
        found = linearize(stepper, data)
        return found.A[1, 1], found.distance

    A, distance = slope(v)
    assert 0.0 < distance < np.inf

    def others(share: float) -> list[float]:
        return [slope(v + side * share * distance / A)[0] for side in (-1.0, 1.0)]

    assert others(0.8) == pytest.approx([A, A], rel=1e-6)
    assert max(abs(x / A - 1.0) for x in others(1.2)) > 1e-3
