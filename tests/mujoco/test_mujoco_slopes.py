"""Stiffness and damping of MuJoCo models, against differences of the forces."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import Stepper
from sapwood.mujoco.stepping.free_model import FreeMujoco

ELASTIC = """
<mujoco><option gravity="0 0 0"/>
<worldbody>
  <body name="a"><joint name="a" axis="0 1 0" stiffness="3{poly}" damping=".5{poly}"
      springref="20"/><geom size=".1" pos=".3 0 0"/></body>
  <body pos="1 0 0"><joint name="b" type="slide" axis="1 0 0" stiffness="8"/><geom size=".1"/>
    <body pos="0 0 .5"><joint name="c" axis="1 0 0" damping=".2"/><geom size=".1" pos=".1 .1 0"/>
    </body></body>
  <body pos="3 0 0"><freejoint/><geom type="box" size=".1 .2 .3"/></body>
  <body pos="4 0 0"><joint type="ball" stiffness="2" damping=".3"/><geom size=".1"/></body>
</worldbody>
<tendon>
  <fixed name="t" stiffness="5{poly}" damping="2{poly}" springlength="{length}">
    <joint joint="a" coef="2"/><joint joint="b" coef="-1"/></fixed>
</tendon>
<actuator>
  <position joint="b" kp="10" kv="1" forcerange="{limit}"/>
  <velocity tendon="t" kv="2"/>
  <damper joint="c" kv="3" ctrlrange="0 2"/>
  <motor joint="a"/>
</actuator></mujoco>
"""
LINEAR = {"poly": "", "length": "0", "limit": "-90 90"}


def slopes_of(model, q, v, ctrl=0.5, act=0.0):
    """K and D of the adapter, and central differences of F1 in q and v."""
    data = mujoco.MjData(model)
    data.ctrl[:] = ctrl
    data.act[:] = act
    stepper = Stepper(model, scheme="midpoint")
    free = FreeMujoco(stepper.model, stepper.parameters.forest["damping"])
    free.load(data)
    found, h = free.dynamics(q, v), 1e-6

    def along(direction, by_position):
        ends = []
        for sign in (1, -1):
            if by_position:
                ends.append(free.dynamics(free.integrate(q, direction, sign * h), v).F1)
            else:
                ends.append(free.dynamics(q, v + sign * h * direction).F1)
        return -(ends[0] - ends[1]) / (2 * h)

    unit = np.eye(model.nv)
    K, D = (np.stack([along(e, kind) for e in unit], axis=1) for kind in (True, False))
    return found.K, found.D, K, D


ELASTIC_CASES = {
    "linear": LINEAR,
    "higher orders": LINEAR | {"poly": " .7 .4"},
    "loose tendon": LINEAR | {"length": "-9 9"},
    "force at its limit": LINEAR | {"limit": "-1e-3 1e-3"},
}


@pytest.mark.parametrize("case", ELASTIC_CASES)
def test_stiffness_and_damping_are_slopes_of_the_forces(case):
    if case == "higher orders" and not hasattr(mujoco.MjModel, "jnt_stiffnesspoly"):
        pytest.skip("this version of MuJoCo has no higher orders")
    model = mujoco.MjModel.from_xml_string(ELASTIC.format(**ELASTIC_CASES[case]))
    rng = np.random.default_rng(11)
    q = mujoco.MjData(model).qpos.copy()
    q[:3] = rng.normal(0.0, 0.5, 3)
    v = rng.normal(0.0, 0.5, model.nv)
    K, D, K_differences, D_differences = slopes_of(model, q, v)
    np.testing.assert_allclose(K, K_differences, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(D, D_differences, rtol=1e-6, atol=1e-6)
    for matrix in (K, D):
        np.testing.assert_array_equal(matrix, matrix.T)
        assert np.linalg.eigvalsh(matrix).min() > -1e-12
    assert D[2, 2] == pytest.approx(0.2 + 0.5 * 3)


def test_slopes_that_are_negative_are_left_out():
    """They are no part of F1; the free motion has them all the same."""
    model = mujoco.MjModel.from_xml_string(ELASTIC.format(**LINEAR))
    model.jnt_stiffness[0] = -3.0
    model.actuator_biasprm[0, 1:3] *= -1.0
    q, v = mujoco.MjData(model).qpos.copy(), np.zeros(model.nv)
    K, D, _, _ = slopes_of(model, q, v)
    tendon = np.array([2.0, -1.0])
    np.testing.assert_allclose(K[:2, :2], np.diag([0.0, 8.0]) + 5.0 * np.outer(tendon, tendon))
    np.testing.assert_allclose(D[1, 1], 2.0 + 2.0)


def test_switched_off_forces_have_no_slopes():
    for flag, gone in (("spring", "K"), ("damper", "D")):
        model = mujoco.MjModel.from_xml_string(
            ELASTIC.format(**LINEAR).replace(
                '"0 0 0"/>', f'"0 0 0"><flag {flag}="disable" actuation="disable"/></option>'
            )
        )
        K, D, _, _ = slopes_of(model, mujoco.MjData(model).qpos.copy(), np.zeros(model.nv))
        kept = {"K": K, "D": D}
        assert not kept.pop(gone).any()
        assert all(matrix.any() for matrix in kept.values())


EARLY = (
    '<general joint="a" gaintype="affine" gainprm="1 -2 -3" dyntype="{dyntype}" dynprm=".1" '
    'actearly="true" {limits}/>'
)
FEEDBACK = {
    "filter": EARLY.format(dyntype="filter", limits=""),
    "exact filter": EARLY.format(dyntype="filterexact", limits=""),
    "limited": EARLY.format(dyntype="integrator", limits='actlimited="true" actrange="0 .301"'),
    "motor": '<dcmotor joint="a" motorconst=".1" resistance=".5"/>',
}


@pytest.mark.parametrize("name", FEEDBACK)
def test_slopes_of_actuators_with_states_or_back_emf(name):
    """The force is that of the activation at the end of the step, where it acts early."""
    if name == "motor" and not hasattr(mujoco.mjtBias, "mjBIAS_DCMOTOR"):
        pytest.skip("this version of MuJoCo has no such motors")
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option timestep=".01"/><worldbody><body><joint name="a" axis="0 1 0"/>'
        f'<geom size=".1" pos=".3 0 0"/></body></worldbody><actuator>{FEEDBACK[name]}</actuator>'
        "</mujoco>"
    )
    K, D, K_differences, D_differences = slopes_of(
        model, np.array([0.2]), np.array([0.3]), ctrl=0.5, act=0.3
    )
    np.testing.assert_allclose(K, K_differences, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(D, D_differences, rtol=1e-6)
    assert D[0, 0] > 0.0
