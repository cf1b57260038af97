"""The commands of the questions about inverse dynamics and task control."""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.arguments import (
    SUCCESS,
    add_data,
    begin,
    carry_out,
    data_of,
    draw,
    needs,
    new_question,
    print_facts,
    sizes,
    whole,
    write_table,
)


def add(commands: Any) -> None:
    """Add the parser to the subparsers of the command line."""
    question = new_question(
        commands,
        "invdyn",
        "time of inverse dynamics against the number of contacts",
        "Time of a call of every controller of inverse dynamics, against the number of contacts, "
        "and beside other solvers of its problems. Writes invdyn.csv, invdyn.txt (the table), "
        "invdyn.png, invdyn_peers.txt (other solvers) and invdyn.json (the machine).",
    )
    question.add_argument(
        "--contacts", type=sizes, default="1,4,10,20,30,40,60", metavar="A,B", help="how many"
    )
    question.add_argument("--samples", type=whole, default=1000, help="calls of each")
    question.add_argument(
        "--beside", type=sizes, default="4,10,20,30", metavar="A,B", help="contacts beside others"
    )
    question.set_defaults(command=_invdyn)
    question = new_question(
        commands,
        "tasks",
        "legged robots that stand and squat under task control",
        "Legged robots of the data folder stand and squat in the stepper under task control at "
        "500 Hz, and the time of their programs beside ProxQP. Writes tasks.txt and tasks.json.",
    )
    add_data(question)
    question.add_argument("--seconds", type=whole, default=10, help="length of a run")
    question.set_defaults(command=_tasks)


def _invdyn(arguments: argparse.Namespace) -> int:
    with needs("bench"):
        from benchmarks import invdyn, invdyn_peers
    if arguments.quick:
        arguments.contacts, arguments.samples, arguments.beside = [1, 4], 5, [2]
    settings = {name: getattr(arguments, name) for name in ("contacts", "samples", "beside")}
    target, facts = begin(arguments, "invdyn", settings)
    print_facts(facts)
    rows: list[invdyn.Row] = []
    code = carry_out(
        "inverse dynamics",
        len(arguments.contacts) * len(invdyn.CONTROLLERS),
        lambda progress: rows.extend(
            invdyn.run(arguments.contacts, arguments.samples, target.with_suffix(".csv"), progress)
        ),
    )
    write_table(invdyn.table(rows), target.with_suffix(".txt"))
    draw(invdyn.figure, rows, target.with_suffix(".png"))
    if code == SUCCESS:
        samples = max(1, arguments.samples // 10)
        lines = invdyn_peers.compare(arguments.beside, samples)
        lines += ["", *invdyn_peers.starts(arguments.beside, samples)]
        write_table("\n".join(lines), target.with_name("invdyn_peers.txt"))
    return code


def _tasks(arguments: argparse.Namespace) -> int:
    with needs("bench"):
        from benchmarks import legged_report
    seconds = 0.1 if arguments.quick else float(arguments.seconds)
    folder = data_of(arguments)
    target, facts = begin(arguments, "tasks", {"seconds": seconds})
    print_facts(facts)
    lines = [
        *legged_report.courses(folder, seconds),
        "",
        *legged_report.times(folder, min(seconds, 2.0)),
    ]
    write_table("\n".join(lines), target.with_suffix(".txt"))
    return SUCCESS
