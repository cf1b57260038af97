"""The Python face of the solver: settings, solutions, calls and their errors."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import re
import types
import weakref
import xml.etree.ElementTree

import numpy as np
import pytest

import helpers
import sapwood
from point_masses import exactly
from sapwood import Region, SapSettings, SapSolver, Solution, Status, _core


@pytest.fixture
def problem(rng):
    return helpers.random_problem(rng)


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
    ({"start": "stick"}, ValueError, "start = 'stick': must be one of newton, sticking"),
    ({"start_threshold": -1.0}, ValueError, "start_threshold = -1: "),
    ({"turning": 1}, TypeError, "turning must be a bool, not int"),
    ({"soft_norm": -1.0}, ValueError, "soft_norm = -1: "),
    ({"islands": 1}, TypeError, "islands must be a bool, not int"),
    ({"record_history": None}, TypeError, "record_history must be a bool, not NoneType"),
]


@pytest.mark.parametrize(("changes", "kind", "text"), SETTINGS, ids=[text for *_, text in SETTINGS])
def test_wrong_setting_is_named(changes, kind, text):
    with pytest.raises(kind, match=f"^{re.escape(text)}"):
        SapSettings(**changes)


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
    # trees without contact get v_star from any guess
    touched = np.repeat(helpers.touched_trees(problem), problem.tree_nv)

    def start(*arguments):
        return sapwood.solve(*arguments, settings=settings).v[touched]

    given = np.full(problem.nv, 0.25)
    assert np.array_equal(start(problem, given), given[touched])
    own = helpers.rebuild(problem, v_guess=2 * given)
    assert np.array_equal(start(own, given), given[touched])
    assert np.array_equal(start(own), 2 * given[touched])
    assert np.array_equal(start(problem), problem.v_star[touched])


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


def test_friction_comes_before_that_of_the_settings(problem):
    settings = SapSettings(relative_tolerance=1e-9, friction="coulomb")
    convex = SapSettings(relative_tolerance=1e-9)
    assert SapSolver(settings, friction="convex").settings == convex
    assert SapSolver(settings).settings is settings
    assert SapSolver(friction="lagged").settings == SapSettings(friction="lagged")
    expected = sapwood.solve(problem, settings=convex)
    assert sapwood.solve(problem, settings=settings, friction="convex") == expected
    assert sapwood.solve_batch([problem], settings=settings, friction="convex") == [expected]
    for call in (SapSolver, lambda **options: sapwood.solve_batch([], **options)):
        with pytest.raises(ValueError, match="friction = 'Coulomb'"):
            call(friction="Coulomb")
        with pytest.raises(TypeError, match="settings must be a SapSettings, not dict"):
            call(settings={}, friction="convex")


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


def test_settings_that_are_not_given_are_made_once():
    assert sapwood.SapSolver().settings is sapwood.SapSolver(None).settings
    assert sapwood.SapSolver().settings == SapSettings()


def test_settings_of_a_wrong_type(problem):
    text = exactly("settings must be a SapSettings, not dict")
    with pytest.raises(TypeError, match=text):
        sapwood.solve(problem, settings={})
    with pytest.raises(TypeError, match=text):
        SapSolver({})
    with pytest.raises(TypeError, match=text):
        _core.Solver({})
    with pytest.raises(TypeError, match=text):
        sapwood.solve_batch([problem], settings={})
    pretended = types.SimpleNamespace(**dataclasses.asdict(SapSettings()))
    with pytest.raises(TypeError, match=r"not types\.SimpleNamespace$"):
        SapSolver(pretended)


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


def test_iterations_are_printed_on_request(problem, capsys):
    solution = sapwood.solve(problem, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines == solution.history_table().splitlines()
    assert len(lines) == 1 + len(solution.history)
    assert solution == sapwood.solve(problem, settings=SapSettings(record_history=True))
    quiet = sapwood.solve(problem)
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="record_history=True"):
        quiet.history_table()


def test_notebooks_show_tables(problem):
    for shown in (problem, sapwood.solve(problem), sapwood.solve(problem, friction="coulomb")):
        html = shown._repr_html_()
        root = xml.etree.ElementTree.fromstring(html)
        assert [row.tag for row in root] == ["tr"] * len(root)
        assert root[0][0].text == type(shown).__name__
    assert "Coulomb" in html
    named = sapwood.ContactProblem([1], [1.0], [0.0], dt=0.01, source="<b>&")
    assert "&lt;b&gt;&amp;" in named._repr_html_()


def test_iterations_are_drawn(problem):
    pytest.importorskip("matplotlib")
    solution = sapwood.solve(problem, settings=SapSettings(record_history=True))
    ax = solution.plot_history()
    drawn = np.concatenate([line.get_ydata() for line in ax.get_lines()])
    np.testing.assert_array_equal(drawn, solution.history["momentum_error"])
    assert solution.plot_history(ax) is ax
    with pytest.raises(ValueError, match="record_history=True"):
        sapwood.solve(problem).plot_history()


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


def test_solution_is_a_value_of_its_own(problem):
    solution = sapwood.solve(problem)
    assert solution.timing is solution.timing
    assert list(solution.timing) == ["assembly", "factor", "line_search", "symbolic", "seconds"]
    assert 0 < solution.timing["seconds"] < 10
    assert Solution(**dataclasses.asdict(solution)) == solution
    with pytest.raises(dataclasses.FrozenInstanceError):
        solution.cost = 0.0
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'timing'"):
        Solution(*[0] * 16)
    with pytest.raises(AttributeError):
        Solution.__new__(Solution).v  # noqa: B018
    with pytest.raises(TypeError, match="must be derived from SolutionValues"):
        _core.set_solution_types(dict, tuple, Status, len)


def test_solution_in_a_cycle_goes(problem):
    solution = sapwood.solve(problem)
    solution.timing["of"] = solution
    gone = weakref.ref(solution)
    del solution
    gc.collect()
    assert gone() is None


def test_results_compare_by_their_arrays(problem):
    solver, v = SapSolver(), problem.v_star
    results = {
        "project": lambda mu: sapwood.project(np.ones((2, 3)), mu, 0.1, 0.2),
        "evaluate": lambda mu: solver.evaluate(problem, v + mu),
        "along_line": lambda mu: solver.along_line(problem, v, v, [mu, 1.0]),
    }
    for make in results.values():
        one, same, other = make(0.5), make(0.5), make(0.25)
        assert (one == same) is True
        assert (one != same) is False
        assert (one == other) is False
        assert (one != other) is True
        assert one == tuple(same)
        assert tuple(same) == one
        assert one != tuple(same)[1:]
        assert one != 3
        assert pickle.loads(pickle.dumps(one)) == one
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)
    # shapes count, too
    assert sapwood.project(np.ones(3), 0.5, 0.1, 0.2) != sapwood.project(
        np.ones((1, 3)), 0.5, 0.1, 0.2
    )


def test_solver_pickles_as_its_settings(problem):
    solver = SapSolver(SapSettings(relative_tolerance=1e-9))
    expected = solver.solve(problem)
    for other in (pickle.loads(pickle.dumps(solver)), copy.copy(solver), copy.deepcopy(solver)):
        assert other is not solver
        assert other.settings == solver.settings
        assert other.solve(problem) == expected
    assert repr(solver) == "SapSolver(SapSettings(relative_tolerance=1e-09))"
    assert pickle.loads(pickle.dumps(SapSolver(threads=3))).threads == 3
    with pytest.raises(AttributeError):
        solver.settings = SapSettings()
    with pytest.raises(AttributeError):
        solver.threads = 2


def test_enums_print_their_names():
    assert str(Status.iteration_limit) == f"{Status.iteration_limit}" == "iteration_limit"
    assert str(Region(2)) == "sliding"
