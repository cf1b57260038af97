"""Measured steps of a scene of free bodies, by sapwood or by MuJoCo's own solver.

Both simulations offer ``step()`` and report the same quantities by the same definitions, so that
their columns can be laid side by side:

- contacts, impulses and slip belong to the step's contact problem: the contacts found at its start,
  the velocities at its end;
- the momentum error is e_m (24) and the error bound |grad|_{A^-1}, each of the program that was
  solved;
- energies and time belong to the state at its end;
- the slip is the mean of |v_t| over the contacts that carry load (gamma_n > 0).
"""

from __future__ import annotations

import copy
import math
import time
from collections import Counter
from typing import Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import SapSettings, Solution
from sapwood.mujoco import StepError, Stepper
from sapwood.studies.experiments.free_bodies import FreeBodies

Array = NDArray[np.float64]

_RESETS = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)

#: Columns of a measured run: times in s, slip in m/s, lengths in m, energies in J.
STEP_DTYPE = np.dtype(
    [
        ("step", np.int64),
        ("time", np.float64),
        ("contacts", np.int64),
        ("iterations", np.int64),
        ("total_iterations", np.int64),
        ("momentum_error", np.float64),
        ("velocity_error_bound", np.float64),
        ("solver_time", np.float64),
        ("total_time", np.float64),
        ("mean_slip", np.float64),
        ("max_penetration", np.float64),
        ("kinetic_energy", np.float64),
        ("potential_energy", np.float64),
        ("total_energy", np.float64),
        ("status", "U16"),
    ]
)


class Simulation(Protocol):
    """A model, its state, and a way to advance it by one measured step."""

    name: str
    model: mujoco.MjModel
    data: mujoco.MjData

    def step(self, record: np.void) -> None:
        """Advance ``data`` by one time step; fill a record of `STEP_DTYPE`, all but its number."""


def mean_slip(v_c: Array, gamma_n: Array) -> float:
    """Mean tangential speed over the contacts that carry load, 0 without any.

    Parameters
    ----------
    v_c
        Contact velocities, rows (t1, t2, n), shape (n_contacts, 3), m/s.
    gamma_n
        Normal impulses, shape (n_contacts,), N s.
    """
    loaded = gamma_n > 0
    return float(np.hypot(v_c[loaded, 0], v_c[loaded, 1]).mean()) if loaded.any() else 0.0


def record_solution(record: np.void, solution: Solution, total_time: float) -> None:
    """Fill in what a solver says of a step, and the time of all of it.

    Parameters
    ----------
    record
        Of `STEP_DTYPE`.
    solution
        Of the step.
    total_time
        Of the step, s.
    """
    record["iterations"] = solution.iterations
    record["total_iterations"] = solution.total_iterations
    record["momentum_error"] = solution.momentum_error
    record["velocity_error_bound"] = solution.velocity_error_bound
    record["solver_time"] = solution.timing["seconds"]
    record["total_time"] = total_time
    record["status"] = solution.status.name


def words_of(
    steps: NDArray[np.void], asked: int, simulated: float, wall_time: float
) -> dict[str, str]:
    """A run of at least one step in a few words, by name, in the order of the table.

    Parameters
    ----------
    steps
        Records of `STEP_DTYPE`.
    asked
        Steps that were to be taken.
    simulated, wall_time
        Time that passed in the simulation and outside of it, s.
    """
    outcomes = Counter(steps["status"].tolist())
    return {
        "steps": f"{len(steps)} of {asked}",
        "simulated time": f"{simulated:.4g} s",
        "wall time": f"{wall_time:.4g} s",
        "  of it in the solver": f"{steps['solver_time'].sum():.4g} s",
        "real-time factor": f"{simulated / wall_time:.4g}",
        "iterations per step, mean": f"{steps['iterations'].mean():.4g}",
        "iterations per step, largest": f"{steps['iterations'].max()}",
        "iterations, second half": f"{steps['iterations'][len(steps) // 2 :].mean():.4g}",
        "outcomes": ", ".join(f"{count} {name}" for name, count in outcomes.items()),
        "momentum error e_m, median": f"{np.median(steps['momentum_error']):.1e}",
        "momentum error e_m, largest": f"{steps['momentum_error'].max():.1e}",
    }


def words_at_the_end(steps: NDArray[np.void]) -> dict[str, str]:
    """The same of the state that a run ended in.

    Parameters
    ----------
    steps
        Records of `STEP_DTYPE`.
    """
    return {
        "deepest contact at the end": f"{1e6 * steps['max_penetration'][-1]:.4g} um",
        "mean slip at the end": f"{1e6 * steps['mean_slip'][-1]:.4g} um/s",
    }


def _record_state(record: np.void, bodies: FreeBodies, data: mujoco.MjData) -> None:
    """Fill in the time and the energies of the state at the end of the step."""
    record["time"] = data.time
    record["kinetic_energy"] = bodies.kinetic_energy(data.qvel)
    record["potential_energy"] = bodies.potential_energy(data.qpos)
    record["total_energy"] = record["kinetic_energy"] + record["potential_energy"]


