"""The rules of MuJoCo that the core copies for its own lists of pairs, against MuJoCo's results:
which geoms may meet, and how their contact parameters are mixed."""

from __future__ import annotations

import copy
import lzma
import os
import re
from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import mixed
from sapwood import JointLimits
from sapwood.mujoco import NotSupported, Stepper

PARAMETERS = ("friction", "solref", "solreffriction", "solimp", "dim")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# masks that differ, an excluded pair, explicit pairs, bodies welded to each other and to the world
FILTERED = """
<mujoco><option cone="elliptic"/><worldbody>
  <geom name="floor" type="plane" size="2 2 1" contype="1" conaffinity="2"/>
  <body name="a" pos="0 0 .1"><freejoint/><geom name="a" size=".1" contype="2"/>
    <body pos="0 0 .15"><geom name="a_welded" size=".1"/></body></body>
  <body name="b" pos=".19 0 .1"><freejoint/><geom name="b" size=".1" conaffinity="4"/></body>
  <body name="c" pos="0 .19 .1"><freejoint/><geom name="c" type="box" size=".1 .1 .1"/></body>
  <body name="d" pos=".19 .19 .1"><freejoint/><geom name="d" size=".1" contype="0"
    conaffinity="0"/></body>
  <body name="arm" pos=".4 0 .1"><joint axis="0 1 0"/><geom name="upper" size=".12"/>
    <body name="fore" pos=".1 0 0"><joint axis="0 1 0"/><geom name="fore" size=".1"/>
      <body pos=".1 0 0"><joint axis="0 0 1"/><geom name="hand" size=".15"/></body></body></body>
</worldbody>
<contact><exclude body1="a" body2="c"/>
  <pair geom1="floor" geom2="d" margin=".01" friction=".3 .4 .01 .001 .002" solref=".03 1"/>
  <pair geom1="b" geom2="d" condim="4" solimp=".8 .9 .01 .5 2" solreffriction="-10 -2"/></contact>
</mujoco>"""


def models():
    """Parameters: the models of the folder that SAPWOOD_DATA names."""
    folder = os.environ.get("SAPWOOD_DATA")
    paths = sorted((Path(folder) / "models").glob("*.mjb.xz")) if folder else []
    return [pytest.param(path, id=path.name.split(".")[0]) for path in paths]


def contacts_of(data):
    """By their geoms, a row of distances and parameters for each."""
    rows = {}
    for i in range(data.ncon):
        contact = data.contact[i]
        values = [np.atleast_1d(getattr(contact, name)) for name in PARAMETERS]
        rows.setdefault(tuple(sorted(contact.geom)), []).append(
            (contact.dist, np.concatenate(values))
        )
    return rows


def listed_by_mujoco(model, state):
    data = mujoco.MjData(model)
    mujoco.mj_copyState(model, state, data, mujoco.mjtState.mjSTATE_INTEGRATION)
    mujoco.mj_step1(model, data)
    return contacts_of(data)


def widened(model, margin):
    """A copy in which MuJoCo lists contacts from farther away."""
    wide = copy.copy(model)
    wide.geom_margin[:] += margin
    wide.pair_margin[:] += margin
    mujoco.mj_setConst(wide, mujoco.MjData(wide))
    return wide


def check(stepper, data):
    """Compare the contacts that the stepper lists; how many there are."""
    model = stepper.model
    stepper.step1(data)
    ours = contacts_of(data)
    reach = max([dist for rows in ours.values() for dist, _ in rows], default=0.0)
    wide = listed_by_mujoco(widened(model, max(reach, 0.0) + 1e-3), data)
    for pair, rows in listed_by_mujoco(model, data).items():
        assert pair in ours, pair
        # the narrow phase rounds otherwise with other margins
        nearest = [min(dist for dist, _ in some) for some in (rows, ours[pair])]
        assert abs(nearest[0] - nearest[1]) < 1e-7, pair
    for pair, rows in ours.items():
        assert pair in wide, pair
        for _, values in rows:
            np.testing.assert_array_equal(values, wide[pair][0][1], str(pair))
    return sum(map(len, ours.values()))


def test_filters_are_those_of_mujoco(rng):
    model = mujoco.MjModel.from_xml_string(FILTERED)
    stepper, data = Stepper(model), mujoco.MjData(model)
    found = 0
    for _ in range(20):
        data.qpos[:] = model.qpos0 + rng.normal(scale=0.03, size=model.nq)
        data.qvel[:] = rng.normal(size=model.nv)
        found += check(stepper, data)
    assert found > 60


