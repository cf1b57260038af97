"""Figures of contact that holds, each with its bound: piles, creep, rigid contact, energy, impacts.

A part is a function that measures some figures by the package sapwood of its process. It uses
nothing that an older package lacks, but for the scenes of `sapwood.studies` and the mirror.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

import sapwood
from benchmarks import pile_sequences
from sapwood import ContactMaterial, ContactProblem, SapSettings
from sapwood.mujoco import Stepper
from sapwood.reference.solver.proximal import Natural
from sapwood.studies import conservation, loaded_scenes, scenes
from sapwood.studies.closed_forms import FORMS
from sapwood.studies.closed_forms.motion import GRAVITY, REST
from sapwood.studies.engines import load

PILES, CREEP, RIGID = "piles", "creep", "very rigid contact"
ENERGY, IMPACTS = "energy", "impacts"

SHARES = (1e-3, 1e-6, 1e-9, 0.0)
"""R over the effective inverse mass in the rigid problems."""
NATURAL_TOLERANCE = 1e-9
SOLVER_SHARE = 1e-3
"""Tolerance of the solver, which is one of the momentum, over that of the natural residual."""


class Figure(NamedTuple):
    """A figure, and the largest value that it may have."""

    name: str
    value: float
    bound: float
    unit: str = ""


@dataclasses.dataclass(frozen=True)
class Part:
    """Some figures that are measured together."""

    point: str
    name: str
    measure: Callable[[], Sequence[Figure]]


def parts(quick: bool) -> list[Part]:
    """All parts; with `quick` only short ones."""
    return [
        *_piles(quick),
        *_creep(quick),
        *_rigid(quick),
        *_energy(quick),
        *_impacts(quick),
    ]


# ---- piles -------------------------------------------------------------------------------------


def _piles(quick: bool) -> Iterator[Part]:
    piles = [pile_sequences.Pile(8, "mixed", True, 0)] if quick else pile_sequences.PILES
    steps, every, repeat = (40, 20, 1) if quick else (400, 8, 3)
    for pile in piles:
        name = f"{pile.name}, mu {pile.friction:g}"
        yield Part(PILES, name, lambda pile=pile: _pile(pile, steps, every, repeat))
    folder = _data("piles")
    if folder is not None and not quick:
        yield Part(PILES, "74 problems of piles", lambda: _stored_piles(folder))


def _pile(pile: pile_sequences.Pile, steps: int, every: int, repeat: int) -> list[Figure]:
    row = pile_sequences.measure(pile, steps, every, repeat)
    most = next(ratio for n, ratio in ((100, 1.3), (200, 1.5), (400, 2.0)) if pile.bodies <= n)
    return [
        Figure("iterations over the convex law's", row.coulomb / row.convex, 1.0),
        Figure("time over the convex law's", row.ratio, most),
        Figure(f"steps without a solution, of {steps}", row.missed, 0.0),
    ]


def _stored_piles(folder: Path) -> list[Figure]:
    settings = SapSettings(friction="coulomb", relative_tolerance=1e-6, max_iterations=40)
    missed = 0
    for file in sorted(folder.glob("*.npz")):
        solution = sapwood.solve(sapwood.load_problem(file), settings=settings)
        missed += solution.status is not sapwood.Status.converged
    return [Figure("without e_c <= 1e-6 in 40 iterations", missed, 0.0)]


# ---- creep -------------------------------------------------------------------------------------


def _creep(quick: bool) -> Iterator[Part]:
    if not quick:
        forms = ("rest on an incline", "ball at rest", "rest on a wall", "grasp of light bodies")
        yield from (_closed_form(CREEP, name) for name in forms)
    for name, make in loaded_scenes.SCENES.items():
        title = f"{name.replace('_', ' ')}, settled"
        yield Part(
            CREEP,
            title,
            lambda make=make: [Figure("velocity", loaded_scenes.creep(make()), REST, "m/s")],
        )
    if not quick:
        yield Part(CREEP, "12 bodies in a box, 8 s", _pile_at_rest)


def _pile_at_rest() -> list[Figure]:
    model = scenes.clutter(12, walls=True, seed=1).compile()
    stepper, _ = loaded_scenes.settled(model, seconds=8.0)
    contacts = stepper.contacts
    slip = float(np.median(contacts.slip_speed[contacts.force[:, 2] > 0.0]))
    return [Figure("median slip of contacts", slip, REST, "m/s")]


# ---- rigid contact -----------------------------------------------------------------------------


def _rigid(quick: bool) -> Iterator[Part]:
    posed: dict[str, Callable[[], list[_Matrices]]] = {"towers, 1 : 100": _towers}
    if not quick:
        posed["heap of 40 boxes"] = _heap
        folder = _data("hard")
        if folder is not None:
            posed["humanoid and heap of the data"] = lambda: [
                _matrices(sapwood.load_problem(file)) for file in sorted(folder.glob("*.npz"))
            ]
        if importlib.util.find_spec("pinocchio"):
            posed["robots of Pinocchio"] = lambda: _of_pinocchio("robot")
            posed["piles of Pinocchio"] = lambda: _of_pinocchio("pile")
    for name, make in posed.items():
        yield Part(RIGID, name, lambda make=make: _unsolved(make()))


class _Matrices(NamedTuple):
    """A problem without its regularization."""

    A: NDArray[np.float64]
    trees: list[int]
    v_star: NDArray[np.float64]
    J: NDArray[np.float64]
    mu: NDArray[np.float64]
    dt: float

    def at(self, share: float) -> ContactProblem:
        """The problem with R = share w."""
        n = len(self.mu)
        W = (self.J @ np.linalg.solve(self.A, self.J.T)).reshape(n, 3, n, 3)
        R = share * np.linalg.norm(W[np.arange(n), :, np.arange(n)], axis=(1, 2)) / 3.0
        return ContactProblem.from_dense(
            self.A, self.v_star, self.J, mu=self.mu, dt=self.dt, R_t=R, R_n=R,
            v_hat_n=np.zeros(n), trees=self.trees,
        )  # fmt: skip


def _matrices(problem: ContactProblem) -> _Matrices:
    A, J = problem.to_dense()
    trees = [int(n) for n in problem.tree_nv]
    return _Matrices(A, trees, problem.v_star, J, problem.mu, problem.dt)


def _towers() -> list[_Matrices]:
    """Ten boxes on each other whose masses take turns, at rest, pushed, and after a fall."""
    boxes = "".join(
        f'<body pos="0 0 {0.05 + 0.1 * k}"><freejoint/>'
        f'<geom type="box" size=".05 .05 .05" mass="{100 if k % 2 else 1}"/></body>'
        for k in range(10)
    )
    model = loaded_scenes.scene('<geom type="plane" size="5 5 .1"/>' + boxes)
    stepper, found = Stepper(model), []
    for push, fall in ((0.0, 0.0), (0.5, 0.0), (0.0, 1.0)):
        data = mujoco.MjData(model)
        data.qvel[0::6], data.qvel[2::6] = push, -fall
        found.append(_matrices(stepper.problem(data)))
    return found


def _heap() -> list[_Matrices]:
    """The boxes of a pile at three times of their fall."""
    model = pile_sequences.Pile(40, "boxes", True, 10).model()
    stepper, data, found = Stepper(model), mujoco.MjData(model), []
    for _ in range(3):
        stepper.run(data, 60)
        found.append(_matrices(stepper.problem(data)))
    return found


def _of_pinocchio(kind: str) -> list[_Matrices]:
    from benchmarks import pinocchio_problems

    posed = map(pinocchio_problems.make, pinocchio_problems.names())
    return [
        _Matrices(each.A, each.trees, each.v_star, each.J, each.mu, pinocchio_problems.DT)
        for each in posed
        if each.kind == kind
    ]


def _unsolved(made: Sequence[_Matrices]) -> list[Figure]:
    """The numbers of problems whose impulses miss the natural residual."""
    found = []
    for share in SHARES:
        missed = sum(_residual(matrices, share) > NATURAL_TOLERANCE for matrices in made)
        found.append(Figure(f"R/w = {share:g}: not solved, of {len(made)}", missed, 0.0))
    return found


def _residual(matrices: _Matrices, share: float) -> float:
    settings = SapSettings(friction="coulomb", relative_tolerance=SOLVER_SHARE * NATURAL_TOLERANCE)
    try:
        problem = matrices.at(share)
    except ValueError:  # an older package refuses R = 0
        return np.inf
    natural = Natural(problem, "coulomb")
    natural.evaluate(sapwood.solve(problem, settings=settings).gamma.ravel())
    return float(natural.residual) if np.isfinite(natural.residual) else np.inf


# ---- energy ------------------------------------------------------------------------------------


def _energy(quick: bool) -> Iterator[Part]:
    yield from (_closed_form(ENERGY, name) for name in ("tumbling box", "heavy top"))
    for dt in conservation.TIME_STEPS[-1:] if quick else conservation.TIME_STEPS:
        yield Part(
            ENERGY,
            f"rigid cube thrown on a soft one, {1e3 * dt:g} ms",
            lambda dt=dt: _cube_throws(dt, quick),
        )
    if not quick:
        yield Part(ENERGY, "400 random throws of soft bodies", _random_throws)
        yield Part(ENERGY, "four-bar linkage by midpoint", _four_bar)


def _cube_throws(dt: float, quick: bool) -> list[Figure]:
    throws = [
        (modulus, speed, pose)
        for modulus in conservation.MODULI
        for speed in conservation.SPEEDS
        for pose in conservation.cube_poses()
    ]
    chosen = throws[:2] if quick else throws
    gains = [_gain(lambda t=throw: conservation.cube_throw(dt, *t).gain) for throw in chosen]
    return [Figure(f"gain of energy of {len(chosen)}, relative", max(gains), 5e-4)]


def _random_throws() -> list[Figure]:
    rng = np.random.default_rng(2026)
    gains = [_gain(lambda: conservation.random_throw(rng)[0].gain) for _ in range(400)]
    return [Figure("gain of energy, relative", max(gains), 1e-3)]


def _gain(thrown: Callable[[], float]) -> float:
    """The relative gain of a throw; infinite where its step has no result."""
    try:
        return thrown() - 1.0
    except sapwood.mujoco.StepError:
        return np.inf


def _four_bar() -> list[Figure]:
    errors = [conservation.four_bar_energy_error(dt) for dt in (4e-3, 2e-3, 1e-3)]
    ratio = float(max(np.array(errors[1:]) / errors[:-1]))
    return [Figure("error of energy over that of twice the step", ratio, 1.0 / 3.5)]


# ---- impacts -----------------------------------------------------------------------------------


def _impacts(quick: bool) -> Iterator[Part]:
    yield from (_closed_form(IMPACTS, name) for name in ("plastic drop", "bouncing ball"))
    yield Part(IMPACTS, "speed of rebound, e = 0.1 to 1", _rebounds)
    yield Part(
        IMPACTS,
        "three bodies that meet with friction",
        lambda: _meetings(2 if quick else 60),
    )
    yield Part(IMPACTS, "static friction 0.5 above 0.3", _breaks_away)


def _rebounds() -> list[Figure]:
    ball = """<geom type="plane" size="5 5 1"/>
        <body pos="0 0 1.05"><freejoint/><geom size=".05"/></body>"""
    model = loaded_scenes.scene(ball, 'timestep="0.002"')
    errors = []
    for e in (0.1, 0.5, 0.8, 1.0):
        stepper, data = Stepper(model, contact=ContactMaterial(restitution=e)), mujoco.MjData(model)
        before = 0.0
        while data.time < 1.0 and data.qvel[2] <= 0.0:
            before = data.qvel[2]
            stepper.step(data)
        errors.append(abs(-data.qvel[2] / before / e - 1.0))
    return [Figure("error of separation over approach", max(errors), 0.01)]


def _meetings(count: int) -> list[Figure]:
    rng = np.random.default_rng(2026)
    gains = [
        conservation.impacts(rng, rng.choice([0.0, 0.3, 1.0, 2.0]), rng.choice([0.5, 1.0])).gain
        for _ in range(count)
    ]
    return [Figure(f"largest gain of a step, {count} meetings", max(gains), 1e-8)]


def _breaks_away() -> list[Figure]:
    """A force that grows slowly breaks a box away."""
    box = """<geom type="plane" size="50 50 1"/>
        <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/></body>"""
    model = loaded_scenes.scene(box, 'timestep="0.001"')
    material = ContactMaterial(friction=0.3, static_friction=0.5)
    stepper, data = Stepper(model, contact=material), mujoco.MjData(model)
    while data.qvel[0] < 0.01:
        data.qfrc_applied[0] = 2.0 * data.time
        stepper.step(data)
    return [Figure("error", abs(data.qfrc_applied[0] / (2.0 * GRAVITY) - 0.5), 0.01)]


# ---- common ------------------------------------------------------------------------------------


def _closed_form(point: str, name: str) -> Part:
    """A closed form by the stepper."""

    def measure() -> list[Figure]:
        form = FORMS[name]
        figure, bound = form(load("sapwood"))
        return [Figure(form.quantity, figure, bound, "" if form.unit == "1" else form.unit)]

    return Part(point, name, measure)


def _data(name: str) -> Path | None:
    """A folder of the one that SAPWOOD_DATA names; None where there is none."""
    given = os.environ.get("SAPWOOD_DATA")
    folder = Path(given) / name if given else None
    return folder if folder is not None and folder.is_dir() else None
