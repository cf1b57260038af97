"""Inverse dynamics of a quadruped in MuJoCo: standing, and the motors' chatter."""

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood.mujoco
from sapwood.invdyn import InvdynStatus, InverseDynamics
from sapwood.invdyn.robot import bias_force, mass_matrix
from sapwood.mujoco.torques import contact_jacobians

LEG = """
<body pos="{x} {y} 0">
  <joint name="{n}1" axis="1 0 0"/><geom size=".02" mass=".1" contype="0" conaffinity="0"/>
  <body pos="0 0 0">
    <joint name="{n}2" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 -.12" size=".01" mass=".1" contype="0" conaffinity="0"/>
    <body pos="0 0 -.12">
      <joint name="{n}3" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.12" size=".01" mass=".1" contype="0"
            conaffinity="0"/>
      <geom name="{n}" pos="0 0 -.12" size=".02" mass=".01"/>
    </body>
  </body>
</body>"""
PLACES = {"lf": (0.2, 0.1), "rf": (0.2, -0.1), "lh": (-0.2, 0.1), "rh": (-0.2, -0.1)}
LEGS = "".join(LEG.format(n=n, x=x, y=y) for n, (x, y) in PLACES.items())
MOTORS = "".join(f'<motor joint="{n}{k}"/>' for n in PLACES for k in (1, 2, 3))
QUADRUPED = f"""
<mujoco>
  <option timestep="0.001"/>
  <worldbody>
    <geom type="plane" size="5 5 1" friction="0.8"/>
    <body name="base" pos="0 0 .2545">
      <freejoint/><geom type="box" size=".2 .1 .03" mass="4" contype="0" conaffinity="0"/>{LEGS}
    </body>
  </worldbody>
  <actuator>{MOTORS}</actuator>
</mujoco>"""
CONTROLLERS = ["lcp_noslip", "lcp_coulomb", "qp_noslip", "qp_coulomb", "one_stage"]


@pytest.fixture
def standing():
    model = mujoco.MjModel.from_xml_string(QUADRUPED)
    data = mujoco.MjData(model)
    # bent knees, feet below the hips
    data.qpos[7:] = np.tile([0.0, 0.3, -0.6], 4)
    data.qpos[2] = 0.02 + 0.12 * 2 * np.cos(0.3) - 1e-5
    mujoco.mj_forward(model, data)
    assert data.ncon == 4
    return model, data


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_standing_forces_carry_the_weight(standing, controller):
    model, data = standing
    result = sapwood.mujoco.inverse_dynamics(model, data, np.zeros(12), controller)
    assert result.status == InvdynStatus.solved
    weight = model.body_mass.sum() * 9.81
    assert np.isclose(result.forces[:, 2].sum(), weight, rtol=1e-6)
    # torques and forces hold it still: MuJoCo's own arithmetic
    data.qfrc_applied[sapwood.mujoco.actuated_dofs(model)] = result.tau
    force = np.zeros(model.nv)
    for contact, f in zip(data.contact, result.forces, strict=True):
        world = contact.frame.reshape(3, 3).T @ f[[2, 0, 1]]
        body = int(model.geom_bodyid[contact.geom[1]])
        mujoco.mj_applyFT(model, data, world, np.zeros(3), contact.pos, body, force)
    data.qfrc_applied += force
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    mujoco.mj_forward(model, data)
    assert np.abs(data.qacc).max() <= 1e-6


def test_actuated_dofs(standing):
    model, _ = standing
    assert list(sapwood.mujoco.actuated_dofs(model)) == list(range(6, 18))


def test_a_controller_made_before_has_its_options(standing):
    model, data = standing
    made = InverseDynamics("qp_coulomb", actuated=range(6, 18), dt=1e-3)
    a = sapwood.mujoco.inverse_dynamics(model, data, np.zeros(12), made)
    b = sapwood.mujoco.inverse_dynamics(model, data, np.zeros(12))
    assert np.array_equal(a.tau, b.tau)
    with pytest.raises(ValueError, match="options"):
        sapwood.mujoco.inverse_dynamics(model, data, np.zeros(12), made, edges=6)


def test_applied_forces_count(standing):
    model, data = standing
    data.xfrc_applied[1, 2] = -10.0
    data.qfrc_applied[2] = -5.0
    mujoco.mj_forward(model, data)
    result = sapwood.mujoco.inverse_dynamics(model, data, np.zeros(12))
    weight = model.body_mass.sum() * 9.81 + 15.0
    assert np.isclose(result.forces[:, 2].sum(), weight, rtol=1e-6)


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_torque_that_stays_applied_does_not_count(standing, controller):
    """A loop that applies torques through qfrc_applied: each call is that of data without them."""
    model, data = standing
    motors = sapwood.mujoco.actuated_dofs(model)
    data.qfrc_applied[1], data.xfrc_applied[1, 2] = 2.0, -10.0
    stepper = sapwood.mujoco.Stepper(model)
    consistent = True
    for _ in range(20):
        mujoco.mj_forward(model, data)
        wanted = 400.0 * (np.tile([0.0, 0.3, -0.6], 4) - data.qpos[7:]) - 40.0 * data.qvel[6:]
        result = sapwood.mujoco.inverse_dynamics(model, data, wanted, controller)
        data.qfrc_applied[motors] = 0.0
        mujoco.mj_forward(model, data)
        fresh = sapwood.mujoco.inverse_dynamics(model, data, wanted, controller)
        assert np.array_equal(result.tau, fresh.tau)
        assert result.status == fresh.status
        assert np.abs(result.tau).max() > 0.1
        consistent &= result.status == InvdynStatus.solved
        data.qfrc_applied[motors] = result.tau
        stepper.step(data)
    # accelerations of contacts that may not slip become inconsistent here, and the robot may leap
    assert consistent or controller.endswith("noslip")
    assert abs(data.qpos[2] - 0.249) < 1e-2 or not consistent
    assert data.qfrc_applied[1] == 2.0


@pytest.mark.parametrize("part", [0.9, 1e6])
def test_a_robot_stands_within_limits_without_slip(standing, part):
    model, data = standing
    free = sapwood.mujoco.inverse_dynamics(model, data, np.zeros(12), "qp_noslip")
    limit = np.full(12, part * np.abs(free.tau).max())
    held = sapwood.mujoco.inverse_dynamics(
        model, data, np.zeros(12), "qp_noslip", torque_limit=limit
    )
    assert free.status == held.status == InvdynStatus.solved
    assert (np.abs(held.tau) <= limit * (1 + 1e-9)).all()
    assert max(held.residuals.slip, held.residuals.penetration) <= 1e-9


def test_second_stage_removes_chatter_of_torques(standing, rng):
    """Contacts in any order, which rounding breaks differently: Fig. 6 on a robot that stands."""
    model, data = standing
    M, h = mass_matrix(model, data), bias_force(model, data, np.arange(6, 18))
    J_n, J_t, _ = contact_jacobians(model, data)

    def chatter(controller):
        made = InverseDynamics(controller, actuated=range(6, 18), dt=1e-3)
        torques = []
        for _ in range(60):
            order = rng.permutation(4)
            result = made.solve(
                M, h, 1e-9 * rng.normal(size=18), np.zeros(12), J_n[order], J_t[order],
                np.full(4, 0.8),
            )  # fmt: skip
            assert result.status == InvdynStatus.solved
            torques.append(result.tau)
        return np.abs(np.diff(torques, axis=0)).max()

    assert chatter("qp_coulomb") <= 1e-3 * chatter("one_stage")
