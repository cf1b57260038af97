"""The equations of a step at one velocity, as numbers that depend on its state and parameters."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sapwood.problem.contact_problem import ContactProblem

from ..bodies import SoftBody
from ..meetings import Meeting
from ..meshes.mesh import spread_corners
from ..reduction import Reduction
from ..rigid_bodies import RigidBody
from ..soft_step import Scheme, SoftStep
from ..world import World
from .slopes import ChangedSet, Slopes, added, central_difference, find_slopes, stacked
from .soft_numbers import BodiesOfStep, SoftNumber
from .weight_slopes import WeightSlopes, entries_of

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

# Arrays of the contacts of a problem, and their numbers for each contact; J has any number. The
# equations have 1/R_n and v_hat_n/R_n in place of R_n and v_hat_n: these are linear in k and smooth
# where a face is nearly parallel to the gradient of a field, so that k = g area is near 0.
CONTACT_ARRAYS = {"mu": 1, "R_t": 1, "R_n": 1, "v_hat_n": 1, "v_hat_t": 2, "J": 0}

# smallest sigma of a contact that slips slowly, as of the solver
LEAST_SIGMA = 1e-6

# half of a difference of a position over the mean edge, and of another number over its size
_WIDTH = 1e-6
# most of the half of a difference of a position over the largest depth of a contact
_DEPTH_PART = 1e-4
# size of a number that is 0
_SMALL = 1e-2
# the same of numbers on which m depends linearly, where round-off alone counts
_LINEAR_WIDTH, _LINEAR_SMALL = 1e-2, 1.0


def copied(body: SoftBody) -> SoftBody:
    """Copy a body, without what it shares with the given one and steps write to."""
    made = copy.copy(body)
    made.positions, made.velocities = body.positions.copy(), body.velocities.copy()
    made.loads, made.pressures = body.loads.copy(), body.pressures.copy()
    return made


def copy_world(world: World) -> World:
    """Make a world in the same state, whose steps leave the given one as it is."""
    made = copy.copy(world)
    made.planes = tuple(copy.copy(plane) for plane in world.planes)
    vars(made)["rigid"] = tuple(copy.copy(rigid) for rigid in world.rigid)
    made.bodies = tuple(copied(body) for body in world.bodies)
    return made


class Start(BodiesOfStep, Protocol):
    """The state at the start of a step, from which its equations follow; a copy of a World."""

    scheme: Scheme
    gravity: _Float

    def _find_contacts(self) -> list[Meeting]:
        """Contacts of the bodies."""

    def _reduction_of(self, meetings: Sequence[Meeting]) -> Reduction:
        """The convex problem with these contacts."""


class Equations:
    """The equations of motion m of each body, and the numbers of the contacts, at velocities v.

    The weights w in R_t = sigma w and in near-rigid R_n follow from the Jacobian, and from A of the
    bodies that take one pass; see :mod:`sapwood.fem.derivatives.weight_slopes`.

    Parameters
    ----------
    start : Start
        The start of the step; its bodies may be changed.
    solved : Reduction
        The convex problem of the step.
    v : sequence of ndarray (n, 3)
        Velocities of each body.
    problem : ContactProblem
        The problem at these velocities.

    Attributes
    ----------
    n_contact_numbers : int
        Numbers of all contacts.
    slips : bool
        Whether numbers of contacts follow from velocities too.
    jumps : bool
        Whether contacts came or went in a difference.
    """

    def __init__(
        self, start: Start, solved: Reduction, v: Sequence[_Float], problem: ContactProblem
    ) -> None:
        self.v = v
        self.jumps = False
        self._solved, self._key = solved, _key(solved.meetings)
        self.follow(start)
        self._sizes = [0]
        self.slips = bool(solved.meetings) and "slip_ratio" in solved._soft
        if solved.meetings:
            self._R_t, self._R_n = problem.R_t[solved.n_rigid :], problem.R_n[solved.n_rigid :]
            self._share, self._R = self._sigma(solved), self._compliant(solved)
            self._weights = WeightSlopes(solved, problem)
            self._sizes = [len(array) for array in self._flat(solved)]
        self.n_contact_numbers = sum(self._sizes)

    # ---- the numbers ----

    def follow(self, start: Start) -> None:
        """Take over another start of the step, with the same bodies."""
        self.start = start
        for b, (step, other) in enumerate(zip(start._steps, self._solved.steps, strict=True)):
            step.last, step.place = other.last, other.place
            self._begin(b)

    def _begin(self, b: int) -> None:
        """Take over the state of a body; flexes, which are the last, have that of their model."""
        start, step = self.start, self.start._steps[b]
        if isinstance(step, SoftStep):
            step.begin(start.time_step, start.scheme, start.gravity)

    def momentum(self, b: int, v: _Float | None = None) -> _Float:
        """m of body b (3 n,)."""
        step = self.start._steps[b]
        self._begin(b)
        velocities = self.v[b] if v is None else v
        damps = isinstance(step, SoftStep) and step.body.material.stiffness_damping > 0
        step.evaluate(velocities, stiffness=damps)
        return step.momentum_residual(velocities).ravel()

    def contacts(self) -> _Float:
        """The numbers of all contacts, array by array; NaN if contacts came or went."""
        meetings = self.start._find_contacts()
        if _key(meetings) == self._key:
            found = self._flat(self.start._reduction_of(meetings)) if meetings else [np.zeros(0)]
            if [len(array) for array in found] == self._sizes:
                return np.concatenate(found)
        self.jumps = True
        return np.full(self.n_contact_numbers, np.nan)

    def reduction(self, meetings: Sequence[Meeting]) -> Reduction | None:
        """The problem of the present state with its contacts; None if they came or went."""
        if _key(meetings) == self._key:
            found = self.start._reduction_of(meetings)
            if not meetings or len(found._soft["k"]) == len(self._R):
                return found
        self.jumps = True
        return None

    def _flat(self, reduction: Reduction) -> list[_Float]:
        soft = reduction._soft
        # another count is found by its length
        n = min(len(soft["k"]), len(self._R))
        is_near_rigid = self._R_n[:n] > (1 + 1e-9) * self._R[:n]
        growth = 1.0 + self._weights.by_jacobian(soft["J"])[:n]
        near_rigid = self._R_n[:n] * growth
        inverse = 1.0 / np.where(is_near_rigid, near_rigid, self._compliant(reduction)[:n])
        v_hat_n = -soft["phi0"][:n] / (reduction.options.dt + soft["tau_d"][:n])
        numbers = {
            "R_t": self._R_t[:n] * growth * (self._sigma(reduction)[:n] / self._share[:n]),
            "R_n": inverse,
            "v_hat_n": v_hat_n * inverse,
        }
        return [np.ravel((numbers if name in numbers else soft)[name]) for name in CONTACT_ARRAYS]

    @staticmethod
    def _sigma(reduction: Reduction) -> _Float:
        """Sigma of each contact, by its slip."""
        sigma, n = reduction.options.sigma, len(reduction._soft["k"])
        share = np.minimum(reduction._soft.get("slip_ratio", np.ones(n)), 1.0)
        found: _Float = np.maximum(min(LEAST_SIGMA, sigma), sigma * share)
        return found

    @staticmethod
    def _compliant(reduction: Reduction) -> _Float:
        """R_n of each contact by its stiffness."""
        soft, dt = reduction._soft, reduction.options.dt
        found: _Float = 1.0 / (dt * soft["k"] * (dt + soft["tau_d"]))
        return found

    # ---- derivatives ----

    def width(self, b: int) -> float:
        """Half of a difference of positions of body b, m: areas of contact curve quickly."""
        mesh = self.start._steps[b].mesh
        first, second = np.swapaxes(mesh.vertices[mesh.pairs], 0, 1)
        return _WIDTH * float(np.mean(np.linalg.norm(second - first, axis=1)))

    def contact_width(self, b: int) -> float:
        """The same for contacts: their polygons also curve over distances of their depth."""
        soft = self._solved._soft if self._solved.meetings else {}
        depth = float(np.max(-soft.get("phi0", np.zeros(0)), initial=0.0))
        return min(self.width(b), _DEPTH_PART * depth) if depth > 0.0 else self.width(b)

    def by_positions(self, b: int) -> Slopes:
        """Derivatives of m of body b and of all contacts by its positions."""
        x, width = self.start.bodies[b].positions, self.width(b)
        of_m = find_slopes(lambda: self.momentum(b), x, self._sets_of_mesh(b), width)
        width = self.contact_width(b)
        of_contacts = find_slopes(self.contacts, x, self._sets_of_contacts(b), width)
        return stacked(of_m, added(of_contacts, self._of_weights(b)))

    def _of_weights(self, b: int) -> Slopes | None:
        """Derivatives of all contacts by the positions of body b through A alone."""
        if not self.n_contact_numbers or not self._weights.has(b):
            return None
        x = self.start.bodies[b].positions
        by_x = find_slopes(lambda: self._entries(b), x, self._sets_of_entries(b), self.width(b))
        of_log, by_log = self._weights.along(b, by_x), self._by_weights()
        rows = np.flatnonzero(by_log)
        values = by_log[rows, None] * of_log[rows % len(of_log)]
        places = np.tile(np.arange(x.size), len(rows))
        shape = self.n_contact_numbers, x.size
        return Slopes(np.repeat(rows, x.size), places, values.ravel(), shape)

    def _by_weights(self) -> _Float:
        """Derivatives of the numbers of contacts by log w of each, array by array up to v_hat_n."""
        numbers = np.split(self._flat_numbers(), np.cumsum(self._sizes)[:-1])
        by = dict(zip(CONTACT_ARRAYS, numbers, strict=True))
        held = -1.0 * (self._R_n > (1 + 1e-9) * self._R)
        return np.concatenate([
            np.zeros_like(by["mu"]), by["R_t"], held * by["R_n"], held * by["v_hat_n"],
        ])  # fmt: skip

    def _flat_numbers(self) -> _Float:
        return np.concatenate(self._flat(self._solved))

    def _entries(self, b: int) -> _Float:
        """Entries of A of body b at the present state."""
        step = self.start._steps[b]
        self._begin(b)
        step.evaluate(self.v[b])
        return entries_of(step)

    def _sets_of_entries(self, b: int) -> Iterator[ChangedSet]:
        """Sets of vertices of body b for A: a block follows from vertices around its first one."""
        first = self.start._steps[b].mesh.pairs[:, 0]
        for chosen, of_m in self._sets_of_mesh(b):
            owners = of_m[::3]
            yield ChangedSet(chosen, np.repeat(np.concatenate([owners, owners[first]]), 9))

    def by_velocities(self, b: int) -> Slopes:
        """Derivatives of m of body b, and of contacts that slip, by its velocities at the start."""
        v = self.start.bodies[b].velocities
        of_m = self._of_velocities(b, v, lambda: self.momentum(b), self._sets_of_mesh(b))
        if not self.slips:
            return of_m
        return stacked(of_m, self._of_velocities(b, v, self.contacts, self._sets_of_contacts(b)))

    def by_end_velocities(self, b: int) -> Slopes:
        """Derivatives of m of body b by its velocities at the end."""
        v = self.v[b].copy()
        return self._of_velocities(b, v, lambda: self.momentum(b, v), self._sets_of_mesh(b))

    def _of_velocities(
        self, b: int, v: _Float, find: Callable[[], _Float], sets: Iterable[ChangedSet]
    ) -> Slopes:
        return find_slopes(find, v, sets, self.width(b) / self.start.time_step)

    def by_number(self, number: SoftNumber) -> Slopes:
        """Derivatives of m of all bodies, and of all contacts, by a number or an array."""
        start, i = self.start, number.i
        sizes = [body.positions.size for body in start.bodies]
        n_rows, first = sum(sizes) + self.n_contact_numbers, sum(sizes[:i])
        if number.is_load:
            rows, columns, values = number.load_slopes(start)
            return Slopes(first + rows, columns, values, (n_rows, number.value.size))
        value, found = float(number.value), np.zeros(n_rows)
        entries: _Float | float = 0.0
        h = _WIDTH * max(abs(value), _SMALL)
        if number.is_linear:
            h = _LINEAR_WIDTH * max(value, _LINEAR_SMALL)
        is_range_end = number.field != "poisson" and value < h
        # at the end of a range by the slope of the parabola through three points
        offsets, weights = ((0, h, 2 * h), (-3, 4, -1)) if is_range_end else ((-h, h), (-1, 1))
        for offset, weight in zip(offsets, weights, strict=True):
            number.set(start, value + offset)
            try:
                if number.kind == "body":
                    found[first : first + sizes[i]] += weight / (2 * h) * self.momentum(i)
                    if self.n_contact_numbers and self._weights.has(i):
                        entries = entries + weight / (2 * h) * self._entries(i)
                found[sum(sizes) :] += weight / (2 * h) * self.contacts()
            finally:
                number.set(start, value)
        if np.ndim(entries):
            of_log = [self._weights.by_entries(i, k) @ entries for k in range(len(self._R))]
            by_log = self._by_weights().reshape(-1, len(of_log)) * of_log
            found[sum(sizes) : sum(sizes) + by_log.size] += by_log.ravel()
        found = np.nan_to_num(found)
        rows = np.flatnonzero(found)
        return Slopes(rows, np.zeros_like(rows), found[rows], (n_rows, 1))

    def by_slide(self, slide: RigidBody) -> _Float:
        """Derivatives of all contacts by the position of a rigid body of the start."""
        if not self.n_contact_numbers:
            return np.zeros(0)
        centre, middle, h = slide.position, self.contacts(), self.width(0)
        try:
            slide.position = high = centre + h
            above = self.contacts()
            slide.position = low = centre - h
            below = self.contacts()
        finally:
            slide.position = centre
        return central_difference(above, middle, below, np.array(high - low))

    # ---- the structure ----

    def _sets_of_mesh(self, b: int) -> Iterator[ChangedSet]:
        """Sets of vertices of body b for m: it depends on the vertices around each one."""
        for owners in self.start._steps[b].mesh.spread:
            chosen = np.flatnonzero(owners == np.arange(len(owners)))
            yield ChangedSet(chosen, np.repeat(owners.astype(np.int64), 3))

    def contact_slopes(self, b: int, find: Callable[[], _Float], n_each: int) -> Slopes:
        """Derivatives by the positions of body b of some numbers of each acting contact, flat."""
        counts = [np.full(len(self._R), n_each)] if self._solved.meetings else []
        sets = self._sets_of_contacts(b, counts)
        return find_slopes(find, self.start.bodies[b].positions, sets, self.contact_width(b))

    def _sets_of_contacts(
        self, b: int, counts: Sequence[NDArray[np.int64]] | None = None
    ) -> Iterator[ChangedSet]:
        """Sets of vertices of body b for contacts; in the first one those where one may come.

        `counts` are those of :meth:`_counts` for other arrays of numbers.
        """
        n = len(self.start.bodies[b].positions)
        contacts, vertices = self._corners(b)
        color = spread_corners(n, contacts, vertices)
        counts = self._counts() if counts is None else counts
        for k in range(-1, int(color.max(initial=-1)) + 1):
            owners = np.full(len(counts[0]) if counts else 0, -1, np.int64)
            of_set = color[vertices] == k
            owners[contacts[of_set]] = vertices[of_set]
            by_number = [np.repeat(owners, count) for count in counts]
            flat = np.concatenate([np.zeros(0, np.int64), *by_number])
            yield ChangedSet(np.flatnonzero(color == k), flat)

    def _corners(self, b: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of an acting contact and a vertex of body b that it depends on."""
        faces, begin = self.start.bodies[b].mesh.faces, 0
        contacts, vertices = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for meeting in self._solved.meetings:
            found = meeting.contacts
            numbers = np.arange(begin, begin + len(found.k))
            begin += len(found.k)
            sides = [corners for _, body, corners, _ in meeting.sides() if body == b]
            if sides and sides[0].shape[1] == 1:  # k is by the faces around the vertex
                number = np.full(faces.max() + 1, -1)
                number[sides[0][:, 0]] = numbers
                face, corner = np.nonzero(number[faces] >= 0)
                numbers, sides = number[faces[face, corner]], [faces[face]]
            elif sides and meeting.other_body < 0:  # some corners have no share
                sides = [faces[found.faces]]
            for corners in sides:
                contacts.append(np.repeat(numbers, corners.shape[1]))
                vertices.append(corners.ravel().astype(np.int64))
        of_contact, of_vertex = np.concatenate(contacts), np.concatenate(vertices)
        if begin:
            is_acting = self._solved.is_acting
            acts = is_acting[of_contact]
            of_contact, of_vertex = (np.cumsum(is_acting) - 1)[of_contact[acts]], of_vertex[acts]
        return of_contact, of_vertex

    def _counts(self) -> list[NDArray[np.int64]]:
        """Numbers of each acting contact in each array."""
        if not self._solved.meetings:
            return []
        widths = self._widths()
        return [np.full(len(widths), k) if k else widths for k in CONTACT_ARRAYS.values()]

    def _widths(self) -> NDArray[np.int64]:
        """Entries of J of each contact."""
        nv, soft = self._solved.trees.tree_nv.astype(np.int64), self._solved._soft
        widths = np.zeros(len(soft["mu"]), np.int64)
        for side in (soft["tree_a"], soft["tree_b"]):
            widths += np.where(side >= 0, 3 * nv[side], 0)
        return widths


def _key(meetings: Sequence[Meeting]) -> list[object]:
    """The identity of contacts: who meets whom, by which faces and vertices."""
    return [
        (m.body, m.other, m.other_body, m.contacts.faces.tolist())
        + tuple(vertices.tolist() for _, _, vertices, _ in m.sides())
        for m in meetings
    ]
