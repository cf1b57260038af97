"""Forces on bodies and geoms: prepared in C, beside sums over the contacts in NumPy."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import compiled, mixed, set_controls
from sapwood import _core
from sapwood.mujoco import Batch, NotSupported, Stepper
from sapwood.studies import scenes


def totals(stepper, geoms, others=None):
    """Sums over the contacts that have a force, by their columns."""
    contacts, total = stepper.contacts, np.zeros((len(geoms), 3))
    acting = np.zeros(len(geoms), bool)
    for pair, force in zip(contacts.geoms.tolist(), contacts.world_force, strict=True):
        for side, sign in ((0, -1.0), (1, 1.0)):
            if pair[side] in geoms and (others is None or pair[1 - side] in others):
                column = geoms.index(pair[side])
                total[column] += sign * force
                acting[column] |= bool(force.any())
    return total, acting


@pytest.mark.parametrize("scheme", ["symplectic_euler", "midpoint"])
def test_forces_on_bodies_are_those_of_the_contacts(scheme):
    model = mixed()
    stepper = Stepper(model, contact=sapwood.ContactMaterial(1e5), scheme=scheme)
    data, pressed = mujoco.MjData(model), 0
    assert stepper.body_forces.tolist() == np.zeros((model.nbody, 3)).tolist()
    for i in range(60):
        set_controls(model, data, i)
        stepper.step(data)
        forces = stepper.body_forces
        for body in range(model.nbody):
            expected = stepper.contacts.force_on_body(body)
            np.testing.assert_allclose(forces[body], expected, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(forces.sum(axis=0), 0, atol=1e-9)
        pressed += bool(forces.any())
    assert pressed > 5


@pytest.mark.parametrize("fields", [None, "block"])
def test_a_reader_sums_the_contacts_of_its_geoms(fields, rng):
    model = scenes.clutter(5, seed=1).compile()
    if fields is not None:
        soft = sapwood.PressureField(modulus=1e6, resolution=0.05)
        fields = {model.geom(model.ngeom - 1).name or 0: soft}
    stepper, data = Stepper(model, fields=fields), mujoco.MjData(model)
    geoms = rng.permutation(model.ngeom)[: model.ngeom // 2].tolist()
    others = [g for g in range(model.ngeom) if g not in geoms]
    every, some = stepper.contact_reader(geoms), stepper.contact_reader(geoms, others)
    arrays, touched = (every.acting, every.force, every.air_time), 0
    last = np.full(len(geoms), np.nan)
    for _ in range(150):
        stepper.step(data)
        for reader, met in ((every, None), (some, others)):
            assert reader.read() is reader
            force, acting = totals(stepper, geoms, met)
            np.testing.assert_allclose(reader.force, force, rtol=1e-12, atol=1e-9)
            assert reader.acting.tolist() == acting.tolist()
        last[every.acting | np.isnan(last)] = data.time
        np.testing.assert_allclose(every.air_time, data.time - last, atol=1e-12)
        touched += every.acting.any()
    assert touched > 10
    assert all(a is b for a, b in zip(arrays, (every.acting, every.force, every.air_time),
                                      strict=True))  # fmt: skip


def test_a_reader_outlives_changes_and_sees_time_run_back():
    ball = '<body pos="0 0 .1"><freejoint/><geom size=".1" mass="1"/></body>'
    model = compiled(f'<geom type="plane" size="1 1 1"/>{ball}', 0.01)
    stepper, data = Stepper(model), mujoco.MjData(model)
    reader = stepper.contact_reader([model.ngeom - 1])
    assert not reader.read().acting.any()
    stepper.run(data, 100)
    weight = -model.body_mass.sum() * model.opt.gravity[2]
    assert reader.read().force[0, 2] == pytest.approx(weight, rel=1e-3)
    model.geom_friction[:] *= 2.0
    model.body_mass[:] *= 2.0
    stepper.run(data, 100)
    assert reader.read().force[0, 2] == pytest.approx(2 * weight, rel=1e-3)
    data.qpos[2] += 1.0
    stepper.run(data, 10)
    assert reader.read().air_time[0] == pytest.approx(10 * stepper.time_step)
    mujoco.mj_resetData(model, data)
    data.qpos[2] += 1.0
    stepper.step(data)
    assert reader.read().air_time.tolist() == [0.0]
    other = copy.deepcopy(stepper)
    assert not other.contact_reader([1]).read().acting.any()


@pytest.mark.parametrize("through", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))])
@pytest.mark.parametrize("worlds", [None, 3])
def test_a_copied_reader_reads_the_copy_of_its_owner_and_counts_on(through, worlds):
    ball = '<body pos="0 0 .15"><freejoint/><geom size=".1" mass="1"/></body>'
    model = compiled(f'<geom type="plane" size="1 1 1"/>{ball}', 0.01)
    data = mujoco.MjData(model)
    owner = Stepper(model) if worlds is None else Batch(model, worlds, 2)

    def advance(owner, data, steps):
        for _ in range(steps):
            owner.step() if worlds else owner.step(data)

    reader = owner.contact_reader([1], [0])
    reader.read()
    advance(owner, data, 3)
    reader.read()
    other_owner, other = through((owner, reader))
    other_data = copy.copy(data)
    assert other.air_time.max() == reader.air_time.max() > 0
    assert not np.shares_memory(other.force, reader.force)
    advance(other_owner, other_data, 60)
    other.read()
    assert other.acting.all()
    assert not reader.read().acting.any()
    advance(owner, data, 60)
    np.testing.assert_array_equal(reader.read().force, other.force)
    alone = through(reader)
    np.testing.assert_array_equal(alone.force, reader.force)


def test_wrong_geoms_and_schemes_are_refused():
    model = mixed()
    stepper = Stepper(model)
    with pytest.raises(ValueError, match="no geom of this name"):
        stepper.contact_reader(["nope"])
    with pytest.raises(TypeError, match="sequences of names"):
        stepper.contact_reader("nope")
    with pytest.raises(ValueError, match="different ones"):
        stepper.contact_reader([1, 1])
    assert stepper.contact_reader([]).read().force.shape == (0, 3)
    with pytest.raises(NotSupported, match="contact_reader is for symplectic_euler"):
        Stepper(model, scheme="midpoint").contact_reader([0])


def test_the_core_checks_what_it_is_given():
    logs = (_core.ContactLog(), _core.ContactLog())
    column, meets = np.array([-1, 0], np.int32), np.ones(2, bool)
    acting, force = np.zeros((2, 1), bool), np.zeros((2, 1, 3))
    air, since = np.zeros((2, 1)), np.zeros((2, 1))
    reader = _core.ContactReader(logs, column, meets, acting, force, air, since)
    reader.read(np.array([1.0, 2.0]))
    assert air.ravel().tolist() == [1.0, 2.0]
    for arguments, error, text in [
        ((1, column, meets, acting, force, air, since), TypeError, "source must be"),
        (((1,), column, meets, acting, force, air, since), TypeError, "must be a ContactLog"),
        ((logs, column + 1, meets, acting, force, air, since), ValueError, "column"),
        ((logs, column, meets[:1], acting, force, air, since), ValueError, "meets"),
        ((logs, column, meets, acting[:1], force, air, since), ValueError, "acting"),
        ((logs, column, meets, acting, force[:, :, :2], air, since), ValueError, "force"),
        ((logs, column, meets, acting, force, air.astype("f4"), since), TypeError, "air_time"),
        ((logs, column, meets, acting, force, air, since.T), ValueError, "since"),
    ]:
        with pytest.raises(error, match=text):
            _core.ContactReader(*arguments)
    for arguments in ((), (1.0,), (np.zeros(3),)):
        with pytest.raises((TypeError, ValueError)):
            reader.read(*arguments)


@pytest.mark.slow
def test_a_read_takes_less_than_a_microsecond():
    import time

    model = scenes.sphere_on_floor(0.0).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    reader = stepper.contact_reader([model.ngeom - 1], [0])
    stepper.run(data, 100)
    best = np.inf
    for _ in range(20):
        begin = time.process_time()
        for _ in range(5000):
            reader.read()
        best = min(best, (time.process_time() - begin) / 5000)
    assert best < 1e-6, f"{best * 1e6:.2f} us"
