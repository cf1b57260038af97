from collections.abc import Callable, Mapping
from typing import Any, Literal, Self, TypedDict, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import disjoint_base

from sapwood.settings import SapSettings
from sapwood.solution import ConstraintSolution, IslandAlgorithm, Solution, Status

__version__: str

_Float = NDArray[np.float64]
_Failure = tuple[str, int, int, str] | BaseException | None
_Ended = tuple[int, int, _Failure]
_FaceContacts = tuple[NDArray[np.int32], NDArray[np.int32], _Float, _Float, _Float, _Float, _Float]
_Rule = Literal["any", "finite", "non-negative", "positive"]

class _Projection(TypedDict):
    gamma: _Float
    G: _Float
    regions: NDArray[np.int8]

class _DiskProjection(_Projection):
    cost: _Float

class _Structure(TypedDict):
    order: NDArray[np.int32]
    supernodes: NDArray[np.int32]
    rows: NDArray[np.int32]
    edges: NDArray[np.int32]

CONTACT_RECORD: np.dtype[np.void]
DEEP_OVERLAP: float  # overlap at the end of a step that is told of, in widths of the narrower geom
MUJOCO_CALLBACKS: tuple[str, ...]
MUJOCO_FIELDS: tuple[tuple[str, str, str, str, str, str, str, str, str], ...]
MUJOCO_FUNCTIONS: tuple[str, ...]
MUJOCO_TESTED: list[int]
FAULTS: tuple[str, ...]
TIME_STEP: float  # dissipation time that is the length of each step
LEAST_SIGMA: float  # sigma of contacts at rest, where it follows from their slip
RECORDED: tuple[str, ...]
STEP_RECORD: np.dtype[np.void]
PARTS_RECORD: np.dtype[np.void]

