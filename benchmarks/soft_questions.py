"""The command of the question about soft bodies."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import soft, soft_problems, soft_scale, soft_speed
from benchmarks.arguments import (
    FAILURE,
    SUCCESS,
    CommandError,
    begin,
    carry_out,
    needs,
    new_question,
    print_facts,
    sizes,
    whole,
    write_table,
)
from sapwood.base.files import write_file


def add(commands: Any) -> None:
    """Add the parser to the subparsers of the command line."""
    question = new_question(
        commands,
        "soft",
        "are soft bodies fast, and do they move as Drake's?",
        "Times a step of a soft cube at rest on the floor beside Drake and MuJoCo's flex, where "
        "they are installed. With --drake it repeats recorded runs of Drake's deformable bodies "
        "and compares positions, momenta and forces by a rule for each kind of scene; it exits "
        "with 1 where a rule is broken. With --problems it makes random problems, and compares "
        "elimination, bounds and derivatives with other ways; with --scale it times bodies of "
        "1,000 to 20,000 vertices on the floor; both exit with 1 where a limit is broken. With "
        "--cloths it times steps of cloths on a ball as one dense tree and with sparse equations. "
        "Writes soft_speed, soft, soft_problems, soft_scale or soft_cloth: .csv, .txt (the table) "
        "and .json (the machine).",
    )
    question.add_argument(
        "--drake", type=Path, metavar="FOLDER", help="folder of recorded runs, to repeat them"
    )
    question.add_argument("--files", default="*.npz", metavar="GLOB", help="which of them")
    question.add_argument("--problems", type=whole, metavar="N", help="number of random problems")
    question.add_argument("--scale", action="store_true", help="time large bodies")
    question.add_argument("--cloths", action="store_true", help="time cloths on a ball")
    question.add_argument("--threads", type=whole, default=1, help="threads of a step of --scale")
    question.add_argument(
        "--cells", type=sizes, default=[4, 8, 12], metavar="N,N", help="cells along an edge"
    )
    question.add_argument("--repeat", type=whole, default=20, help="samples of each engine")
    question.set_defaults(command=_soft)


def _soft(arguments: argparse.Namespace) -> int:
    if arguments.problems is not None:
        return _problems(arguments)
    if arguments.scale:
        return _scale(arguments)
    if arguments.cloths:
        return _cloths(arguments)
    return _speed(arguments) if arguments.drake is None else _replays(arguments)


def _measured(
    target: Path, module: Any, n: int, measure: Callable[..., list[Any]]
) -> tuple[int, list[Any]]:
    """Rows of a measurement, written as a table, and the code to exit with."""
    rows: list[Any] = []
    code = carry_out(
        "soft", n, lambda progress: rows.extend(measure(target.with_suffix(".csv"), progress))
    )
    if rows:
        write_table(module.table(rows), target.with_suffix(".txt"))
    return code, rows


def _problems(arguments: argparse.Namespace) -> int:
    n = min(arguments.problems, 5) if arguments.quick else arguments.problems
    target, facts = begin(arguments, "soft_problems", {"problems": n})
    print_facts(facts)
    code, rows = _measured(target, soft_problems, min(n, 100), partial(soft_problems.measure, n))
    return code if code != SUCCESS or soft_problems.hold(rows) else FAILURE


def _scale(arguments: argparse.Namespace) -> int:
    scales = soft_scale.SCALES[:1] if arguments.quick else soft_scale.SCALES
    samples = 2 if arguments.quick else arguments.repeat
    settings = {"repeat": samples, "threads": arguments.threads}
    target, facts = begin(arguments, "soft_scale", settings, arguments.threads == 1)
    print_facts(facts)
    measure = partial(soft_scale.measure, scales, samples, arguments.threads)
    code, rows = _measured(target, soft_scale, len(scales), measure)
    return code if code != SUCCESS or all(row.holds for row in rows) else FAILURE


def _cloths(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import soft_cloth
    sizes = soft_cloth.SIZES[:1] if arguments.quick else soft_cloth.SIZES
    samples = 2 if arguments.quick else arguments.repeat
    target, facts = begin(arguments, "soft_cloth", {"repeat": samples})
    print_facts(facts)
    measure = partial(soft_cloth.measure, sizes, samples)
    return _measured(target, soft_cloth, len(sizes), measure)[0]


def _speed(arguments: argparse.Namespace) -> int:
    if arguments.quick:
        arguments.cells, arguments.repeat = [2], 2
    settings = {name: getattr(arguments, name) for name in ("cells", "repeat")}
    target, facts = begin(arguments, "soft_speed", settings)
    print_facts(facts)
    measure = partial(soft_speed.measure, arguments.cells, arguments.repeat)
    return _measured(target, soft_speed, 3 * len(arguments.cells), measure)[0]


def _replays(arguments: argparse.Namespace) -> int:
    files = sorted(arguments.drake.glob(arguments.files))
    if not files:
        raise CommandError(f"{arguments.drake} holds no {arguments.files}")
    if arguments.quick:
        files = files[:2]
    target, _ = begin(arguments, "soft", {"files": arguments.files})
    rows: list[soft.Row] = []
    for path in files:
        reason = soft.Run(path).reason
        if reason:
            print(f"skipped: {path.stem} ({reason})", file=sys.stderr)
            continue
        begun = time.perf_counter()
        rows += soft.replay(path)
        print(f"{path.stem}: {time.perf_counter() - begun:.1f} s", flush=True)
    soft.write(target.with_suffix(".csv"), rows)
    text = soft.table(rows)
    write_file(target.with_suffix(".txt"), text + "\n")
    print(f"\n{text}")
    return SUCCESS if all(row.holds for row in rows) else FAILURE
