"""Rigid cores: compliant layers of 1 mm that do not give way below.

`load`
    A ball on a vertical rail, pressed into its layer by a force that grows from 0.1 N to 1e6 N.
`tower`
    Twenty boxes, the lightest at the bottom, mass ratio 1:1000, on layers too soft to carry them.
`impact`
    A sphere of 5 cm flies into a wall at 50 m/s, half a metre in each step of 10 ms, without
    dissipation.

Each runs with the compliant law alone and with the barriers of `sapwood.RigidCore`. Contacts are
detected early (MuJoCo's margin): a contact that is not in the list cannot be kept from starting a
step deeper than its core.

`rigid_core_cost` holds what the barriers cost where they have nothing to do: the clutter at rest.
"""

from __future__ import annotations

import dataclasses
import math

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import ContactMaterial, RigidCore, Status
from sapwood.mujoco import Stepper
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import read_steps, rigid_core_figure, select
from sapwood.studies.scenes import clutter

#: Depth of the core of a pair of geoms, m.
DELTA = 1e-3
DT = 0.01
CORES = ("none", "log", "exp")

ROWS = np.dtype(
    [
        ("time", np.float64),
        ("load", np.float64),
        ("penetration", np.float64),
        ("height", np.float64),
        ("speed", np.float64),
        ("contacts", np.int64),
        ("iterations", np.int64),
        ("momentum_error", np.float64),
        ("deep_contacts", np.int64),
        ("unconverged", np.int64),
    ]
)

COST_ROWS = np.dtype(
    [
        ("contacts", np.float64),
        ("iterations", np.float64),
        ("total_iterations", np.float64),
        ("momentum_error", np.float64),
        ("penetration", np.float64),
        ("solver_seconds", np.float64),
        ("step_seconds", np.float64),
    ]
)

#: Stiffness of the ball and the sphere, N/m.
STIFFNESS = 1e5
#: Stiffness of each box of the tower, N/m: the tower buckles under the compliant law.
BOX_STIFFNESS = 2e4

_BOXES, _HALF, _HEAVIEST, _RATIO = 20, 0.05, 10.0, 1000.0

_BALL = """<mujoco><option timestep="{dt}"/><worldbody>
  <geom name="floor" type="plane" size="1 1 1" margin="1"/>
  <body name="top" pos="0 0 .05"><joint type="slide" axis="0 0 1"/>
  <geom name="ball" size=".05" mass="1" margin="1"/></body></worldbody></mujoco>"""

_SPHERE = """<mujoco><option timestep="{dt}" gravity="0 0 0"/><worldbody>
  <geom name="wall" type="plane" size="1 1 1" zaxis="1 0 0" margin="1"/>
  <body name="top" pos="1.23 0 0"><freejoint/>
  <geom name="ball" size=".05" density="1000" margin="1"/></body></worldbody></mujoco>"""


def _tower() -> str:
    masses = _HEAVIEST * _RATIO ** (np.arange(_BOXES) / (_BOXES - 1) - 1.0)
    bodies = "".join(
        f'<body name="{"top" if i == _BOXES - 1 else i}" pos="0 0 {_HALF * (2 * i + 1)}">'
        f'<freejoint/><geom type="box" size="{_HALF} {_HALF} {_HALF}" mass="{mass}" '
        'margin="0.01"/></body>'
        for i, mass in enumerate(masses)
    )
    return (
        '<mujoco><option timestep="{dt}"/><worldbody><geom name="floor" type="plane" '
        f'size="1 1 1" margin="0.01"/>{bodies}</worldbody></mujoco>'
    )


def simulation(scene: str, core: str, dt: float) -> tuple[mujoco.MjModel, Stepper]:
    """A scene and the stepper that runs it.

    Parameters
    ----------
    scene
        "load", "tower" or "impact".
    core
        "none", "log" or "exp".
    dt
        Time step, s.

    Returns
    -------
    model, stepper
        Every contact has a core at `DELTA`: of two boxes each has half of it.
    """
    xml = {"load": _BALL, "tower": _tower(), "impact": _SPHERE}[scene]
    model = mujoco.MjModel.from_xml_string(xml.replace("{dt}", repr(dt)))
    delta = DELTA / 2 if scene == "tower" else DELTA
    tau_d = 0.0 if scene == "impact" else dt
    layer = ContactMaterial(
        BOX_STIFFNESS if scene == "tower" else STIFFNESS,
        dissipation_time=tau_d,
        friction=0.5,
        core=RigidCore(delta, "log" if core == "log" else "exp") if core != "none" else None,
    )
    rigid = {} if scene == "tower" else {model.geom(0).name: ContactMaterial(math.inf, tau_d, 0.5)}
    # contacts without a core keep the law of the cores
    return model, Stepper(model, contact=layer, materials=rigid, friction="convex")