def as_float64(
    value: ArrayLike, name: str, shape: tuple[int, ...] | None = None, rule: _Rule = "any"
) -> _Float: ...
def as_int32(value: ArrayLike, name: str) -> NDArray[np.int32]: ...
def check_settings(settings: object, /) -> None: ...
def set_default_settings(settings: SapSettings, /) -> None: ...
def default_settings() -> dict[str, float | int | bool | str]: ...
def project(
    y: ArrayLike,
    mu: ArrayLike,
    R_t: ArrayLike,
    R_n: ArrayLike,
    soft_norm: float,
    core: NDArray[np.int8] = ...,
    kappa: ArrayLike = ...,
    core_lambda: ArrayLike = ...,
    core_table: ArrayLike | None = ...,
    /,
) -> _Projection: ...
def contact_cost(
    y: ArrayLike,
    mu: ArrayLike,
    R_t: ArrayLike,
    R_n: ArrayLike,
    soft_norm: float,
    core: NDArray[np.int8] = ...,
    kappa: ArrayLike = ...,
    core_lambda: ArrayLike = ...,
    core_table: ArrayLike | None = ...,
    /,
) -> _Float: ...
def project_disk(
    y: ArrayLike, bound: ArrayLike, R_t: ArrayLike, R_n: ArrayLike, soft_norm: float, /
) -> _DiskProjection: ...
def clamp(
    y: ArrayLike, R: ArrayLike, lower: ArrayLike, upper: ArrayLike, /
) -> dict[str, _Float]: ...
def constraint_kinds() -> dict[str, dict[str, str]]: ...
def structure(problem: Problem, /) -> _Structure: ...
def solve_dense(
    M: ArrayLike,
    v_star: ArrayLike,
    J: ArrayLike,
    mu: ArrayLike,
    R: ArrayLike | None,
    v_hat: ArrayLike | None,
    k: ArrayLike | None,
    phi0: ArrayLike | None,
    tau_d: ArrayLike | None,
    dt: float | None,
    sigma: float,
    beta: float,
    v_guess: ArrayLike | None,
    settings: SapSettings | None,
    friction: str | None,
    /,
) -> Solution: ...
def solve_batch(
    problems: list[Problem],
    v_guesses: list[ArrayLike | None],
    settings: SapSettings | None,
    threads: int,
    /,
) -> list[Solution]: ...
def field_shape(
    kind: str,
    vertices: ArrayLike,
    cells: ArrayLike,
    pressure: ArrayLike,
    slope: float,
    margin: float,
    /,
) -> object: ...
def contact_surfaces(
    pairs: list[tuple[object, ArrayLike | None, object, ArrayLike | None]], fans: bool, /
) -> list[tuple[NDArray[np.float64], NDArray[np.int32]]]: ...
def surface_columns(
    numbers: NDArray[np.float64], integers: NDArray[np.int32], /
) -> tuple[NDArray[Any], ...]: ...
def fem_mesh(vertices: ArrayLike, tetrahedra: ArrayLike, /) -> object: ...
def fem_arrays(mesh: object, /) -> tuple[_Float, _Float, NDArray[np.int32]]: ...
def fem_rotations(mesh: object, x: ArrayLike, /) -> _Float: ...
def fem_evaluate(
    mesh: object,
    model: str,
    young: float,
    poisson: float,
    x: ArrayLike,
    rotations: ArrayLike | None,
    exact: bool,
    outputs: tuple[_Float | None, ...],
    /,
) -> tuple[float, int]: ...
def fem_flex(
    vertices: ArrayLike,
    n_edges: int,
    pairs: NDArray[np.int32],
    elements: NDArray[np.int32],
    element_edges: NDArray[np.int32],
    hinges: NDArray[np.int32],
    hinge_pairs: NDArray[np.int32],
    /,
) -> object: ...
def fem_evaluate_flex(
    flex: object,
    numbers: tuple[_Float, _Float, _Float, float],
    last: tuple[_Float, _Float, float, float],
    x: ArrayLike,
    outputs: tuple[_Float | None, ...],
    /,
) -> None: ...
def fem_mass(mesh: object, density: float, kind: str, /) -> tuple[_Float, _Float]: ...
def fem_system(body: object, /) -> object: ...
def fem_order(system: object, last: ArrayLike, /) -> None: ...
def fem_factor(
    system: object,
    blocks: tuple[float, _Float, _Float, float, _Float, _Float],
    fixed: NDArray[np.int8] | None,
    x: ArrayLike,
    /,
) -> _Float: ...
def fem_solve(system: object, x: ArrayLike, /) -> _Float: ...
def fem_extend(system: object, x_last: ArrayLike, /) -> _Float: ...
def fem_schur(system: object, /) -> _Float: ...
def fem_multiply(
    body: object,
    blocks: tuple[float, _Float, _Float, float, _Float, _Float],
    x: ArrayLike,
    /,
) -> _Float: ...
def fem_plane_contacts(
    mesh: object,
    faces: NDArray[np.int32],
    tetrahedra: NDArray[np.int32],
    x: ArrayLike,
    normal: ArrayLike,
    offset: float,
    stiffness: float,
    /,
) -> _FaceContacts: ...
def fem_shape_contacts(
    mesh: object,
    faces: NDArray[np.int32],
    tetrahedra: NDArray[np.int32],
    x: ArrayLike,
    shape: object,
    pose: ArrayLike | None,
    stiffness: float,
    is_depth: bool,
    /,
) -> _FaceContacts: ...
def fem_far_pairs(
    mesh: object,
    order: NDArray[np.int32],
    centre: ArrayLike,
    reach: ArrayLike,
    x: ArrayLike,
    /,
) -> NDArray[np.int32]: ...
def fem_rows(
    tree_nv: NDArray[np.int32], parts: tuple[Any, ...], meetings: tuple[Any, ...], /
) -> tuple[_Float, _Float, _Float, NDArray[np.int32], NDArray[np.int32], _Float]: ...
def fem_add_loads(
    impulses: _Float,
    vertices: NDArray[np.int32],
    weights: ArrayLike,
    gamma: ArrayLike,
    sign: float,
    /,
) -> None: ...
def solve_lcps(
    M: ArrayLike,
    q: ArrayLike,
    basis: NDArray[np.int8] | None,
    settings: tuple[int, float, int, int, float, float, float],
    batched: bool,
    threads: int,
    /,
) -> tuple[_Float, _Float, NDArray[np.int8], NDArray[np.int32], _Float]: ...
def solve_qps(
    arrays: tuple[ArrayLike | None, ...],
    start: tuple[ArrayLike, ...] | None,
    settings: tuple[float, int, bool, bool],
    batched: bool,
    threads: int,
    /,
) -> tuple[_Float, _Float, _Float, _Float, NDArray[np.int32], _Float]: ...
def set_solution_types(
    solution: type[Solution],
    constraint_solution: type[ConstraintSolution],
    status: type[Status],
    island_algorithms: Callable[[NDArray[np.uint8]], tuple[IslandAlgorithm, ...]],
    /,
) -> None: ...
def mujoco_api(
    functions: Mapping[str, int],
    layout: Mapping[str, int],
    model_type: type,
    data_type: type,
    /,
) -> object: ...
def mujoco_is_tested(version: int, /) -> bool: ...

