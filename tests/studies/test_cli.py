"""The command line: arguments, tables, exit codes and messages. The clutter has its own tests."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sapwood
from command_line import command, error_line
from helpers import small_paths
from sapwood import cli
from sapwood.base.optional import install_command

FILES = small_paths()


# ---- arguments ---------------------------------------------------------------------------------


def test_version_is_that_of_the_package():
    done = command("--version")
    assert done.returncode == 0
    assert done.stdout == f"sapwood {sapwood.__version__}\n"


def test_examples_of_the_help_are_commands():
    """Each line of them that names a command is one that the parser takes."""
    lines = [line.strip().split("   ")[0] for line in cli._EXAMPLES.splitlines()[1:]]
    examples = [line.split()[1:] for line in lines if line]
    parsed = [cli._parser().parse_args(words) for words in examples if words[0] != "COMMAND"]
    assert len(parsed) == len(examples) - 1 == 5


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "COMMAND"),
        (("simmer",), "simmer"),
        (("clutter", "--no-such-option"), "--no-such-option"),
        (("clutter", "--bodies", "0"), "--bodies: 0: must be >= 1"),
        (("clutter", "--bodies", "4.5"), "--bodies: '4.5' is not a whole number"),
        (("clutter", "--dt", "0"), "--dt: 0: must be > 0"),
        (("clutter", "--dt", "nan"), "--dt: nan: must be > 0"),
        (("clutter", "--seconds", "inf"), "--seconds: inf: must be > 0"),
        (("clutter", "--sigma", "-1"), "--sigma: -1: must be > 0"),
        (("clutter", "--beta", "-0.5"), "--beta: -0.5: must be >= 0"),
        (("clutter", "--tolerance", "tight"), "--tolerance: 'tight' is not a number"),
        (("clutter", "--seed", "-1"), "--seed: -1: must be >= 0"),
        (("clutter", "--line-search", "golden"), "--line-search"),
        (("clutter", "--compare", "bullet"), "--compare"),
        (("figure",), "N"),
        (("figure", "1000"), "'1000'"),
        (("figure", "9", "--workers", "0"), "--workers: 0: must be >= 1"),
        (("figure", "9", "--workers", "1", "--scheduler", "a:1"), "not allowed with"),
        (("solve",), "FILES"),
        (("check",), "FILES"),
        (("solve", "x.npz", "--repeat", "0"), "--repeat: 0: must be >= 1"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(arguments, named):
    done = command(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert named in error_line(done)


def test_optional_packages_are_imported_by_their_commands_only():
    code = "import sys, sapwood.cli as c; c.main(['info']); print('---', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.partition("---")[2].split())
    assert "sapwood.cli" in loaded
    assert not loaded & {"mujoco", "matplotlib", "tqdm", "scipy"}


@pytest.mark.parametrize(("package", "extra"), [("mujoco", "mujoco"), ("matplotlib", "plot")])
def test_missing_package_names_the_extra(package, extra, tmp_path):
    code = f"""
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Block())
from sapwood.cli import main
sys.exit(main(["clutter", "--seconds", "0.1", "--out", {str(tmp_path / "out")!r}]))
"""
    if package == "matplotlib":
        pytest.importorskip("mujoco")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert install_command(extra) in error_line(done)
    assert not (tmp_path / "out").exists()


def test_running_out_of_memory_is_one_line(monkeypatch, capsys):
    def greedy(_arguments):
        raise MemoryError

    monkeypatch.setattr(cli.info, "_run", greedy)
    assert cli.main(["info"]) == 1
    assert capsys.readouterr().err == "sapwood: error: out of memory\n"


# ---- solve -------------------------------------------------------------------------------------


def read_table(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_solve_prints_a_line_per_file_and_the_same_as_csv(tmp_path):
    table = tmp_path / "table.csv"
    done = command("solve", *FILES, "--csv", table, "--repeat", 2)
    assert done.returncode == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == 1 + len(FILES)
    rows = read_table(table)
    for path, line, row in zip(FILES, lines[1:], rows, strict=True):
        problem = sapwood.load_problem(path)
        solution = sapwood.solve(problem)
        assert line.split()[0] == row["file"] == str(path)
        found = [int(row[name]) for name in ("trees", "nv", "contacts", "islands", "iterations")]
        assert found == [int(word) for word in line.split()[1:6]]
        expected = [problem.n_trees, problem.nv, problem.n_contacts, solution.n_islands]
        assert found == [*expected, solution.iterations]
        assert float(row["momentum_error"]) == solution.momentum_error
        assert float(row["velocity_error_bound"]) == solution.velocity_error_bound
        assert row["status"] == "converged"
        assert float(row["microseconds"]) > 0


def test_solve_tolerance_reaches_the_solver(tmp_path):
    errors = {}
    for tolerance in (1e-1, 1e-10):
        table = tmp_path / "table.csv"
        assert command("solve", *FILES, "--tolerance", tolerance, "--csv", table).returncode == 0
        errors[tolerance] = [float(row["momentum_error"]) for row in read_table(table)]
        assert max(errors[tolerance]) <= tolerance
    assert max(errors[1e-1]) > max(errors[1e-10])


def test_solve_takes_the_law_of_friction(tmp_path):
    table = tmp_path / "table.csv"
    assert command("solve", *FILES, "--friction", "coulomb", "--csv", table).returncode == 0
    found = [float(row["velocity_error_bound"]) for row in read_table(table)]
    problems = [sapwood.load_problem(path) for path in FILES]
    solutions = [sapwood.solve(problem, friction="coulomb") for problem in problems]
    assert found == [solution.velocity_error_bound for solution in solutions]
    assert found != [sapwood.solve(problem).velocity_error_bound for problem in problems]


def test_a_bad_file_fails_and_the_others_are_solved(tmp_path):
    cut = tmp_path / "cut.npz"
    cut.write_bytes(FILES[0].read_bytes()[:-200])
    text = tmp_path / "text.npz"
    text.write_text("not a problem\n")
    arrays = tmp_path / "arrays.npz"
    np.savez(arrays, A=np.eye(3))
    missing = tmp_path / "missing.npz"
    done = command("solve", cut, FILES[0], text, arrays, missing, tmp_path, FILES[1])
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    lines = done.stdout.splitlines()[1:]
    outcome = {line.split()[0]: "converged" in line for line in lines}
    bad = [str(path) for path in (cut, text, arrays, missing, tmp_path)]
    assert outcome == {str(FILES[0]): True, str(FILES[1]): True} | dict.fromkeys(bad, False)
    errors = done.stderr.splitlines()
    assert len(errors) == len(bad)
    for name, error in zip(bad, errors, strict=True):
        assert error.startswith("sapwood: error: ")
        assert name in error


@pytest.mark.skipif(os.name != "posix", reason="pipes are closed otherwise elsewhere")
def test_a_reader_that_leaves_is_no_error_text():
    line = [sys.executable, "-u", "-m", "sapwood", "solve", *map(str, FILES)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=120) == 1


def test_ctrl_c_during_solve_is_one_line():
    line = [sys.executable, "-u", "-m", "sapwood", "solve", str(FILES[0]), "--repeat", "1000000000"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b"file")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 130
        assert process.stderr.read() == b"sapwood: interrupted\n"
