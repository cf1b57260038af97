"""The commands of the questions beside `solvers`."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.arguments import (
    INTERRUPTED,
    SUCCESS,
    CommandError,
    add_common,
    begin,
    positive,
    sizes,
    whole,
)
from sapwood.files import write_file
from sapwood.studies.experiments.recording import ProgressBar

STEP_SCENES = (
    "clutter-10,clutter-40,clutter-100,clutter-200,clutter-400,open-400,open-1000,"
    "humanoids-1,humanoids-20,quadrupeds-1,quadrupeds-20,wall-10,rope-60"
)


def add(commands: Any) -> None:
    """Add the parser of every question to the subparsers of the command line."""
    _add_steps(commands)
    _add_scaling(commands)
    _add_limit(commands)
    _add_noise(commands)
    _add_fclib(commands)


def _parser(commands: Any, name: str, summary: str, description: str) -> argparse.ArgumentParser:
    question: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    question.add_argument("--quick", action="store_true", help="small, to see that it runs")
    add_common(question)
    return question


def _add_files(question: argparse.ArgumentParser) -> None:
    question.add_argument("folder", type=Path, metavar="FOLDER", help="folder of problem files")
    question.add_argument("--files", default="*.npz", metavar="GLOB", help="which of them")


def _files(arguments: argparse.Namespace) -> list[Path]:
    """Problem files that the arguments name."""
    files: list[Path] = sorted(arguments.folder.glob(arguments.files))
    if not files:
        raise CommandError(f"{arguments.folder} holds no {arguments.files}")
    return files


def _print_facts(facts: dict[str, str]) -> None:
    for name, value in facts.items():
        print(f"{name}: {value}")


def _carry_out(label: str, total: int, measure: Callable[[Callable[[str], None]], None]) -> int:
    """Measure behind a progress bar; Ctrl-C ends it, and what was measured is kept."""
    try:
        with ProgressBar(label, total, shown=True) as bar:
            measure(bar.update)
    except KeyboardInterrupt:
        print("benchmarks: interrupted; here is what was measured", file=sys.stderr)
        return INTERRUPTED
    return SUCCESS


def _write(text: str, path: Path) -> None:
    """Print a table and keep it."""
    write_file(path, text + "\n")
    print(f"\n{text}")


def _draw(figure: Callable[..., None], *arguments: object) -> None:
    """Draw a figure where matplotlib is installed."""
    try:
        figure(*arguments)
    except ImportError as error:
        print(f"no figure: {error}", file=sys.stderr)


# ---- steps -------------------------------------------------------------------------------------


def _add_steps(commands: Any) -> None:
    question = _parser(
        commands,
        "steps",
        "what a simulation step costs, ours against MuJoCo's",
        "Time per simulation step, ours and mj_step, and the parts of ours. Writes steps.csv, "
        "steps.txt (the table), steps.png and steps.json (the machine).",
    )
    question.add_argument("--scenes", default=STEP_SCENES, metavar="A,B", help="by name and size")
    question.add_argument("--length", type=whole, default=10, help="steps of a window")
    question.add_argument("--repeat", type=whole, default=20, help="samples of each function")
    question.add_argument(
        "--budget",
        type=positive,
        default=5.0,
        metavar="SECONDS",
        help="time for the samples of one function in one window",
    )
    question.set_defaults(command=_steps)


def _steps(arguments: argparse.Namespace) -> int:
    try:
        from benchmarks import rows, scenes, steps, steps_report
    except ImportError as error:
        raise CommandError(f"{error}: pip install 'sapwood[mujoco]'") from error
    if arguments.quick:
        arguments.scenes, arguments.length, arguments.repeat = "clutter-4,quadrupeds-1", 3, 2
    names = list(dict.fromkeys(name.strip() for name in arguments.scenes.split(",")))
    try:
        for name in names:
            scenes.parse(name)
    except ValueError as error:
        raise CommandError(f"--scenes: {error}") from error
    options = ("length", "repeat", "budget")
    settings = {name: getattr(arguments, name) for name in options} | {"scenes": names}
    target, facts = begin(arguments, "steps", settings)
    _print_facts(facts)
    path = target.with_suffix(".csv")
    code = _carry_out(
        "steps",
        len(names),
        lambda progress: steps.run(
            names, path, arguments.length, arguments.repeat, arguments.budget, progress
        ),
    )
    measured = rows.read(path, steps.Row)
    if measured:
        _write(steps_report.table(measured), target.with_suffix(".txt"))
        _draw(steps_report.figure, measured, target.with_suffix(".png"))
    return code


# ---- scaling -----------------------------------------------------------------------------------


def _add_scaling(commands: Any) -> None:
    question = _parser(
        commands,
        "scaling",
        "how cost grows with bodies, contacts, threads and batches",
        "Growth of cost, with fitted exponents. Writes scaling_PART.csv, .txt (the table) and .png "
        "for each part, and scaling.json (the machine).",
    )
    question.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help="bodies, contacts, threads or batch; all by default",
    )
    question.add_argument("--repeat", type=whole, help="runs of each simulation")
    question.add_argument("--open", type=sizes, metavar="N,N", help="bodies on open floor")
    question.add_argument("--box", type=sizes, metavar="N,N", help="bodies in the box")
    question.set_defaults(command=_scaling)


def _scaling(arguments: argparse.Namespace) -> int:
    try:
        from benchmarks import rows, scaling, scaling_report
    except ImportError as error:
        raise CommandError(f"{error}: pip install 'sapwood[mujoco]'") from error
    parts = list(dict.fromkeys(arguments.parts)) or list(scaling.PARTS)
    for part in parts:
        if part not in scaling.PARTS:
            raise CommandError(f"{part!r} is none of {', '.join(scaling.PARTS)}")
    given = {
        "repeat": arguments.repeat,
        "open_bodies": arguments.open,
        "box_bodies": arguments.box,
    }
    plan = scaling.QUICK if arguments.quick else scaling.Plan()
    plan = dataclasses.replace(plan, **{k: v for k, v in given.items() if v is not None})
    settings = dataclasses.asdict(plan) | {"parts": parts}
    target, facts = begin(arguments, "scaling", settings)
    _print_facts(facts)
    for part in parts:
        stem = target.with_name(f"scaling_{part}")
        path = stem.with_suffix(".csv")
        code = _carry_out(
            part,
            scaling.count(part, plan),
            partial(scaling.run, part, plan, path),
        )
        measured = rows.read(path, scaling.Row)
        if measured:
            _write(scaling_report.table(measured), stem.with_suffix(".txt"))
            _draw(scaling_report.figure, measured, stem.with_suffix(".png"))
        if code != SUCCESS:
            return code
    return SUCCESS


# ---- limit -------------------------------------------------------------------------------------


def _add_limit(commands: Any) -> None:
    question = _parser(
        commands,
        "limit",
        "how far the solver is from the least time that its work could take",
        "Least time of the work of a solve on this core, by phase, and ours. Builds its compiled "
        "part first. Writes limit.csv, limit_peaks.csv, limit.txt (the table), limit.png and "
        "limit.json (the machine).",
    )
    _add_files(question)
    question.add_argument("--repeat", type=whole, default=50, help="samples of everything")
    question.add_argument(
        "--budget", type=positive, default=5.0, metavar="SECONDS", help="time for one file"
    )
    question.add_argument("--build", type=Path, metavar="DIR", help="where the compiled part goes")
    question.set_defaults(command=_limit)


def _limit(arguments: argparse.Namespace) -> int:
    from benchmarks import limit, limit_report, native, peaks, rows

    files = _files(arguments)
    if arguments.quick:
        files, arguments.repeat = files[:3], 2
    samples = 3 if arguments.quick else 50
    settings = {name: getattr(arguments, name) for name in ("files", "repeat", "budget")}
    target, facts = begin(arguments, "limit", settings)
    try:
        library = native.Native(arguments.build or native.BUILD)
    except native.BuildError as error:
        raise CommandError(f"the compiled part was not built: {error}") from error
    _print_facts(facts | {"instruction set": library.instruction_set})
    peaks_path, path = target.with_name("limit_peaks.csv"), target.with_suffix(".csv")
    peaks.measure(library, peaks_path, samples)
    found = peaks.Peaks(rows.read(peaks_path, peaks.Row))
    code = _carry_out(
        "limit",
        len(files),
        lambda progress: limit.run(
            files,
            path,
            library,
            found,
            arguments.repeat,
            arguments.budget,
            progress,
            lambda text: print(f"left out: {text}", file=sys.stderr),
        ),
    )
    measured = rows.read(path, limit.Row)
    if measured:
        _write(limit_report.table(measured, found), target.with_suffix(".txt"))
        _draw(limit_report.figure, measured, found, target.with_suffix(".png"))
    return code


# ---- noise -------------------------------------------------------------------------------------


def _add_noise(commands: Any) -> None:
    question = _parser(
        commands,
        "noise",
        "is the working tree faster than another commit?",
        "Time of solves, the working tree (B) against another commit (A), in fresh processes that "
        "take turns. Writes noise.csv, noise.txt (the verdict), noise.png and noise.json (the "
        "machine).",
    )
    _add_files(question)
    question.add_argument(
        "--against",
        metavar="REV",
        help="commit of A; by default HEAD where the sources were changed since, else HEAD~1",
    )
    question.add_argument(
        "--builds",
        type=Path,
        nargs=2,
        metavar=("A", "B"),
        help="folders that hold a package sapwood, in place of building",
    )
    question.add_argument("--blocks", type=whole, default=10, help="blocks of four processes")
    question.add_argument("--samples", type=whole, default=5, help="samples in a process")
    question.set_defaults(command=_noise)


def _noise(arguments: argparse.Namespace) -> int:
    from benchmarks import noise, noise_report, rows

    files = _files(arguments)
    if arguments.quick:
        files, arguments.blocks, arguments.samples = files[:3], 2, 2
    try:
        with tempfile.TemporaryDirectory(prefix="sapwood-noise-") as folder:
            sites, names = _sites(arguments, Path(folder))
            settings = {name: getattr(arguments, name) for name in ("files", "blocks", "samples")}
            target, facts = begin(arguments, "noise", settings | names)
            _print_facts(facts)
            path = target.with_suffix(".csv")
            code = _carry_out(
                "noise",
                len(noise.BLOCK) * arguments.blocks,
                lambda progress: noise.run(
                    sites, files, path, arguments.blocks, arguments.samples, progress
                ),
            )
    except noise.NoiseError as error:
        raise CommandError(str(error)) from error
    measured = rows.read(path, noise.Row)
    try:
        _write(noise_report.table(measured, names["A"], names["B"]), target.with_suffix(".txt"))
    except ValueError as error:
        raise CommandError(f"nothing to compare: {error}") from error
    _draw(noise_report.figure, measured, target.with_suffix(".png"))
    return code


def _sites(arguments: argparse.Namespace, folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """Folders of the two packages and their names, built where none are given."""
    from benchmarks import noise

    if arguments.builds:
        a, b = arguments.builds
        for site in (a, b):
            if not (site / "sapwood").is_dir():
                raise CommandError(f"--builds: {site} holds no package sapwood")
        return {"A": a, "B": b}, {"A": str(a), "B": str(b)}
    revision = arguments.against or noise.commit_before()
    name = noise.full_name(revision)[:12]
    print(f"building {revision} ({name}) and the working tree", file=sys.stderr)
    sites = {
        "A": noise.build_commit(revision, folder / "A"),
        "B": noise.build(noise.ROOT, folder / "B"),
    }
    return sites, {"A": name, "B": "the working tree"}


# ---- fclib -------------------------------------------------------------------------------------


def _add_fclib(commands: Any) -> None:
    question = _parser(
        commands,
        "fclib",
        "rigid contact with Coulomb friction, beside Siconos",
        "Iterations and time to the same residual on files of the FCLIB collection, ours and those "
        "of Siconos where it is installed. Writes fclib.csv, fclib.txt (the table), fclib.png and "
        "fclib.json (the machine).",
    )
    question.add_argument("folder", type=Path, metavar="FOLDER", help="folder of FCLIB files")
    question.add_argument("--files", default="*.hdf5", metavar="GLOB", help="which of them")
    question.add_argument("--repeat", type=whole, default=10, help="samples of each solver")
    question.add_argument(
        "--budget",
        type=positive,
        default=5.0,
        metavar="SECONDS",
        help="time for the samples of one solver on one problem",
    )
    question.add_argument(
        "--siconos",
        metavar="PYTHON",
        default="/usr/bin/python3",
        help="interpreter that Siconos is installed for",
    )
    question.set_defaults(command=_fclib)


def _fclib(arguments: argparse.Namespace) -> int:
    try:
        from benchmarks import fclib, fclib_report, rows
    except ImportError as error:
        raise CommandError(f"{error}: pip install 'sapwood[fclib]'") from error
    files = _files(arguments)
    plan = fclib.Plan(repeat=arguments.repeat, budget=arguments.budget)
    if arguments.quick:
        files = files[:1]
        plan = fclib.Plan((1e-4,), ("NSGS",), repeat=2, budget=1.0)
    try:
        siconos = fclib.Siconos(arguments.siconos)
    except ImportError as error:
        siconos = None
        print(f"skipped: {error}", file=sys.stderr)
    target, facts = begin(arguments, "fclib", dataclasses.asdict(plan) | {"files": arguments.files})
    _print_facts(facts)
    path = target.with_suffix(".csv")
    try:
        code = _carry_out(
            "fclib", len(files), lambda progress: fclib.run(files, siconos, path, plan, progress)
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
    measured = rows.read(path, fclib.Row)
    if measured:
        _write(fclib_report.table(measured), target.with_suffix(".txt"))
        _draw(fclib_report.figure, measured, target.with_suffix(".png"))
    return code
