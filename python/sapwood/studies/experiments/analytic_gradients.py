"""Gradients of motions with contact beside closed forms.

The tasks of Zhong, Han and Dey, "Differentiable Physics Simulations with Contacts: Do They Have
Correct Gradients w.r.t. Position, Velocity and Control?" (arXiv 2207.05060):

`bounce`
    A ball meets a wall and comes back. Its last place is v T - h, by the gap h that it starts with.
`collision`
    A ball meets one of the same mass, at rest, which takes over its velocity: v T - h.
`slide`
    A block slides for v T - mu g T^2/2, or until it stops at v^2/(2 mu g).

Impacts are of springs without dissipation, elastic as the time step goes to zero. Where within a
step contact begins decides on its gradient as long as steps are few: so starts are spread over the
way of one step, and besides the gradients of all their mean is of interest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood import SapSettings
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting.analytic_gradients import analytic_gradients_figure
from sapwood.studies.plotting.tables import read_steps, select
from sapwood.trajectory import FreeBodies, Sphere, Trajectory, simulate

_Float = NDArray[np.float64]

TASKS = ("bounce", "collision", "slide")
SPEED, SECONDS, GAP, GRAVITY = 1.0, 0.6, 0.25, 9.81  # m/s, s, m, m/s2
RADIUS, MASS, STIFFNESS = 0.1, 1.0, 1e4  # m, kg, N/m

ROWS = np.dtype(
    [
        ("by", "U6"),
        ("start", np.float64),
        ("end", np.float64),
        ("end_exact", np.float64),
        ("found", np.float64),
        ("exact", np.float64),
    ]
)

_Pairs = Mapping[str, tuple[_Float, Any]]


def gradients(task: str, dt: float, starts: int) -> NDArray[np.void]:
    """Last places of a task and their gradients, from many starts.

    Parameters
    ----------
    task
        One of `TASKS`.
    dt
        Time step, s.
    starts
        How many.

    Returns
    -------
    ndarray of `ROWS`, shape (2 starts,)
        By the gap (m), or friction, and by the speed (m/s): the derivative of the last place that
        was found, and that of the closed form. `start` is what the gap has more than `GAP`, over
        the way of a step, or friction; `end` the last place, m.
    """
    if task == "slide":
        start = np.linspace(0.05, 0.5, starts)
        end, end_exact, pairs = slide(dt, start)
    else:
        start = (np.arange(starts) + 0.5) / starts
        gaps = GAP + start * SPEED * dt
        end, pairs = bounce(dt, gaps) if task == "bounce" else collision(dt, gaps)
        end_exact = SPEED * SECONDS - gaps
    rows = np.zeros((len(pairs), starts), ROWS)
    for row, (name, (found, exact)) in zip(rows, pairs.items(), strict=True):
        row["by"], row["start"], row["end"], row["end_exact"] = name, start, end, end_exact
        row["found"], row["exact"] = found, exact
    return rows.ravel()


def bounce(dt: float, gaps: _Float) -> tuple[_Float, _Pairs]:
    """Balls that fall on a wall without gravity.

    Parameters
    ----------
    dt
        Time step, s.
    gaps : ndarray (n,)
        Between ball and wall at first, m.

    Returns
    -------
    end : ndarray (n,)
        Gap at the end, m.
    gradients : mapping
        By "gap" and "speed": found, and exact.
    """
    scene = _spheres(len(gaps), dt, normals=[[0.0, 0.0, 1.0]], body_contacts=False)
    q0, v0 = _states(len(gaps))
    q0[:, 2], v0[:, 2] = RADIUS + gaps, -SPEED
    run = simulate(scene, q0, v0, n_steps=round(SECONDS / dt))
    q0_bar, v0_bar, _ = _pulled(run, np.s_[:, 2])
    pairs = {"gap": (q0_bar[:, 2], -1.0), "speed": (-v0_bar[:, 2], SECONDS)}
    return run.q[-1, :, 2] - RADIUS, pairs


def collision(dt: float, gaps: _Float) -> tuple[_Float, _Pairs]:
    """Balls that meet others, at rest, pair by pair.

    Parameters
    ----------
    dt
        Time step, s.
    gaps : ndarray (n,)
        Between both at first, m.

    Returns
    -------
    end : ndarray (n,)
        Way of those that were hit, m.
    gradients : mapping
        By "gap" and "speed": found, and exact.
    """
    n = len(gaps)
    scene = _spheres(2 * n, dt, normals=[])
    q0, v0 = _states(2 * n)
    q0[:, 1] = np.tile(10 * RADIUS * np.arange(n), 2)
    q0[:n, 0], v0[:n, 0] = -2 * RADIUS - gaps, SPEED
    run = simulate(scene, q0, v0, n_steps=round(SECONDS / dt))
    q0_bar, v0_bar, _ = _pulled(run, np.s_[n:, 0])
    pairs = {"gap": (-q0_bar[:n, 0], -1.0), "speed": (v0_bar[:n, 0], SECONDS)}
    return run.q[-1, n:, 0], pairs


def slide(dt: float, mu: _Float) -> tuple[_Float, _Float, _Pairs]:
    """Blocks that slide on a plane, as balls too heavy to turn, under Coulomb's friction.

    Parameters
    ----------
    dt
        Time step, s.
    mu : ndarray (n,)
        Friction.

    Returns
    -------
    end : ndarray (n,)
        Way, m.
    end_exact : ndarray (n,)
        That of the closed form, m.
    gradients : mapping
        By "mu" and "speed": found, and exact.
    """
    scene = _spheres(
        len(mu), dt, normals=[[0.0, 0.0, 1.0]], body_contacts=False, mu=mu, tau_d=0.01,
        inertia=[1e6] * 3, gravity=(0.0, 0.0, -GRAVITY),
        settings=SapSettings(relative_tolerance=1e-13, friction="coulomb"),
    )  # fmt: skip
    q0, v0 = _states(len(mu))
    # at the depth where it rests
    q0[:, 2], v0[:, 0] = RADIUS - MASS * GRAVITY / STIFFNESS, SPEED
    run = simulate(scene, q0, v0, n_steps=round(SECONDS / dt))
    _, v0_bar, by = _pulled(run, np.s_[:, 0])
    slowing = mu * GRAVITY
    seconds = np.minimum(SECONDS, SPEED / slowing)
    pairs = {
        "mu": (by["mu"], -0.5 * GRAVITY * seconds**2),
        "speed": (v0_bar[:, 0], seconds),
    }
    return run.q[-1, :, 0], SPEED * seconds - 0.5 * slowing * seconds**2, pairs


def _spheres(n: int, dt: float, **changed: Any) -> FreeBodies:
    numbers = {"k": STIFFNESS, "tau_d": 0.0, "mu": 0.0, "inertia": [1.0] * 3, "gravity": [0.0] * 3}
    return FreeBodies([Sphere(RADIUS)] * n, mass=MASS, dt=dt, **{**numbers, **changed})


def _states(n: int) -> tuple[_Float, _Float]:
    """Positions and velocities of bodies at rest in the origin."""
    q = np.zeros((n, 7))
    q[:, 3] = 1.0
    return q, np.zeros((n, 6))


def _pulled(run: Trajectory, what: Any) -> tuple[_Float, _Float, dict[str, _Float]]:
    """Derivatives of the sum of some last positions by the first state and the parameters."""
    q_bar = np.zeros_like(run.q)
    q_bar[-1][what] = 1.0
    gradient = run.vjp(q_bar)
    return gradient.q0, gradient.v0, gradient.parameters


def figure(quick: bool = False) -> Plan:
    """Gradients of every task from starts within the way of a step, and their errors.

    ``quick``: eight starts and three time steps, in place of 16 and five. One sweep,
    ``analytic_gradients``.
    """
    steps = (1e-2, 3e-3, 1e-3) if quick else (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
    points: list[Point] = [
        {"task": task, "dt": dt, "starts": 8 if quick else 16} for task in TASKS for dt in steps
    ]
    return Plan(
        sweeps=[Sweep("analytic_gradients", gradients, points, ROWS)],
        draw=lambda files, image: analytic_gradients_figure(files["analytic_gradients"], image),
        report=_report,
    )


def _report(files: Files) -> str:
    """The table of docs/development/measured_gradients.md."""
    rows, lines = read_steps(files["analytic_gradients"]), []
    for task in TASKS:
        for dt in dict.fromkeys(rows["dt"].tolist()):
            run = select(rows, task=task, dt=dt)
            text = []
            for by in dict.fromkeys(run["by"].tolist()):
                mine = select(run, by=by)
                off = 100 * (mine["found"] / mine["exact"] - 1.0)
                text.append(
                    f"by {by} {off.mean():+.2f} % in the mean, {np.abs(off).max():.2g} % at most"
                )
            lines.append(f"{task:9} dt {1e3 * dt:4g} ms: {'; '.join(text)}")
    return "\n".join(lines)
