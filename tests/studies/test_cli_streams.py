"""The command line where its streams, its language or its files are not what one hopes for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import command, error_line
from helpers import small_paths

FILE = small_paths()[0]
FULL = Path("/dev/full")

needs_full = pytest.mark.skipif(not FULL.exists(), reason="no such device here")


def run(*arguments, **options):
    line = [sys.executable, "-m", "sapwood", *map(str, arguments)]
    return subprocess.run(line, stderr=subprocess.PIPE, text=True, timeout=300, **options)


@needs_full
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("figure", "--help"), ("info",), ("solve", FILE)]
)
def test_an_output_that_takes_nothing_is_an_error(arguments, unbuffered):
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with FULL.open("w") as full:
        done = run(*arguments, stdout=full, env=environment)
    assert done.returncode == 1
    assert error_line(done) == "sapwood: error: standard output: No space left on device\n"


@pytest.mark.skipif(os.name != "posix", reason="streams are closed by a POSIX shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_error(closed, tmp_path):
    """Output there goes nowhere, and into no file."""
    table = tmp_path / "table.csv"
    line = f'"$0" -m sapwood solve "$1" --csv "$2" {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, str(FILE), str(table)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(",")[0] for line in table.read_text().splitlines()] == ["file", str(FILE)]


# ---- names that are no text --------------------------------------------------------------------

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
LANGUAGES = {
    "C": ASCII,
    "strict": {"PYTHONIOENCODING": "ascii:strict"},
    "UTF-8": {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "utf-8:strict"},
}


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux")
@pytest.mark.parametrize("name", ["ü".encode(), b"\xff"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_solve_with_any_name_in_any_language(language, name, tmp_path):
    folder = os.path.join(os.fsencode(tmp_path), name)
    os.mkdir(folder)
    path, table = os.path.join(folder, name), os.path.join(folder, b"table.csv")
    shutil.copy(FILE, path)
    missing = os.path.join(folder, b"none")
    line = [sys.executable, "-m", "sapwood", "solve", path, missing, "--csv", table]
    done = subprocess.run(line, capture_output=True, env=os.environ | LANGUAGES[language])
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.endswith(b"none: No such file or directory\n")
    assert b"converged" in done.stdout
    # the table has the name as the system has it
    with open(table, "rb") as file:
        assert path in file.read()


# ---- files that cannot be written --------------------------------------------------------------


@needs_full
def test_a_table_that_cannot_be_written_is_an_error():
    done = command("solve", FILE, "--csv", FULL)
    assert done.returncode == 2
    assert error_line(done) == f"sapwood: error: cannot write {FULL}: No space left on device\n"
