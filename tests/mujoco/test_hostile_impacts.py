"""Impacts of hostile numbers: a finite step or an error by name, and no energy out of nothing."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from sapwood import SapSettings
from sapwood.mujoco import ContactMaterial, StepError, Stepper
from sapwood.studies.conservation import energy

SHAPES = ("box", "sphere", "capsule", "ellipsoid", "cylinder")


def thrown(rng):
    """Three bodies of any size, mass and speed before a floor, and a stepper for any material."""
    dt, size = 10.0 ** rng.uniform(-6.0, -1.0), 10.0 ** rng.uniform(-1.5, 2.0)
    gravity = rng.choice([0.0, 9.81])
    bodies = "".join(
        f"""<body pos="{0.25 * size * i} {0.02 * size * i} 0"><freejoint/>
        <geom type="{rng.choice(SHAPES)}" size="{0.1 * size} {0.05 * size} {0.03 * size}"
        density="{10.0 ** rng.uniform(1.0, 5.0)}"/></body>"""
        for i in range(3)
    )
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{dt}" gravity="0 0 {-gravity}"/><worldbody>
        <geom type="plane" size="5 5 1" pos="0 0 {-0.3 * size}"/>{bodies}</worldbody></mujoco>"""
    )
    mu = float(rng.choice([0.0, 1e-9, 0.3, 10.0, 1e6]))
    material = ContactMaterial(
        restitution=float(rng.choice([0.0, 1e-12, 0.5, 1.0])),
        friction=mu,
        static_friction=mu * float(rng.choice([1.0, 1.5, 1e3, 1e9])),
    )
    law = str(rng.choice(["coulomb", "convex", "lagged"]))
    # energy is kept to a few times the tolerance of (20)
    settings = SapSettings(relative_tolerance=1e-10)
    stepper = Stepper(model, contact=material, friction=law, settings=settings)
    data = mujoco.MjData(model)
    data.qvel[:] = rng.normal(size=model.nv) * 10.0 ** rng.uniform(-6.0, 8.0)
    data.qvel[0], data.qvel[6] = abs(data.qvel[0]), -abs(data.qvel[6])
    return stepper, data


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_hostile_impacts_end_finite_or_by_name(rng):
    """Energy grows neither by impacts nor by rotation."""
    taken = refused = met = 0
    for trial in range(60):
        stepper, data = thrown(rng)
        floats = stepper.model.opt.gravity[2] == 0.0
        last = energy(stepper.model, data)
        for _ in range(30):
            try:
                stepper.run(data, 1)
            except StepError:
                refused += 1
                break
            assert np.isfinite(data.qvel).all()
            assert np.isfinite(data.qpos).all()
            now, distance = energy(stepper.model, data), stepper.contacts.distance
            met += len(distance) > 0
            taken += 1
            if floats and (not len(distance) or distance.min() >= 0.0):
                assert now <= last * (1.0 + 1e-8), trial
            last = now
    assert taken > 500
    assert refused > 0
    assert met > 50


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_impact_whose_rebounds_have_no_solution_gains_nothing():
    """The solver finds no velocity with the rebounds of this scene, and one without them."""
    rng = np.random.default_rng(48)
    stepper, data = [thrown(rng) for _ in range(6)][-1]
    before = energy(stepper.model, data)
    result = stepper.run(data, 1)
    assert result.converged
    assert result.fallbacks["rebound"] == 1
    assert energy(stepper.model, data) <= before * (1.0 + 1e-8)
