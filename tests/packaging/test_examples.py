"""The programs of `examples` run as users run them, and what they print is right."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def output_of(name, *arguments, needs=()):
    """The output of a program."""
    for package in needs:
        pytest.importorskip(package)
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(text):
    """All numbers of a text."""
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d*)?(?:e[-+]\d+)?", text)]


def test_the_list_names_all_programs():
    rows = re.findall(r"^\| \[([\w/.]+)\]\(([\w/.]+)\)", (FOLDER / "README.md").read_text(), re.M)
    found = [path.relative_to(FOLDER) for path in FOLDER.rglob("*") if path.suffix in (".py", ".c")]
    assert sorted(name for name, _ in rows) == sorted(map(str, found))
    assert all(name == link for name, link in rows)


def test_a_stack_carries_its_weight_and_slides_where_friction_ends():
    carried, *pushed = output_of("stack").splitlines()
    forces = numbers(carried)
    np.testing.assert_allclose(forces[:3], forces[3:], atol=1e-3)
    np.testing.assert_allclose(forces[3:], np.array([6, 3, 1]) * 9.81, atol=1e-3)
    # Coulomb's law: nothing moves; the upper two go together; the middle one alone
    mu_g = 0.5 * 9.81
    together, alone = (25 - 3 * mu_g) / 3, (40 - 4 * mu_g) / 2
    expected = [[0, 0, 0], [0, together, together], [0, alone, mu_g]]
    for line, speeds in zip(pushed, expected, strict=True):
        np.testing.assert_allclose(numbers(line)[1:4], speeds, atol=5e-3)


def test_a_soft_cube_slides_as_coulomb_says():
    rows = [numbers(line) for line in output_of("soft_incline").splitlines()[1:]]
    for degrees, found, _, expected, speed in rows:
        assert found == pytest.approx(expected, rel=0.01, abs=1e-4)
        assert (abs(speed) < 2.5e-5) == (degrees < 26.5)


def test_a_soft_ball_is_as_stiff_as_theories_say():
    depths, forces, _, hertz, tatara = np.transpose(
        [numbers(line) for line in output_of("soft_hertz").splitlines()]
    )
    np.testing.assert_allclose(
        hertz, 4 / 3 * 1e5 / 0.91 * 0.05**0.5 * (1e-3 * depths) ** 1.5, rtol=2e-3
    )
    # linear elasticity on an axisymmetric mesh of 200 x 200 quadrilaterals
    exact = [1.056, 1.084, 1.106, 1.135, 1.159]
    np.testing.assert_allclose(tatara / hertz, exact, rtol=0, atol=5e-3)
    np.testing.assert_allclose(forces / tatara, 1, rtol=0, atol=0.06)
    # Hertz takes the ball for a half space: the patch is a tenth of the radius, and a seventh
    np.testing.assert_allclose(forces[:2] / hertz[:2], 1, rtol=0, atol=0.1)


def test_a_soft_ball_rests_in_a_corner():
    *_, total, stress = output_of("soft_ball").splitlines()
    x, y, z, weight = numbers(total)
    np.testing.assert_allclose([x, y, z], [0, 0, weight], rtol=0, atol=2e-3)
    assert numbers(stress)[1] < 1e-5


def test_a_soft_gripper_holds_what_it_lifts():
    text = output_of("soft_gripper", needs=["mujoco"])
    for name in ("bar", "shell"):
        (line,) = [line for line in text.splitlines() if line.startswith(name)]
        raised, creep = numbers(line)
        assert raised > 9.0
        assert creep < 1.0  # um/s


def test_a_firm_grip_holds_a_spatula():
    """A weak one lets it turn; soft pads yield a little."""
    lines = output_of("soft_spatula", needs=["mujoco"]).splitlines()
    turned = {line.split(":")[0]: numbers(line)[1] for line in lines}
    assert turned["soft pads, 1.5 N"] > 20
    assert turned["field pads, 1.5 N"] > 20
    assert 1 < turned["soft pads, 12.0 N"] < 4
    assert abs(turned["field pads, 12.0 N"]) < 0.1


def test_a_cloth_drapes_a_ball_and_a_cable_swings_in_a_ring():
    lines = output_of("cloth_and_cable", needs=["mujoco"]).splitlines()
    (low,), (stretch, gap), (reach,), (pull, rub) = map(numbers, lines)
    assert -15.0 < low < 0.0  # cm, of a cloth that began 1 cm above the ball
    assert reach > 15.0  # as far as the ring lets the cable swing
    assert max(stretch, pull) < 2.0  # %
    assert min(gap, rub) > -2.0  # mm, of radii of 5 and 4 mm


def test_a_quadruped_rises_as_it_should():
    assert numbers(output_of("quadruped_torques").splitlines()[-1])[0] == pytest.approx(1.0)


def test_an_arm_pushes_until_the_box_is_there():
    *path, steps, _, _, _, _ = output_of("arm_pushes_box", needs=["mujoco"]).splitlines()
    y = np.array([numbers(line)[2] for line in path])
    assert np.all(np.diff(y) > 0.0)
    assert y[-2] < 0.25 < y[-1]
    # mu m g of 0.001 m^3 of 1000 kg/m^3 and mu = 1 is all the friction of the floor, and somewhat
    # more than its resultant, because the box turns
    fx, fy = numbers(path[-1])[3:]
    assert 0.85 * 9.81 < np.hypot(fx, fy) < 1.005 * 9.81
    assert numbers(steps)[0] == 20 * len(path)


def test_contact_forces_end_as_the_weight(tmp_path):
    picture = tmp_path / "forces.png"
    text = output_of("contact_forces", picture, needs=["mujoco", "matplotlib"])
    largest, end, _, *contacts = text.splitlines()
    assert numbers(largest)[0] > 50.0
    assert numbers(end)[0] == pytest.approx(9.81, abs=1e-2)
    assert len(contacts) == 4
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_pushed_box_follows_coulombs_law():
    text = output_of("beside_mj_step", needs=["mujoco"]).splitlines()
    rows = {line.split()[0]: numbers(line) for line in text[1:]}
    place, speed, clearance = rows["sapwood"]
    assert speed == pytest.approx(rows["Coulomb"][1], abs=1e-4)
    # symplectic Euler ends half a step ahead
    assert place == pytest.approx(rows["Coulomb"][0] + speed * 0.002 / 2, abs=1e-4)
    assert clearance == 0.0
    assert abs(rows["mj_step"][1] - speed) > 0.01


def test_an_environment_is_itself_again():
    text = output_of("gymnasium_environment", needs=["gymnasium", "mujoco"])
    rewards = re.findall(r"^(\w+) +(-?\d+\.\d)", text, re.MULTILINE)
    assert [name for name, _ in rewards] == ["mj_step", "sapwood", "mj_step"]
    first, patched, again = (reward for _, reward in rewards)
    assert first == again != patched


def test_a_loop_is_shown_until_ctrl_c():
    pytest.importorskip("mujoco")
    pytest.importorskip("viser")
    with subprocess.Popen(
        [sys.executable, FOLDER / "viewer_loop.py"], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=os.environ | {"BROWSER": "true"},
    ) as run:  # fmt: skip
        url = run.stdout.readline().strip()
        assert b"<html" in urllib.request.urlopen(url, timeout=30).read()
        run.send_signal(signal.SIGINT)
        rest, errors = run.communicate(timeout=60)
    assert (run.returncode, rest, errors) == (0, "", "")


def test_ilqr():
    """Plans by all derivatives bring the box to its target; the hopper hops and stands there."""
    heading, *rows = output_of("ilqr", needs=["mujoco"]).splitlines()
    assert [heading.split()[0], len(rows)] == ["task", 6]
    found = {tuple(re.split(r"  +", row)[:2]): numbers(row)[1:] for row in rows}
    for way in ("linearize", "differences", "MuJoCo's"):
        _, cost, _, end, _ = found["push a box by 0.5 m", way]
        assert cost < 0.1
        assert abs(end - 0.5) < 0.01
    _, cost, _, end, highest = found["hop by 0.3 m", "linearize"]
    assert cost < 0.5  # 9.7 of the first plan
    assert abs(end - 0.3) < 0.04
    assert highest > 0.1


def test_mpc():
    """The box follows its path, and a plan takes less than the step that it is for."""
    *path, errors, times = output_of("mpc", needs=["mujoco"]).splitlines()
    assert len(path) == 6
    largest, end = map(abs, numbers(errors))
    assert largest < 10.0  # mm
    assert end < 1.0
    taken, given = numbers(times)
    assert taken < given


@pytest.mark.parametrize("engine", ["sapwood", "mujoco"])
def test_a_walker_trains_and_is_judged_again(engine, tmp_path):
    pytest.importorskip("mujoco.batch" if engine == "mujoco" else "mujoco")
    where = tmp_path / "walker"
    text = output_of(
        "train_walker", "--engine", engine, "--worlds", "8", "--horizon", "8", "--iterations", "3",
        "--no-video", "--out", str(where), needs=["mujoco"],
    )  # fmt: skip
    assert re.search(r"of 40 worlds walk", text)
    head, *lines = where.with_suffix(".csv").read_text().splitlines()
    curve = [dict(zip(head.split(","), map(float, line.split(",")), strict=True)) for line in lines]
    assert [row["steps"] for row in curve] == [64, 128, 192]
    assert np.isfinite([row["reward"] for row in curve]).all()
    assert 0.0 <= curve[-1]["walk"] <= 1.0
    with np.load(where.with_suffix(".npz")) as policy:
        assert all(np.isfinite(policy[name]).all() for name in policy.files)
    judged = output_of(
        "train_walker", "--engine", engine, "--load", str(where.with_suffix(".npz")), "--no-video"
    )
    assert judged.splitlines()[-1] == text.splitlines()[-1]
