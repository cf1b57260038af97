"""The Python face of the solver: settings, solutions, calls, errors, what an import costs."""

from __future__ import annotations

import ast
import copy
import dataclasses
import doctest
import importlib
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import helpers
import sapwood
from sapwood import Region, SapSettings, SapSolver, Status, _core

PUBLIC_MODULES = ["contact_law", "io", "problem", "settings", "solution", "solver"]


@pytest.fixture
def problem(rng):
    return helpers.random_problem(rng)


def exactly(text):
    """Pattern that only the whole text matches."""
    return f"^{re.escape(text)}$"


# ---- settings ----------------------------------------------------------------------------------


def test_defaults_are_those_of_the_core():
    assert dataclasses.asdict(SapSettings()) == _core.default_settings()


SETTINGS = [
    ({"relative_tolerance": -1e-3}, ValueError, "relative_tolerance = -0.001: "),
    ({"relative_tolerance": np.nan}, ValueError, "relative_tolerance: "),
    ({"relative_tolerance": "1e-3"}, TypeError, "relative_tolerance must hold real numbers"),
    ({"absolute_tolerance": -1.0}, ValueError, "absolute_tolerance = -1: "),
    ({"max_iterations": -1}, ValueError, "max_iterations = -1: "),
    ({"max_iterations": 2**31}, ValueError, "max_iterations = 2147483648: does not fit in int32"),
    ({"max_iterations": 10**30}, ValueError, "max_iterations = 1" + 30 * "0" + ": does not fit"),
    ({"max_iterations": 10.0}, TypeError, "max_iterations must be an integer, not float"),
    ({"max_iterations": True}, TypeError, "max_iterations must be an integer, not bool"),
    ({"line_search": "armijo"}, ValueError, "line_search = 'armijo': must be one of exact, back"),
    ({"line_search": 1}, TypeError, "line_search must be a str, not int"),
    ({"line_search_tolerance": np.inf}, ValueError, "line_search_tolerance = inf: "),
    ({"line_search_max_trials": 0}, ValueError, "line_search_max_trials = 0: "),
    ({"max_step": 0.0}, ValueError, "max_step = 0: "),
    ({"armijo_rho": 1.0}, ValueError, "armijo_rho = 1: "),
    ({"armijo_c": -1.0}, ValueError, "armijo_c = -1: "),
    ({"factorization": "qr"}, ValueError, "factorization = 'qr': must be one of supernodal, dense"),
    ({"soft_norm": -1.0}, ValueError, "soft_norm = -1: "),
    ({"islands": 1}, TypeError, "islands must be a bool, not int"),
    ({"record_history": None}, TypeError, "record_history must be a bool, not NoneType"),
]


@pytest.mark.parametrize(("changes", "kind", "text"), SETTINGS, ids=[text for *_, text in SETTINGS])
def test_wrong_setting_is_named(changes, kind, text):
    with pytest.raises(kind, match=f"^{re.escape(text)}"):
        SapSettings(**changes)


@pytest.mark.parametrize("name", ["supernodal", "dense", "cholmod"])
def test_factorizations_are_those_that_work(name, problem):
    if name in sapwood.factorizations():
        solution = sapwood.solve(problem, settings=SapSettings(factorization=name))
        assert solution.status is Status.converged
    else:
        with pytest.raises(
            ValueError, match=exactly(f"factorization = '{name}': not in this build")
        ):
            SapSettings(factorization=name)


def test_supernodal_factorization_is_always_there():
    assert "supernodal" in sapwood.factorizations()


def test_settings_are_values():
    a = SapSettings(
        relative_tolerance=np.float32(0.5), max_iterations=np.int64(7), islands=np.False_
    )
    b = SapSettings(relative_tolerance=0.5, max_iterations=7, islands=False)
    assert a == b
    assert hash(a) == hash(b)
    assert repr(a) == "SapSettings(relative_tolerance=0.5, max_iterations=7, islands=False)"
    assert [type(a.relative_tolerance), type(a.max_iterations), type(a.islands)] == [
        float,
        int,
        bool,
    ]
    assert eval(repr(a), {"SapSettings": SapSettings}) == a
    assert pickle.loads(pickle.dumps(a)) == copy.deepcopy(a) == a
    assert dataclasses.replace(a, islands=True) != a
    with pytest.raises(dataclasses.FrozenInstanceError):
        a.islands = True


# ---- solve -------------------------------------------------------------------------------------