class SolutionValues:
    @property
    def v(self) -> _Float: ...
    @property
    def gamma(self) -> _Float: ...
    @property
    def v_c(self) -> _Float: ...
    @property
    def regions(self) -> NDArray[np.int8]: ...
    @property
    def algorithm(self) -> tuple[IslandAlgorithm, ...]: ...
    @property
    def status(self) -> Status: ...
    @property
    def history(self) -> NDArray[np.void] | None: ...
    @property
    def constraints(self) -> tuple[ConstraintSolution, ...]: ...
    @property
    def core_scale(self) -> _Float | None: ...
    @property
    def spin_gamma(self) -> _Float | None: ...
    @property
    def spin_v_c(self) -> _Float | None: ...
    @property
    def iterations(self) -> int: ...
    @property
    def total_iterations(self) -> int: ...
    @property
    def line_search_trials(self) -> int: ...
    @property
    def n_islands(self) -> int: ...
    @property
    def tree(self) -> int: ...
    @property
    def momentum_error(self) -> float: ...
    @property
    def complementarity_error(self) -> float: ...
    @property
    def velocity_error_bound(self) -> float: ...
    @property
    def cost_gap_bound(self) -> float: ...
    @property
    def coulomb_error(self) -> float: ...
    @property
    def natural_residual(self) -> float: ...
    @property
    def proximal_solves(self) -> int: ...
    @property
    def cost(self) -> float: ...
    @property
    def sensitivity(self) -> object: ...
    @property
    def symbolic_reused(self) -> bool: ...
    @property
    def timing(self) -> dict[str, float]: ...
    def _with_sensitivity(self, sensitivity: object, /) -> Self: ...

@final
class Problem:
    def __new__(
        cls,
        tree_nv: ArrayLike,
        A: ArrayLike,
        v_star: ArrayLike,
        tree_a: ArrayLike,
        tree_b: ArrayLike,
        J: ArrayLike,
        mu: ArrayLike,
        dt: float,
        sigma: float,
        beta: float,
        delassus: str,
        phi0: ArrayLike | None = None,
        k: ArrayLike | None = None,
        tau_d: ArrayLike | None = None,
        R_t: ArrayLike | None = None,
        R_n: ArrayLike | None = None,
        v_hat_n: ArrayLike | None = None,
        v_hat_t: ArrayLike | None = None,
        groups: list[tuple[object, ...]] = ...,
        core: NDArray[np.int8] | None = None,
        kappa: ArrayLike | None = None,
        core_lambda: ArrayLike | None = None,
        delta: ArrayLike | None = None,
        v_guess: ArrayLike | None = None,
        friction_bound: ArrayLike | None = None,
        spin_contact: ArrayLike | None = None,
        spin_J: ArrayLike | None = None,
        spin_mu: ArrayLike | None = None,
        slip_ratio: ArrayLike | None = None,
        core_table: ArrayLike | None = None,
        factors_of: Problem | None = None,
    ) -> Self: ...
    @property
    def tree_nv(self) -> NDArray[np.int32]: ...
    @property
    def A(self) -> _Float: ...
    @property
    def v_star(self) -> _Float: ...
    @property
    def tree_a(self) -> NDArray[np.int32]: ...
    @property
    def tree_b(self) -> NDArray[np.int32]: ...
    @property
    def J(self) -> _Float: ...
    @property
    def mu(self) -> _Float: ...
    @property
    def R_t(self) -> _Float: ...
    @property
    def R_n(self) -> _Float: ...
    @property
    def v_hat_n(self) -> _Float: ...
    @property
    def v_hat_t(self) -> _Float | None: ...
    @property
    def phi0(self) -> _Float | None: ...
    @property
    def k(self) -> _Float | None: ...
    @property
    def tau_d(self) -> _Float | None: ...
    @property
    def core(self) -> NDArray[np.int8] | None: ...
    @property
    def kappa(self) -> _Float | None: ...
    @property
    def core_lambda(self) -> _Float | None: ...
    @property
    def core_table(self) -> _Float | None: ...
    @property
    def delta(self) -> _Float | None: ...
    @property
    def v_guess(self) -> _Float | None: ...
    @property
    def friction_bound(self) -> _Float | None: ...
    @property
    def slip_ratio(self) -> _Float | None: ...
    @property
    def spin_contact(self) -> NDArray[np.int32] | None: ...
    @property
    def spin_J(self) -> _Float | None: ...
    @property
    def spin_mu(self) -> _Float | None: ...
    @property
    def groups(self) -> tuple[tuple[_Float, _Float, _Float, _Float], ...]: ...
    @property
    def nv(self) -> int: ...

