"""Derivatives of sensors of forces, accelerations and contacts of steps with soft bodies."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from sapwood import fem
from sapwood.mujoco import SoftStepLinearization, body_pose, linearize, sensitivities
from sapwood.mujoco.reading import flexes
from sapwood.mujoco.soft_start import SoftStart
from soft_differences import finish_passes, first_smooth, random_change, step_after
from soft_models import GRIPPER, SOFT_FIELDS, gripper, stepper_of, with_number

# tight solves stall at round-off
pytestmark = pytest.mark.filterwarnings("ignore:.*contact solver ended in:RuntimeWarning")

SIGMA = 1e-8  # the weights in R have no derivatives, and do not show
SITES = (
    ("<body name='left' pos='-.045 0 0'>", "<site name='left'/>"),
    ("<body name='right' pos='.045 0 0'>", "<site name='right'/>"),
    ("<body name='thing' pos='.001 .002 .0295'>", "<site name='thing' size='.05'/>"),
)
SENSORS = """<sensor><accelerometer site='left'/><force site='left'/><torque site='right'/>
<touch site='thing'/><actuatorfrc actuator='close'/><jointpos joint='left'/>
<framelinacc objtype='body' objname='thing'/><frameangacc objtype='body' objname='palm'/>
<contact geom1='thing' reduce='netforce' data='force torque'/></sensor>"""


def sensed_gripper(rng):
    """A gripper with all kinds of late sensors, and one of positions."""
    text = GRIPPER.replace("TYPE", "sphere").replace("</mujoco>", SENSORS + "</mujoco>")
    for body, site in SITES:
        text = text.replace(body, body + site)
    model = mujoco.MjModel.from_xml_string(text)
    _, plain, bodies = gripper(rng)
    data = mujoco.MjData(model)
    for name in ("qpos", "qvel", "act", "ctrl"):
        getattr(data, name)[:] = getattr(plain, name)
    return stepper_of(model, bodies, sigma=SIGMA), data


def errors_of(model, found, expected, least=1e-9):
    """Largest error of each sensor over its largest value, which counts as `least` at least."""
    parts = [slice(adr, adr + n) for adr, n in zip(model.sensor_adr, model.sensor_dim, strict=True)]
    scale = [max(np.max(np.abs(expected[part])), least) for part in parts]
    return [np.max(np.abs((found - expected)[p])) / s for p, s in zip(parts, scale, strict=True)]


def check(stepper, data, rng, tolerance):
    """C and D against the best of central differences of whole steps."""
    found = linearize(stepper, data, outputs="ABCD")
    change = random_change(rng, stepper)
    push = np.concatenate([found.C, found.D], axis=1) @ change
    errors = []
    for h in (1e-4, 1e-5, 1e-6):
        high, low = (step_after(stepper, data, change, side)[1] for side in (h, -h))
        errors.append(errors_of(stepper.model, push, (high - low) / (2 * h)))
    assert np.max(np.min(errors, axis=0)) < tolerance, errors
    return found


def test_a_gripper_feels_what_its_pads_do(rng):
    stepper, data, _ = first_smooth(sensed_gripper, rng, {"thing"}, 1e-8)
    before = stepper.soft_state
    found = check(stepper, data, rng, 1e-6)
    n = 2 * stepper.model.nv + stepper.model.na
    assert np.abs(found.C[:, n:]).max() > 1.0
    for body, x in zip(stepper.soft, before.positions, strict=True):
        np.testing.assert_array_equal(body.positions, x)
    linear = SoftStepLinearization(stepper, data)
    C, D, P = linear.sensor_matrices()
    np.testing.assert_allclose(C, found.C, rtol=0, atol=1e-6 * np.abs(C).max())
    np.testing.assert_allclose(D, found.D, rtol=0, atol=1e-6 * np.abs(D).max())
    assert P.shape == (stepper.model.nsensordata, 0)


def two_smooth_steps(rng):
    """A gripper whose second step is away from kinks too."""
    for _ in range(50):
        stepper, data, _ = first_smooth(sensed_gripper, rng, {"thing"}, 1e-8)
        moved, state = mujoco.MjData(stepper.model), stepper.soft_state
        mujoco.mj_copyData(moved, stepper.model, data)
        stepper.step(moved)
        status = SoftStepLinearization(stepper, moved).status
        stepper.soft_state = state
        if status == "ok":
            return stepper, data
    raise AssertionError("no such scene")


def test_sensitivities_of_forces_follow_numbers_of_bodies_and_model(rng):
    stepper, data = two_smooth_steps(rng)
    numbers = [
        ("body", "left", "young"), ("body", "right", "density"), ("body", "left", "friction"),
        ("body", "left", "stiffness_damping"), ("body", "thing", "mass"),
        ("joint", "left", "damping"),
    ]  # fmt: skip
    found = sensitivities(stepper, data, n_steps=2, parameters=numbers)

    def read(of):
        changed, moved = stepper_of(of.model, of.soft, sigma=SIGMA), mujoco.MjData(of.model)
        mujoco.mj_copyData(moved, of.model, data)
        changed.step(moved)
        return moved.sensordata.copy()

    for k, (given, size) in enumerate(zip(numbers, (2e5, 1e3, 0.6, 2e-3, 0.2, 2.0), strict=True)):
        errors = []
        for h in (1e-3, 1e-4, 1e-5, 1e-6):
            high, low = (read(with_number(stepper, given, side * h * size)) for side in (1, -1))
            expected = (high - low) / (2 * h * size)
            # smaller slopes are lost in the round-off of forces of some newtons
            least = 1e-5 / size
            errors.append(max(errors_of(stepper.model, found.J[0, :, k], expected, least)))
        assert min(errors) < 1e-5, (given, errors)
    # the second step has the chain rule
    P = SoftStepLinearization(stepper, data, parameters=numbers).sensor_matrices()[2]
    scale = np.abs(found.J).max(axis=(0, 1))
    assert np.all(np.abs(P - found.J[0]) < 1e-9 * scale)
    stepper.step(data)
    C, _, P = SoftStepLinearization(stepper, data, parameters=numbers).sensor_matrices()
    np.testing.assert_allclose(found.y[1], sensors_at_end(stepper, data), rtol=0, atol=1e-6)
    assert np.all(np.abs(C @ found.X[0] + P - found.J[1]) < 1e-5 * scale)


def sensors_at_end(stepper, data):
    stepper.step(data)
    return data.sensordata.copy()


def random_numbers(stepper, rng):
    """Labels of numbers and arrays of the soft bodies, and random changes of each."""
    body = stepper.soft[0]
    numbers = [("body", body.name, field) for field in SOFT_FIELDS]
    shapes = {"loads": body.loads.shape, "pressures": body.pressures.shape}
    return numbers, [rng.standard_normal(shapes.get(field, ())) for _, _, field in numbers]


CLOTH_BESIDE_PAD = """<mujoco><option timestep='.005'/><worldbody>
<body name='finger' pos='0 0 .06'><joint type='slide' axis='0 0 1'/><site name='finger'/>
<joint type='hinge' axis='1 .3 0' stiffness='1'/>
<geom size='.02 .02 .01' type='box' mass='.2' contype='0' conaffinity='0'/></body>
<body name='plate' pos='.001 .002 .015'><freejoint/><site name='plate'/>
<geom name='plate' type='box' size='.1 .1 .014' mass='1' euler='1 2 0'/></body>
<flexcomp name='cloth' type='grid' count='3 3 1' spacing='.02 .02 .1' dim='2' pos='.07 .01 .0325'
radius='.004' mass='.05'><edge damping='.01'/><contact selfcollide='none'/>
<elasticity young='3e4' poisson='.2' thickness='5e-3' elastic2d='both'/></flexcomp>
<geom name='floor' type='plane' size='1 1 1'/></worldbody>
<sensor><force site='finger'/><torque site='finger'/><accelerometer site='plate'/>
<framelinacc objtype='body' objname='cloth_4'/><frameangacc objtype='body' objname='finger'/>
</sensor></mujoco>"""


def cloth_beside_pad(rng):
    """A pad on a finger and an elastic cloth press a plate on the floor."""
    model = mujoco.MjModel.from_xml_string(CLOTH_BESIDE_PAD)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    pose = np.eye(4)
    pose[:3, 3] = 0.0, 0.0, 0.0395
    foam = fem.Material(young=2e5, poisson=0.3, density=1e3, stiffness_damping=0.002)
    body = fem.SoftBody(
        fem.box([0.03, 0.03, 0.02], 2), foam, pose=pose, friction=0.6, dissipation_time=0.01,
        contact_stiffness=1e7,
    )  # fmt: skip
    body.attach(body.positions[:, 2] > 0.049, "finger", body_pose(data, "finger"))
    body.positions = body.positions + 3e-4 * rng.standard_normal(body.positions.shape)
    body.velocities = body.velocities + 0.03 * rng.standard_normal(body.positions.shape)
    data.qvel[:] = 0.03 * rng.standard_normal(model.nv)
    return stepper_of(model, [body], sigma=SIGMA), data


@pytest.mark.parametrize(("make", "met"), [(sensed_gripper, "thing"), (cloth_beside_pad, "plate")])
def test_reverse_mode_of_sensors_is_forward_mode(rng, monkeypatch, make, met):
    monkeypatch.setattr(flexes, "MOST_JOINED", 0)
    finish_passes(monkeypatch)
    stepper, data, _ = first_smooth(make, rng, {met}, 1e-8)
    numbers, changes = random_numbers(stepper, rng)
    linear = SoftStepLinearization(stepper, data, parameters=numbers)
    taken, evaluate = [], SoftStart.step_sensors
    monkeypatch.setattr(SoftStart, "step_sensors", lambda *each: taken.append(1) or evaluate(*each))
    C, D, P = linear.sensor_matrices()
    # no vertex has an evaluation of its own
    n_model = 2 * stepper.model.nv + stepper.model.na
    assert len(taken) < 4 * n_model + 2 * D.shape[1] + 100
    change = random_change(rng, stepper)[: linear.size]
    change[:n_model] = 0.0
    forward = linear.sensor_jvp(change, 0, np.zeros(()))
    assert np.abs(forward).max() > 1.0
    assert max(errors_of(stepper.model, C @ change, forward)) < 1e-5
    columns = np.split(P, np.cumsum([each.size for each in changes])[:-1], axis=1)
    for k, (part, each) in enumerate(zip(columns, changes, strict=True)):
        forward = linear.sensor_jvp(np.zeros(linear.size), k, each)
        expected = part @ each.ravel()
        assert np.max(np.abs(expected - forward)) < 1e-5 * max(np.abs(part).max(), 1e-9), numbers[k]
