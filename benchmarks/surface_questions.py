"""The command of the question about contact surfaces."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.arguments import (
    SUCCESS,
    CommandError,
    begin,
    carry_out,
    needs,
    new_question,
    positive,
    print_facts,
    publish,
    whole,
    write_table,
)

if TYPE_CHECKING:
    from benchmarks import surface_cases, surfaces


def add(commands: Any) -> None:
    """Add the parser to the subparsers of the command line."""
    question = new_question(
        commands,
        "surfaces",
        "time of a contact surface beside Drake's",
        "Time per contact surface of pressure fields beside Drake's ComputeContactSurfaces, on the "
        "pairs of a folder and on growing meshes, and of a run of the slip control. Writes "
        "surfaces.csv, surfaces_slip.csv, surfaces.txt (the table), surfaces.png and "
        "surfaces.json (the machine).",
    )
    question.add_argument("folder", type=Path, metavar="FOLDER", help="folder of reference pairs")
    question.add_argument("--repeat", type=whole, default=50, help="samples of each")
    question.add_argument("--levels", type=whole, default=5, help="refinements of growing meshes")
    question.add_argument(
        "--slip", type=positive, default=30.0, metavar="SECONDS", help="of the slip control"
    )
    question.set_defaults(command=_surfaces)
    recorded = new_question(
        commands,
        "slip",
        "the slip control beside a recorded run of Drake",
        "Contacts, pitch and positions of the slip control, beside a recorded run of Drake, on its "
        "meshes and on those of the package. Writes slip.txt (the table) and slip.json (the "
        "machine).",
    )
    recorded.add_argument("folder", type=Path, metavar="FOLDER", help="folder with the run")
    recorded.add_argument("--seconds", type=positive, default=30.0, help="of the slip control")
    recorded.set_defaults(command=_slip_recorded)


def _slip_recorded(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import slip_recorded
    seconds = 0.1 if arguments.quick else arguments.seconds
    if not (arguments.folder / slip_recorded.RUN).exists():
        raise CommandError(f"{arguments.folder} holds no {slip_recorded.RUN}")
    target, facts = begin(arguments, "slip", {"seconds": seconds})
    print_facts(facts)
    runs: dict[str, slip_recorded.Columns] = {}
    code = carry_out(
        "slip",
        2,
        lambda progress: runs.update(slip_recorded.run(arguments.folder, seconds, progress)),
    )
    if code == SUCCESS:
        write_table(slip_recorded.table(runs), target.with_suffix(".txt"))
    return code


def _surfaces(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import surface_cases, surfaces, surfaces_report
    pairs = _pairs_of(arguments.folder)
    if arguments.quick:
        pairs, arguments.repeat, arguments.levels, arguments.slip = pairs[:3], 2, 2, 0.1
    settings = {name: getattr(arguments, name) for name in ("repeat", "levels", "slip")}
    target, facts = begin(arguments, "surfaces", settings)
    print_facts(facts)
    work = [("pairs", pair) for pair in pairs]
    work += [("growth", pair) for pair in surface_cases.growing(range(arguments.levels))]
    drake = _drake(arguments.folder)
    rows: list[surfaces.Row] = []
    code = carry_out(
        "surfaces",
        len(work),
        lambda progress: rows.extend(
            surfaces.run(work, drake, arguments.repeat, target.with_suffix(".csv"), progress)
        ),
    )
    slip = ""
    if code == SUCCESS:
        slip = _slip(arguments.slip, target.with_name("surfaces_slip.csv"))
    publish(
        rows,
        target,
        lambda some: f"{surfaces_report.table(some)}\n{slip}".rstrip(),
        surfaces_report.figure,
    )
    return code


def _pairs_of(folder: Path) -> list[surface_cases.Pair]:
    from benchmarks import surface_cases

    pairs = []
    for path in sorted(folder.glob("*.npz")):
        try:
            pairs.append(surface_cases.read(path))
        except KeyError:
            continue  # a problem or a run
    if not pairs:
        raise CommandError(f"{folder} holds no pairs of shapes")
    return pairs


def _slip(seconds: float, path: Path) -> str:
    """A line about the slip control, where MuJoCo is installed."""
    try:
        from benchmarks import slip_control
    except ImportError as error:
        print(f"skipped: slip control ({error})", file=sys.stderr)
        return ""
    return slip_control.table(slip_control.run(seconds, 3, path))


def _drake(folder: Path) -> surfaces.DrakeCall | None:
    """Drake's surfaces, where it is installed."""
    try:
        from benchmarks.surface_drake import surface_call
    except ImportError as error:
        print(f"skipped: drake ({error})", file=sys.stderr)
        return None
    return lambda pair: surface_call(pair, folder / "meshes")
