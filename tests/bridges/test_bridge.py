"""The foundation of the bridges, without the packages that they lead to."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import sapwood
from bridged import SMALL, SMALL_NUMBERS, number_of, opened
from differentials import CASES, ROWS, settings_of
from sapwood import Differential, GroupDifferential, _core
from sapwood.bridge import _check, form_of


class Open(np.ndarray):
    """An array that is left open."""


def bridged(rng, name):
    """The form of a case, its numbers as a batch of two, and the case changed as the second is."""
    case = CASES[name](rng)
    arguments, _ = opened(case, lambda x: x.view(Open))
    groups, settings = arguments.pop("constraints"), arguments.pop("settings")
    is_open = lambda x: isinstance(x, Open)  # noqa: E731
    form, numbers = form_of(arguments, groups, is_open, settings, None, False)
    return case, form, [np.stack([1.02 * x, x]) for x in numbers]


@pytest.mark.parametrize("name", CASES)
def test_both_modes_are_those_of_a_solution(name, rng):
    case, form, numbers = bridged(rng, name)
    point = form.solve(*numbers)
    solution = case.solve(sensitivity=True)
    np.testing.assert_array_equal(point[0][1], solution.v)
    assert np.any(point[0][0] != solution.v)

    # two losses of each of two problems
    bars = [rng.standard_normal((3, 2, *shape)) for shape in form.shapes[:4]]
    kept = [x[None] for x in (*numbers, point[0], point[4])]
    found = form.vjp(*kept, *bars)
    for j in range(3):
        gradient = solution.vjp(**parts_of(form, *(bar[j, 1] for bar in bars)))
        for ours, field in zip(found, form.names, strict=True):
            theirs = number_of(gradient, *field)
            theirs = np.zeros(ours[j, 1].shape) if theirs is None else theirs
            size = np.abs(theirs).max(initial=0.0)
            np.testing.assert_allclose(ours[j, 1], theirs, rtol=1e-9, atol=1e-12 * size)

    # its transpose
    dots = [rng.standard_normal(x.shape) for x in found]
    changes = form.jvp(*kept, *dots)
    left = [a * b for a, b in zip(bars, changes, strict=True)]
    right = [a * b for a, b in zip(found, dots, strict=True)]
    sizes = sum(np.abs(x).sum() for x in (*left, *right))
    assert abs(sum(x.sum() for x in left) - sum(x.sum() for x in right)) <= 1e-9 * sizes


def alone(form, numbers, i):
    """The solution of one problem of a batch, with its derivatives."""
    problem = form._problem([x[i] for x in numbers])
    return sapwood.solve(problem, settings=form.settings, sensitivity=True)


def parts_of(form, v, gamma, rows, spin):
    """Arguments of a solution's vjp from numbers in its shape."""
    ends = np.cumsum(form.rows[:-1])
    return {
        "v_bar": v,
        "gamma_bar": gamma,
        "constraint_gamma_bars": np.split(rows, ends, axis=-1) if form.rows else None,
        "spin_gamma_bar": spin if spin.size else None,
    }


def assert_solution(form, expected, v, gamma, rows, spin):
    np.testing.assert_array_equal(v, expected.v)
    np.testing.assert_array_equal(gamma, expected.gamma)
    if form.rows:
        impulses = [getattr(group, "gamma", group) for group in expected.constraints]
        np.testing.assert_array_equal(rows, np.concatenate(impulses))
    if spin.size:
        np.testing.assert_array_equal(spin, expected.spin_gamma)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_has_the_bits_of_single_calls(name, threads, rng, monkeypatch):
    monkeypatch.setattr("sapwood.bridge.usable_processors", lambda: threads)
    _, form, numbers = bridged(rng, name)
    n = 5
    numbers = [np.stack([(1.0 + 0.03 * i) * x[0] for i in range(n)]) for x in numbers]
    v, *impulses, status = form.solve(*numbers)
    bars = [rng.standard_normal(x.shape) for x in (v, *impulses)]
    dots = [rng.standard_normal(x.shape) for x in numbers]
    pulled = form.vjp(*numbers, v, status, *bars)
    pushed = form.jvp(*numbers, v, status, *dots)
    for i in range(n):
        expected = alone(form, numbers, i)
        assert status[i] == expected.status
        assert_solution(form, expected, v[i], *(x[i] for x in impulses))
        gradient = expected.vjp(**parts_of(form, *(bar[i] for bar in bars)))
        for ours, field in zip(pulled, form.names, strict=True):
            theirs = number_of(gradient, *field)
            np.testing.assert_array_equal(ours[i], 0.0 if theirs is None else theirs)
        change = expected.jvp(change_of(form, [dot[i] for dot in dots], gradient))
        assert_solution(form, change, *(x[i] for x in pushed))


