"""The C side of a step by itself: whatever arrays it is given, the answer is a step or an error."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

mujoco = pytest.importorskip("mujoco")

from mujoco_models import elements, mixed
from sapwood import SapSettings, _core
from sapwood.mujoco.reading.arrays import Bound, contact_arrays, forest_arrays
from sapwood.mujoco.reading.controllers import controllers
from sapwood.mujoco.reading.elements import element_arrays

MODEL = mixed()
FOREST = forest_arrays(MODEL, None, None, 0.004, True, [])
INDICES = [name for name, array in FOREST.items() if array.dtype == np.int32]
STATE = (
    "qvel", "M", "cdof", "subtree_com", "qfrc_smooth", "qacc_smooth", "qDeriv", "geom_xpos",
    "geom_xmat",
)  # fmt: skip
CONTACT = (
    "dist", "pos", "frame", "friction", "surfacevel", "dim", "geom", "exclude",
    "efc_address", "efc_KBIP",
)  # fmt: skip
OUTPUTS = ("qacc", "qfrc_constraint", "efc_force")


def make_core(forest=FOREST, dt=0.004):
    return _core.ModelStepper(forest, dt, 1e-3, 1.0, "block", "elliptic", 1e10, SapSettings())


def step_arrays():
    """Copies of all arrays of a step with contacts, as three tuples."""
    data = mujoco.MjData(MODEL)
    mujoco.mj_step1(MODEL, data)
    mujoco.mj_fwdActuation(MODEL, data)
    mujoco.mj_fwdAcceleration(MODEL, data)
    bound = Bound.of(MODEL, data)
    groups = (bound.inputs, contact_arrays(data), bound.outputs())
    return tuple(tuple(None if a is None else np.array(a) for a in group) for group in groups)


def replaced(groups, group, position, value):
    entries = list(groups[group])
    entries[position] = value
    return tuple(tuple(entries) if i == group else g for i, g in enumerate(groups))


def fewer_rows(groups):
    """One row of constants less."""
    return replaced(groups, 1, -1, groups[1][-1][:-1].copy())


def test_a_solution_from_elsewhere_is_written_like_the_own_one():
    groups, core, other = step_arrays(), make_core(), make_core()
    assert core.solve(*groups) == 0
    expected = [np.array(a) for a in groups[2]]
    result = core.result()
    v, gamma = result.v, result.gamma
    assert other.gather(*groups) == 0
    for array in groups[2]:
        array[:] = np.nan
    assert other.write(*groups, None, v, gamma, np.zeros(0), np.zeros(0)) == 0
    for found, wanted in zip(groups[2], expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-9)
    # what is no solution of the problem, or no step
    wrong = "have another length than the problem has"
    for solution in ((v[1:], gamma), (v, gamma[1:])):
        with pytest.raises(ValueError, match=wrong):
            other.write(*groups, None, *solution, np.zeros(0), np.zeros(0))
    with pytest.raises(ValueError, match=wrong):
        other.write(*groups, None, v, gamma, np.zeros(1), np.zeros(0))
    with pytest.raises(ValueError, match=wrong):
        other.write(*groups, None, v, gamma, np.zeros(0), np.zeros(3))
    short = replaced(fewer_rows(groups), 2, 2, groups[2][2][1:].copy())
    with pytest.raises(ValueError, match=wrong):
        other.write(*short, None, v, gamma, np.zeros(0), np.zeros(0))
    with pytest.raises(TypeError, match="write takes 8 arguments, not 3"):
        other.write(*groups)
    code = other.write(*groups, None, np.full_like(v, np.nan), gamma, np.zeros(0), np.zeros(0))
    assert _core.FAULTS[-code] == "acceleration"
    np.testing.assert_allclose(groups[2][0], expected[0], rtol=1e-12, atol=1e-9)


def test_arrays_in_the_order_of_the_core_make_a_step():
    groups = step_arrays()
    core = make_core()
    assert core.solve(*groups) == 0
    assert core.fault() == (0, -1)
    assert len(core.contacts()["index"]) > 5
    # strides of a list of structs, and of the reverse of one
    padded = tuple(
        None if a is None else np.repeat(a[::-1], 3, axis=0)[::3][::-1] for a in groups[1][:-1]
    )
    assert core.solve(groups[0], (*padded, groups[1][-1]), groups[2]) == 0


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
        core.solve(*step_arrays())
    except ValueError as error:
        # a Jacobian on other dofs may leave a contact without effective mass, and other entries of
        # M a tree with a wrong one
        assert re.search("effective mass|block of tree .* positive definite", str(error))  # noqa: PT017


@given(
    field=st.sampled_from(["dim", "geom", "exclude", "efc_address"]),
    place=st.integers(0, 2**20),
    value=st.integers(-3, 60) | st.integers(-(2**31), 2**31 - 1),
)
def test_wrong_indices_in_a_contact_never_lead_outside(field, place, value):
    groups = step_arrays()
    array = groups[1][CONTACT.index(field)]
    array.flat[place % array.size] = value
    core = make_core()
    try:
        code = core.solve(*groups)
    except ValueError as error:
        assert "effective mass" in str(error)  # noqa: PT017
        return
    fault, _ = core.fault()
    assert code in (0, 1, -fault)


@given(
    group=st.sampled_from([0, 1]),
    place=st.integers(0, 2**20),
    value=st.sampled_from([np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308]),
)
def test_wild_numbers_give_an_outcome_or_an_error(group, place, value):
    groups = step_arrays()
    floats = [a for a in groups[group] if a is not None and a.dtype == np.float64 and a.size]
    array = floats[place % len(floats)]
    array.flat[(place // 7) % array.size] = value
    before = [a.copy() for a in groups[2]]
    core = make_core()
    try:
        code = core.solve(*groups)
    except ValueError:
        code = -1
    if code < 0 or code > 2:
        for old, new in zip(before, groups[2], strict=True):
            np.testing.assert_array_equal(old, new)
    else:
        assert np.isfinite(groups[2][0]).all()


GARBAGE = [None, 3, "text", [1.0], np.zeros((3, 1, 1)), np.zeros(3, complex)]


@pytest.mark.parametrize("garbage", GARBAGE, ids=repr)
@pytest.mark.parametrize(
    ("group", "names"),
    [(0, STATE), (1, CONTACT), (2, OUTPUTS)],
    ids=["state", "contacts", "outputs"],
)
def test_wrong_arrays_are_refused_by_name(group, names, garbage):
    groups = step_arrays()
    core = make_core()
    for position, name in enumerate(names):
        if garbage is None and name == "surfacevel":
            continue
        with pytest.raises((TypeError, ValueError), match=name):
            core.solve(*replaced(groups, group, position, garbage))
        with pytest.raises((TypeError, ValueError), match=name):
            core.gather(*replaced(groups, group, position, garbage))
    for bad in (groups[group][:-1], list(groups[group]), garbage):
        arguments = [bad if i == group else g for i, g in enumerate(groups)]
        with pytest.raises(TypeError, match=r"must be a tuple of \d+ arrays"):
            core.solve(*arguments)


def test_outputs_must_be_writeable():
    groups = step_arrays()
    groups[2][0].flags.writeable = False
    with pytest.raises(ValueError, match=r"qacc must be .* writeable"):
        make_core().solve(*groups)


def test_too_few_arguments_are_refused():
    core = make_core()
    for call in (core.solve, core.gather):
        with pytest.raises(TypeError, match="takes the tuples state, contacts, outputs and elem"):
            call()


def test_rows_that_are_too_few_for_the_contacts_are_refused():
    groups = step_arrays()
    core = make_core()
    short = replaced(fewer_rows(groups), 2, 2, groups[2][2][:-1].copy())
    assert _core.FAULTS[-core.solve(*short)] == "rows"


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
    assert core.solve(*step_arrays()) == 0


def test_a_watch_sees_every_byte(rng):
    spans = tuple(rng.integers(0, 256, n, dtype=np.uint8) for n in (1, 0, 77, 1000))
    copies = tuple(span.copy() for span in spans)
    watch = _core.ByteWatch(spans, copies)
    assert not watch.changed()
    for span, copied in zip(spans, copies, strict=True):
        for i in range(span.size):
            span[i] ^= 1 << int(rng.integers(8))
            assert watch.changed()
            span[i] = copied[i]
            assert not watch.changed()


def test_watches_refuse_garbage():
    assert not _core.ByteWatch((), ()).changed()
    spans = tuple(np.zeros(n, np.uint8) for n in (1, 3))
    for bad in (
        (list(spans), spans), (spans, spans[:1]), (spans, spans, 3), (spans, spans[::-1]),
        ((np.zeros(3),), (np.zeros(3),)), (spans,), ((None,), (None,)),
        ((np.zeros(8, np.uint8)[::2],), (np.zeros(4, np.uint8),)),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            _core.ByteWatch(*bad)


def test_first_bad_finds_the_first():
    a, b = np.zeros(4), np.ones((2, 3))
    assert _core.first_bad((a, b, np.zeros(0)), 1.0) is None
    b[1, 1] = -1.5
    assert _core.first_bad((a, b), 1.0) == (1, 4)
    a[3] = np.nan
    assert _core.first_bad((a, b), 1.0) == (0, 3)
    for bad in ([b], (np.zeros(3), "b"), (np.zeros(3, int),), (np.zeros((2, 3)).T,)):
        with pytest.raises((TypeError, ValueError)):
            _core.first_bad(bad, 1.0)
    with pytest.raises(ValueError, match="limit"):
        _core.first_bad((a,), -1.0)
    with pytest.raises(TypeError):
        _core.first_bad((a,))


# ---- elements -----------------------------------------------------------------------------------

CONSTRAINED = elements("sparse")
OTHERS = element_arrays(CONSTRAINED, None, None, 0.004, controllers(CONSTRAINED), [])
ELEMENT_INDICES = [
    name for name, a in OTHERS.items() if isinstance(a, np.ndarray) and a.dtype == np.int32
]
ELEMENT_NUMBERS = [
    name for name, a in OTHERS.items() if isinstance(a, np.ndarray) and a.dtype == np.float64
]
OF_STEP = _core.ELEMENT_ARRAYS


def constrained_core(others=OTHERS):
    forest = forest_arrays(CONSTRAINED, None, None, 0.004, False, [])
    return _core.ModelStepper(
        forest, 0.004, 1e-3, 1.0, "block", "elliptic", 1e10, SapSettings(), others
    )


def constrained_arrays():
    """Copies of all arrays of a step of a model with all elements, as four tuples."""
    data = mujoco.MjData(CONSTRAINED)
    data.eq_active[:] = 1
    data.qpos[0] = 2.0  # beyond a limit
    mujoco.mj_step1(CONSTRAINED, data)
    mujoco.mj_fwdActuation(CONSTRAINED, data)
    mujoco.mj_fwdAcceleration(CONSTRAINED, data)
    bound = Bound.of(CONSTRAINED, data)
    others = bound.elements(CONSTRAINED)
    groups = (bound.inputs, contact_arrays(data), bound.outputs(), others[:-1])
    copies = [tuple(None if a is None else np.array(a) for a in group) for group in groups]
    return [*copies[:3], (*copies[3], others[-1])]


def test_arrays_of_elements_in_the_order_of_the_core_make_a_step():
    core = constrained_core()
    groups = constrained_arrays()
    assert core.solve(*groups) == 0
    assert core.fault() == (0, -1)
    assert list(core.groups()["kind"]) == [1, 3, 0, 2]
    # without them there is no step
    with pytest.raises(TypeError, match="elements must be a tuple of 21 arrays and an integer"):
        core.solve(*groups[:3])


def refused_or_taken(core, groups):
    """The step ends in an outcome, a fault or an error that names an array."""
    try:
        core.solve(*groups)
    except ValueError as error:
        assert re.search(r"J|g|phi0|q_0|q_d|Kp|f|effective mass|finite|block", str(error))  # noqa: PT017
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
    refused_or_taken(core, constrained_arrays())


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
    refused_or_taken(core, constrained_arrays())


@given(
    name=st.sampled_from(
        [name for name in OF_STEP if name.endswith(("type", "id", "nnz", "adr", "colind"))]
    ),
    place=st.integers(0, 2**20),
    value=st.integers(-3, 60) | st.integers(-(2**31), 2**31 - 1),
)
def test_wrong_indices_in_the_rows_of_a_step_never_lead_outside(name, place, value):
    groups = constrained_arrays()
    array = groups[3][OF_STEP.index(name)]
    array[place % array.size] = value
    refused_or_taken(constrained_core(), groups)


@given(
    name=st.sampled_from(
        [name for name in OF_STEP if not name.endswith(("type", "id", "nnz", "adr", "colind"))]
    ),
    place=st.integers(0, 2**20),
    value=st.sampled_from([np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308]),
)
def test_wild_numbers_in_the_rows_of_a_step_give_an_outcome_or_an_error(name, place, value):
    groups = constrained_arrays()
    array = groups[3][OF_STEP.index(name)]
    array[place % array.size] = value
    refused_or_taken(constrained_core(), groups)


@pytest.mark.parametrize("position", range(len(OF_STEP)), ids=OF_STEP)
def test_missing_and_wrong_arrays_of_elements_are_refused_by_name(position):
    groups = constrained_arrays()
    name, array = OF_STEP[position], groups[3][position]
    core = constrained_core()
    for garbage in ("text", array.astype(complex), array.reshape(1, -1)):
        with pytest.raises((TypeError, ValueError), match=name):
            core.solve(*replaced(groups, 3, position, garbage))
    # a Jacobian that is too short has no row to read
    short = replaced(groups, 3, position, array[:1].copy())
    try:
        code = core.solve(*short)
    except ValueError as error:
        assert name in str(error)  # noqa: PT017
        return
    assert name in ("efc_J", "efc_J_colind", "moment_colind", "actuator_moment")
    assert _core.FAULTS[-code] == "rows"


@pytest.mark.parametrize("name", OTHERS)
def test_missing_and_wrong_constants_of_elements_are_refused_by_name(name):
    for garbage in (None, "text", -1):
        with pytest.raises((TypeError, ValueError)):
            constrained_core({**OTHERS, name: garbage})
    missing = {key: value for key, value in OTHERS.items() if key != name}
    with pytest.raises(KeyError, match=name):
        constrained_core(missing)