def test_solution_has_the_shapes_and_types_it_promises(problem):
    solution = sapwood.solve(problem)
    n = problem.n_contacts
    assert solution.v.shape == (problem.nv,)
    assert solution.gamma.shape == solution.v_c.shape == (n, 3)
    assert solution.regions.shape == (n,)
    assert solution.regions.dtype == np.int8
    assert solution.status is Status.converged
    assert solution.history is None
    assert set(solution.timing) == {"assembly", "factor", "line_search", "symbolic", "seconds"}
    parts = sum(t for name, t in solution.timing.items() if name != "seconds")
    assert 0.0 <= parts <= solution.timing["seconds"]
    assert solution.tree == -1
    assert solution.n_islands >= 1
    assert not solution.symbolic_reused


def test_solution_agrees_with_the_problem(problem):
    solution = sapwood.solve(problem)
    J = problem.to_dense()[1]
    np.testing.assert_allclose(solution.v_c.ravel(), J @ solution.v, rtol=0, atol=1e-12)
    v_hat = helpers.bias(problem)
    R = np.stack([problem.R_t, problem.R_t, problem.R_n], axis=1)
    law = sapwood.project((v_hat - solution.v_c) / R, problem.mu, problem.R_t, problem.R_n)
    np.testing.assert_allclose(solution.gamma, law.gamma, rtol=1e-9, atol=1e-9)
    assert np.array_equal(solution.regions, law.regions)


def test_guess_is_that_of_the_call_then_of_the_problem_then_v_star(problem):
    settings = SapSettings(max_iterations=0)
    given = np.full(problem.nv, 0.25)
    assert np.array_equal(sapwood.solve(problem, given, settings).v, given)
    own = helpers.rebuild(problem, v_guess=2 * given)
    assert np.array_equal(sapwood.solve(own, given, settings).v, given)
    assert np.array_equal(sapwood.solve(own, settings=settings).v, 2 * given)
    assert np.array_equal(sapwood.solve(problem, settings=settings).v, problem.v_star)


@pytest.mark.parametrize(
    ("settings", "status"),
    [
        (SapSettings(max_iterations=1, relative_tolerance=1e-10), Status.iteration_limit),
        (SapSettings(relative_tolerance=0.0, absolute_tolerance=0.0), Status.stalled),
        (SapSettings(), Status.converged),
    ],
    ids=str,
)
def test_outcomes_are_values(settings, status, problem):
    assert sapwood.solve(problem, settings=settings).status is status


def test_symbolic_work_is_kept_while_the_graph_is_the_same(problem):
    solver = SapSolver()
    assert not solver.solve(problem).symbolic_reused
    again = solver.solve(problem)
    assert again.symbolic_reused
    assert again == sapwood.solve(problem)


def test_history_has_one_record_per_iterate(problem):
    solution = sapwood.solve(problem, settings=SapSettings(record_history=True, islands=False))
    history = solution.history
    names = ("island", "iteration", "trials", "step", "cost", "decrease", "momentum_error")
    assert history.dtype.names == names
    assert history["iteration"].tolist() == list(range(solution.iterations + 1))
    assert history["trials"].sum() == solution.line_search_trials
    assert history["cost"][-1] == pytest.approx(solution.cost, rel=1e-9)
    assert history["step"][0] == 0.0
    np.testing.assert_allclose(
        -np.diff(history["cost"]), history["decrease"][1:], rtol=1e-6, atol=1e-9
    )


def test_results_belong_to_the_caller(problem):
    solver = SapSolver(SapSettings(record_history=True))
    first = solver.solve(problem)
    kept = copy.deepcopy(first)
    solver.solve(helpers.rebuild(problem, v_star=problem.v_star + 1.0))
    assert first == kept
    for array in (first.v, first.gamma, first.v_c, first.regions, first.history):
        assert array.flags.owndata
        assert array.flags.writeable


# ---- wrong arguments ---------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["solve", "evaluate", "along_line"])
def test_problem_of_a_wrong_type(call):
    extra = {"solve": (), "evaluate": ([0.0],), "along_line": ([0.0], [0.0], 0.0)}[call]
    with pytest.raises(TypeError, match=exactly("problem must be a ContactProblem, not dict")):
        getattr(SapSolver(), call)({}, *extra)


def test_settings_of_a_wrong_type(problem):
    text = exactly("settings must be a SapSettings, not dict")
    with pytest.raises(TypeError, match=text):
        sapwood.solve(problem, settings={})
    with pytest.raises(TypeError, match=text):
        SapSolver({})
    with pytest.raises(TypeError, match=text):
        _core.Solver({})


