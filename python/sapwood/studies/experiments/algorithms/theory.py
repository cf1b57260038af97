"""Proofs and estimates of the paper on contact, evaluated: Lemma 3, Theorem 1, (21) and (23).

- Lemma 3: each iteration of Algorithm 1 takes away at least the share mu/(sigma^2 L) of what the
  cost lies above its minimum. With velocities that make A = I, which change no iterate, convexity
  is mu = 1, and the largest eigenvalue of I + J^T R^-1 J bounds L and the condition sigma.
- Theorem 1: the program (5) in the impulses has the value of the primal; (3) has that of its own.
- Section IX: depth at rest of a point mass by (21), and its slip by (23) where it is pushed as hard
  as friction holds.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from sapwood import ContactProblem, SapSettings, SapSolver
from sapwood.studies.experiments.algorithms.convergence import cost_gap
from sapwood.studies.experiments.clutter_runs import METHODS
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import read_steps, select
from sapwood.studies.plotting.algorithms.theory import theory_figure

Array = NDArray[np.float64]

RATES = np.dtype([("iteration", np.int64), ("relative_gap", np.float64), ("share", np.float64)])
VALUES = np.dtype([("primal", np.float64), ("dual", np.float64)])
REST = np.dtype([("depth", np.float64), ("slip", np.float64)])

#: R_n/w and R_t/w, from soft contact to the paper's near-rigid one with its sigma.
REGIMES = {"soft": (10.0, 10.0), "stiff": (0.1, 0.1), "near-rigid": (0.25 / np.pi**2, 1e-3)}

#: Relative distance from the minimum below which round-off decides.
_ROUND_OFF = 1e-25

_MU, _CONTACTS, _VELOCITIES, _GRAVITY = 0.7, 6, 24, 9.81


@dataclasses.dataclass(frozen=True)
class _Random:
    """A random problem with A = I: v*, J, v_hat and R, three rows (t1, t2, n) per contact."""

    v_star: Array
    J: Array
    v_hat: Array
    R: Array

    @classmethod
    def of(cls, regime: str, rng: np.random.Generator) -> _Random:
        J = rng.normal(size=(3 * _CONTACTS, _VELOCITIES))
        v_hat = np.zeros((_CONTACTS, 3))
        v_hat[:, 2] = rng.normal(size=_CONTACTS)
        blocks = [J_i @ J_i.T for J_i in J.reshape(_CONTACTS, 3, -1)]
        w = np.array([np.linalg.norm(block) / 3.0 for block in blocks])
        R_n, R_t = REGIMES[regime]
        R = np.outer(w, (R_t, R_t, R_n)).ravel()
        return cls(rng.normal(size=_VELOCITIES), J, v_hat.ravel(), R)

    def problem(self) -> ContactProblem:
        """The same for the solver."""
        return ContactProblem.from_dense(
            np.eye(_VELOCITIES), self.v_star, self.J, mu=_MU, dt=0.01,
            R_t=self.R[::3], R_n=self.R[2::3], v_hat_n=self.v_hat[2::3],
        )  # fmt: skip


def rates(regime: str, seed: int) -> NDArray[np.void]:
    """Distance from the minimum at every iteration of Algorithm 1, beside the bound of Lemma 3.

    Parameters
    ----------
    regime
        Name in `REGIMES`.
    seed
        Of the problem, and of the velocity at which the iterations begin.

    Returns
    -------
    ndarray of `RATES`
        By iteration, down to round-off: cost minus minimum, over its value at first; the share of
        it that Lemma 3 has an iteration take away at least.
    """
    rng = np.random.default_rng(seed)
    data = _Random.of(regime, rng)
    guess = data.v_star + 10.0 * rng.normal(size=_VELOCITIES)
    settings = dataclasses.replace(
        METHODS["algorithm_1"], relative_tolerance=0.0, record_history=True
    )
    records = SapSolver(settings).solve(data.problem(), guess).history
    assert records is not None
    gap = cost_gap(records)
    gap = gap[: np.count_nonzero(gap > _ROUND_OFF * gap[0]) + 1]
    lipschitz = np.linalg.eigvalsh(np.eye(_VELOCITIES) + data.J.T @ (data.J / data.R[:, None]))[-1]
    rows = np.zeros(len(gap), RATES)
    rows["iteration"], rows["relative_gap"] = np.arange(len(gap)), gap / gap[0]
    rows["share"] = 1.0 / lipschitz**3
    return rows


def values(program: str, tolerance: float, seed: int) -> NDArray[np.void]:
    """Values of a primal and of its dual, the dual solved by Clarabel.

    Parameters
    ----------
    program
        "(5)", whose primal sapwood solves to round-off, or "(3)", whose primal Clarabel solves.
    tolerance
        Of Clarabel, on gap and feasibility.
    seed
        Of the problem, a stiff one.

    Returns
    -------
    ndarray of `VALUES`, (1,)
        Both values, J.
    """
    from sapwood.studies.peers.cone_program import best_impulses, best_velocity

    data = _Random.of("stiff", np.random.default_rng(seed))
    W, r = data.J @ data.J.T, data.J @ data.v_star - data.v_hat
    R = data.R if program == "(5)" else np.zeros_like(data.R)
    gamma = best_impulses(W, R, r, _MU, tolerance)
    dual = -(0.5 * gamma @ (W @ gamma + R * gamma) + r @ gamma)
    if program == "(5)":
        primal = SapSolver(SapSettings(relative_tolerance=1e-14)).solve(data.problem()).cost
    else:
        identity = np.eye(_VELOCITIES)
        v = best_velocity(identity, data.v_star, data.J, data.v_hat, _MU, tolerance)
        primal = 0.5 * float((v - data.v_star) @ (v - data.v_star))
    return np.array([(primal, dual)], VALUES)


def resting(dt: float, steps: int) -> NDArray[np.void]:
    """A point mass of 1 kg on near-rigid ground with mu = 1, pushed by 99.9 % of its weight.

    Parameters
    ----------
    dt
        Time step, s.
    steps
        Number of steps.

    Returns
    -------
    ndarray of `REST`, (1,)
        Depth, m, and slip, m/s, at the end.
    """
    gap, v = 0.0, np.zeros(3)
    pull = np.array([0.999 * _GRAVITY, 0.0, -_GRAVITY])
    solver = SapSolver(SapSettings(relative_tolerance=1e-12))
    for _ in range(steps):
        problem = ContactProblem.from_dense(
            np.eye(3), v + dt * pull, np.eye(3), gap, k=1e12, tau_d=dt / np.pi, mu=1.0, dt=dt
        )
        v = solver.solve(problem).v
        gap += dt * v[2]
    return np.array([(-gap, np.hypot(v[0], v[1]))], REST)


def figure(_quick: bool) -> Plan:
    """Lemma 3 and Theorem 1 on random problems, and a point mass; seconds, so nothing is quicker.

    Three sweeps: ``theory_rates``, ``theory_values``, ``theory_rest``.
    """
    return Plan(
        sweeps=(
            Sweep("theory_rates", rates, [{"regime": name, "seed": 1} for name in REGIMES], RATES),
            Sweep(
                "theory_values",
                values,
                [
                    {"program": program, "tolerance": 10.0**-k, "seed": 1}
                    for program in ("(5)", "(3)")
                    for k in range(2, 10)
                ],
                VALUES,
                ("clarabel",),
            ),
            Sweep("theory_rest", resting, [{"dt": dt, "steps": 200} for dt in (1e-3, 1e-2)], REST),
        ),
        draw=lambda files, path: theory_figure(files["theory_rates"], files["theory_values"], path),
        report=_report,
    )


def _report(files: Files) -> str:
    """Bounds and what is seen, values of the programs, depth and slip."""
    rows = read_steps(files["theory_rates"])
    lines = []
    for regime in REGIMES:
        run = select(rows, regime=regime)
        seen = 1.0 - run["relative_gap"][1:] / run["relative_gap"][:-1]
        lines.append(
            f"Lemma 3, {regime}: an iteration takes away at least {run['share'][0]:.2g} by the "
            f"bound, {seen.min():.4g} as seen, of the distance from the minimum, in "
            f"{len(seen)} iterations"
        )
    rows = read_steps(files["theory_values"])
    for program in np.unique(rows["program"]).tolist():
        tightest = select(rows, program=program)[-1]
        apart = abs(tightest["dual"] / tightest["primal"] - 1.0)
        lines.append(
            f"program {program}: primal {tightest['primal']:.9g} J, dual {tightest['dual']:.9g} J, "
            f"apart by {apart:.1e} of it at a tolerance of {tightest['tolerance']:.0e}"
        )
    lines += [
        f"point mass, dt = {row['dt']:g} s: depth {row['depth']:.3g} m, slip {row['slip']:.3g} m/s"
        for row in read_steps(files["theory_rest"])
    ]
    return "\n".join(lines)
