"""The C core reaches MuJoCo: a struct that does not fit is found before its use."""

from __future__ import annotations

import copy
import ctypes

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import VERSION, mixed
from sapwood import _core
from sapwood.mujoco import NotSupported, Stepper
from sapwood.mujoco.reading import engine as mujoco_engine
from sapwood.mujoco.reading.engine_fields import FIELDS
from sapwood.studies import scenes


@pytest.fixture
def undriven(monkeypatch):
    """A version of MuJoCo with other structs."""

    def read_layout():
        raise mujoco_engine.EngineError("nothing is where it was")

    monkeypatch.setattr(mujoco_engine, "read_layout", read_layout)
    mujoco_engine.engine.cache_clear()
    yield
    mujoco_engine.engine.cache_clear()


@pytest.mark.usefixtures("undriven")
@pytest.mark.parametrize(
    "options",
    [{}, {"speculative": False}, {"friction": "convex"}, {"scheme": "midpoint"}],
    ids=str,
)
def test_without_an_engine_there_is_no_stepper_and_that_is_said(options):
    message = rf"^MuJoCo {mujoco.__version__} cannot be driven from C \(nothing is where it was\)"
    with pytest.raises(NotSupported, match=message):
        Stepper(mixed(), **options)


@pytest.mark.usefixtures("undriven")
def test_without_an_engine_there_is_no_rollout():
    with pytest.raises(NotSupported, match="cannot be driven from C"):
        sapwood.mujoco.Rollout(mixed())


LAYOUT = mujoco_engine.read_layout()


def test_a_description_that_is_out_of_date_is_found_out(rng):
    """A field more or less before another one, of which the description knows nothing."""
    mujoco_engine._try_layout(LAYOUT)
    for name in rng.choice(list(LAYOUT), 12, replace=False):
        struct = name.split(".")[0]
        for shift in (-8, -4, 4, 8):
            moved = {
                other: place
                + shift * (other.split(".")[0] == struct and place >= LAYOUT[name] >= 0)
                for other, place in LAYOUT.items()
            }
            if min(moved.values()) >= -1 and moved != LAYOUT:
                with pytest.raises(mujoco_engine.EngineError, match="own description"):
                    mujoco_engine._try_layout(moved)


def test_the_table_says_what_mujoco_describes():
    """Types, shapes and versions of all fields, those that Python alone reads too."""
    description = mujoco_engine._description()
    has = {"ALL": True, "SINCE_4": VERSION >= (4, 0), "BEFORE_3_17": VERSION < (3, 17)}
    for field in FIELDS:
        found = [f for f in description[field.structure].fields if f.name == field.name]
        if field.structure == "mjWarningStat":
            assert hasattr(mujoco.mjtWarning, field.change)
            continue
        assert len(found) == has[field.versions], field.key
        for f in found:
            assert str(f.type) == field.declared, field.key
            extents = getattr(f, "array_extent", None) or ()
            lengths = [str(extent) for extent in extents]
            assert not field.is_array or f"({', '.join(lengths)})" == field.shape, field.key
    keys = [field.key for field in FIELDS]
    assert len(set(keys)) == len(keys)


def test_a_missing_field_is_found_out(monkeypatch):
    description = mujoco_engine._description()
    for struct, field in (("mjData", "efc_force"), ("mjOption", "cone"), ("mjContact", "dist")):
        pruned = dict(description)
        pruned[struct] = copy.copy(description[struct])
        pruned[struct].fields = tuple(f for f in description[struct].fields if f.name != field)
        monkeypatch.setattr(mujoco_engine, "_description", lambda pruned=pruned: pruned)
        with pytest.raises(mujoco_engine.EngineError, match=f"field {field} is None, expected"):
            mujoco_engine.read_layout()


def test_a_missing_function_is_found_out(monkeypatch):
    monkeypatch.setattr(_core, "MUJOCO_FUNCTIONS", ("mj_factorM", "mj_factorM7"))
    with pytest.raises(mujoco_engine.EngineError, match=r"function is missing.*mj_factorM7"):
        mujoco_engine.read_addresses()


def test_errors_that_cannot_be_caught_are_found_out():
    """Where MuJoCo's error function does not end in our handler."""
    quiet = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda _: None)
    addresses = mujoco_engine.read_addresses()
    types = mujoco.MjModel, mujoco.MjData
    _core.mujoco_api(addresses, LAYOUT, *types)
    addresses["mju_error"] = ctypes.cast(quiet, ctypes.c_void_p).value
    with pytest.raises(RuntimeError, match="cannot be caught"):
        _core.mujoco_api(addresses, LAYOUT, *types)


def test_the_c_side_refuses_garbage():
    model = scenes.sphere_on_floor(1.0).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    core, api, model = stepper.parameters.make_core(), mujoco_engine.engine(), stepper.model
    records = np.zeros(4, _core.STEP_RECORD)
    good = [api, model, data, 4, records, False]
    assert core.run(*good)[2] == ("options", 0, -1, "")
    core.accept_options(api, model)
    assert core.run(*good) == (4, 0, None)
    for position, value, message in (
        (0, None, "api must come from mujoco_api, not NoneType"),
        (1, data, "model must be a mujoco.*MjModel, not"),
        (2, model, "data must be a mujoco.*MjData, not"),
        (3, "4", "int"),
        (3, -1, "steps = -1"),
        (3, 5, "records has 4 entries, expected 5"),
        (4, np.zeros(4), "records must be a contiguous array of dtype STEP_RECORD"),
        (4, records[::2], "records must be a contiguous array"),
        (4, [records], "records must be a contiguous array"),
    ):
        wrong = list(good)
        wrong[position] = value
        with pytest.raises((TypeError, ValueError), match=message):
            core.run(*wrong)
    for arguments in ((), good[:-1], [*good, None, None, None, None]):
        with pytest.raises(TypeError):
            core.run(*arguments)
    other = mixed()
    with pytest.raises(ValueError, match="model has other sizes"):
        core.run(api, other, mujoco.MjData(other), 1, None, False)
    memory = _core.FrictionMemory(Stepper(model).parameters.make_core())
    forget = [].append
    for wrong, message in (
        ((None, model, data, None, ()), "api must come from mujoco_api, not NoneType"),
        ((api, data, data, None, ()), "model must be a mujoco.*MjModel, not"),
        ((api, model, model, None, ()), "data must be a mujoco.*MjData, not"),
        ((api, other, mujoco.MjData(other), None, ()), "model has other sizes"),
        ((api, model, data, 3, ()), "memory must be a FrictionMemory, not int"),
        ((api, model, data, memory, ()), "memory must be of this stepper"),
        ((api, model, data, None, None), "watches must be a tuple of ByteWatch"),
        ((api, model, data, None, (3,)), "watches must be a tuple of ByteWatch"),
        ((api, model, data), "takes exactly 7 arguments"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            core.prepare(*wrong, *([forget, records[:1]] if len(wrong) == 5 else []))
    with pytest.raises(TypeError, match="records must be a contiguous array"):
        core.prepare(api, model, data, None, (), forget, None)
    with pytest.raises(TypeError, match="cannot create"):
        _core.PreparedStep()
    for wrong in ((None, model), (api, None), (api,)):
        with pytest.raises(TypeError):
            core.accept_options(*wrong)
    for wrong in ({}, {"mj_factorM": 0}, {"mj_factorM": "x"}, {"mj_factorM": 2**70}, 3):
        with pytest.raises((TypeError, ValueError, KeyError, OverflowError)):
            _core.mujoco_api(wrong, LAYOUT, mujoco.MjModel, mujoco.MjData)
