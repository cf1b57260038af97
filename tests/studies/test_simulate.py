"""``sapwood simulate``: any model, driven by a table or a program; what it writes and says."""

from __future__ import annotations

import numpy as np
import pytest

from command_line import command, error_line

pytest.importorskip("matplotlib")
mujoco = pytest.importorskip("mujoco")

from sapwood import fem
from sapwood.mujoco import Stepper
from sapwood.studies.experiments.simulate import simulate, summary
from sapwood.studies.plotting import read_steps

LIFT = """
<mujoco>
  <option gravity="0 0 -10" timestep="0.01"/>
  <worldbody>
    <body pos="0 0 1">
      <joint name="lift" type="slide" axis="0 0 1"/><geom name="box" type="box" size=".1 .1 .1"
        mass="2"/>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="lift"/></actuator>
  <keyframe><key name="low" qpos="-.2"/><key name="high" qpos=".5"/></keyframe>
</mujoco>
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "lift.xml"
    path.write_text(LIFT)
    return path


def motion(folder):
    return np.genfromtxt(folder / "motion.csv", delimiter=",", names=True, deletechars="")


def test_a_table_drives_the_motor(model, tmp_path):
    """Each row is held until the next one; without a row, the box falls."""
    table = tmp_path / "push.csv"
    table.write_text("push,time\n20,0.1\n24,0.2\n")
    out = tmp_path / "made" / "here"
    done = command(
        "simulate", model, "--seconds", "0.3", "--controls", table, "--out", out, "--no-picture"
    )
    assert (done.returncode, done.stderr) == (0, "")
    names = {"steps.csv", "motion.csv", "steps.png"}
    assert {path.name for path in out.iterdir()} == names
    assert all(str(out / name) in done.stdout for name in names)
    for words in ("real-time factor", "30 of 30", "30 converged"):
        assert words in done.stdout
    moved = motion(out)
    # from the first keyframe; then accelerations of -10, 0 and 2, each for a tenth of a second
    speed = moved["qvel_lift"]
    np.testing.assert_allclose(moved["time"], 0.01 * np.arange(31), atol=1e-12)
    assert moved["qpos_lift"][0] == -0.2
    np.testing.assert_allclose(speed[[10, 20, 30]], [-1.0, -1.0, -0.8], atol=1e-9)
    steps = read_steps(out / "steps.csv")
    np.testing.assert_allclose(steps["kinetic_energy"], speed[1:] ** 2, atol=1e-9)
    heights = 1.0 + moved["qpos_lift"][1:]
    np.testing.assert_allclose(steps["potential_energy"], 20.0 * heights, atol=1e-9)


def test_step_scheme_stiffness_and_tolerance_are_those_asked_for(tmp_path):
    """A ball of 1 kg at rest: its floor gives way by m g/k with k = 1e4/2 of two geoms."""
    path, out = tmp_path / "ball.xml", tmp_path / "out"
    path.write_text(
        """<mujoco><option gravity="0 0 -10"/><worldbody><geom type="plane" size="1 1 .1"/>
        <body pos="0 0 .1"><joint name="z" type="slide" axis="0 0 1"/>
        <geom size=".1" mass="1"/></body></worldbody></mujoco>"""
    )
    done = command(
        "simulate", path, "--seconds", "2", "--dt", "0.01", "--scheme", "implicit_euler",
        "--stiffness", "1e4", "--tolerance", "1e-9", "--out", out, "--no-picture",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "200 of 200" in done.stdout
    moved, steps = motion(out), read_steps(out / "steps.csv")
    np.testing.assert_allclose(moved["qpos_z"][-1], -10.0 / 5e3, rtol=1e-6)
    assert steps["momentum_error"].max() <= 1e-9
    for option in ("--dt", "--stiffness", "--tolerance"):
        assert option in error_line(command("simulate", path, option, "0"))


def test_energies_are_those_of_springs_to_mocap_bodies_where_these_are():
    model = mujoco.MjModel.from_xml_string("""
    <mujoco>
      <option gravity="0 0 -10" timestep="0.01"/>
      <worldbody>
        <body name="hand" mocap="true" pos="0 0 2"><site name="hand"/></body>
        <body pos="0 0 1"><joint type="slide" axis="0 0 1"/><geom size=".1" mass="2"/>
          <site name="ball"/></body>
      </worldbody>
      <tendon><spatial stiffness="100" springlength="0">
        <site site="hand"/><site site="ball"/></spatial></tendon>
    </mujoco>""")
    data = mujoco.MjData(model)
    data.mocap_pos[0, 2] = 3.0
    run = simulate(Stepper(model), data, 0.05, progress=False)
    height = 1.0 + run.qpos[1:, 0]
    np.testing.assert_allclose(
        run.steps["potential_energy"], 20.0 * height + 50.0 * (3.0 - height) ** 2, rtol=1e-9
    )


def test_a_soft_body_from_a_file(tmp_path):
    (tmp_path / "floor.xml").write_text(
        "<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='1 1 1'/></worldbody>"
        "</mujoco>"
    )
    fem.write_mesh(tmp_path / "cube.vtk", fem.box([100.0] * 3, 1))
    options = ("--soft", tmp_path / "cube.vtk", "--soft-scale", "1e-3", "--soft-at", "0", "0")
    done = command(
        "simulate", tmp_path / "floor.xml", *options, "0.06", "--seconds", "0.4", "--no-picture",
        "--out", tmp_path, "--quiet",
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    listed = (tmp_path / "soft.pvd").read_text()
    assert listed.count("<DataSet") == 10
    last = (tmp_path / "soft_0_00009.vtu").read_text().split('ascii">')[1].split("<")[0]
    height = np.array(last.split(), float).reshape(-1, 3)[:, 2]
    assert abs(height.min()) < 1e-3
    assert height.max() == pytest.approx(0.1, rel=0.05)
    done = command("simulate", tmp_path / "floor.xml", *options, "0.06", "--poisson", "0.7")
    assert done.returncode != 0
    assert "poisson = 0.7: must be > -1 and < 0.5" in done.stderr


def test_a_program_drives_the_motor(model, tmp_path):
    program = tmp_path / "hover.py"
    program.write_text("def control(model, data):\n    data.ctrl[0] = 20.0\n")
    options = ("--seconds", "0.1", "--keyframe", "high", "--controls", program, "--no-picture")
    done = command("simulate", model, *options, "--out", tmp_path, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    np.testing.assert_allclose(motion(tmp_path)["qpos_lift"], 0.5, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--seconds inf", "inf: must be finite"),
        ("--seconds nan", "nan: must be finite"),
        ("--seconds -1", "-1: must be > 0"),
        ("--dt 1e-300", "--seconds 5: more than 1e+09 steps of 1e-300 s"),
        ("--seconds 1e300", "--seconds 1e+300: more than 1e+09 steps of 0.01 s"),
        ("--soft-at 0 nan 0", "argument --soft-at: nan: must be finite"),
    ],
)
def test_a_number_that_breaks_its_rule_is_told(model, options, told):
    assert told in error_line(command("simulate", model, *options.split()))


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("u.csv", "t,push\n0,1\n", "u.csv: has no column time"),
        ("u.csv", "time,pull\n0,1\n", "u.csv: pull is no actuator of the model (it has push)"),
        ("u.csv", "time,push\n0,1\n1\n", "u.csv: line 3: 1 columns, not 2"),
        ("u.csv", "time,push\n0,fast\n", "u.csv: line 2: could not convert"),
        ("u.csv", "time,push\n0,nan\n", "u.csv: line 2: numbers must be finite"),
        ("u.csv", "time,push\n0,1\n0,2\n", "u.csv: line 3: times must increase"),
        ("u.csv", "time,push\n", "u.csv: has no rows"),
        ("u.csv", "", "u.csv: is no CSV file with a header"),
        ("u.py", "def act(model, data): pass\n", "u.py: has no function control(model, data)"),
        ("u.py", "def control(data): pass\n", "u.py: control(model, data): too many"),
        ("u.py", "import no_such_module\n", "u.py: ModuleNotFoundError"),
    ],
)
def test_controls_that_are_none_are_told(model, tmp_path, name, text, told):
    path = tmp_path / name
    path.write_text(text)
    done = command("simulate", model, "--controls", path, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert told in error_line(done)


def test_a_step_that_fails_ends_the_run_and_keeps_the_rest(tmp_path):
    model = mujoco.MjModel.from_xml_string(LIFT)
    stepper, data = Stepper(model), mujoco.MjData(model)

    def control(data):
        if data.time > 0.045:
            data.qvel[0] = np.nan

    file = tmp_path / "steps.csv"
    run = simulate(stepper, data, 0.1, control=control, csv_file=file, progress=False)
    assert len(run.steps) == len(read_steps(file)) == 5
    assert len(run.qpos) == 6
    assert run.failure
    assert not run.interrupted
    assert summary(run)["steps"] == "5 of 10"