def test_wrong_vectors_are_named(problem):
    solver = SapSolver()
    nv = problem.nv
    good, short = np.zeros(nv), np.zeros(nv - 1)
    infinite = np.where(np.arange(nv) == 3, -np.inf, 0.0)
    calls = {
        "v_guess": lambda x: solver.solve(problem, x),
        "v": lambda x: solver.evaluate(problem, x),
        "dv": lambda x: solver.along_line(problem, good, x, 0.0),
    }
    for name, call in calls.items():
        with pytest.raises(
            ValueError, match=exactly(f"{name} has shape ({nv - 1},), expected ({nv},)")
        ):
            call(short)
        with pytest.raises(ValueError, match=exactly(f"{name}[3] = -inf: must be finite")):
            call(infinite)
        with pytest.raises(
            TypeError, match=exactly(f"{name} must hold real numbers, not complex128")
        ):
            call(good + 0j)
    with pytest.raises(ValueError, match=exactly("alpha[1] = nan: must be finite")):
        solver.along_line(problem, good, good, [0.0, np.nan])


# ---- evaluate, along a line --------------------------------------------------------------------


def test_evaluate_and_along_line_agree(problem, rng):
    solver = SapSolver()
    v = rng.standard_normal(problem.nv)
    at = solver.evaluate(problem, v)
    assert at.gradient.shape == at.direction.shape == (problem.nv,)
    assert at.hessian.shape == (problem.nv, problem.nv)
    np.testing.assert_allclose(at.hessian @ at.direction, -at.gradient, rtol=0, atol=1e-8)
    line = solver.along_line(problem, v, at.direction, 0.0)
    assert [np.shape(x) for x in line] == [(), (), ()]
    assert line.difference == 0.0
    assert line.slope == pytest.approx(at.gradient @ at.direction, rel=1e-9)
    assert line.curvature == pytest.approx(at.direction @ at.hessian @ at.direction, rel=1e-9)


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3)])
def test_along_line_keeps_the_shape_of_alpha(shape, problem, rng):
    v, dv = rng.standard_normal((2, problem.nv))
    line = SapSolver().along_line(problem, v, dv, np.full(shape, 0.5))
    assert [x.shape for x in line] == [shape] * 3


# ---- the contact law ---------------------------------------------------------------------------


def test_law_broadcasts_over_leading_axes(rng):
    y = rng.standard_normal((4, 1, 3))
    mu, R_t, R_n = np.array([0.0, 0.5, 1.0]), 1e-2, rng.uniform(0.1, 1.0, (4, 1))
    law = sapwood.project(y, mu, R_t, R_n)
    cost = sapwood.contact_cost(y, mu, R_t, R_n)
    assert law.gamma.shape == (4, 3, 3)
    assert law.G.shape == (4, 3, 3, 3)
    assert law.regions.shape == cost.shape == (4, 3)
    for i, j in np.ndindex(4, 3):
        one = sapwood.project(y[i, 0], mu[j], R_t, R_n[i, 0])
        assert np.array_equal(one.gamma, law.gamma[i, j])
        assert np.array_equal(one.G, law.G[i, j])
        assert one.regions == law.regions[i, j]
        assert sapwood.contact_cost(y[i, 0], mu[j], R_t, R_n[i, 0]) == cost[i, j]
    assert sapwood.project(np.zeros((0, 3)), 0.5, 1.0, 1.0).gamma.shape == (0, 3)


LAW = [
    ((np.ones((2, 3)), [0.5, -0.5], 1.0, 1.0), "mu[1] = -0.5: must be finite and >= 0"),
    ((np.ones(3), 0.5, 0.0, 1.0), "R_t = 0: must be finite and > 0"),
    ((np.ones(3), 0.5, 1.0, np.inf), "R_n = inf: must be finite and > 0"),
    (([[1.0, np.nan, 0.0]], 0.5, 1.0, 1.0), "y[0, 1] = nan: must be finite"),
    ((np.ones((3, 2)), 0.5, 1.0, 1.0), "y has shape (3, 2), expected (..., 3)"),
    ((1.0, 0.5, 1.0, 1.0), "y has shape (), expected (..., 3)"),
    (
        (np.ones((2, 3)), [0.5] * 3, 1.0, 1.0),
        "mu has shape (3,), which does not broadcast with (2,)",
    ),
    ((np.ones(3), 0.5, 1.0, 1.0, -1.0), "soft_norm = -1: must be finite and >= 0"),
]


