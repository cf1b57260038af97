"""Tosses of a cube: measured ones, made ones, and what of two simulators fits them.

Measured: 350 tosses of an acrylic cube on a wooden table (Pfrommer, Halm and Posa, ContactNets,
CoRL 2020; published friction 0.18), the file ``cube_toss/cube_tosses.npz`` of the folder that
SAPWOOD_DATA names. Made: by ours with `MADE`, where that must be found again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.trajectory import Box, FreeBodies, Trajectory, simulate

_Float = NDArray[np.float64]

HALF_SIDE, MASS, INERTIA, DT = 0.0524, 0.37, 8.1e-4, 1.0 / 148.0
#: What can be identified: stiffness (N/m), dissipation time (s), friction, height of the table (m),
#: and the moment of inertia of the cube (kg m2), the same about every axis.
NAMES = ("k", "tau_d", "mu", "height", "inertia")
#: Parameters of made tosses.
MADE = (4e3, 0.005, 0.25, -0.002, INERTIA)
#: Where every search begins, with the inertia of a hollow cube of thin walls, and the least and
#: greatest it may find: no mass within the cube has more inertia than that in its corners, 2.03e-3.
START = (2e3, 0.02, 0.3, 0.0, MASS * (2 * HALF_SIDE) ** 2 * 5 / 18)
BOUNDS = ((1e2, 1e6), (1e-4, 0.1), (0.01, 1.0), (-0.01, 0.01), (1e-4, 2.03e-3))
#: A search works on the height in cm, and on the logarithms of the others.
_HEIGHT, _CENTIMETRE = NAMES.index("height"), 0.01

Toss = tuple[_Float, _Float]  # q (samples, 7), v (samples, 6), as of sapwood.trajectory


def measured() -> list[Toss]:
    """Read the measured tosses.

    Returns
    -------
    list of (q, v)
        States of each, as :class:`FreeBodies` has them.

    Raises
    ------
    FileNotFoundError
        SAPWOOD_DATA does not name their folder.
    """
    folder = os.environ.get("SAPWOOD_DATA", "")
    path = Path(folder) / "cube_toss" / "cube_tosses.npz"
    if not folder or not path.is_file():
        raise FileNotFoundError("SAPWOOD_DATA names no folder with cube_toss/cube_tosses.npz")
    with np.load(path) as file:
        states, ends = file["states"].astype(np.float64), np.cumsum(file["lengths"])
    q = np.concatenate([states[:, 4:7], states[:, :4]], axis=1)
    v = np.concatenate([states[:, 10:13], states[:, 7:10]], axis=1)
    return list(zip(np.split(q, ends[:-1]), np.split(v, ends[:-1]), strict=True))


def made(n: int, seed: int) -> list[Toss]:
    """Make tosses with the parameters `MADE`.

    Parameters
    ----------
    n
        How many.
    seed
        Of the random first states.

    Returns
    -------
    list of (q, v)
        States of each, of 100 samples.
    """
    rng = np.random.default_rng(seed)
    q, v = np.zeros((n, 7)), rng.standard_normal((n, 6)) * [0.7, 0.7, 0.3, 6.0, 6.0, 6.0]
    q[:, 2] = rng.uniform(0.15, 0.2, n)
    q[:, 3:] = rng.standard_normal((n, 4))
    run = run_bodies(MADE, q, v, 99)
    return [(run.q[:, i], run.v[:, i]) for i in range(n)]


def clearance(q: _Float) -> _Float:
    """Height of the lowest corner.

    Parameters
    ----------
    q : array (..., 7)
        Position and quaternion.

    Returns
    -------
    ndarray (...)
        m, above z = 0.
    """
    w, x, y, z = np.moveaxis(q[..., 3:] / np.linalg.norm(q[..., 3:], axis=-1)[..., None], -1, 0)
    down = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1)
    lowest: _Float = q[..., 2] - HALF_SIDE * np.abs(down).sum(axis=-1)
    return lowest


def impact_of(q: _Float) -> str:
    """The part of the cube that meets the table first.

    Parameters
    ----------
    q : array (samples, 7)
        Of a toss.

    Returns
    -------
    str
        "corner", "edge" or "face", by how many corners are within 5 mm of the lowest one at the
        first sample lower than 3 mm.
    """
    near = np.flatnonzero(clearance(q) < 0.003)
    w, x, y, z = q[near[0] if near.size else -1, 3:]
    down = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1)
    heights = HALF_SIDE * (down @ signs)
    count = int(np.sum(heights < heights.min() + 0.005))
    return "corner" if count == 1 else "edge" if count == 2 else "face"


def window_of(toss: Toss, steps: int) -> Toss:
    """States of a toss from just before it meets the table.

    Parameters
    ----------
    toss : (q, v)
        States.
    steps
        How many follow the first.

    Returns
    -------
    (q, v)
        steps + 1 of them.
    """
    q, v = toss
    near = np.flatnonzero(clearance(q) < 0.004)
    begin = min(max(int(near[0]) - 3, 0) if near.size else 0, len(q) - steps - 1)
    return q[begin : begin + steps + 1], v[begin : begin + steps + 1]


# ---- two simulators ------------------------------------------------------------------------------


def run_bodies(parameters: Any, q0: _Float, v0: _Float, steps: int) -> Trajectory:
    """Runs of ours, one for each of many cubes that do not meet.

    Parameters
    ----------
    parameters : array_like (5,)
        Those of `NAMES`.
    q0, v0 : array (n, 7), (n, 6)
        First states.
    steps
        How many.

    Returns
    -------
    Trajectory
        With derivatives.
    """
    k, tau_d, mu, height, inertia = map(float, parameters)
    scene = FreeBodies(
        [Box((HALF_SIDE,) * 3)] * len(q0), mass=MASS, inertia=[inertia] * 3, dt=DT, k=k,
        tau_d=tau_d, mu=mu, height=height, normals=[[0.0, 0.0, 1.0]], body_contacts=False,
    )  # fmt: skip
    return simulate(scene, q0, v0, n_steps=steps)


def run_mujoco(parameters: Any, q0: _Float, v0: _Float, steps: int) -> _Float:
    """The same runs of MuJoCo.

    Parameters
    ----------
    parameters : array_like (5,)
        Those of `NAMES`: k and k tau_d are a spring and a damper per unit of mass, as a negative
        solref has them, for the mass of the cube.
    q0, v0 : array (n, 7), (n, 6)
        First states.
    steps
        How many.

    Returns
    -------
    ndarray (steps + 1, n, 7)
        Positions and quaternions.
    """
    import mujoco

    k, tau_d, mu, height, inertia = map(float, parameters)
    model = mujoco.MjModel.from_xml_string(f"""<mujoco>
      <option timestep="{DT}" cone="elliptic"/>
      <default><geom friction="{mu}" solref="{-k / MASS} {-k * tau_d / MASS}"/></default>
      <worldbody><geom type="plane" size="9 9 1" pos="0 0 {height}"/>
      <body><freejoint/><inertial pos="0 0 0" mass="{MASS}" diaginertia="{inertia} {inertia}
      {inertia}"/><geom type="box" size="{HALF_SIDE} {HALF_SIDE} {HALF_SIDE}"/></body></worldbody>
      </mujoco>""")
    data = mujoco.MjData(model)
    q = np.empty((steps + 1, *q0.shape))
    for i in range(len(q0)):
        mujoco.mj_resetData(model, data)
        data.qpos, data.qvel = q0[i], v0[i]
        q[0, i] = q0[i]
        for step in range(steps):
            mujoco.mj_step(model, data)
            q[step + 1, i] = data.qpos
    return q


# ---- what fits -----------------------------------------------------------------------------------


def errors_of(q: _Float, truth: _Float) -> tuple[_Float, _Float]:
    """The distance between two paths.

    Parameters
    ----------
    q, truth : array (..., 7)
        Positions and quaternions.

    Returns
    -------
    position : ndarray (...)
        Over the side of the cube.
    rotation : ndarray (...)
        Angle, rad.
    """
    position = np.linalg.norm(q[..., :3] - truth[..., :3], axis=-1) / (2 * HALF_SIDE)
    sizes = np.linalg.norm(q[..., 3:], axis=-1) * np.linalg.norm(truth[..., 3:], axis=-1)
    cosine = np.abs((q[..., 3:] * truth[..., 3:]).sum(axis=-1)) / sizes
    return position, 2 * np.arccos(np.clip(cosine, 0.0, 1.0))


def loss_of(q: _Float, truth: _Float) -> tuple[float, _Float]:
    """Mean of the squares of position errors over the side, and of chords 4 (1 - cos^2).

    Parameters
    ----------
    q, truth : array (steps + 1, n, 7)
        Of unit quaternions.

    Returns
    -------
    loss : float
        4 (1 - cos^2(angle/2)) is the angle's square where it is small.
    q_bar : ndarray (steps + 1, n, 7)
        Its derivative by q.
    """
    count = q[1:, :, 0].size
    off = (q[..., :3] - truth[..., :3]) / (2 * HALF_SIDE)
    cosine = (q[..., 3:] * truth[..., 3:]).sum(axis=-1, keepdims=True)
    loss = float(np.sum(off**2) + 4 * np.sum(1 - cosine**2)) / count
    return loss, np.concatenate([off / HALF_SIDE, -8 * cosine * truth[..., 3:]], axis=-1) / count


@dataclasses.dataclass(frozen=True)
class Fit:
    """The identified parameters.

    Attributes
    ----------
    parameters : tuple of float
        Those of `NAMES`.
    loss : float
        Of the training windows.
    simulations : int
        What that took; a reverse pass counts as one.
    """

    parameters: tuple[float, ...]
    loss: float
    simulations: int


def identify(windows: list[Toss], engine: str, budget: int, held: Mapping[str, float]) -> Fit:
    """Fit parameters to windows of tosses by L-BFGS-B.

    Parameters
    ----------
    windows : list of (q, v)
        Of equal lengths.
    engine
        "sapwood", with gradients, or "mujoco", with differences.
    budget
        Simulations of all windows that may be made.
    held
        Those of `NAMES` that are known.

    Returns
    -------
    Fit
        The best that was seen.
    """
    from scipy.optimize import minimize

    truth = np.stack([q for q, _ in windows], axis=1)
    truth[..., 3:] /= np.linalg.norm(truth[..., 3:], axis=-1, keepdims=True)
    v0, steps = np.stack([v[0] for _, v in windows]), len(truth) - 1
    best: list[Any] = [np.inf, None, 0]

    def value(x: _Float) -> Any:
        if best[2] >= budget:
            raise StopIteration
        parameters = _physical(x)
        if engine == "mujoco":
            best[2] += 1
            q, gradient = run_mujoco(parameters, truth[0], v0, steps), None
            loss, _ = loss_of(q, truth)
        else:
            best[2] += 2
            run = run_bodies(parameters, truth[0], v0, steps)
            loss, q_bar = loss_of(run.q, truth)
            by = run.vjp(q_bar).parameters
            gradient = np.array([np.sum(by[name]) for name in NAMES]) * parameters
            gradient[_HEIGHT] = by["height"] * _CENTIMETRE
        if loss < best[0]:
            best[:2] = loss, parameters
        return loss if gradient is None else (loss, gradient)

    find: Callable[..., Any] = minimize
    start = _searched([held.get(name, x) for name, x in zip(NAMES, START, strict=True)])
    ends = _searched(np.transpose(BOUNDS))
    # a known parameter is not searched
    known = [name in held for name in NAMES]
    bounds = np.where(known, start, ends).T
    options = {"maxfun": 10 * budget, "ftol": 1e-12, "eps": 1e-4}
    given = None if engine == "mujoco" else True
    with contextlib.suppress(StopIteration):
        find(value, start, jac=given, method="L-BFGS-B", bounds=bounds, options=options)
    return Fit(tuple(map(float, best[1])), float(best[0]), int(best[2]))


def _searched(parameters: ArrayLike) -> _Float:
    """The coordinates of a search, from parameters (..., 5)."""
    given = np.array(parameters, np.float64)
    height = given[..., _HEIGHT] / _CENTIMETRE
    given[..., _HEIGHT] = 1.0
    found: _Float = np.log(given)
    found[..., _HEIGHT] = height
    return found


def _physical(x: _Float) -> _Float:
    """The inverse of `_searched`."""
    found: _Float = np.exp(x)
    found[_HEIGHT] = x[_HEIGHT] * _CENTIMETRE
    return found