def simulate(scene: str, core: str, dt: float, seconds: float) -> NDArray[np.void]:
    """Run a scene.

    Parameters
    ----------
    scene, core, dt
        As for `simulation`.
    seconds
        Time to simulate, s; the load on the ball grows over the whole of it.

    Returns
    -------
    ndarray of `ROWS`, shape (steps,)
        Of each step: time and load (N) at its end; the largest depth of all contacts, the height of
        the topmost body (its distance from the wall) and its speed after it; contacts, Newton
        iterations, e_m, contacts that started deeper than their core, and 1 where the solver did
        not converge.
    """
    model, stepper = simulation(scene, core, dt)
    data = mujoco.MjData(model)
    if scene == "impact":
        data.qvel[0] = -50.0
    along = 0 if scene == "impact" else 2
    top = model.body("top").id
    rows = np.zeros(round(seconds / dt), ROWS)
    for i, row in enumerate(rows):
        if scene == "load":
            row["load"] = 10.0 ** (-1.0 + 7.0 * (i + 1) / len(rows))
            data.xfrc_applied[top, 2] = -row["load"]
        stepper.step(data)
        solution = stepper.solution
        assert solution is not None
        # where the step has left the geoms
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        row["time"] = data.time
        row["penetration"] = max(0.0, -np.min(data.contact.dist, initial=0.0))
        row["height"] = data.xpos[top, along]
        row["speed"] = np.linalg.norm(data.qvel[model.body_dofadr[top] :][:3])
        row["contacts"] = stepper.n_contacts
        row["iterations"] = solution.iterations
        row["momentum_error"] = solution.momentum_error
        row["deep_contacts"] = solution.deepened.size
        row["unconverged"] = solution.status != Status.converged
    return rows


def cost(core: str, delta: float, bodies: int, seconds: float, repeat: int) -> NDArray[np.void]:
    """The cost of a step of the clutter at rest.

    The clutter comes to rest under the compliant law, so that all cores start from one pile.

    Parameters
    ----------
    core
        "none", "log" or "exp".
    delta
        Depth of the core of each body, m.
    bodies
        Number of them.
    seconds
        Time to come to rest, s; as much is measured, in the end, as a tenth of it.
    repeat
        How often that is run, from the same state.

    Returns
    -------
    ndarray of `COST_ROWS`, shape (1,)
        Means per step over the measured part: contacts, iterations of the island with most of
        them, and of all islands, e_m, largest depth; of the repetitions the least time of the
        solver and of the whole step, s.
    """
    model = clutter(bodies, walls=True, time_step=DT).compile()
    barrier = None if core == "none" else RigidCore(delta, "log" if core == "log" else "exp")
    # layers that sink by micrometres under the weight of a pile
    layer = ContactMaterial(1e6, DT)
    data = mujoco.MjData(model)
    Stepper(model, contact=layer, friction="convex").run(data, round(seconds / DT))
    layer = dataclasses.replace(layer, core=barrier)
    stepper = Stepper(model, contact=layer, friction="convex")
    n_steps, runs = round(seconds / DT / 10), []
    stepper.run(data, n_steps)
    qpos, qvel = data.qpos.copy(), data.qvel.copy()
    for _ in range(repeat):
        data.qpos[:], data.qvel[:] = qpos, qvel
        runs.append(stepper.run(data, n_steps))
    last = runs[-1]
    row = (
        last.contacts.mean(),
        last.iterations.mean(),
        last.total_iterations.mean(),
        last.momentum_error.max(),
        stepper.penetration.max(initial=0.0),
        min(run.solver_seconds.mean() for run in runs),
        min(run.seconds.mean() for run in runs),
    )
    return np.array([row], COST_ROWS)


def figure(quick: bool) -> Plan:
    """Penetration against load, the tower, the impact, and iterations.

    ``quick``: the tower stands for 2 s in place of 10 s, and less clutter. Two sweeps,
    ``rigid_core`` and ``rigid_core_cost``.
    """
    seconds = {"load": 10.0, "tower": 2.0 if quick else 10.0, "impact": 0.5 if quick else 10.0}
    points: list[Point] = [
        {"scene": scene, "core": core, "dt": DT, "seconds": duration}
        for scene, duration in seconds.items()
        for core in CORES
    ]
    bodies, duration, repeat = (12, 3.0, 2) if quick else (40, 10.0, 20)
    cases = [("none", 1.0), *((core, 10.0**-p) for p in (3, 2, 1) for core in ("log", "exp"))]
    costs: list[Point] = [
        {"core": core, "delta": delta, "bodies": bodies, "seconds": duration, "repeat": repeat}
        for core, delta in cases
    ]
    return Plan(
        sweeps=(
            Sweep("rigid_core", simulate, points, ROWS),
            Sweep("rigid_core_cost", cost, costs, COST_ROWS),
        ),
        draw=lambda files, path: rigid_core_figure(files["rigid_core"], path),
        report=_report,
        workers=1,
    )


def _report(files: Files) -> str:
    """Largest depth and iterations of every run, and the cost at small loads."""
    rows, lines = read_steps(files["rigid_core"]), []
    for scene in dict.fromkeys(rows["scene"].tolist()):
        for core in CORES:
            run = select(rows, scene=scene, core=core)
            lines.append(
                f"{scene:7} {core:5} depth at most {1e3 * run['penetration'].max():9.4g} mm, "
                f"{run['iterations'][run['iterations'] > 0].mean():5.2f} iterations per step that "
                f"takes any, at most {run['iterations'].max()}, "
                f"{run['deep_contacts'].sum()} contacts started too deep"
            )
    costs = read_steps(files["rigid_core_cost"])
    plain = select(costs, core="none")[0]
    for row in costs:
        lines.append(
            f"clutter at rest, {row['core']:5} delta {row['delta']:g} m: "
            f"{row['iterations']:.2f} iterations, solver "
            f"{row['solver_seconds'] / plain['solver_seconds']:.2f}, "
            f"step {row['step_seconds'] / plain['step_seconds']:.2f} of the compliant law's time"
        )
    return "\n".join(lines)
