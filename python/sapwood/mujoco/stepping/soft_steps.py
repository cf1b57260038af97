"""Steps of a MuJoCo model with soft bodies and elastic flexes, in one contact problem.

The C core gathers the problem of the model. Soft bodies add their touched vertices and contacts to
it, flexes too, in place of the trees of their vertices; passes solve it
(:mod:`sapwood.fem.passes`), and the part of the model is written back. Loads of soft bodies on
bodies of the model are in ``qfrc_constraint``, and sensors of forces feel them.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.fem.bodies import SoftBody
from sapwood.fem.body_step import BodyStep
from sapwood.fem.contacts import (
    SoftContacts,
    contacts_with_plane,
    contacts_with_shape,
    pair_friction,
)
from sapwood.fem.friction_memory import FrictionMemory
from sapwood.fem.meetings import Hold, Meeting, meetings_between
from sapwood.fem.passes import default_passes, order_steps, step_result, take_passes
from sapwood.fem.reduction import YIELDING_BETA, Pass, PassOptions, Reduction
from sapwood.fem.results import SoftStepResult
from sapwood.fem.soft_step import Scheme, SoftStep
from sapwood.fem.vectors import cross
from sapwood.fem.vertex_contacts import contacts_of_vertices
from sapwood.mujoco.reading.arrays import problem_arrays
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.reading.soft_bodies import GeomShape, SoftModel
from sapwood.mujoco.results.groups import constraint_groups
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.stepping.engine_steps import gathered_problem
from sapwood.mujoco.stepping.flex_contacts import (
    FlexMeeting,
    Surface,
    contact_forces,
    flex_meetings,
)
from sapwood.mujoco.stepping.flex_step import FlexStep
from sapwood.mujoco.stepping.flex_trees import FlexTrees
from sapwood.mujoco.stepping.friction_memories import FrictionMemories
from sapwood.mujoco.stepping.python_steps import PythonSteps
from sapwood.mujoco.stepping.soft_memory import SoftMemory, motion_size
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import Solution

_Float = NDArray[np.float64]

#: Of the contacts that the C core gathers, and of those of soft bodies and flexes.
_Memory = tuple[_core.FrictionMemory, FrictionMemory]

IMPLICIT_EULER = Scheme(1.0, 1.0, 1.0)
"""The scheme of soft bodies."""

# residual of the equations of motion, as the default of a World
_TOLERANCE = 1e-2


class SoftSteps(PythonSteps):
    """Steps of one model with soft bodies or elastic flexes.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of the stepper.
    engine : object
        The loaded MuJoCo, of :func:`sapwood.mujoco.reading.engine.engine`.

    Attributes
    ----------
    soft : SoftModel
        The soft bodies and flexes.
    memory : SoftMemory
        Their state beside that of MuJoCo.
    speeds : sequence of float
        Speeds as of :class:`StepParameters`.
    """

    def __init__(self, parameters: StepParameters, engine: object) -> None:
        super().__init__(parameters, engine)
        assert parameters.soft is not None
        self.soft: SoftModel = parameters.soft
        self._soft_steps = [SoftStep(body) for body in self.soft.bodies]
        self._flex_steps = [FlexStep(flex) for flex in self.soft.flexes]
        self._steps: list[BodyStep] = [*self._soft_steps, *self._flex_steps]
        self.memory = SoftMemory(self.soft, self._steps)
        self.speeds = parameters.speeds
        forest = parameters.forest
        begin, n = forest["tree_dofadr"], forest["tree_dofnum"]
        self._trees = FlexTrees(n, parameters.joined, self.soft.flexes)
        self._passes = default_passes(self._steps)
        self._tree_dofs = list(map(slice, begin.tolist(), (begin + n).tolist()))
        self._body_forces = np.zeros((self._model.nbody, 3))

    def _allocate(self) -> None:
        super()._allocate()
        core, settings = self._stages.core, self._parameters.settings
        self._memories: FrictionMemories[_Memory] = FrictionMemories(
            lambda: (_core.FrictionMemory(core), FrictionMemory()), settings
        )

    def friction_of(self, data: mujoco.MjData) -> _Memory | None:
        """The memories of lagged friction for these data; None without."""
        return self._memories.of(data)

    def body_forces(self) -> _Float:
        """Sum of the contact forces of the last step on each body, of soft bodies too."""
        found: _Float = super().body_forces() + self._body_forces
        return found

    def problem(self, data: mujoco.MjData, as_solved: bool = False) -> ContactProblem:
        """The first contact problem of a step; no constraint is left out of it."""
        del as_solved
        scratch = mujoco.MjData(self._model)
        mujoco.mj_copyData(scratch, self._model, data)
        with self._lock:
            self._check_soft(scratch)
            self._stages.begin(scratch)
            memory = self.memory.save()
            reduction = self._reduce(scratch)
            iterates = [step.start for step in self._steps]
            for step, v in zip(self._steps, iterates, strict=True):
                step.evaluate(v)
                step.linearize(v)
            problem, _ = reduction.problem([step.guess for step in self._steps])
            self.memory.load(memory)
            return problem

    # ---- the step -------------------------------------------------------------------------------

    def start(self, data: mujoco.MjData) -> None:
        """First half of a step; see :class:`Steps`."""
        self._check_soft(data)
        super().start(data)

    def _check_soft(self, data: mujoco.MjData) -> None:
        """Raise StepError for a state of the soft bodies that is wrong, or of another time."""
        now = float(data.time)
        is_elsewhere = not math.isnan(self.soft.time) and self.soft.time != now
        if self.soft.bodies and is_elsewhere:
            raise StepError(
                f"the soft bodies are at {self.soft.time:.9g} s, and data at another time: set "
                "stepper.soft_state to a state of this time",
                now,
            )
        for body in self.soft.bodies:
            fault = body.fault()
            if fault:
                raise StepError(fault, now)

    def forward(self, data: mujoco.MjData) -> None:
        """Find accelerations and forces of a state, which stays; counted as a step."""
        memory = self.memory.save()
        with self._whole(data):
            self._parameters.check_options()
            self.start(data)
            self._solve(data, self._memories.of(data))
        self.memory.load(memory)

    def _finish(self, data: mujoco.MjData) -> Solution:
        memory = self._memories.of(data)
        reduction, best, result = self._solve(data, memory)
        mujoco.mj_Euler(self._model, data)
        for step, v in zip(self._soft_steps, best.v, strict=False):
            step.finish(v)
        self.soft.time, self.soft_result = float(data.time), result
        if memory is not None:
            self._stages.remember(data, memory[0])
            forces = reduction.normal_forces(best)
            memory[1].keep(self._motion(data), reduction.meetings, forces)
        return best.solution

    @property
    def motion_size(self) -> int:
        """Number of values of the state on which forces of contact depend."""
        return motion_size(self._model, self.soft)

    def _motion(self, data: mujoco.MjData) -> list[_Float]:
        """The state on which forces of contact depend."""
        bodies = (x for body in self.soft.bodies for x in (body.positions, body.velocities))
        return [np.array([data.time]), data.qpos, data.qvel, data.act, *bodies]

    def _solve(
        self, data: mujoco.MjData, memory: _Memory | None = None
    ) -> tuple[Reduction, Pass, SoftStepResult]:
        """Solve a step whose first half is done, and write accelerations and forces."""
        self._stages.find_forces(data)
        reduction = self._reduce(data, memory)
        best, result = self._take_passes(data, reduction)
        self._write_loads(data, best, reduction.rigid, result)
        return reduction, best, result

    def _take_passes(
        self, data: mujoco.MjData, reduction: Reduction
    ) -> tuple[Pass, SoftStepResult]:
        """Solve the contact problem of a step; nothing is written."""
        iterates = [step.start for step in self._steps]
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                best, passes = take_passes(reduction, iterates, self._passes, _TOLERANCE)
        except ValueError as error:
            raise StepError(str(error), float(data.time)) from error
        self._check(best.solution, data)
        return best, step_result(reduction, best, passes, _TOLERANCE)

    def _write_loads(
        self,
        data: mujoco.MjData,
        best: Pass,
        problem: ContactProblem,
        result: SoftStepResult,
        more: _Float | None = None,
    ) -> None:
        """Write the solution of the model, and the loads of soft bodies on its bodies.

        `more` (nbody, 6) adds forces, and torques about the centres of mass, to these loads.
        """
        model = self._model
        loads = np.zeros((model.nbody, 6)) if more is None else more.copy()
        touches = np.zeros((model.nbody, 3))
        for touch, body in zip(result.touches, self._met, strict=False):  # the rest are soft
            if body >= 0:
                _add_load(loads[body], touch.contacts.points, -touch.forces, data.xipos[body])
                touches[body] -= touch.force
        for reaction, holder in zip(result.reactions, self._held, strict=True):
            _add_load(loads[holder], reaction.positions, -reaction.forces, data.xipos[holder])
        applied = data.xfrc_applied.copy()
        data.xfrc_applied[:] += loads
        self._write(
            data, self._velocities(best), problem, best.solution, self._flex_rows(data, result)
        )
        data.xfrc_applied[:] = applied
        for b in np.flatnonzero(np.any(loads, axis=1)):
            mujoco.mj_applyFT(
                model, data, loads[b, :3], loads[b, 3:], data.xipos[b], b, data.qfrc_constraint
            )
        for step, impulse in zip(
            self._flex_steps, best.impulses[len(self._soft_steps) :], strict=True
        ):
            data.qfrc_constraint[step.flex.dofs] += step.to_slides(impulse) / step.dt
        self._body_forces = touches

    def _velocities(self, best: Pass) -> _Float:
        """Velocities (nv,) of the model."""
        found = np.zeros(self._model.nv)
        found[self._trees.dofs] = best.rigid
        for step, v in zip(self._flex_steps, best.v[len(self._soft_steps) :], strict=True):
            found[step.flex.dofs] = step.to_slides(v)
        return found

    def _rows(self, solution: Solution, v: _Float) -> tuple[_Float, _Float]:
        """Impulses and velocities of the rows, see :class:`PythonSteps`; of edges too."""
        of_problem = super()._rows(solution, v)
        n = len(of_problem[0]) + sum(len(step.edges.numbers) for step in self._flex_steps)
        stays, found = np.ones(n, bool), (np.empty(n), np.empty(n))
        for step in self._flex_steps:
            edges, along = step.edges, v[step.flex.dofs]
            stays[edges.numbers] = False
            found[0][edges.numbers] = edges.impulses(along)
            found[1][edges.numbers] = edges.velocities(along)
        for whole, part in zip(found, of_problem, strict=True):
            whole[stays] = part
        return found

    def _flex_rows(self, data: mujoco.MjData, result: SoftStepResult) -> _Float:
        """Forces of MuJoCo's rows of contacts of flexes; empty without any."""
        met = self._flexes_met
        if not met:
            return np.zeros(0)
        first = len(self._met) - len(met)
        forces = [touch.forces for touch in result.touches[first : len(self._met)]]
        return contact_forces(self._model, data, met, forces)

    # ---- the problem ----------------------------------------------------------------------------

    def _reduce(self, data: mujoco.MjData, memory: _Memory | None = None) -> Reduction:
        """The contact problem of data whose forces were found."""
        rigid = self._gather(data, None if memory is None else memory[0])
        for step in self._soft_steps:
            step.begin(self._parameters.time_step, IMPLICIT_EULER, self._gravity())
        holds = self._find_holds(data)
        meetings = self._find_meetings(data)
        exact = self._parameters.delassus == "diagonal"
        order_steps(self._steps, meetings, holds, exact=exact)
        bounds = None
        if memory is not None:
            motion, dt = self._motion(data), self._parameters.time_step
            bounds = memory[1].recall(motion, meetings, dt)
        return self._reduction_of(rigid, meetings, holds, bounds)

    def _gather(
        self, data: mujoco.MjData, memory: _core.FrictionMemory | None = None
    ) -> ContactProblem:
        """The contact problem of the model without flexes, whose steps begin."""
        parameters, model = self._parameters, self._model
        self._stages.gather(data, memory=memory)
        arrays, rows = problem_arrays(self._stages.core), self._stages.core.groups()
        if self._flex_steps:
            vertices, edges = self._trees.of_vertices(arrays), self._trees.edges(rows)
            for flex_step, numbers, own in zip(self._flex_steps, vertices, edges, strict=True):
                flex_step.begin(model, data, *numbers, own, parameters.time_step)
            arrays, groups = self._trees.take_out(arrays, rows)
        else:
            groups = constraint_groups(rows)
        return gathered_problem(parameters, arrays, groups, float(data.time))

    def _gravity(self) -> _Float:
        option = self._model.opt
        off = option.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        return np.zeros(3) if off else option.gravity.copy()

    def _reduction_of(
        self,
        rigid: ContactProblem,
        meetings: list[Meeting],
        holds: list[Hold],
        bounds: _Float | None = None,
    ) -> Reduction:
        parameters = self._parameters
        options = PassOptions(
            parameters.time_step,
            parameters.sigma,
            YIELDING_BETA,
            parameters.delassus,
            self.speeds[2],
        )
        return Reduction(self._steps, meetings, holds, rigid, options, self._solver, bounds)

    def _find_holds(self, data: mujoco.MjData) -> list[Hold]:
        """Attachments to moving bodies; vertices of all others move as told."""
        holds: list[Hold] = []
        self._held: list[int] = []
        for b, (step, holders) in enumerate(zip(self._soft_steps, self.soft.holders, strict=True)):
            for attachment, body in zip(step.body.attachments, holders, strict=True):
                position, R = data.xpos[body], data.xmat[body].reshape(3, 3)
                places = attachment.places @ R.T
                vertices = attachment.vertices
                drift = (places + position - step.q0[vertices]) / step.dt
                tree, J = self._jacobian(data, body, places + position)
                if J is None:
                    step.move(vertices, drift)
                    continue
                step.start[vertices] = J @ data.qvel[self._tree_dofs[self._tree_of(body)]] + drift
                holds.append(Hold(b, attachment.body, vertices, tree, J, drift))
                self._held.append(body)
        return holds

    def _find_meetings(self, data: mujoco.MjData) -> list[Meeting]:
        """Contacts of the soft bodies and the flexes."""
        meetings: list[Meeting] = []
        self._met: list[int] = []  # bodies that the first meetings are with; -1 for flexes
        forest = self._stages.core.constants()
        for b, (body, geoms) in enumerate(zip(self.soft.bodies, self.soft.geoms, strict=True)):
            if not geoms:
                continue
            low, high = body.positions.min(axis=0), body.positions.max(axis=0)
            for geom in geoms:
                centre, time = data.geom_xpos[geom.geom], body.dissipation_time
                away = np.maximum(0.0, np.maximum(low - centre, centre - high))
                if body.contact == "faces" and away @ away >= geom.reach**2:
                    continue
                found = self._find_contacts(data, body, geom)
                if not geom.is_depth:
                    time += float(forest["dissipation_time"][geom.geom])
                if not len(found.k):
                    continue
                friction = pair_friction(body.friction, float(forest["friction"][geom.geom]))
                tree, J = self._jacobian(data, geom.body, found.points)
                meetings.append(
                    Meeting(b, geom.name, found, friction, time, tree, J, surface=geom.geom)
                )
                self._met.append(geom.body)
        self._flexes_met = self._find_flex_meetings(data)
        self._met += [met.body for met in self._flexes_met]
        meetings += [met.meeting for met in self._flexes_met]
        return meetings + meetings_between(self.soft.bodies)

    def _find_flex_meetings(self, data: mujoco.MjData) -> list[FlexMeeting]:
        """Contacts of the flexes."""
        if not self._flex_steps:
            return []
        forest = self._stages.core.constants()
        surface = Surface(
            forest["stiffness"],
            forest["dissipation_time"],
            self.speeds[0],
            lambda body, points: self._jacobian(data, body, points),
        )
        return flex_meetings(self._model, data, self._flex_steps, len(self._soft_steps), surface)

    def _find_contacts(self, data: mujoco.MjData, body: SoftBody, geom: GeomShape) -> SoftContacts:
        """Contacts of a soft body with a geom."""
        pose = np.eye(4)
        pose[:3, :3] = R = data.geom_xmat[geom.geom].reshape(3, 3)
        pose[:3, 3] = centre = data.geom_xpos[geom.geom]
        if body.contact == "vertices":
            normals = geom.planes[0] @ R.T
            offsets = geom.planes[1] + normals @ centre
            spin = np.zeros(6)
            mujoco.mj_objectVelocity(
                self._model, data, mujoco.mjtObj.mjOBJ_GEOM, geom.geom, spin, 0
            )
            return contacts_of_vertices(
                body,
                normals,
                offsets,
                self._parameters.time_step,
                lambda points: spin[3:] + np.cross(spin[:3], points - centre),
            )
        if geom.shape is None:
            normal = R[:, 2].copy()
            return contacts_with_plane(body, normal, float(normal @ centre))
        return contacts_with_shape(body, geom.shape, pose, is_depth=geom.is_depth)

    def _tree_of(self, body: int) -> int:
        return int(self._parameters.forest["body_treeid"][self._model.body_weldid[body]])

    def _jacobian(
        self, data: mujoco.MjData, body: int, points: _Float
    ) -> tuple[int, _Float | None]:
        """Tree of a body in the problem, and velocities (n, 3, tree_nv) of points of the body.

        -1 and None for a body that does not move.
        """
        model, tree = self._model, self._tree_of(body)
        if tree < 0:
            return -1, None
        dofs = self._tree_dofs[tree]
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacBody(model, data, linear, angular, body)
        turn = cross(angular[:, dofs].T[None], (points - data.xpos[body])[:, None])
        found: _Float = linear[:, dofs] + np.swapaxes(turn, 1, 2)
        return int(self._trees.place[tree]), found


def _add_load(load: _Float, points: _Float, forces: _Float, centre: _Float) -> None:
    """Add forces at points to a force and a torque about a centre."""
    load[:3] += forces.sum(axis=0)
    W = (points - centre).T @ forces
    load[3:] += W[1, 2] - W[2, 1], W[2, 0] - W[0, 2], W[0, 1] - W[1, 0]