def change_of(form, dots, gradient):
    """A change of those numbers that the problem uses, which have a gradient."""
    own, groups = {}, [{} for _ in form.groups]
    for name, dot in zip(form.names, dots, strict=True):
        if number_of(gradient, *name) is not None:
            (own if name.group < 0 else groups[name.group])[name.field] = dot
    made = [
        GroupDifferential(**{field: x.pop(field) for field in ROWS if field in x}, parameters=x)
        for x in groups
    ]
    return Differential(**own, constraints=tuple(made))


# the second is rigid, so that its R follows from its effective mass
LIMIT = {
    "tree_a": [1, 0],
    "J": np.eye(1, 6, 2)[0] + np.eye(1, 6, 5)[0],
    "phi0": [0.003, -0.001],
    "k": [1e3, np.inf],
    "tau_d": [0.01, 0.0],
}


@pytest.mark.parametrize(
    ("group", "name"),
    [*((-1, name) for name in (*SMALL_NUMBERS, "dt", "sigma")), (0, "J"), (0, "phi0"), (0, "k")],
)
def test_a_number_that_varies_alone(group, name):
    own = {**SMALL, **SMALL_NUMBERS, "sigma": 2e-3}
    limit = dict(LIMIT)
    given = own if group < 0 else limit
    given[name] = np.asarray(given[name], float).view(Open)
    is_open = lambda x: isinstance(x, Open)  # noqa: E731
    form, (x,) = form_of(own, [(sapwood.JointLimits, limit)], is_open, None, None, False)
    numbers = np.stack([(1.0 + 0.1 * i) * x for i in range(3)])
    v, _, rows, _, status = form.solve(numbers)
    assert np.any(v[1] != v[2])
    (found,) = form.vjp(numbers, v, status, *(np.ones((3, *shape)) for shape in form.shapes[:4]))
    for i in range(3):
        expected = alone(form, [numbers], i)
        assert_solution(form, expected, v[i], expected.gamma, rows[i], np.zeros(0))
        bars = (np.ones(shape) for shape in form.shapes[:4])
        gradient = expected.vjp(**parts_of(form, *bars))
        np.testing.assert_array_equal(found[i], number_of(gradient, group, name))


