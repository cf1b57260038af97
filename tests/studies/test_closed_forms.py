"""Scenes whose result is known: bounds hold, pressed contacts are as deep as they should be."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from sapwood import cli
from sapwood.laws.materials import ContactMaterial
from sapwood.mujoco import Stepper
from sapwood.studies import engines
from sapwood.studies.closed_forms import FORMS, HOLDS, motion, row_of
from sapwood.studies.closed_forms.presses import (
    MILLIMETRES,
    SI,
    deepest,
    greatest_load,
    loads_of,
    pinched,
    press,
    pressed_model,
    stacked,
)
from sapwood.studies.engines.mujoco_engines import Sapwood

pytestmark = pytest.mark.claim
PAGE = Path(__file__).resolve().parents[2] / "docs/explanation/exact.md"


def sapwood(**given):
    """The stepper with further arguments, as an engine."""
    return type("Given", (Sapwood,), {"options": given})


# ---- bounds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if not form.quick])
def test_bound_holds(name):
    figure, bound = FORMS[name](engines.load("sapwood"))
    assert figure <= bound


@pytest.mark.parametrize("name", FORMS)
def test_the_page_has_every_closed_form(name):
    form = FORMS[name]
    line = next(x for x in PAGE.read_text(encoding="utf-8").splitlines() if f"| {name} |" in x)
    assert form.formula in line
    assert form.source in line


def test_bounds_tell_engines_apart():
    """MuJoCo by its defaults is known to glide, to rebound and to depend on units."""
    for name in ("launched cube", "plastic drop", "units"):
        assert row_of(FORMS[name], "mujoco").status == "broken"


def test_a_state_that_is_not_finite_fails(monkeypatch):
    monkeypatch.setattr(Sapwood, "read", lambda _, data: data.qpos.fill(np.nan))
    row = row_of(FORMS["braking"], "sapwood")
    assert (row.status, row.reason) == ("failed", "the state is not finite")


# ---- the command -------------------------------------------------------------------------------


def test_the_command_prints_and_writes(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    scenes = ["--scenes", "braking,impacts", "--engines", "sapwood,mujoco"]
    assert cli.main(["closed-forms", "--quick", *scenes, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "5 of 5" in printed
    assert "*" in printed  # MuJoCo rebounds
    with (tmp_path / "closed_forms.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["engine"] for row in rows} == {"sapwood", "mujoco"}
    assert [row["status"] for row in rows if row["engine"] == "sapwood"] == [HOLDS] * 5
    assert (tmp_path / "closed_forms.png").stat().st_size > 1000


def test_a_broken_bound_is_a_failure_of_the_command(capsys):
    assert cli.main(["closed-forms", "--scenes", "launched cube", "--engines", "mujoco"]) == 1
    assert "0 of 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--engines", "havok"], "'havok' is none of sapwood"),
        (["--scenes", "juggling"], "no scene or family has one of 'juggling'"),
        (["--quick", "--scenes", "pinch"], "--quick leaves out pinch"),
    ],
)
def test_wrong_arguments(given, told, capsys):
    assert cli.main(["closed-forms", *given]) != 0
    assert told in capsys.readouterr().err


# ---- presses -----------------------------------------------------------------------------------

WAYS = [{"friction": law} for law in ("convex", "lagged", "coulomb")] + [{"scheme": "midpoint"}]


@pytest.mark.parametrize("shape", ["sphere", "box"])
@pytest.mark.parametrize(
    "time_step",
    [0.01, *(pytest.param(x, marks=pytest.mark.nightly) for x in (5e-4, 1e-3, 2e-3, 5e-3, 2e-2))],
)
def test_pressed_bodies_are_no_deeper_than_the_closed_form(shape, time_step):
    for way in WAYS:
        model = pressed_model(shape, time_step)
        ratios = []
        for load in loads_of(time_step):
            depth, bound = press(sapwood(**way), model, load)
            ratios.append(depth / bound)
        assert max(ratios) < 1.001
        # the bound is met where the load is small, and not by a body that hovers: steps of 20 ms
        # sink by so much of a sphere that the release begins to support it, by 1.1 %
        assert ratios[0] > 0.98
    figure, bound = deepest(sapwood(), shape, time_step, MILLIMETRES)
    assert figure <= bound


@pytest.mark.parametrize("time_step", [0.0005, 0.002, 0.01])
@pytest.mark.parametrize("shape", ["sphere", "box"])
@pytest.mark.parametrize("friction", ["convex", "coulomb"])
def test_depth_grows_with_the_load_and_stays_small(shape, time_step, friction):
    """Loads up to 1e5 weights, which is far beyond 20 m/s of the mass in a step."""
    model = pressed_model(shape, time_step)
    loads = np.geomspace(1.0, 1e5, 21)
    depths = [press(sapwood(friction=friction), model, load, 0.1)[0] for load in loads]
    assert np.all(np.diff(depths) > 0.0)
    assert depths[-1] < 0.05


@pytest.mark.parametrize("load", [1e4, 1e5])
@pytest.mark.parametrize("time_step", [0.002, 0.01])
def test_a_ball_sinks_by_the_force_over_the_stiffness(load, time_step):
    """Two equal stiffnesses in series, by which the ball is 1 cm deep."""
    stiffness = 2.0 * (load + 1.0) * motion.GRAVITY / 0.01
    material = ContactMaterial(stiffness=stiffness, dissipation_time=time_step)
    depth, _ = press(sapwood(contact=material), pressed_model("sphere", time_step), load)
    assert depth == pytest.approx(0.05, rel=0.01)


@pytest.mark.parametrize("load", [1.0, 1e2, 1e4])
def test_a_load_acts_alike_in_all_units(load):
    depths = [press(sapwood(), pressed_model("box", 0.005, x), load)[0] for x in (SI, MILLIMETRES)]
    assert depths[1] == pytest.approx(depths[0], rel=1e-6)


def test_a_load_that_comes_and_goes_leaves_no_speed_behind():
    """A body pressed by up to 1e5 weights does not fly once it is let go."""
    for load in (1e2, 1e3, 1e4, 1e5):
        model = pressed_model("sphere", 0.002)
        stepper, data = Stepper(model), mujoco.MjData(model)
        data.qfrc_applied[2] = -load * 9.81
        stepper.run(data, 200)
        data.qfrc_applied[2] = 0.0
        fastest = 0.0
        for _ in range(200):
            stepper.step(data)
            fastest = max(fastest, data.qvel[2])
        assert fastest < 0.15


@pytest.mark.parametrize("time_step", [0.002, 0.005, 0.01])
@pytest.mark.parametrize("servo", [False, True])
def test_light_things_are_held_and_not_swallowed(time_step, servo):
    """At 2 ms 5 % of their width, by forces that v* knows and by those of implicit servos."""
    most = 0.05 * max(1.0, (time_step / 0.002) ** 1.2)
    assert 0.0 < pinched(sapwood(), "sphere", 0.002, 60.0, time_step, servo) < most
    assert 0.0 < pinched(sapwood(), "box", 0.005, 70.0, time_step, servo) < most


def test_light_bodies_bear_heavy_ones():
    # a load of more than some 200 weights adds little; the engine lists four or eight contacts
    overlaps = [stacked(sapwood(), heavy, 0.01, 0.002) for heavy in (1.0, 10.0, 100.0)]
    assert min(overlaps) == overlaps[0]
    assert max(overlaps) < 0.01
    assert stacked(sapwood(), 3000.0, 1.0, 0.002) < 0.05


def test_the_greatest_load_is_a_tenth_of_the_size():
    for time_step, load in itertools.product((0.002, 0.01), (1.0,)):
        depth = 2.0 * time_step**2 * greatest_load(time_step) * 9.81 / (4.0 * np.pi**2)
        assert depth == pytest.approx(0.1 * 0.2 * load)