@disjoint_base
class Solver:
    def __new__(cls, settings: SapSettings | None = None, threads: int = 1) -> Self: ...
    @property
    def settings(self) -> SapSettings: ...
    @property
    def threads(self) -> int: ...
    def solve(self, problem: Problem, v_guess: ArrayLike | None, /) -> Solution: ...
    def evaluate(self, problem: Problem, v: ArrayLike, /) -> dict[str, Any]: ...
    def _impulses(self, problem: Problem, v: ArrayLike, /) -> Solution: ...
    def along_line(
        self, problem: Problem, v: ArrayLike, dv: ArrayLike, alpha: ArrayLike, /
    ) -> dict[str, Any]: ...

def solve_varied(
    problem: Problem,
    numbers: dict[str, Any],
    n: int,
    settings: SapSettings | None,
    threads: int,
    /,
) -> tuple[_Float, _Float, _Float, _Float, NDArray[np.int8]]: ...
def vjp_varied(
    problem: Problem,
    numbers: dict[str, Any],
    n: int,
    settings: SapSettings | None,
    threads: int,
    v: ArrayLike,
    m: int,
    v_bar: ArrayLike | None,
    gamma_bar: ArrayLike | None,
    group_gamma_bar: ArrayLike | None,
    spin_gamma_bar: ArrayLike | None,
    frozen: bool,
    matrices: bool,
    /,
) -> tuple[dict[str, Any], NDArray[np.int32], _Float]: ...
def jvp_varied(
    problem: Problem,
    numbers: dict[str, Any],
    n: int,
    settings: SapSettings | None,
    threads: int,
    v: ArrayLike,
    m: int,
    change: dict[str, Any],
    frozen: bool,
    /,
) -> tuple[_Float, _Float, _Float, _Float, NDArray[np.int32], _Float]: ...
def linearize_batch(calls: list[Any], threads: int, /) -> list[Any]: ...
def vjp_batch(calls: list[Any], threads: int, /) -> list[tuple[dict[str, Any], float]]: ...
def jvp_batch(
    calls: list[Any], threads: int, /
) -> list[tuple[_Float, _Float, _Float, _Float, float]]: ...

@disjoint_base
class Sensitivity:
    def __new__(
        cls,
        problem: Problem,
        settings: SapSettings | None,
        v: ArrayLike,
        core_scale: ArrayLike | None,
    ) -> Self: ...
    @property
    def regions(self) -> NDArray[np.int8]: ...
    @property
    def distance(self) -> _Float: ...
    @property
    def row_distance(self) -> _Float: ...
    @property
    def momentum_error(self) -> float: ...
    @property
    def tree(self) -> int: ...
    def vjp(
        self,
        m: int,
        v_bar: _Float | None,
        gamma_bar: _Float | None,
        group_gamma_bar: _Float | None,
        spin_gamma_bar: _Float | None,
        frozen: bool,
        matrices: bool,
        /,
    ) -> tuple[dict[str, Any], float]: ...
    def jvp(
        self, m: int, change: dict[str, Any], frozen: bool, /
    ) -> tuple[_Float, _Float, _Float, _Float, float]: ...

@final
class InverseDynamics:
    def __new__(
        cls,
        actuated: ArrayLike,
        dt: float,
        controller: str,
        stage_one: str,
        edges: int,
        nearest: int,
        torque_limit: ArrayLike | None,
        torque_regularization: float,
        force_regularization: float,
        smoothing: float,
        rank_tolerance: float,
        /,
    ) -> Self: ...
    def solve(
        self,
        M: ArrayLike,
        h: ArrayLike,
        v: ArrayLike,
        qdd_desired: ArrayLike,
        J_n: ArrayLike,
        J_t: ArrayLike,
        mu: ArrayLike,
        phi: ArrayLike | None,
        ids: ArrayLike | None,
        /,
    ) -> tuple[
        int, _Float, _Float, _Float, _Float, NDArray[np.int8], tuple[float, ...], int, float
    ]: ...

