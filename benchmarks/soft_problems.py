"""Random problems of soft bodies: elimination, the bound, and derivatives, each by another way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Table
from sapwood import ContactProblem, SapSettings, SapSolver, fem, solve
from sapwood.fem.contacts import contacts_with_plane
from sapwood.fem.meetings import Meeting
from sapwood.fem.passes import order_steps
from sapwood.fem.reduction import YIELDING_BETA, Pass, PassOptions, Reduction
from sapwood.fem.soft_step import Scheme, SoftStep

_Float = NDArray[np.float64]

MODELS = ("linear", "linear_corotated", "corotated", "neo_hookean", "st_venant_kirchhoff")
LIMITS = {"elimination": 1e-10, "bound": 1.0, "derivative": 1e-6}
_DT, _SIGMA, _TAU_D = 0.01, 1e-3, 0.02
# steps of central differences, over the size of a number
_STEPS = (1e-4, 1e-5, 1e-6)


@dataclass(frozen=True)
class Row:
    """A random problem.

    Attributes
    ----------
    seed : int
        Its number.
    model, friction : str
        Material model and law.
    vertices, contacts : int
        Of the body.
    elimination : float
        Largest difference of a velocity from the dense problem of all vertices, m/s.
    bound : float
        Distance of a loose solution from the exact one over its proved bound.
    derivative : float
        Error of a directional derivative over its size, against central differences.
    """

    seed: int
    model: str
    friction: str
    vertices: int
    contacts: int
    elimination: float
    bound: float
    derivative: float


class _Scene:
    """A moving box on a tilted plane, at the start of a step."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.rng, self.model = rng, str(rng.choice(MODELS))
        self.friction = "coulomb" if rng.random() < 0.5 else "convex"
        mesh = fem.box(0.1 * rng.uniform(0.5, 2, 3), rng.integers(1, 4, 3))
        self.material = fem.Material(
            young=10 ** rng.uniform(4, 6),
            poisson=rng.uniform(0, 0.45),
            density=1000.0,
            model=self.model,
            stiffness_damping=rng.choice([0.0, 0.01]),
        )
        pose = np.eye(4)
        pose[2, 3] = rng.uniform(-0.002, 0.0) - mesh.vertices[:, 2].min()
        self.body = fem.SoftBody(mesh, self.material, pose=pose, friction=rng.uniform(0, 1))
        n = len(mesh.vertices)
        self.body.velocities = rng.uniform(-0.5, 0.5, 3) + 0.05 * rng.standard_normal((n, 3))
        if rng.random() < 0.3:
            self.body.fix([int(rng.integers(n))])
        normal = np.array([*rng.uniform(-0.02, 0.02, 2), 1.0])
        normal /= np.linalg.norm(normal)
        contacts = contacts_with_plane(self.body, normal, 0.0)
        self.meeting = Meeting(0, "plane", contacts, rng.uniform(0, 1), _TAU_D)

    def reduction(self, tolerance: float) -> tuple[SoftStep, Reduction]:
        """The reduced problem, with a solver of a tolerance."""
        step, settings = SoftStep(self.body), self.settings(tolerance)
        step.begin(_DT, Scheme(1.0, 1.0, 1.0), np.array([0.0, 0.0, -9.81]))
        order_steps([step], [self.meeting], (), exact=False)
        options = PassOptions(_DT, _SIGMA, YIELDING_BETA, "block")
        rigid = ContactProblem([], [], [], dt=_DT)
        step.evaluate(step.start)
        step.linearize(step.start)
        solver = SapSolver(settings)
        return step, Reduction([step], [self.meeting], (), rigid, options, solver)

    def settings(self, tolerance: float) -> SapSettings:
        """Settings of a tolerance."""
        return SapSettings(friction=self.friction, relative_tolerance=tolerance)

    def solve(self, tolerance: float) -> tuple[SoftStep, Reduction, Pass]:
        """One pass of a tolerance."""
        step, reduction = self.reduction(tolerance)
        return step, reduction, reduction.solve_pass([step.guess])

    def whole(self, step: SoftStep, reduction: Reduction) -> tuple[_Float, ContactProblem]:
        """A of all vertices, and the dense problem of those that are not fixed."""
        n, mesh = len(step.start), self.body.mesh
        c_K, K, K_pairs, c_M, mass, _ = step.blocks()
        A = c_K * fem.scatter_blocks(mesh.pairs, K, K_pairs)
        A += c_M * np.kron(np.diag(mass), np.eye(3))
        free = np.repeat(~step.is_fixed, 3)
        start = step.start.ravel()
        residual = step.momentum_residual(step.start).ravel()
        own = A[np.ix_(free, free)]
        v_star = start[free] - np.linalg.solve(own, residual[free])
        contacts = self.meeting.contacts
        J = np.zeros((len(contacts.k), 3, n, 3))
        for corner in range(3):
            rows = np.arange(len(J))
            weight = contacts.weights[:, corner, None, None]
            J[rows, :, contacts.vertices[:, corner]] += weight * reduction.frames
        acting = reduction.is_acting
        J = J[acting].reshape(-1, 3 * n)[:, free]
        problem = ContactProblem.from_dense(
            own, v_star, J, contacts.phi0[acting], contacts.k[acting], _TAU_D,
            self.meeting.friction, _DT, sigma=_SIGMA, beta=YIELDING_BETA,
        )  # fmt: skip
        return A, problem