@pytest.mark.parametrize("function", [sapwood.project, sapwood.contact_cost])
@pytest.mark.parametrize(("arguments", "text"), LAW, ids=[text for _, text in LAW])
def test_law_names_what_is_wrong(function, arguments, text):
    with pytest.raises(ValueError, match=exactly(text)):
        function(*arguments)


# ---- as values ---------------------------------------------------------------------------------


def test_solution_prints_a_short_report(problem):
    solution = sapwood.solve(problem)
    assert repr(solution).startswith("Solution(status=converged, iterations=")
    report = str(solution)
    assert report.startswith(f"converged after {solution.iterations} iterations")
    assert f"{problem.nv} velocities, {problem.n_contacts} contacts" in report
    assert f"{np.count_nonzero(solution.regions == Region.sliding)} sliding" in report
    assert len(report.splitlines()) == 5
    assert "breakdown at tree 3 after" in str(
        dataclasses.replace(solution, status=Status.breakdown, tree=3)
    )


def test_solution_pickles_copies_and_compares(problem):
    solution = sapwood.solve(problem, settings=SapSettings(record_history=True))
    assert pickle.loads(pickle.dumps(solution)) == solution
    assert copy.deepcopy(solution) == solution
    assert dataclasses.replace(solution, iterations=99) != solution
    assert dataclasses.replace(solution, v=solution.v + 1e-16 + 1e-14) != solution
    assert dataclasses.replace(solution, timing={}) == solution
    assert solution != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(solution)


def test_solver_pickles_as_its_settings(problem):
    solver = SapSolver(SapSettings(relative_tolerance=1e-9))
    expected = solver.solve(problem)
    for other in (pickle.loads(pickle.dumps(solver)), copy.copy(solver), copy.deepcopy(solver)):
        assert other is not solver
        assert other.settings == solver.settings
        assert other.solve(problem) == expected
    assert repr(solver) == "SapSolver(SapSettings(relative_tolerance=1e-09))"
    with pytest.raises(AttributeError):
        solver.settings = SapSettings()


def test_enums_print_their_names():
    assert str(Status.iteration_limit) == f"{Status.iteration_limit}" == "iteration_limit"
    assert str(Region(2)) == "sliding"


# ---- garbage -----------------------------------------------------------------------------------

ANY_ARRAY = hnp.arrays(
    dtype=st.one_of(hnp.scalar_dtypes(), hnp.array_dtypes(max_size=2), st.just(np.dtype(object))),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7),
)
NUMBERS = st.one_of(st.integers(), st.floats(), st.integers(-2, 7), st.floats(-2.0, 2.0))
GARBAGE = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    st.complex_numbers(),
    st.text(max_size=3),
    st.binary(max_size=20),
    st.lists(NUMBERS, max_size=12),
    st.lists(st.lists(NUMBERS, max_size=4), max_size=4),
    st.dictionaries(st.text(max_size=2), NUMBERS, max_size=2),
    ANY_ARRAY,
    st.sampled_from(
        [object(), np.float64, [[]], np.array(None), range(6), memoryview(b"abcdefgh")]
    ),
)
LAWFUL = {
    "tree_nv": [3, 3],
    "A": np.concatenate([np.eye(3).ravel(), 2 * np.eye(3).ravel()]),
    "v_star": -np.ones(6),
    "tree_a": [0, 0],
    "tree_b": [-1, 1],
    "J": np.concatenate([np.eye(3).ravel(), np.eye(3).ravel(), -np.eye(3).ravel()]),
    "mu": [0.5, 0.7],
    "dt": 0.01,
    "phi0": [0.0, 0.0],
    "k": [1e5, 1e5],
    "tau_d": [0.0, 0.0],
}
ARGUMENTS = list(inspect.signature(sapwood.ContactProblem).parameters)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(changes=st.dictionaries(st.sampled_from(ARGUMENTS), GARBAGE, min_size=1, max_size=4))
def test_garbage_problem_is_refused_or_solved(changes):
    try:
        problem = sapwood.ContactProblem(**{**LAWFUL, **changes})
    except (TypeError, ValueError) as error:
        refusal = str(error)
        assert refusal
        return
    assert sapwood.solve(problem).v.shape == (problem.nv,)


