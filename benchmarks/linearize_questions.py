"""The commands of the questions about derivatives of steps and of runs."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from benchmarks.arguments import (
    SUCCESS,
    CommandError,
    add_data,
    add_models,
    begin,
    carry_out,
    data_of,
    models_of,
    needs,
    new_question,
    print_facts,
    whole,
    write_table,
)

# real models of the first ten projects that have contact
MODELS = (
    "gymnasium__assets_hopper,gymnasium__assets_ant,suite_cheetah,unitree_go2_scene.,anymal_c,"
    "menagerie__unitree_h1,brax__assets_humanoid,feetonly_flat_terrain.,barkour,spot_scene_arm"
)


def add(commands: Any) -> None:
    """Add the parser of the question to the subparsers of the command line."""
    question = new_question(
        commands,
        "linearize",
        "what the derivative of a step costs, and how accurate it is",
        "CPU time of A and B of a step beside mujoco.mjd_transitionFD, centered, and their "
        "distance from central differences of steps. Writes linearize.csv, linearize.txt (the "
        "table) and linearize.json (the machine).",
    )
    add_models(question, steps=20)
    question.add_argument("--models", default=MODELS, metavar="A,B", help="parts of file names")
    question.add_argument("--states", type=whole, default=20, help="states of a model")
    question.add_argument("--repeat", type=whole, default=10, help="samples, of which the least")
    question.set_defaults(command=_linearize)
    question = new_question(
        commands,
        "gradients",
        "what a run with its derivatives by six numbers costs",
        "CPU time of runs with their derivatives beside that of runs, of A and B of 100 hoppers, "
        "and of gradients of worlds and of solves within PyTorch and JAX, where these are "
        "installed. Writes gradients.txt and gradients.json.",
    )
    add_data(question)
    question.add_argument("--steps", type=whole, default=300, help="steps of a run")
    question.add_argument("--repeat", type=whole, default=10, help="samples, of which the least")
    question.set_defaults(command=_gradients)


def _linearize(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import linearize
    wanted = arguments.models.split(",")
    paths = [path for path in models_of(arguments) if any(word in path.name for word in wanted)]
    if not paths:
        raise CommandError(f"--models: no model has one of {arguments.models} in its name")
    if arguments.quick:
        paths, arguments.states, arguments.repeat = paths[:1], 2, 2
    options = ("models", "states", "steps", "repeat")
    settings = {name: getattr(arguments, name) for name in options}
    target, facts = begin(arguments, "linearize", settings)
    print_facts(facts)
    rows: list[linearize.Row] = []
    code = carry_out(
        "linearize",
        len(paths),
        lambda progress: rows.extend(
            linearize.run(
                paths,
                target.with_suffix(".csv"),
                arguments.states,
                arguments.steps,
                arguments.repeat,
                progress,
            )
        ),
    )
    if not rows:
        raise CommandError("no model has a state with contact")
    write_table(linearize.table(rows), target.with_suffix(".txt"))
    return code


def _gradients(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import bridge_runs, dense_calls, run_gradients
    folder = data_of(arguments)
    n, problems = 100, dense_calls.PROBLEMS
    sizes = (bridge_runs.WORLDS, bridge_runs.STEPS, bridge_runs.BATCH)
    if arguments.quick:
        arguments.steps, arguments.repeat, n, problems = 2, 1, 2, 1
        sizes = (2, 2, 2)
    settings = {"steps": arguments.steps, "repeat": arguments.repeat}
    target, facts = begin(arguments, "gradients", settings)
    print_facts(facts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = [
            *run_gradients.runs(folder, arguments.steps, arguments.repeat),
            "",
            run_gradients.hoppers(folder, n, arguments.repeat),
            *bridge_runs.lines(arguments.repeat, *sizes),
            *dense_calls.lines(arguments.repeat, problems),
        ]
    write_table("\n".join(lines), target.with_suffix(".txt"))
    return SUCCESS
