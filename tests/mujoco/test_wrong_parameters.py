"""The arguments `parameters` and `soften` of derivatives: what is refused, and how."""

from typing import Any

import mujoco
import numpy as np
import pytest

from sapwood.mujoco import DifferentiableModel, Stepper, linearize, linearize_batch, sensitivities

BALL = """
<mujoco><worldbody><geom type="plane" size="1 1 .1"/><body name="ball" pos="0 0 .1">
<joint type="slide" axis="0 0 1"/><geom size=".1" mass="1"/></body></worldbody></mujoco>"""


@pytest.fixture
def stepper() -> Stepper:
    return Stepper(mujoco.MjModel.from_xml_string(BALL))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "parameters must be a sequence of tuples, not NoneType"),
        ("mass", "parameters must be a sequence of tuples, not str"),
        ([None], r"parameters\[0\] must be \(kind, name, field\)"),
        ([("body", "ball", "mass"), 3], r"parameters\[1\] must be \(kind, name, field\)"),
        (("body", "ball", "mass"), r"parameters\[0\] must be \(kind, name, field\)"),
        ([("body", None, "mass")], r"parameters\[0\] must be \(kind, name, field\)"),
        ([("body", "ball", "mass", [0])], "the index must be an integer"),
        ([("body", "ball", "inertia", 0.5)], "the index must be an integer"),
    ],
)
def test_wrong_parameters(stepper: Stepper, given: Any, message: str) -> None:
    data = mujoco.MjData(stepper.model)
    with pytest.raises(TypeError, match=message):
        linearize(stepper, data, parameters=given)
    with pytest.raises(TypeError, match=message):
        sensitivities(stepper, data, n_steps=1, parameters=given)
    with pytest.raises(TypeError, match=message):
        DifferentiableModel(stepper, parameters=given)


def test_lists_and_numpy_indices_are_parameters(stepper: Stepper) -> None:
    data = mujoco.MjData(stepper.model)
    given = [["body", "ball", "inertia", np.int32(1)], ("body", "ball", "mass")]
    found = linearize(stepper, data, parameters=given).P
    assert found is not None
    assert found.shape == (2, 2)


@pytest.mark.parametrize("soften", [1e-200, 1e13, 1e300])
def test_soften_beyond_its_range(stepper: Stepper, soften: float) -> None:
    """R would overflow or vanish, and A would be NaN."""
    data = mujoco.MjData(stepper.model)
    stepper.run(data, 100)
    for factor in (1e-12, 1e12):
        assert np.isfinite(linearize(stepper, data, soften=factor).A).all()
    with pytest.raises(ValueError, match="must be from 1e-12 to 1e12"):
        linearize(stepper, data, soften=soften)
    with pytest.raises(ValueError, match="must be from 1e-12 to 1e12"):
        linearize_batch(stepper, data.qpos[None], data.qvel[None], soften=soften)