@final
class TaskSolver:
    def __new__(
        cls,
        actuated: ArrayLike,
        edges: int,
        force_weight: float,
        acceleration_weight: float,
        /,
    ) -> Self: ...
    def solve(
        self,
        M: ArrayLike,
        h: ArrayLike,
        T: ArrayLike,
        t: ArrayLike,
        w: ArrayLike,
        J: ArrayLike,
        mu: ArrayLike,
        lower: ArrayLike | None,
        upper: ArrayLike | None,
        active: NDArray[np.int8] | None,
        /,
    ) -> tuple[int, _Float, _Float, _Float, NDArray[np.int8], int, float]: ...

def held_contacts(
    geom: NDArray[Any],
    dist: _Float,
    pos: _Float,
    frame: _Float,
    friction: _Float,
    dim: NDArray[Any],
    geom_bodyid: NDArray[Any],
    xpos: _Float,
    xmat: _Float,
    hysteresis: float,
    held: bytes,
    /,
) -> tuple[
    bytes, bool, NDArray[np.int32], NDArray[np.int32], _Float, _Float, _Float, _Float, _Float
]: ...
def bound_torques(
    qpos: ArrayLike,
    qvel: ArrayLike,
    place: ArrayLike,
    dof: ArrayLike,
    bias: ArrayLike,
    by_control: ArrayLike,
    by_force: ArrayLike,
    /,
) -> tuple[_Float, _Float, _Float]: ...

@final
class Mechanism:
    def __new__(
        cls,
        last_dof: ArrayLike,
        root: ArrayLike,
        dof_parent: ArrayLike,
        M_rownnz: ArrayLike,
        M_rowadr: ArrayLike,
        M_colind: ArrayLike,
        /,
    ) -> Self: ...
    def task_program(
        self,
        state: tuple[ArrayLike, ...],
        M: ArrayLike,
        loads: tuple[ArrayLike, ...],
        contacts: tuple[ArrayLike, ...],
        hold: tuple[float, float, bool],
        plan: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike | None] | None,
        tasks: tuple[tuple[Any, ...], ...],
        /,
    ) -> tuple[_Float, ...]: ...
    def bias_force(
        self, state: tuple[ArrayLike, ...], loads: tuple[ArrayLike, ...], /
    ) -> _Float: ...
    def mass_matrix(self, M: ArrayLike, /) -> _Float: ...

@final
class ByteWatch:
    def __new__(cls, owner: object, places: tuple[tuple[int, int], ...]) -> Self: ...
    def changed(self, /) -> bool: ...
    def changes(self, /) -> list[int]: ...
    def before(self, place: int, /) -> bytes: ...
    def accept(self, /) -> None: ...

@final
class PreparedStep:
    @property
    def start(self) -> float: ...
    @property
    def record(self) -> NDArray[np.void]: ...
    def take(self, data: object, /) -> Literal[True] | _Ended | None: ...

