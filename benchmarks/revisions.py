"""Two builds that a question compares: A of another commit, B of the working tree.

Both are built the same way into folders of their own. Processes that measure a build have its
folder first on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import machine
from benchmarks.arguments import CommandError

ROOT = Path(__file__).resolve().parents[1]
#: Order in which a block measures the two sides: a slow drift of the machine cancels.
BLOCK = "ABBA"


class SideError(Exception):
    """A build or a process of one side failed; the text says which and how."""


class Sides(NamedTuple):
    """The two builds."""

    sites: dict[str, Path]
    """For A and B the folder that holds the package sapwood."""
    names: dict[str, str]
    """For A and B what it was built from."""


# ---- arguments ---------------------------------------------------------------------------------


def add_arguments(question: argparse.ArgumentParser, against: str) -> None:
    """Arguments that name the two sides; `against` says what an absent commit means."""
    question.add_argument("--against", metavar="REV", help=f"commit of A; {against}")
    question.add_argument(
        "--builds",
        type=Path,
        nargs=2,
        metavar=("A", "B"),
        help="folders that hold a package sapwood, in place of building",
    )


@contextmanager
def sides(arguments: argparse.Namespace) -> Iterator[Sides]:
    """Build both sides into a temporary folder, or take the folders that the arguments name.

    Raises
    ------
    CommandError
        A folder holds no package, or a build fails.
    """
    if arguments.builds:
        for site in arguments.builds:
            if not (site / "sapwood").is_dir():
                raise CommandError(f"--builds: {site} holds no package sapwood")
        sites = dict(zip("AB", arguments.builds, strict=True))
        yield Sides(sites, {side: str(site) for side, site in sites.items()})
        return
    with tempfile.TemporaryDirectory(prefix="sapwood-builds-") as folder:
        try:
            revision = arguments.against or commit_before()
            name = full_name(revision)[:12]
            print(f"building {revision} ({name}) and the working tree", file=sys.stderr)
            sites = {
                "A": build_commit(revision, Path(folder) / "A"),
                "B": build(ROOT, Path(folder) / "B"),
            }
        except SideError as error:
            raise CommandError(str(error)) from error
        yield Sides(sites, {"A": name, "B": "the working tree"})


# ---- builds ------------------------------------------------------------------------------------


def commit_before() -> str:
    """HEAD where the sources were changed since, else the commit before it.

    Raises
    ------
    SideError
        This is no checkout of git.
    """
    changed = _git("status", "--porcelain", "--", "csrc", "python", "cmake", "CMakeLists.txt")
    return "HEAD" if changed.strip() else "HEAD~1"


def full_name(revision: str) -> str:
    """Hash of a commit.

    Raises
    ------
    SideError
        There is no such commit.
    """
    return _git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").strip()


def build_commit(revision: str, folder: Path) -> Path:
    """Build a commit from an export of its files; returns the folder for PYTHONPATH."""
    source = folder / "source"
    source.mkdir(parents=True)
    archive = folder / "source.tar"
    _git("archive", "--format=tar", f"--output={archive}", full_name(revision))
    _run(["tar", "-xf", str(archive), "-C", str(source)], f"unpacking {revision}")
    return build(source, folder)


def build(source: Path, folder: Path) -> Path:
    """Build and install sources into `folder`; returns the folder for PYTHONPATH."""
    site = folder / "site"
    _run(
        [
            sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "--no-build-isolation", "--no-deps", "--target", str(site),
            "--config-settings", f"build-dir={folder / 'objects'}", str(source),
        ],
        f"building {source}",
        machine.build_environment(),
    )  # fmt: skip
    return site


# ---- processes ---------------------------------------------------------------------------------


def environment_of(site: Path) -> dict[str, str]:
    """Environment of processes that measure the package of one folder.

    Raises
    ------
    SideError
        The package does not import, or another one is imported in its place.
    """
    environment = dict(os.environ)
    given = environment.get("PYTHONPATH", "")
    environment["PYTHONPATH"] = os.pathsep.join([str(site.resolve()), *filter(None, [given])])
    code = "import sapwood; print(sapwood.__file__)"
    printed = _run([sys.executable, "-P", "-c", code], f"importing {site}/sapwood", environment)
    found = Path(printed.strip()).resolve().parent
    if found != (site / "sapwood").resolve():
        raise SideError(f"imported {found} in place of {site}/sapwood")
    return environment


class Process:
    """A script of this folder that answers lines of JSON; a context manager.

    Parameters
    ----------
    side
        A or B, for the text of errors.
    script
        Name of its file.
    environment
        Its environment, as `environment_of` makes it.
    """

    def __init__(self, side: str, script: str, environment: Mapping[str, str]) -> None:
        self._side = side
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name(script))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, what: Any) -> Any:
        """Write a line, and read the answer.

        Raises
        ------
        SideError
            The process has ended.
        """
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            print(json.dumps(what), file=process.stdin, flush=True)
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise SideError(f"{self._side}: the process ended with exit code {process.wait()}")
        return json.loads(line)


def _git(*arguments: str) -> str:
    return _run(["git", "-C", str(ROOT), *arguments], f"git {arguments[0]}")


def _run(command: Sequence[str], what: str, environment: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    except OSError as error:
        raise SideError(f"{what}: {error}") from error
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise SideError(f"{what} failed: {last}")
    return done.stdout
