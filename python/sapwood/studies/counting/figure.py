"""Tables 1 and 2 of Zapolsky and Drumwright: operations of Stage I."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.counting.stage_one import FORMS, formulas, random_robot
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import read_steps, select
from sapwood.studies.plotting.algorithms.operations import (
    PUBLISHED,
    operations_figure,
    totals_figure,
)

#: Velocities, and numbers of motors of the two robots of the paper.
VELOCITIES, MOTORS = 18, (16, 12)
#: Contacts and edges of a friction pyramid of both tables.
CONTACTS, EDGES = 4, 4

ROWS = np.dtype([("operation", "U24"), ("formula", np.float64), ("counted", np.float64)])


def count(form: str, motors: int, contacts: int) -> NDArray[np.void]:
    """Count the operations of one form on a random robot.

    Parameters
    ----------
    form
        Of `sapwood.studies.counting.stage_one.FORMS`.
    motors, contacts
        Numbers of motors and of contacts.

    Returns
    -------
    ndarray of `ROWS`
        Each operation with its number by formula and as counted.
    """
    counts = FORMS[form](random_robot(VELOCITIES, motors, contacts, EDGES)).counts
    by_formula = formulas(form, VELOCITIES, motors, contacts, EDGES)
    rows = np.zeros(len(counts), ROWS)
    for row, (operation, counted) in zip(rows, counts.items(), strict=True):
        row["operation"], row["formula"], row["counted"] = (
            operation, by_formula[operation], counted,
        )  # fmt: skip
    return rows


def _sweep(quick: bool) -> Sweep:
    sizes = (CONTACTS,) if quick else (1, 2, CONTACTS, 8, 16)
    points: list[Point] = [
        {"form": form, "motors": motors, "contacts": contacts}
        for contacts in sizes
        for motors in MOTORS
        for form in FORMS
    ]
    return Sweep("operations", count, points, ROWS)


def table_1(quick: bool) -> Plan:
    """Operations of Stage I as printed, step by step.

    ``quick``: with four contacts alone. One sweep, ``operations``.
    """
    return Plan(
        sweeps=(_sweep(quick),),
        draw=lambda files, path: operations_figure(files["operations"], path),
        report=_report,
    )


def table_2(quick: bool) -> Plan:
    """Operations of three forms of Stage I against the number of contacts.

    ``quick``: with four contacts alone. One sweep, ``operations``.
    """
    return Plan(
        sweeps=(_sweep(quick),),
        draw=lambda files, path: totals_figure(files["operations"], path),
        report=_report,
    )


def _report(files: Files) -> str:
    """Sums of each form with the contacts of the tables, and what the simplification saves."""
    rows = select(read_steps(files["operations"]), contacts=CONTACTS)
    lines = [f"form          motors   by formula    counted  published, {CONTACTS} contacts"]
    counted = {}
    for motors in MOTORS:
        for form in FORMS:
            run = select(rows, motors=motors, form=form)
            published = PUBLISHED.get((form, motors))
            counted[form, motors] = run["counted"].sum()
            lines.append(
                f"{form:12}{motors:8}{run['formula'].sum():13.0f}{counted[form, motors]:11.0f}"
                + (f"{published:11}" if published else "")
            )
    for motors in MOTORS:
        saved = 1.0 - counted["simplified", motors] / counted["printed", motors]
        lines.append(f"simplification saves, {motors} motors: {100.0 * saved:.1f} %")
    return "\n".join(lines)