class SapSimulation:
    """Steps by `sapwood.mujoco.Stepper`.

    Parameters
    ----------
    model
        Scene with its materials; its time step is the one used.
    sigma, beta
        Regularization parameters of (22) and (21).
    settings
        Settings of the solver, whose law of friction is that of the paper unless it says otherwise.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        sigma: float,
        beta: float,
        settings: SapSettings,
    ) -> None:
        self.name = "sapwood"
        self.model = model
        self.data = mujoco.MjData(model)
        self.stepper = Stepper(
            model, sigma=sigma, beta=beta, settings=settings, friction=settings.friction
        )
        self._bodies = FreeBodies(model)

    def step(self, record: np.void) -> None:
        """Advance by one time step; raises `sapwood.mujoco.StepError` when that is not possible."""
        start = time.perf_counter()
        self.stepper.step(self.data)
        total_time = time.perf_counter() - start
        solution = self.stepper.solution
        assert solution is not None
        record_solution(record, solution, total_time)
        record["contacts"] = len(solution.gamma)
        record["mean_slip"] = mean_slip(solution.v_c, solution.gamma[:, 2])
        record["max_penetration"] = self.stepper.penetration.max(initial=0.0)
        _record_state(record, self._bodies, self.data)


class MujocoSimulation:
    """Steps by MuJoCo's Newton solver, with contact set up as close to SAP as its parameters allow.

    MuJoCo regularizes a contact by R_n = (1 - d)/d A_ii, with its own estimate A_ii of the Delassus
    diagonal (translation only), and R_t = R_n/impratio. In the near-rigid regime of (21) and (22)
    that is the law of SAP for ::

        (1 - d)/d = beta^2/(4 pi^2),     impratio = beta^2/(4 pi^2 sigma)

    and direct ``solref`` = (-d/(dt (dt + tau_d)), -d/dt) gives v_hat_n = -phi0/(dt + tau_d). MuJoCo
    keeps d <= 0.9999, so beta acts as if it were at least 0.063.

    Parameters
    ----------
    model
        Scene; a copy is set up, the model itself is not changed.
    dissipation_time
        tau_d, s.
    sigma, beta
        Regularization parameters of (22) and (21).
    """

    def __init__(
        self, model: mujoco.MjModel, dissipation_time: float, sigma: float, beta: float
    ) -> None:
        dt = model.opt.timestep
        d = min(1 / (1 + beta**2 / (4 * math.pi**2)), mujoco.mjMAXIMP)
        model = copy.copy(model)
        model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
        model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        model.opt.impratio = (1 - d) / d / sigma
        model.geom_solref[:] = (-d / (dt * (dt + dissipation_time)), -d / dt)
        model.geom_solimp[:] = (d, d, 1e-3, 0.5, 2.0)
        self.name = "mujoco"
        self.model = model
        self.data = mujoco.MjData(model)
        self._bodies = FreeBodies(model)

    def step(self, record: np.void) -> None:
        """Advance by one time step: the stages of ``mj_step``, with the solver timed by itself.

        Raises `sapwood.mujoco.StepError` where MuJoCo met a state that it resets.
        """
        model, data = self.model, self.data
        time_before = data.time
        start = time.perf_counter()
        mujoco.mj_step1(model, data)
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        solver_start = time.perf_counter()
        mujoco.mj_fwdConstraint(model, data)
        solver_time = time.perf_counter() - solver_start
        mujoco.mj_sensorAcc(model, data)
        mujoco.mj_checkAcc(model, data)
        mujoco.mj_Euler(model, data)
        total_time = time.perf_counter() - start
        for kind in _RESETS:
            if data.warning[kind].number:
                name = kind.name.removeprefix("mjWARN_")
                raise StepError(f"MuJoCo reset the state ({name})", time_before)

        niter = data.solver_niter[: max(1, min(data.nisland, mujoco.mjNISLAND))]
        v_c, gamma_n, distance = self._contacts()
        record["contacts"] = len(distance)
        record["iterations"] = niter.max()
        record["total_iterations"] = niter.sum()
        record["momentum_error"], record["velocity_error_bound"] = self._errors()
        record["solver_time"] = solver_time
        record["total_time"] = total_time
        record["mean_slip"] = mean_slip(v_c, gamma_n)
        record["max_penetration"] = (-distance).max(initial=0.0)
        limit = niter.max() >= model.opt.iterations
        record["status"] = "iteration_limit" if limit else "converged"
        _record_state(record, self._bodies, data)

    def _errors(self) -> tuple[float, float]:
        """Return e_m (24) and |grad|_{A^-1} of the step that was taken."""
        model, data, dt = self.model, self.data, self.model.opt.timestep
        momentum, change = np.empty(model.nv), np.empty(model.nv)
        mujoco.mj_mulM(model, data, momentum, data.qvel)
        mujoco.mj_mulM(model, data, change, data.qacc)
        impulse = dt * data.qfrc_constraint
        gradient = dt * (change - data.qfrc_smooth) - impulse

        # (19), (24): D = diag(A)^(-1/2); the diagonal stands last in each row of M
        D = data.M[model.M_rowadr + model.M_rownnz - 1] ** -0.5
        scale = max(np.linalg.norm(D * momentum), np.linalg.norm(D * impulse))
        momentum_error = float(np.linalg.norm(D * gradient) / scale) if scale > 0 else 0.0

        solved = np.empty((1, model.nv))
        mujoco.mj_solveM(model, data, solved, gradient[None, :])
        return momentum_error, math.sqrt(max(0.0, float(gradient @ solved[0])))

    def _contacts(self) -> tuple[Array, Array, Array]:
        """Return v_c (n, 3) in rows (t1, t2, n), gamma_n (n,) and the distances (n,)."""
        model, data = self.model, self.data
        active = data.contact.exclude == 0
        normal = data.contact.efc_address[active]
        rows = np.empty(data.nefc)
        mujoco.mj_mulJacVec(model, data, rows, data.qvel)
        v_c = rows[normal[:, None] + (1, 2, 0)]
        gamma_n = model.opt.timestep * data.efc_force[normal]
        return v_c, gamma_n, data.contact.dist[active].copy()
