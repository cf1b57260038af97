"""The commands of the questions beside `solvers`."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import (
    ablation_questions,
    accuracy_questions,
    batch_questions,
    closed_form_questions,
    complementarity_questions,
    derivative_questions,
    engine_questions,
    environment_questions,
    friction_questions,
    invdyn_questions,
    linearize_questions,
    model_questions,
    pile_questions,
    pinocchio_questions,
    revisions,
    soft_questions,
    surface_questions,
    training_questions,
    truth_questions,
)
from benchmarks.arguments import (
    SUCCESS,
    CommandError,
    add_files,
    add_samples,
    begin,
    carry_out,
    draw,
    files_of,
    needs,
    new_question,
    print_facts,
    publish,
    sizes,
    whole,
    write_table,
)

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
    friction_questions.add(commands)
    model_questions.add(commands)
    closed_form_questions.add(commands)
    pile_questions.add(commands)
    pinocchio_questions.add(commands)
    ablation_questions.add(commands)
    accuracy_questions.add(commands)
    invdyn_questions.add(commands)
    engine_questions.add(commands)
    environment_questions.add(commands)
    batch_questions.add(commands)
    complementarity_questions.add(commands)
    derivative_questions.add(commands)
    linearize_questions.add(commands)
    surface_questions.add(commands)
    soft_questions.add(commands)
    training_questions.add(commands)
    truth_questions.add(commands)


# ---- steps -------------------------------------------------------------------------------------


def _add_steps(commands: Any) -> None:
    question = new_question(
        commands,
        "steps",
        "what a simulation step costs, ours against MuJoCo's",
        "Time per simulation step, ours and mj_step, and the parts of ours. Writes steps.csv, "
        "steps.txt (the table), steps.png and steps.json (the machine).",
    )
    question.add_argument("--scenes", default=STEP_SCENES, metavar="A,B", help="by name and size")
    question.add_argument("--length", type=whole, default=10, help="steps of a window")
    add_samples(
        question, 20, "samples of each function",
        5.0, "time for the samples of one function in one window",
    )  # fmt: skip
    question.set_defaults(command=_steps)


def _steps(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import rows, scenes, steps, steps_report
    if arguments.quick:
        arguments.scenes, arguments.length, arguments.repeat = "clutter-4,quadrupeds-1", 3, 2
    try:
        names = scenes.names_of(arguments.scenes)
    except ValueError as error:
        raise CommandError(f"--scenes: {error}") from error
    options = ("length", "repeat", "budget")
    settings = {name: getattr(arguments, name) for name in options} | {"scenes": names}
    target, facts = begin(arguments, "steps", settings)
    print_facts(facts)
    path = target.with_suffix(".csv")
    code = carry_out(
        "steps",
        len(names),
        lambda progress: steps.run(
            names, path, arguments.length, arguments.repeat, arguments.budget, progress
        ),
    )
    publish(rows.read(path, steps.Row), target, steps_report.table, steps_report.figure)
    return code


# ---- scaling -----------------------------------------------------------------------------------


def _add_scaling(commands: Any) -> None:
    question = new_question(
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
    with needs("mujoco"):
        from benchmarks import rows, scaling, scaling_report
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
    print_facts(facts)
    for part in parts:
        stem = target.with_name(f"scaling_{part}")
        path = stem.with_suffix(".csv")
        code = carry_out(
            part,
            scaling.count(part, plan),
            partial(scaling.run, part, plan, path),
        )
        publish(rows.read(path, scaling.Row), stem, scaling_report.table, scaling_report.figure)
        if code != SUCCESS:
            return code
    return SUCCESS


# ---- limit -------------------------------------------------------------------------------------


def _add_limit(commands: Any) -> None:
    question = new_question(
        commands,
        "limit",
        "how far the solver is from the least time that its work could take",
        "Least time of the work of a solve on this core, by phase, and ours. Builds its compiled "
        "part first. Writes limit.csv, limit_peaks.csv, limit.txt (the table), limit.png and "
        "limit.json (the machine).",
    )
    add_files(question)
    add_samples(question, 50, "samples of everything", 5.0, "time for one file")
    question.add_argument("--build", type=Path, metavar="DIR", help="where the compiled part goes")
    question.set_defaults(command=_limit)


def _limit(arguments: argparse.Namespace) -> int:
    from benchmarks import limit, limit_report, native, peaks, rows

    files = files_of(arguments)
    if arguments.quick:
        files, arguments.repeat = files[:3], 2
    samples = 3 if arguments.quick else 50
    settings = {name: getattr(arguments, name) for name in ("files", "repeat", "budget")}
    target, facts = begin(arguments, "limit", settings)
    try:
        library = native.Native(arguments.build or native.BUILD)
    except native.BuildError as error:
        raise CommandError(f"the compiled part was not built: {error}") from error
    print_facts(facts | {"instruction set": library.instruction_set})
    peaks_path, path = target.with_name("limit_peaks.csv"), target.with_suffix(".csv")
    peaks.measure(library, peaks_path, samples)
    found = peaks.Peaks(rows.read(peaks_path, peaks.Row))
    code = carry_out(
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
    publish(rows.read(path, limit.Row), target, limit_report.table, limit_report.figure, found)
    return code


# ---- noise -------------------------------------------------------------------------------------


def _add_noise(commands: Any) -> None:
    question = new_question(
        commands,
        "noise",
        "is the working tree faster than another commit?",
        "Time of solves, the working tree (B) against another commit (A), in fresh processes that "
        "take turns. Writes noise.csv, noise.txt (the verdict), noise.png and noise.json (the "
        "machine).",
    )
    add_files(question)
    revisions.add_arguments(
        question, "by default HEAD where the sources were changed since, else HEAD~1"
    )
    question.add_argument("--blocks", type=whole, default=10, help="blocks of four processes")
    question.add_argument("--samples", type=whole, default=5, help="samples in a process")
    question.set_defaults(command=_noise)


def _noise(arguments: argparse.Namespace) -> int:
    from benchmarks import noise, noise_report, rows

    files = files_of(arguments)
    if arguments.quick:
        files, arguments.blocks, arguments.samples = files[:3], 2, 2
    with revisions.sides(arguments) as (sites, names):
        settings = {name: getattr(arguments, name) for name in ("files", "blocks", "samples")}
        target, facts = begin(arguments, "noise", settings | names)
        print_facts(facts)
        path = target.with_suffix(".csv")
        try:
            code = carry_out(
                "noise",
                len(revisions.BLOCK) * arguments.blocks,
                lambda progress: noise.run(
                    sites, files, path, arguments.blocks, arguments.samples, progress
                ),
            )
        except revisions.SideError as error:
            raise CommandError(str(error)) from error
    measured = rows.read(path, noise.Row)
    try:
        write_table(
            noise_report.table(measured, names["A"], names["B"]), target.with_suffix(".txt")
        )
    except ValueError as error:
        raise CommandError(f"nothing to compare: {error}") from error
    draw(noise_report.figure, measured, target.with_suffix(".png"))
    return code