def small_batch(n, *names):
    """The form of the small problem with these numbers open, and a batch of n of them."""
    arguments = {**SMALL, **SMALL_NUMBERS}
    for name in names:
        arguments[name] = np.asarray(arguments[name], float).view(Open)
    form, numbers = form_of(arguments, (), lambda x: isinstance(x, Open), None, None, False)
    return form, {
        field: np.stack([x] * n) for (_, field), x in zip(form.names, numbers, strict=True)
    }


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("mu", (2, 1), -0.25, r"mu\[1\] = -0\.25: must be >= 0"),
        ("v_star", (3, 0), np.nan, r"v_star\[0\]: must be finite"),
        ("A", (1, 4), -1.0, "A"),
        ("k", (2, 2), 0.0, r"k\[2\] = 0: must be > 0"),
        ("dt", (3,), 0.0, "dt = 0: must be finite and > 0"),
    ],
)
def test_wrong_numbers_of_a_batch_are_named(name, place, value, message):
    form, numbers = small_batch(4, "A", "v_star", "mu", "k", "dt")
    v, *_, status = form.solve(*numbers.values())
    numbers[name][place] = value
    bars = [np.zeros((4, *shape)) for shape in form.shapes[:4]]
    for call in (
        lambda: form.solve(*numbers.values()),
        lambda: form.vjp(*numbers.values(), v, status, *bars),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            call()
        assert caught.value.__notes__ == [f"in problems[{place[0]}]"]


def test_wrong_shapes_and_losses_of_a_batch_are_named():
    form, numbers = small_batch(2, "v_star")
    v, *_, status = form.solve(*numbers.values())
    with pytest.raises(ValueError, match=r"v_star has shape \(2, 5\), expected \(2, 6\)"):
        form.solve(numbers["v_star"][:, :5])
    bars = [np.zeros((2, *shape)) for shape in form.shapes[:4]]
    bars[0][1, 2] = np.nan
    with pytest.raises(ValueError, match=r"v\[1, 2\] = nan: must be finite"):
        form.vjp(*numbers.values(), v, status, *bars)


@pytest.mark.parametrize(("n", "threads"), [(-1, 1), (2, 0), (2**31, 1)])
def test_the_core_refuses_wrong_numbers_of_problems_and_threads(n, threads):
    problem = sapwood.ContactProblem(**SMALL, **SMALL_NUMBERS)._core
    with pytest.raises(ValueError, match="at least one thread"):
        _core.solve_varied(problem, {}, n, None, threads)


def test_a_core_beside_given_numbers_needs_its_energy():
    numbers = {**SMALL_NUMBERS, "R_t": np.full(3, 1e-3), "R_n": np.full(3, 1e-3)}
    numbers |= {"v_hat_n": np.zeros(3), "delta": np.full(3, 0.1)}
    problem = sapwood.ContactProblem(**SMALL, **numbers, core="log")._core
    with pytest.raises(TypeError, match="needs kappa"):
        _core.solve_varied(problem, {"delta": np.full((2, 3), 0.1)}, 2, None, 1)


def test_a_batch_of_no_problems():
    form, numbers = small_batch(1, "v_star", "mu")
    numbers = [x[:0] for x in numbers.values()]
    v, gamma, rows, spin, status = form.solve(*numbers)
    assert (v.shape, gamma.shape, status.shape) == ((0, 6), (0, 3, 3), (0,))
    assert [x.shape for x in form.vjp(*numbers, v, status, v, gamma, rows, spin)] == [
        (0, 6),
        (0, 3),
    ]
    assert form.jvp(*numbers, v, status, *numbers)[0].shape == (0, 6)


def test_a_singular_system_is_named():
    with pytest.raises(np.linalg.LinAlgError, match="at tree 4") as caught:
        _check(np.array([-1, -1, 4]), np.zeros(3))
    assert caught.value.__notes__ == ["in problems[2]"]
    with pytest.raises(np.linalg.LinAlgError, match="Coulomb") as caught:
        _check(np.full(2, -1), np.array([0.0, 0.5]))
    assert caught.value.__notes__ == ["in problems[1]"]


def test_a_time_step_that_varies_is_the_dissipation_time_of_groups_without_one():
    limit = (
        sapwood.JointLimits,
        {"tree_a": [0], "J": np.eye(1, 3)[0], "phi0": [-0.1], "k": [10.0]},
    )
    own = {"tree_nv": [3], "A": np.eye(3).ravel(), "v_star": np.zeros(3)}
    own["dt"] = np.array(0.01).view(Open)
    form, _ = form_of(own, [limit], lambda x: isinstance(x, Open), None, None, False)
    dt = np.array([0.01, 0.02, 0.05])
    v, *_ = form.solve(dt)
    for i in range(3):
        expected = alone(form, [dt], i).v
        np.testing.assert_array_equal(v[i], expected)
        assert expected[0] > 0.0


def test_what_a_batch_shares_is_broadcast(rng):
    arguments = {**SMALL, **SMALL_NUMBERS}
    open_names = ("v_star", "dt")
    is_open = lambda x: isinstance(x, Open)  # noqa: E731
    for name in open_names:
        arguments[name] = np.asarray(arguments[name]).view(Open)
    form, _ = form_of(arguments, (), is_open, settings_of(), "coulomb", False)
    v_star = SMALL_NUMBERS["v_star"] + rng.standard_normal((2, 1, 6))
    dt = np.array([0.01, 0.02, 0.005])
    v, *_, status = form.solve(*(dict(zip(("v_star", "dt"), (v_star, dt), strict=True))[n.field]
                                    for n in form.names))  # fmt: skip
    assert v.shape == (2, 3, 6)
    assert status.dtype == np.int8
    for i, j in np.ndindex(2, 3):
        problem = sapwood.ContactProblem(
            **{**SMALL, **SMALL_NUMBERS, "v_star": v_star[i, 0], "dt": float(dt[j])}
        )
        alone = sapwood.solve(problem, settings=settings_of(), friction="coulomb")
        np.testing.assert_array_equal(v[i, j], alone.v)


def test_wrong_groups_are_named():
    with pytest.raises(TypeError, match=r"constraints\[0\] must be a class of constraints"):
        form_of(SMALL, [sapwood.JointLimits([[1.0]], phi0=0.1)], bool, None, None, False)
    with pytest.raises(TypeError, match=r"constraints\[0\] needs tree_a"):
        form_of({}, [(sapwood.JointLimits, {"J": [1.0]})], bool, None, None, False)
    with pytest.raises(TypeError, match=r"constraints\[0\]\['beta'\] has no derivatives"):
        form_of({}, [(sapwood.JointLimits, {"tree_a": 0, "beta": 0.5})], bool, None, None, False)


def test_packages_are_imported_when_they_are_used():
    code = (
        "import sys, sapwood; sapwood.bridge; print('torch' in sys.modules, 'jax' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]


def test_a_core_that_starts_too_deep_stays_deeper():
    mass = {"tree_nv": [3], "A": np.eye(3).ravel(), "tree_a": [0], "tree_b": [-1], "dt": 0.01}
    numbers = {"J": np.eye(3).ravel(), "mu": [0.5], "k": [1e3], "tau_d": [0.01]}
    numbers |= {"v_star": [0.0, 0.0, -1.0], "phi0": [-0.2], "delta": [0.05]}
    settings = settings_of()
    problem = sapwood.ContactProblem(**mass, **numbers, core="log")
    solution = sapwood.solve(problem, settings=settings, sensitivity=True)
    assert len(solution.deepened) == 1
    arguments = {**mass, **numbers, "core": "log"}
    arguments["k"] = np.array(numbers["k"]).view(Open)
    form, values = form_of(arguments, (), lambda x: isinstance(x, Open), settings, None, False)
    v, gamma, rows, spin, status = form.solve(*values)
    (found,) = form.vjp(*values, v, status, np.ones(3), 0 * gamma, rows, spin)
    np.testing.assert_array_equal(found, solution.vjp(np.ones(3)).k)
