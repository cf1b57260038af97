"""The C side of a step by itself: whatever numbers it meets, the answer is a step or an error."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

mujoco = pytest.importorskip("mujoco")

from mujoco_models import elements, mixed
from sapwood import SapSettings, _core
from sapwood.mujoco.reading.arrays import forest_arrays
from sapwood.mujoco.reading.controllers import controllers
from sapwood.mujoco.reading.elements import element_arrays, element_materials
from sapwood.mujoco.reading.engine import engine
from sapwood.mujoco.reading.joined_trees import joined_trees

MODEL = mixed()
FOREST = forest_arrays(MODEL, None, None, 0.004, True, [], joined_trees(MODEL), 0)
INDICES = [name for name, array in FOREST.items() if array.dtype == np.int32]
STATE = (
    "qvel", "M", "cdof", "subtree_com", "qfrc_smooth", "qacc_smooth", "qDeriv", "geom_xpos",
    "geom_xmat",
)  # fmt: skip
CONTACT = tuple(
    name
    for name in ("dist", "pos", "frame", "friction", "surfacevel")
    if hasattr(mujoco.MjContact, name)
)
OUTPUTS = ("qacc", "qfrc_constraint", "efc_force")
NONE = np.zeros(0)


def make_core(forest=FOREST, dt=0.004):
    return _core.ModelStepper(forest, dt, 1e-3, 1.0, "block", "elliptic", 1e10, SapSettings())


def with_forces(model, data):
    """The data, with all that the contact part of their step reads."""
    mujoco.mj_step1(model, data)
    mujoco.mj_fwdActuation(model, data)
    mujoco.mj_fwdAcceleration(model, data)
    return engine(), model, data


def step_of():
    """The arguments of the contact part of a step."""
    return with_forces(MODEL, mujoco.MjData(MODEL))


def outputs_of(data):
    return [np.array(getattr(data, name)) for name in OUTPUTS]


def test_a_solution_from_elsewhere_is_written_like_the_own_one():
    step, core, other = step_of(), make_core(), make_core()
    data = step[2]
    assert core.solve(*step) is None
    expected = outputs_of(data)
    result = core.result()
    v, gamma = result.v, result.gamma
    assert other.gather(*step) is None
    for name in OUTPUTS:
        getattr(data, name)[:] = np.nan
    assert other.write(*step, v, gamma, NONE, NONE, NONE) is None
    for found, wanted in zip(outputs_of(data), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-9)
    # arguments that are no solution of the problem, or no step
    for wrong in (
        (v[1:], gamma, NONE, NONE),
        (v, gamma[1:], NONE, NONE),
        (v, gamma, np.zeros(1), NONE),
        (v, gamma, NONE, np.zeros(3)),
    ):
        with pytest.raises(ValueError, match="have another length than the problem has"):
            other.write(*step, *wrong, NONE)
    for wrong in (("text", gamma, NONE, NONE), (v, gamma, NONE)):
        with pytest.raises(TypeError):
            other.write(*step, *wrong, NONE)
    kind, fault, *_ = other.write(*step, np.full_like(v, np.nan), gamma, NONE, NONE, NONE)
    assert (kind, _core.FAULTS[fault]) == ("fault", "acceleration")
    np.testing.assert_allclose(data.qacc, expected[0], rtol=1e-12, atol=1e-9)


def test_a_problem_may_have_another_velocity_at_its_start():
    step, core = step_of(), make_core()
    data = step[2]
    velocity = np.linspace(-1.0, 1.0, MODEL.nv)
    assert core.gather(*step, velocity) is None
    found = core.problem()["v_star"]
    data.qvel[:] = velocity
    assert core.gather(*step) is None
    np.testing.assert_array_equal(core.problem()["v_star"], found)
    for wrong in (velocity[1:], "text", velocity[:, None]):
        with pytest.raises((TypeError, ValueError), match="qvel"):
            core.gather(*step, wrong)


@given(
    name=st.sampled_from(INDICES),
    place=st.integers(0, 2**20),
    value=st.integers(-3, 40) | st.integers(-(2**31), 2**31 - 1),
)
def test_wrong_indices_in_a_forest_never_lead_outside(name, place, value):
    """Either the entry is refused by name, or it is harmless and a step runs."""
    forest = {**FOREST, name: FOREST[name].copy()}
    forest[name][place % len(forest[name])] = value
    try:
        core = make_core(forest)
    except ValueError as error:
        assert str(error).split("[")[0].split(" ")[0] in INDICES  # noqa: PT017
        return
    try:
        failure = core.solve(*step_of())
    except ValueError as error:
        assert "has other sizes" in str(error)  # noqa: PT017
        return
    if failure is not None and failure[0] == "argument":
        # a Jacobian on other dofs may leave a contact without effective mass, and other entries of
        # M a tree with a wrong one
        assert re.search("effective mass|block of tree .* positive definite", failure[3])


@given(
    field=st.sampled_from(["dim", "geom", "exclude", "efc_address"]),
    place=st.integers(0, 2**20),
    value=st.integers(-3, 60) | st.integers(-(2**31), 2**31 - 1),
)
def test_wrong_indices_in_a_contact_never_lead_outside(field, place, value):
    step = step_of()
    array = getattr(step[2].contact, field)
    array.flat[place % array.size] = value
    core = make_core()
    failure = core.solve(*step)
    if failure is not None:
        kind, code, index, text = failure
        assert kind == "fault" or "effective mass" in text
        assert core.fault() == ((code, index) if kind == "fault" else (0, -1))


@given(
    of_contact=st.booleans(),
    place=st.integers(0, 2**20),
    value=st.sampled_from([np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308]),
)
def test_wild_numbers_give_an_outcome_or_an_error(of_contact, place, value):
    step = step_of()
    data = step[2]
    owner, names = (data.contact, CONTACT) if of_contact else (data, STATE)
    array = getattr(owner, names[place % len(names)])
    array.flat[(place // 7) % array.size] = value
    before, core = outputs_of(data), make_core()
    failure, solution = core.solve(*step), core.result()
    if failure is not None or not np.isfinite(solution.v).all():
        for old, new in zip(before, outputs_of(data), strict=True):
            np.testing.assert_array_equal(old, new)
    else:
        assert np.isfinite(data.qacc).all()


def test_parts_of_a_step_refuse_garbage():
    api, model, data = step_of()
    core = make_core()
    record = np.zeros(1, _core.STEP_RECORD)

    def finish(*places):
        core.finish(*places, None, record)

    for call in (core.start, core.find_forces, finish, core.evaluate, core.solve, core.gather):
        for wrong in ((), (api, model), (None, model, data), (api, data, data), (api, model, 3)):
            with pytest.raises(TypeError):
                call(*wrong)
    with pytest.raises(TypeError, match="memory must be a FrictionMemory"):
        core.finish(api, model, data, 3, record)
    for wrong in (None, record["time"], np.zeros(0, _core.STEP_RECORD)):
        with pytest.raises((TypeError, ValueError), match="records"):
            core.finish(api, model, data, None, wrong)
    for wrong in ((), (1.0,), (0.0, 1.0), (1.0, -1.0), (np.nan, 1.0), ("text", 1.0)):
        with pytest.raises((TypeError, ValueError)):
            core.set_speeds(*wrong)


@pytest.mark.parametrize("name", FOREST)
def test_missing_and_wrong_forest_arrays_are_refused_by_name(name):
    for garbage in (None, "text", FOREST[name].astype(complex), FOREST[name].reshape(1, -1)):
        with pytest.raises((TypeError, ValueError), match=name):
            make_core({**FOREST, name: garbage})
    with pytest.raises(KeyError, match=name):
        make_core({key: value for key, value in FOREST.items() if key != name})


def test_forest_is_copied():
    forest = {name: array.copy() for name, array in FOREST.items()}
    core = make_core(forest)
    for array in forest.values():
        array.fill(-1)
    assert core.solve(*step_of()) is None


def places_of(arrays):
    """Addresses and sizes of arrays, in the order of memory."""
    return tuple(sorted((a.ctypes.data, a.nbytes) for a in arrays))


def test_a_watch_sees_every_byte(rng):
    owner = rng.integers(0, 256, 2000, dtype=np.uint8)
    spans = owner[:1], owner[3:80], owner[80:90], owner[300:1300]
    copies = [span.copy() for span in spans]
    watch = _core.ByteWatch(owner, places_of(spans))
    for place, (span, copied) in enumerate(zip(spans, copies, strict=True)):
        for i in range(span.size):
            span[i] ^= 1 << int(rng.integers(8))
            assert watch.changed()
            assert watch.changes() == [place]
            assert watch.before(place) == copied.tobytes()
            span[i] = copied[i]
            assert not watch.changed()
    for span in spans:
        span += 1
    assert watch.changes() == [0, 1, 2, 3]
    watch.accept()
    assert not watch.changed()
    assert [watch.before(i) for i in range(4)] == [span.tobytes() for span in spans]
    # bytes far from all places are not compared
    owner[1900] += 1
    assert not watch.changed()


def test_watches_refuse_garbage():
    assert not _core.ByteWatch(None, ()).changed()
    owner = np.zeros(100, np.uint8)
    one, two = places_of((owner[:10], owner[20:30]))
    for bad in (
        (owner, [one, two]), (owner, (two, one)), (owner, (one, one)), (owner, (one, 3)),
        (owner, ((0, 3),)), (owner, ((one[0], 0),)), (owner, ((one[0], -1),)), (owner, (one[:1],)),
        (owner, (("text", 3),)), (owner, ((one[0], 2.0),)), (owner,), (owner, (one,), 3),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            _core.ByteWatch(*bad)
    watch = _core.ByteWatch(owner, (one, two))
    for wrong, error in ((2, IndexError), (-1, IndexError), ("text", TypeError)):
        with pytest.raises(error):
            watch.before(wrong)


# ---- elements -----------------------------------------------------------------------------------

CONSTRAINED = elements("sparse")
OTHERS = element_arrays(
    CONSTRAINED,
    element_materials(CONSTRAINED, None, None, 0.004, []),
    controllers(CONSTRAINED, joined_trees(CONSTRAINED)),
    joined_trees(CONSTRAINED),
    0,
)
ELEMENT_INDICES = [
    name for name, a in OTHERS.items() if isinstance(a, np.ndarray) and a.dtype == np.int32
]
ELEMENT_NUMBERS = [
    name for name, a in OTHERS.items() if isinstance(a, np.ndarray) and a.dtype == np.float64
]
# the engine vouches for where rows begin and end
OF_STEP = {
    "indices": ("efc_type", "efc_id", "efc_J_colind", "moment_colind"),
    "numbers": (
        "qpos", "efc_pos", "efc_frictionloss", "efc_D", "efc_J", "ten_length", "ten_J",
        "actuator_length", "actuator_velocity", "actuator_moment", "actuator_force",
        "qfrc_actuator", "qfrc_smooth",
    ),
}  # fmt: skip


def constrained_core(others=OTHERS):
    trees = joined_trees(CONSTRAINED)
    forest = forest_arrays(CONSTRAINED, None, None, 0.004, False, [], trees, 0)
    return _core.ModelStepper(
        forest, 0.004, 1e-3, 1.0, "block", "elliptic", 1e10, SapSettings(), others
    )


def constrained_step():
    """The same of a model with all elements."""
    data = mujoco.MjData(CONSTRAINED)
    data.eq_active[:] = 1
    data.qpos[0] = 2.0  # beyond a limit
    return with_forces(CONSTRAINED, data)


def test_elements_make_a_step():
    core = constrained_core()
    assert core.solve(*constrained_step()) is None
    assert core.fault() == (0, -1)
    assert list(core.groups()["kind"]) == [1, 3, 0, 2]


def refused_or_taken(core, step):
    """The step ends in an outcome, a fault or an error that names an array."""
    try:
        failure = core.solve(*step)
    except ValueError as error:
        assert "has other sizes" in str(error)  # noqa: PT017
        return
    if failure is not None and failure[0] == "argument":
        pattern = r"J|g|phi0|q_0|q_d|Kp|f|effective mass|finite|block"
        assert re.search(pattern, failure[3])
    code, _ = core.fault()
    assert 0 <= code < len(_core.FAULTS)


@given(
    name=st.sampled_from(ELEMENT_INDICES),
    place=st.integers(0, 2**20),
    value=st.integers(-3, 40) | st.integers(-(2**31), 2**31 - 1),
)
def test_wrong_indices_of_elements_never_lead_outside(name, place, value):
    others = {**OTHERS, name: OTHERS[name].copy()}
    others[name].flat[place % others[name].size] = value
    try:
        core = constrained_core(others)
    except ValueError as error:
        assert str(error).split("[")[0].split(" ")[0] in ELEMENT_INDICES  # noqa: PT017
        return
    refused_or_taken(core, constrained_step())


@given(
    name=st.sampled_from(ELEMENT_NUMBERS),
    place=st.integers(0, 2**20),
    value=st.sampled_from([np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, -1e308, 1e-308]),
)
def test_wild_numbers_of_elements_give_a_step_or_an_error(name, place, value):
    others = {**OTHERS, name: OTHERS[name].copy()}
    others[name].flat[place % others[name].size] = value
    try:
        core = constrained_core(others)
    except ValueError as error:
        assert str(error).startswith(name)  # noqa: PT017
        return
    refused_or_taken(core, constrained_step())


@given(
    name=st.sampled_from(OF_STEP["indices"]),
    place=st.integers(0, 2**20),
    value=st.integers(-3, 60) | st.integers(-(2**31), 2**31 - 1),
)
def test_wrong_indices_in_the_rows_of_a_step_never_lead_outside(name, place, value):
    step = constrained_step()
    array = getattr(step[2], name)
    array[place % array.size] = value
    refused_or_taken(constrained_core(), step)


@given(
    name=st.sampled_from(OF_STEP["numbers"]),
    place=st.integers(0, 2**20),
    value=st.sampled_from([np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308]),
)
def test_wild_numbers_in_the_rows_of_a_step_give_an_outcome_or_an_error(name, place, value):
    step = constrained_step()
    array = getattr(step[2], name)
    array.flat[place % array.size] = value
    refused_or_taken(constrained_core(), step)


@pytest.mark.parametrize("name", OTHERS)
def test_missing_and_wrong_constants_of_elements_are_refused_by_name(name):
    for garbage in (None, "text", -1):
        with pytest.raises((TypeError, ValueError)):
            constrained_core({**OTHERS, name: garbage})
    missing = {key: value for key, value in OTHERS.items() if key != name}
    with pytest.raises(KeyError, match=name):
        constrained_core(missing)
