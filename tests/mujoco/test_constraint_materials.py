"""Stiffness of limits and equality constraints of a model, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import ELEMENTS, elements
from sapwood import ConstraintMaterial
from sapwood.mujoco import Stepper


def test_materials_of_constraints():
    """By name in the call, by name in the model, and the defaults of both, in this order."""
    custom = """<custom><numeric name="sapwood/constraint" data="1e6 .03"/>
      <numeric name="sapwood/joint/reach" data="2e4"/>
      <numeric name="sapwood/equality/glue" data="0 .01 7e3"/></custom>"""
    xml = ELEMENTS.format(jacobian="auto", cone="elliptic").replace(
        "</mujoco>", custom + "</mujoco>"
    )
    model = mujoco.MjModel.from_xml_string(xml)

    def groups(**keywords):
        stepper = Stepper(model, **keywords)
        problem = stepper.problem(mujoco.MjData(model))
        found = {group.kind: group for group in problem.constraints}
        # shoulder, shoulder, reach, reach, socket, belt, belt, rope, rope; glue, pin, gear
        return found["limit"], found["bilateral"], stepper.time_step

    limit, equality, dt = groups()
    np.testing.assert_array_equal(limit.k, [1e6, 1e6, 2e4, 2e4, 1e6, 1e6, 1e6, 1e6, 1e6])
    np.testing.assert_array_equal(limit.tau_d, [0.03, 0.03, dt, dt] + 5 * [0.03])
    np.testing.assert_array_equal(equality.k[:6], 3 * [np.inf] + 3 * [7e3])
    np.testing.assert_array_equal(equality.k[6:], 1e6)
    named = {"joint/shoulder": ConstraintMaterial(5.0, 0.0), "tendon/rope": ConstraintMaterial(6.0)}
    limit, equality, dt = groups(constraint=ConstraintMaterial(1e3), constraints=named)
    np.testing.assert_array_equal(limit.k, [5, 5, 2e4, 2e4, 1e3, 1e3, 1e3, 6, 6])
    np.testing.assert_array_equal(limit.tau_d, [0, 0] + 7 * [dt])
    np.testing.assert_array_equal(equality.k[6:], 1e3)


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"constraint": 5}, TypeError, "constraint must be a ConstraintMaterial, not int"),
        ({"constraints": 5}, TypeError, "constraints must be a mapping, not int"),
        ({"constraints": {"knee": 1}}, ValueError, r"constraints\['knee'\]: keys must be joint/"),
        ({"constraints": {3: 1}}, ValueError, r"constraints\[3\]: keys must be joint/NAME"),
        ({"constraints": {"joint/x": 1}}, ValueError, "the model has no joint of this name"),
        ({"constraints": {"joint/reach": 1}}, TypeError, "must be a ConstraintMaterial, not int"),
    ],
)
def test_wrong_materials_are_refused(keywords, error, message):
    with pytest.raises(error, match=message):
        Stepper(elements(), **keywords)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0.0,), "stiffness = 0: must be > 0; inf is rigid"), ((1.0, -1.0), "dissipation_time = -1"),
     ((1.0, 0.0, np.nan), "rotational_stiffness = nan")],
)  # fmt: skip
def test_wrong_values_of_materials_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ConstraintMaterial(*arguments)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [("joint/x", "1", "there is no joint 'x'"), ("constraint/x", "1", "must be sapwood/constraint"),
     ("joint/j", "1 2 3 4", "has 4 values"), ("joint/j", "-1", "stiffness = -1")],
)  # fmt: skip
def test_wrong_custom_numbers_are_refused(name, data, message):
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><custom><numeric name="sapwood/{name}" data="{data}"/></custom><worldbody>
        <body><joint name="j"/><geom size="1"/></body></worldbody></mujoco>"""
    )
    with pytest.raises(ValueError, match=message):
        Stepper(model)
