"""A cube identified from its tosses, by gradients of ours and by differences of MuJoCo.

Stiffness, dissipation time, friction and the height of the table are found from a window of every
training toss that begins just before the cube meets the table, with the same number of simulations;
"published" holds friction at 0.18, and "-inertia" finds the moment of inertia too, which is held at
the measured one elsewhere. What they predict of other tosses: single steps, and all from the first
sample to the last.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting.cube_toss import cube_toss_figure
from sapwood.studies.plotting.tables import read_steps, select
from sapwood.studies.tossing import (
    INERTIA,
    errors_of,
    identify,
    impact_of,
    made,
    measured,
    run_bodies,
    run_mujoco,
    window_of,
)

PUBLISHED_FRICTION = 0.18
#: What is known, of every fit.
FITS: dict[str, dict[str, float]] = {
    "sapwood": {"inertia": INERTIA},
    "sapwood-inertia": {},
    "published": {"inertia": INERTIA, "mu": PUBLISHED_FRICTION},
    "mujoco": {"inertia": INERTIA},
    "mujoco-inertia": {},
}
_WINDOW = 16  # steps

ROWS = np.dtype(
    [
        ("toss", np.int64),
        ("impact", "U8"),
        ("step_position", np.float64),
        ("step_rotation", np.float64),
        ("path_position", np.float64),
        ("path_rotation", np.float64),
        ("k", np.float64),
        ("tau_d", np.float64),
        ("mu", np.float64),
        ("height", np.float64),
        ("inertia", np.float64),
        ("loss", np.float64),
        ("simulations", np.int64),
    ]
)


def predict(fit: str, tosses: str, train: int, test: int, budget: int) -> NDArray[np.void]:
    """Identify on the first tosses and predict the last ones.

    Parameters
    ----------
    fit
        One of `FITS`.
    tosses
        "measured" or "made".
    train, test
        How many of the first, and of the last.
    budget
        Simulations of all training windows.

    Returns
    -------
    ndarray of `ROWS`, shape (test,)
        Of each test toss: mean errors of single steps and of the whole path, position over the side
        of the cube and rotation in degrees, and what was identified.
    """
    all_tosses = measured() if tosses == "measured" else made(train + test, seed=1)
    engine = "mujoco" if fit.startswith("mujoco") else "sapwood"
    windows = [window_of(toss, _WINDOW) for toss in all_tosses[:train]]
    found = identify(windows, engine, budget, FITS[fit])
    rows = np.zeros(test, ROWS)
    for i, index in enumerate(range(len(all_tosses) - test, len(all_tosses))):
        q, v = all_tosses[index]
        errors = []
        for q0, v0, steps in ((q[:-1], v[:-1], 1), (q[:1], v[:1], len(q) - 1)):
            if engine == "mujoco":
                path = run_mujoco(found.parameters, q0, v0, steps)
            else:
                path = run_bodies(found.parameters, q0, v0, steps).q
            truth = q[1:, None] if steps > 1 else q[None, 1:]
            position, rotation = errors_of(path[1:], truth)
            errors += [float(position.mean()), float(np.degrees(rotation.mean()))]
        rows[i] = (
            index, impact_of(q), *errors, *found.parameters, found.loss, found.simulations,
        )  # fmt: skip
    return rows


def figure(quick: bool = False) -> Plan:
    """Errors of what was identified on held-out tosses.

    ``quick``: four tosses of eight that were made, in place of 50 of 350 that were measured.
    """
    size = ("made", 8, 4, 30) if quick else ("measured", 300, 50, 60)
    names = ("tosses", "train", "test", "budget")
    values: dict[str, int | float | str] = dict(zip(names, size, strict=True))
    points: list[Point] = [{"fit": fit, **values} for fit in FITS]

    def report(files: Files) -> str:
        rows = read_steps(files["cube_toss"])
        lines = []
        for fit in FITS:
            mine = select(rows, fit=fit)
            one = mine[0]
            lines.append(
                f"{fit}: mu {one['mu']:.3f}, k {one['k']:.0f} N/m, tau_d {1e3 * one['tau_d']:.2f} "
                f"ms, table {1e3 * one['height']:.1f} mm, "
                f"inertia {1e6 * one['inertia']:.0f} kg mm2, loss {one['loss']:.4f}; steps "
                f"{100 * mine['step_position'].mean():.2f} % of a side, "
                f"{mine['step_rotation'].mean():.2f} deg; paths "
                f"{100 * mine['path_position'].mean():.1f} %, "
                f"{mine['path_rotation'].mean():.1f} deg"
            )
        return "\n".join(lines)

    return Plan(
        sweeps=[Sweep("cube_toss", predict, points, ROWS, ("scipy",))],
        draw=lambda files, image: cube_toss_figure(files["cube_toss"], image),
        report=report,
    )