def test_contact_parameters_are_mixed_as_mujoco_does(rng):
    """With priorities, mixes of zero, direct references and dimensions that differ."""
    found = 0
    for _ in range(20):
        model = mixed()
        n = model.ngeom
        model.geom_priority[:] = rng.integers(0, 2, n)
        model.geom_solmix[:] = rng.choice([0.0, 1e-16, 0.3, 1.0, 2.0], n)
        model.geom_condim[:] = rng.choice([1, 3], n)
        model.geom_solref[:] = np.where(
            rng.random((n, 1)) < 0.3, rng.uniform(-200, -50, (n, 2)), rng.uniform(0.01, 1, (n, 2))
        )
        model.geom_solimp[:, :3] = rng.uniform(0.1, 0.9, (n, 3))
        model.geom_friction[:] = rng.uniform(0.1, 1.0, (n, 3))
        stepper, data = Stepper(model), mujoco.MjData(model)
        data.qvel[:] = rng.normal(scale=0.5, size=model.nv)
        found += check(stepper, data)
    assert found > 60


@pytest.mark.slow
@pytest.mark.parametrize("path", models())
def test_robots_meet_as_in_mujoco(path, tmp_path):
    binary = tmp_path / "model.mjb"
    binary.write_bytes(lzma.decompress(path.read_bytes()))
    try:
        stepper = Stepper(mujoco.MjModel.from_binary_path(str(binary)))
    except NotSupported as error:
        pytest.skip(str(error))
    data = mujoco.MjData(stepper.model)
    if stepper.model.nkey:
        mujoco.mj_resetDataKeyframe(stepper.model, data, 0)
    stepper.run(data, 20)
    check(stepper, data)


def test_enumerators_have_the_values_of_the_installed_mujoco():
    header = Path(__file__).resolve().parents[2] / "csrc/mujoco/engine/enumerations.h"
    known = {"mjMINVAL": mujoco.mjMINVAL, "mjNREF": mujoco.mjNREF, "mjNIMP": mujoco.mjNIMP}
    known |= {"mjNGAIN": mujoco.mjNGAIN, "mjNBIAS": mujoco.mjNBIAS, "mjNPOLY": mujoco.mjNPOLY}
    for name in dir(mujoco):
        if name.startswith("mjt"):
            members = getattr(getattr(mujoco, name), "__members__", {})
            known |= {key: int(value) for key, value in members.items()}
    text = header.read_text(encoding="utf-8")
    pairs = re.findall(r"\bSAP_MJ(\w+)(?: = | )(\d[\w.+-]*)(?: << (\d+))?", text)
    assert len(pairs) == len(re.findall(r"\bSAP_MJ", text))
    for name, number, shift in pairs:
        value = int(number) << int(shift) if shift else float(number)
        if name == "ENBL_SPECULATIVE" and mujoco.mj_version() < 4_000_000:
            continue
        assert value == known["mj" + name], name


@pytest.mark.parametrize("flags", [0, int(mujoco.mjtDisableBit.mjDSBL_REFSAFE)])
def test_limits_are_released_at_the_rate_of_mujocos_rows(rng, flags):
    """With references that are direct, mixed or shorter than two time steps."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body><joint range="-20 20" limited="true" ref="60" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></worldbody></mujoco>"""
    )
    model.opt.disableflags |= flags
    for _ in range(30):
        model.jnt_solref[:] = rng.choice([[0.003, 1.0], [0.02, 0.7], [-200.0, -30.0], [0.1, -5.0]])
        model.jnt_solimp[0, :2] = rng.uniform(0.0, 1.1, 2)
        stepper, data = Stepper(model, release_speed=1e-6), mujoco.MjData(model)
        stepper.step1(data)
        K, B = data.efc_KBIP[0, :2]
        (limits,) = (g for g in stepper.problem(data).constraints if isinstance(g, JointLimits))
        # all of the overlap at most, in a time step and the dissipation time, which is another
        rate = min(K / (B + np.sqrt(K)), 0.5 / model.opt.timestep)
        assert limits.v_hat.max() == pytest.approx(-rate * data.efc_pos[0], rel=1e-14)