@final
class ModelStepper:
    def __new__(
        cls,
        forest: Mapping[str, NDArray[Any]],
        dt: float,
        sigma: float,
        beta: float,
        delassus: str,
        cone: str,
        acceleration_limit: float,
        settings: object,
        elements: Mapping[str, Any] | None = None,
        speculative: bool = False,
        release_speed: float = ...,
        release_rate: float = ...,
        slip_speed: float = ...,
        slip_rate: float = ...,
        stiction_speed: float = ...,
        fields: tuple[NDArray[np.int32], NDArray[np.int32], _Float, tuple[object, ...]]
        | None = None,
    ) -> Self: ...
    def accept_options(self, api: object, model: object, /) -> None: ...
    def start(self, api: object, model: object, data: object, /) -> _Failure: ...
    def find_forces(self, api: object, model: object, data: object, /) -> _Failure: ...
    def finish(
        self,
        api: object,
        model: object,
        data: object,
        memory: FrictionMemory | None,
        record: NDArray[np.void],
        /,
    ) -> _Ended: ...
    def evaluate(self, api: object, model: object, data: object, /) -> _Failure: ...
    def solve(self, api: object, model: object, data: object, /) -> _Failure: ...
    def linearize(
        self,
        api: object,
        model: object,
        data: object,
        ctrllimited: NDArray[np.bool_],
        ctrlrange: _Float,
        states: tuple[_Float, _Float, _Float, _Float],
        step: float,
        soften: float,
        sensors: bool,
        /,
    ) -> tuple[
        _Failure,
        int,
        _Float,
        _Float,
        _Float | None,
        _Float | None,
        _Float,
        _Float,
        _Float,
        _Float,
        NDArray[np.int32],
        NDArray[np.bool_],
        NDArray[np.bool_],
        NDArray[np.bool_],
    ]: ...
    def tangents(
        self,
        api: object,
        model: object,
        data: object,
        aside: object,
        changed: tuple[Any, ...],
        numbers: NDArray[np.int32],
        x: _Float,
        steps: int,
        ctrl: _Float | None,
        sensors: bool,
        soften: float,
        /,
    ) -> tuple[Any, ...]: ...
    def gather(
        self,
        api: object,
        model: object,
        data: object,
        qvel: _Float | None = None,
        memory: FrictionMemory | None = None,
        /,
    ) -> _Failure: ...
    def remember(
        self, api: object, model: object, data: object, memory: FrictionMemory | None, /
    ) -> None: ...
    def write(
        self,
        api: object,
        model: object,
        data: object,
        v: _Float,
        gamma: _Float,
        group_gamma: _Float,
        spin_gamma: _Float,
        efc_force: _Float,
        /,
    ) -> _Failure: ...
    def run(
        self,
        api: object,
        model: object,
        data: object,
        steps: int,
        records: NDArray[np.void] | None,
        signals: bool,
        memory: FrictionMemory | None = None,
        recording: dict[str, Any] | None = None,
        accuracy: tuple[float, int, int, int, _Float, NDArray[np.void]] | None = None,
        /,
    ) -> _Ended: ...
    def prepare(
        self,
        api: object,
        model: object,
        data: object,
        memory: FrictionMemory | None,
        watches: tuple[ByteWatch, ...],
        forget: Callable[[object], object],
        record: NDArray[np.void],
        /,
    ) -> PreparedStep: ...
    def set_speeds(
        self,
        release_speed: float,
        release_rate: float,
        slip_speed: float,
        slip_rate: float,
        stiction_speed: float,
        /,
    ) -> None: ...
    def constants(self) -> dict[str, _Float]: ...
    def counts(self) -> tuple[int, int, int, int]: ...
    def fault(self) -> tuple[int, int]: ...
    def problem(self) -> dict[str, Any]: ...
    def groups(self) -> dict[str, NDArray[Any]]: ...
    def body_forces(self) -> _Float: ...
    def contacts(self) -> NDArray[np.void]: ...
    def patches(self) -> dict[str, NDArray[Any]]: ...
    def result(self) -> Solution | None: ...

_Worker = tuple[ModelStepper, object, object, FrictionMemory | None]

@final
class WorldBatch:
    def __new__(cls, api: object, workers: list[_Worker]) -> Self: ...
    def bind(
        self,
        n_worlds: int,
        fields: tuple[tuple[tuple[NDArray[Any], ...], NDArray[Any], str, bool], ...],
        /,
    ) -> None: ...
    def accept_options(self) -> None: ...
    def memory_size(self, n: int, /) -> int: ...
    def run(
        self,
        *,
        n_worlds: int,
        state_spec: int,
        state: _Float | None = None,
        ids: NDArray[np.int32] | None = None,
        steps: int = 0,
        stage: int = 0,
        status: NDArray[np.uint8] | None = None,
        last_records: NDArray[np.void] | None = None,
        body_forces: _Float | None = None,
        speeds: _Float | None = None,
        contacts: tuple[ContactLog, ...] | None = None,
        remembered: int = 0,
        chunk: int = 1,
        signals: bool = False,
        failed: Callable[[int, int, int, Any], object] | None = None,
        keys: NDArray[np.int32] | None = None,
        start: _Float | None = None,
        overlay: _Float | None = None,
        overlay_spec: int = 0,
        control: _Float | None = None,
        control_spec: int = 0,
        records: tuple[tuple[tuple[NDArray[Any], ...] | None, int, NDArray[Any]], ...] = (),
        step_records: NDArray[np.void] | None = None,
        taken: NDArray[np.int64] | None = None,
        acts: Callable[[int, int, int, memoryview], object] | None = None,
        behind: int = 0,
    ) -> tuple[int, int]: ...

@final
class ContactLog:
    def __new__(cls) -> Self: ...
    def append(self, contacts: NDArray[np.void], /) -> None: ...
    def clear(self) -> None: ...
    def array(self) -> NDArray[np.void]: ...

@final
class ContactReader:
    def __new__(
        cls,
        source: ModelStepper | tuple[ContactLog, ...],
        column: NDArray[np.int32],
        meets: NDArray[np.bool_],
        acting: NDArray[np.bool_],
        force: _Float,
        air_time: _Float,
        since: _Float,
    ) -> Self: ...
    def read(self, time: _Float | None = None, /) -> None: ...

@final
class FrictionMemory:
    def __new__(cls, stepper: ModelStepper) -> Self: ...