def examine(seed: int) -> Row:
    """Make a problem, and compare it with what is found in other ways.

    Parameters
    ----------
    seed : int
        Of the random numbers.

    Returns
    -------
    Row
        The differences.
    """
    scene = _Scene(seed)
    step, reduction, exact = scene.solve(1e-14)
    A, whole = scene.whole(step, reduction)
    free = ~step.is_fixed
    found = solve(whole, settings=scene.settings(1e-14)).v
    elimination = float(np.abs(exact.v[0][free].ravel() - found).max())
    loose = scene.solve(10 ** scene.rng.uniform(-6, -1))[2]
    error = (loose.v[0] - exact.v[0]).ravel()
    bounds = [each.solution.velocity_error_bound for each in (loose, exact)]
    return Row(
        seed,
        scene.model,
        scene.friction,
        len(step.start),
        len(exact.solution.gamma),
        elimination,
        float(np.sqrt(max(0.0, error @ A @ error)) / sum(bounds)),
        _derivative_error(scene),
    )


def _derivative_error(scene: _Scene) -> float:
    """Error of a directional derivative over its size, the least over steps of differences."""
    step, reduction = scene.reduction(1e-14)
    problem = reduction.problem([step.guess])[0]
    settings, rng = scene.settings(1e-14), scene.rng
    solution = solve(problem, settings=settings, sensitivity=True)
    weights = rng.standard_normal(len(solution.v))
    gradient = solution.vjp(weights)
    scale, n = float(np.abs(problem.v_star).max()), int(problem.tree_nv[0])
    root = rng.standard_normal((n, n)) / n
    change = {
        "v_star": scale * rng.standard_normal(len(problem.v_star)),
        "A": (problem.A.reshape(n, n) @ (root + root.T) @ problem.A.reshape(n, n)).ravel(),
    }
    change["A"] *= np.abs(problem.A).max() / np.abs(change["A"]).max()
    expected = sum(float(np.sum(getattr(gradient, name) * d)) for name, d in change.items())

    def value(h: float) -> float:
        moved = {name: getattr(problem, name) + h * d for name, d in change.items()}
        return float(weights @ solve(_with(problem, moved), settings=settings).v)

    size = max(abs(expected), scale)
    slopes = [(value(h) - value(-h)) / (2 * h) for h in _STEPS]
    return min(abs(slope - expected) / size for slope in slopes)


def _with(problem: ContactProblem, changed: dict[str, Any]) -> ContactProblem:
    """The same problem with other arrays; its R follows from A."""
    names = ("tree_nv", "A", "v_star", "tree_a", "tree_b", "J", "mu", "phi0", "k", "tau_d",
             "v_hat_t", "dt", "sigma", "beta", "delassus", "v_guess")  # fmt: skip
    return ContactProblem(**{name: getattr(problem, name) for name in names} | changed)


def measure(n: int, path: Path, progress: Callable[[str], None]) -> list[Row]:
    """Examine problems, and write a row for each.

    Parameters
    ----------
    n : int
        Number of problems.
    path : Path
        CSV file of the rows.
    progress : callable
        Is told each hundredth.

    Returns
    -------
    list of Row
        One for each problem.
    """
    rows: list[Row] = []
    with Table(path, Row) as table:
        for seed in range(n):
            if seed % max(1, n // 100) == 0:
                progress(f"problem {seed}")
            rows.append(examine(seed))
            table.add(rows[-1])
    return rows


def table(rows: Iterable[Row]) -> str:
    """The worst of the rows as text."""
    listed = list(rows)
    lines = [f"{len(listed)} problems", f"{'':12s} {'worst':>9s} {'limit':>9s} {'seed':>6s}"]
    for name, limit in LIMITS.items():
        worst = max(listed, key=lambda row: getattr(row, name))
        broken = sum(not getattr(row, name) <= limit for row in listed)
        note = f"  broken by {broken}" if broken else ""
        lines.append(f"{name:12s} {getattr(worst, name):9.2g} {limit:9.0e} {worst.seed:6d}{note}")
    return "\n".join(lines)


def hold(rows: Iterable[Row]) -> bool:
    """Whether all limits hold."""
    return all(getattr(row, name) <= limit for row in rows for name, limit in LIMITS.items())
