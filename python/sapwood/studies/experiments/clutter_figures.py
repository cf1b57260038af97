"""Figures 8, 9 and 11: the clutter of section X-C with and without walls.

8 is its beginning and what it looks like after 2 s, 9 follows it step by step, 11 counts its
contacts at rest as bodies are added.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.studies.experiments.clutter_report import median_table
from sapwood.studies.experiments.clutter_runs import DT, METHODS, advance, all_steps, simulation
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.measured_steps import STEP_DTYPE
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import (
    clutter_contacts_figure,
    clutter_scenes_figure,
    clutter_steps_figure,
    read_steps,
    select,
)

# ---- figure 8: what it looks like ---------------------------------------------------------------

BODY_ROWS = np.dtype(
    [
        ("time", np.float64),
        ("body", np.int64),
        ("kind", "U6"),
        ("size", np.float64),
        ("x", np.float64),
        ("y", np.float64),
        ("z", np.float64),
        ("q_w", np.float64),
        ("q_x", np.float64),
        ("q_y", np.float64),
        ("q_z", np.float64),
    ]
)


def bodies_at(walls: bool, method: str, bodies: int, seed: int, seconds: float) -> NDArray[np.void]:
    """Positions and rotations of all bodies at the beginning and after some seconds.

    Parameters
    ----------
    walls, method, bodies, seed
        As for `sapwood.studies.experiments.clutter_runs.simulation`.
    seconds
        Time to simulate, s.

    Returns
    -------
    ndarray of `BODY_ROWS`, shape (2 bodies,)
        Time, s; number and kind (sphere or box) of the body; radius or half side, m; position, m;
        rotation as a unit quaternion.
    """
    scene = simulation(bodies, walls, seed, method)
    model, data = scene.model, scene.data
    moving = np.flatnonzero(model.body_dofnum[model.geom_bodyid] == 6)
    kinds = np.where(model.geom_type[moving] == mujoco.mjtGeom.mjGEOM_BOX, "box", "sphere")

    def state() -> NDArray[np.void]:
        rows = np.zeros(bodies, BODY_ROWS)
        rows["time"] = data.time
        rows["body"] = np.arange(bodies)
        rows["kind"] = kinds
        rows["size"] = model.geom_size[moving, 0]
        for i, column in enumerate(("x", "y", "z", "q_w", "q_x", "q_y", "q_z")):
            rows[column] = data.qpos.reshape(bodies, 7)[:, i]
        return rows

    first = state()
    advance(scene, round(seconds / DT))
    return np.concatenate([first, state()])


def figure_8(quick: bool) -> Plan:
    """The clutter at the beginning and after 2 s: 40 bodies, or 12.

    One sweep, ``figure8``.
    """
    points = [
        {
            "walls": walls,
            "method": "algorithm_1",
            "bodies": 12 if quick else 40,
            "seed": 0,
            "seconds": 2.0,
        }
        for walls in (True, False)
    ]
    return Plan(
        sweeps=(Sweep("figure8", bodies_at, points, BODY_ROWS),),
        draw=lambda files, path: clutter_scenes_figure(files["figure8"], path),
    )


# ---- figure 9: step by step ---------------------------------------------------------------------


def figure_9(quick: bool) -> Plan:
    """Contacts, iterations and time of every step: 40 bodies for 10 s, or 12 for 2 s.

    One sweep, ``figure9``.
    """
    bodies, seconds = (12, 2.0) if quick else (40, 10.0)
    points = [
        {
            "walls": walls,
            "method": method,
            "bodies": bodies,
            "seed": 0,
            "seconds": seconds,
            "repeat": 5,
        }
        for walls in (True, False)
        for method in METHODS
    ]
    return Plan(
        sweeps=(Sweep("figure9", all_steps, points, STEP_DTYPE),),
        draw=lambda files, path: clutter_steps_figure(files["figure9"], path),
        report=_report_9,
        workers=1,
    )


def _report_9(files: Files) -> str:
    """Most and mean iterations and median times, the means by halves of every run."""
    steps = read_steps(files["figure9"])
    lines = [f"{'iterations, solver time':<32}{'most':>6}{'first half':>20}{'second half':>20}"]
    for walls, place in ((1, "with walls"), (0, "without walls")):
        for method in METHODS:
            run = select(steps, walls=walls, method=method)
            if run.size == 0:
                continue
            words = [
                f"{half['iterations'].mean():.1f}, {1e3 * np.median(half['solver_time']):.2f} ms"
                for half in np.array_split(run, 2)
            ]
            most = run["iterations"].max()
            lines.append(f"{place + ', ' + method:<32}{most:>6}{words[0]:>20}{words[1]:>20}")
    return "\n".join(lines)


# ---- figure 11: size ----------------------------------------------------------------------------

REST_ROWS = np.dtype(
    [
        ("contacts", np.int64),
        ("contacts_one_per_pair", np.int64),
        ("largest_contacts", np.int64),
        ("iterations_mean", np.float64),
        ("iterations_settled", np.float64),
        ("solver_time", np.float64),
    ]
)


def contacts_at_rest(
    bodies: int, walls: bool, method: str, seed: int, seconds: float
) -> NDArray[np.void]:
    """Simulate the clutter until it rests, and count its contacts.

    Parameters
    ----------
    bodies, walls, method, seed
        As for `sapwood.studies.experiments.clutter_runs.simulation`.
    seconds
        Time to simulate, s.

    Returns
    -------
    ndarray of `REST_ROWS`, shape (1,)
        Contacts of the last step, the same with one for each pair of bodies that touch, in place of
        up to eight between two boxes, and the most contacts of any step; mean iterations per step
        and over the second half of the steps; mean time of the solver per step, s.
    """
    scene = simulation(bodies, walls, seed, method)
    run = advance(scene, round(seconds / DT))
    contact = scene.data.contact
    body = scene.model.geom_bodyid[contact.geom[contact.exclude == 0]]
    fixed = (body == 0).any(axis=1)
    pairs = np.unique(np.sort(body[~fixed], axis=1), axis=0)
    row = (
        run.contacts[-1],
        np.count_nonzero(fixed) + len(pairs),
        run.contacts.max(),
        run.iterations.mean(),
        run.iterations[run.steps // 2 :].mean(),
        run.solver_seconds.mean(),
    )
    return np.array([row], REST_ROWS)


def figure_11(quick: bool) -> Plan:
    """Contacts at rest of 4 to 200 bodies after 10 s, or of 4 to 40 after 3 s.

    One sweep, ``figure11``.
    """
    numbers, seconds, seeds = (
        ((4, 8, 20, 40), 3.0, 2) if quick else ((4, 8, 12, 20, 40, 60, 80, 120, 160, 200), 10.0, 3)
    )
    points: list[Point] = [
        {"bodies": bodies, "walls": walls, "method": method, "seed": seed, "seconds": seconds}
        # the largest first: they take longest
        for bodies in reversed(numbers)
        for walls in (True, False)
        for method in METHODS
        for seed in range(seeds)
    ]
    return Plan(
        sweeps=(Sweep("figure11", contacts_at_rest, points, REST_ROWS),),
        draw=lambda files, path: clutter_contacts_figure(files["figure11"], path),
        report=_report_11,
    )


def _report_11(files: Files) -> str:
    rows = read_steps(files["figure11"])
    columns = {
        "contacts": "contacts at rest",
        "contacts_one_per_pair": "the same with one for each pair of bodies",
        "iterations_mean": "iterations per step",
        "iterations_settled": "iterations per step, second half",
    }
    return "\n".join(median_table(rows, "bodies", *column) for column in columns.items())