@given(changes=st.dictionaries(st.sampled_from(ARGUMENTS), GARBAGE, min_size=1, max_size=3))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_garbage_in_place_of_one_number(changes):
    # right shapes with wild entries get further than garbage of any shape
    arrays = {k: np.array(v, dtype=float) for k, v in LAWFUL.items() if k not in ("dt", "tree_nv")}
    for name in changes:
        if name in arrays:
            wild = np.resize(
                np.frombuffer(repr(changes[name]).encode() * 8, np.uint8), 8 * arrays[name].size
            )
            arrays[name] = wild.view(float).reshape(arrays[name].shape)
    arrays["tree_a"], arrays["tree_b"] = LAWFUL["tree_a"], LAWFUL["tree_b"]
    try:
        problem = sapwood.ContactProblem(**{**LAWFUL, **arrays})
    except ValueError as error:
        assert str(error)  # noqa: PT017
        return
    assert sapwood.solve(problem).status in Status


@given(st.dictionaries(st.sampled_from(list(_core.default_settings())), GARBAGE, min_size=1))
def test_garbage_settings_are_refused_or_work(changes):
    try:
        settings = SapSettings(**changes)
    except (TypeError, ValueError) as error:
        assert any(str(error).startswith(name) for name in changes)  # noqa: PT017
        return
    settings = dataclasses.replace(settings, max_iterations=min(settings.max_iterations, 100))
    problem = sapwood.ContactProblem(**LAWFUL)
    assert sapwood.solve(problem, settings=settings).v.shape == (6,)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(y=GARBAGE, mu=GARBAGE, R_t=GARBAGE, R_n=GARBAGE, soft_norm=GARBAGE)
def test_garbage_contacts_are_refused_or_projected(y, mu, R_t, R_n, soft_norm):
    try:
        law = sapwood.project(y, mu, R_t, R_n, soft_norm)
    except (TypeError, ValueError) as error:
        assert str(error)  # noqa: PT017
        return
    assert law.gamma.shape[-1] == 3


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(v_guess=GARBAGE, alpha=GARBAGE)
def test_garbage_velocities_are_refused_or_used(v_guess, alpha):
    problem, solver = sapwood.ContactProblem(**LAWFUL), SapSolver()
    for call in (
        lambda: solver.solve(problem, v_guess).v,
        lambda: solver.evaluate(problem, v_guess).gradient,
        lambda: solver.along_line(problem, LAWFUL["v_star"], LAWFUL["v_star"], alpha).slope,
    ):
        try:
            result = call()
        except (TypeError, ValueError) as error:
            assert str(error)  # noqa: PT017
        else:
            assert isinstance(result, np.ndarray)


# ---- the module --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(f"sapwood.{name}")
    names = {"np": np, **{n: getattr(sapwood, n) for n in sapwood.__all__}}
    result = doctest.testmod(module, extraglobs=names)
    assert result.failed == 0


def test_some_docstrings_have_examples():
    finder = doctest.DocTestFinder()
    modules = [importlib.import_module(f"sapwood.{name}") for name in PUBLIC_MODULES]
    assert sum(len(test.examples) for m in modules for test in finder.find(m)) >= 5


@pytest.mark.parametrize("name", sapwood.__all__)
def test_everything_public_is_documented(name):
    item = getattr(sapwood, name)
    if inspect.isclass(item) or inspect.isfunction(item):
        assert inspect.getdoc(item)


def test_stub_names_what_the_module_has():
    stub = ast.parse(Path(sapwood.__file__).with_name("_core.pyi").read_text())
    named = {n.name: n for n in stub.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert {name for name in named if not name.startswith("_")} == public
    for name in public:
        if isinstance(named[name], ast.ClassDef):
            members = {n.name for n in named[name].body if isinstance(n, ast.FunctionDef)}
            real = {n for n in vars(getattr(_core, name)) if not n.startswith("_")}
            assert members - {"__init__"} == real


IMPORTED = """
import sys, time
import numpy
before = set(sys.modules)
start = time.perf_counter()
import sapwood
print(time.perf_counter() - start)
print(*sorted({name.split(".")[0] for name in set(sys.modules) - before}))
"""


def test_import_needs_numpy_alone_and_is_fast():
    # the smallest of some times is the one without the noise of a busy machine
    seconds = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True
        )
        first, second = done.stdout.splitlines()
        seconds.append(float(first))
        assert set(second.split()) - sys.stdlib_module_names == {"numpy", "sapwood"}
    assert min(seconds) < 0.1


IMPORT_INSIDE = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
code = "try:\\n import sapwood\\nexcept ImportError as error:\\n print(error)"
interpreters.run_string(interpreters.create(), code)
"""


def test_sub_interpreters_are_refused():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_INSIDE], capture_output=True, text=True, check=True
    )
    assert re.search("not support (loading in )?sub-?interpreters", done.stdout)
