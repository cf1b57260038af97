"""Figures 5, 6 and 7: the spring-cylinder of section X-B by the schemes of the theta-method.

Without friction the cylinder is a mass on a spring, with friction it rolls and its energy should
not change either. What it loses goes into the slip of the regularized friction: a force f_t slips
at R_t f_t dt = sigma w dt f_t, Eq. (22), n times slower where n points share it, so that the energy
of the oscillation falls by exp(-t/T) with

    1/T = (sigma w dt/n) (I_o/R^2)^2 k_s/m_eff^2,    m_eff = m + I_o/R^2
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.stepping import SpringCylinder, ThetaStepper
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import energy_figure, position_error_figure, read_steps, select

#: The schemes of the figures, in the paper's order.
SCHEMES = ("symplectic_euler", "midpoint", "implicit_euler")

#: The paper's time step of Figs. 5 and 6, s.
DT = 0.02

#: Regularization parameter of friction, the paper's default.
SIGMA = 1e-3

#: Rows of a motion: time (s), position of the centre (m) and total mechanical energy (J).
MOTION = np.dtype([("time", np.float64), ("x", np.float64), ("energy", np.float64)])

#: Row of a position error: time step (s) and e_q (m).
ERROR = np.dtype([("dt", np.float64), ("e_q", np.float64)])

_Rows = NDArray[np.void]


def motion(scheme: str, mu: float, n_contacts: int, dt: float, duration: float) -> _Rows:
    """Simulate the spring-cylinder from x = 0.1 m at rest.

    Parameters
    ----------
    scheme
        Name of the scheme.
    mu
        Friction coefficient.
    n_contacts
        Contact points of the cylinder.
    dt, duration
        Time step and simulated time, s.

    Returns
    -------
    ndarray of `MOTION`
        The start, and one row per step.
    """
    model = SpringCylinder(mu=mu, n_contacts=n_contacts)
    stepper = ThetaStepper(model, dt, scheme, sigma=SIGMA)
    state = model.start()
    rows = np.zeros(round(duration / dt) + 1, MOTION)
    for i in range(len(rows)):
        if i > 0:
            state = stepper.step(state)
        # whole multiples of the step, so that rows of all schemes have the same times
        rows[i] = i * dt, state.q[0], model.energy(state.q, state.v)
    return rows


def position_error(scheme: str, n_contacts: int, duration: float, steps: int) -> _Rows:
    """e_q of the rolling cylinder against x_e = x_0 cos(omega t), section X-B.

    Parameters
    ----------
    scheme
        Name of the scheme.
    n_contacts
        Contact points of the cylinder.
    duration
        Simulated time T, s.
    steps
        Number of steps, dt = T/steps.

    Returns
    -------
    ndarray of `ERROR`, (1,)
        e_q = (1/T int_0^T (x - x_e)^2 dt)^(1/2), by the trapezoidal rule over the steps.
    """
    dt = duration / steps
    rows = motion(scheme, 1.0, n_contacts, dt, duration)
    omega = SpringCylinder().angular_frequency(rolling=True)
    error = rows["x"] - rows["x"][0] * np.cos(omega * rows["time"])
    mean_square = np.trapezoid(error**2, rows["time"]) / duration
    return np.array([(dt, np.sqrt(mean_square))], ERROR)


def slip_loss_rate(n_contacts: int, dt: float) -> float:
    """1/T, the rate at which slip takes the energy of the rolling cylinder (see the module).

    Parameters
    ----------
    n_contacts
        Contact points of the cylinder.
    dt
        Time step, s.

    Returns
    -------
    float
        Part of the energy lost per second, 1/s.
    """
    model = SpringCylinder()
    rolling_mass = model.I_o / model.R**2
    # Delassus block of a point on the ground, diag(1/m + R^2/I_o, 0, 1/m)
    w = np.hypot(1 / model.m + 1 / rolling_mass, 1 / model.m) / 3
    slip = SIGMA * float(w) * dt / n_contacts
    return slip * rolling_mass**2 * model.k_s / (model.m + rolling_mass) ** 2


# ---- numbers of the figures ---------------------------------------------------------------------


def energy_band(run: _Rows, seconds: float) -> float:
    """Peak-to-peak energy of the first seconds, relative to the initial energy.

    Parameters
    ----------
    run
        Rows of one run.
    seconds
        How long, s.

    Returns
    -------
    float
        (max - min)/E(0).
    """
    energy = run["energy"][run["time"] <= seconds]
    return float(np.ptp(energy) / energy[0])


def energy_loss(run: _Rows, seconds: float) -> float:
    """Part of the energy lost between the first seconds of a run and the last.

    Parameters
    ----------
    run
        Rows of one run.
    seconds
        Over which the energy is averaged at both ends, s; some periods, as the energy swings.

    Returns
    -------
    float
        1 - (mean of the last seconds)/(mean of the first).
    """
    time, energy = run["time"], run["energy"]
    first, last = energy[time < seconds], energy[time > time[-1] - seconds]
    return float(1.0 - last.mean() / first.mean())


def orders(run: _Rows) -> NDArray[np.float64]:
    """Slopes of log e_q against log dt between neighbours.

    Parameters
    ----------
    run
        Errors of one scheme, by the time step.

    Returns
    -------
    ndarray (len(run) - 1,)
        Observed orders.
    """
    slopes: NDArray[np.float64] = np.diff(np.log(run["e_q"])) / np.diff(np.log(run["dt"]))
    return slopes


# ---- figures ------------------------------------------------------------------------------------


def figure_5(quick: bool) -> Plan:
    """Energy without friction: 100 s, or 10 s.

    One sweep, ``figure5``.
    """
    points: list[Point] = [
        {"scheme": scheme, "mu": 0.0, "n_contacts": 1, "dt": DT, "duration": 10.0 if quick else 1e2}
        for scheme in SCHEMES
    ]
    return Plan(
        sweeps=(Sweep("figure5", motion, points, MOTION),),
        draw=lambda files, path: energy_figure(files["figure5"], path, _period(rolling=False)),
        report=lambda files: _energy_report(read_steps(files["figure5"]), rolling=False),
    )


def figure_6(quick: bool) -> Plan:
    """Energy with friction, with one contact point and with two: 600 s, or 20 s.

    One sweep, ``figure6``.
    """
    runs = [*((scheme, 1) for scheme in SCHEMES), ("symplectic_euler", 2), ("midpoint", 2)]
    points: list[Point] = [
        {"scheme": scheme, "mu": 1.0, "n_contacts": n, "dt": DT, "duration": 20.0 if quick else 6e2}
        for scheme, n in runs
    ]
    return Plan(
        sweeps=(Sweep("figure6", motion, points, MOTION),),
        draw=lambda files, path: energy_figure(files["figure6"], path, _period(rolling=True)),
        report=lambda files: _energy_report(read_steps(files["figure6"]), rolling=True),
    )


def figure_7(quick: bool) -> Plan:
    """Position error with friction against the time step: over 5 s, or 1 s and larger steps.

    One sweep, ``figure7``.
    """
    duration, coarsest, n = (1.0, 50, 6) if quick else (5.0, 125, 9)
    points = [
        {"scheme": scheme, "n_contacts": 1, "duration": duration, "steps": coarsest * 2**i}
        for scheme in SCHEMES
        for i in range(n)
    ]
    return Plan(
        sweeps=(Sweep("figure7", position_error, points, ERROR),),
        draw=lambda files, path: position_error_figure(files["figure7"], path),
        report=_error_report,
    )


def _energy_report(rows: _Rows, *, rolling: bool) -> str:
    """Band of the first four periods, and what is lost from these to the last four."""
    period = _period(rolling=rolling)
    seconds = 4 * period
    lines = [f"{'':<34}{'band, 4 periods':>17}{'lost in the run':>17}{'by slip':>10}"]
    for scheme, n in np.unique(rows[["scheme", "n_contacts"]]).tolist():
        run = select(rows, scheme=scheme, n_contacts=n)
        slip_rate = slip_loss_rate(n, DT) if rolling else 0.0
        slip = 1 - np.exp(-slip_rate * (run["time"][-1] - seconds))
        name = f"{scheme}, {n} contact point{'s' if n > 1 else ''}"
        # without the sign of what rounds to zero
        band, loss = energy_band(run, seconds), round(energy_loss(run, seconds), 6) + 0.0
        lines.append(f"{name:<34}{band:>17.2%}{loss:>17.2%}{slip:>10.2%}")
    lines.append(
        f"by 2 pi/omega: {period / DT:.1f} steps in a period, "
        f"{run['time'][-1] / period:.0f} periods in {run['time'][-1]:g} s"
    )
    return "\n".join(lines)


def _period(*, rolling: bool) -> float:
    """Period of the continuous motion, s."""
    return float(2 * np.pi / SpringCylinder().angular_frequency(rolling=rolling))


def _error_report(files: Files) -> str:
    """Error and order of every scheme at the smallest step."""
    rows = read_steps(files["figure7"])
    lines = [f"{'':<20}{'smallest e_q':>14}{'order there':>14}{'largest order':>16}"]
    for scheme in SCHEMES:
        run = select(rows, scheme=scheme)
        if run.size > 1:
            found = orders(run)
            lines.append(
                f"{scheme:<20}{run['e_q'][-1]:>12.2e} m{found[-1]:>14.2f}{found.max():>16.2f}"
            )
    last = {row["scheme"]: row["e_q"] for row in rows}
    if {"implicit_euler", "symplectic_euler"} <= last.keys():
        ratio = last["implicit_euler"] / last["symplectic_euler"]
        lines.append(f"implicit over symplectic Euler, smallest step: {ratio:.0f}")
    return "\n".join(lines)
