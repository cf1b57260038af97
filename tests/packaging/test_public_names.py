"""Every public name is documented, typed, and has an example or a link to one."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from pathlib import Path

import pytest

pytest.importorskip("mujoco")

EXTENSIONS = Path(__file__).resolve().parents[2] / "docs/_ext"


@pytest.fixture(scope="module")
def site():
    """Extensions of the site: what lists the names, and what finds their examples."""
    sys.path.insert(0, str(EXTENSIONS))
    try:
        yield importlib.import_module("public_names"), importlib.import_module("uses")
    finally:
        sys.path.remove(str(EXTENSIONS))


@pytest.fixture(scope="module")
def listed(site):
    """All names by their modules, but for those of modules whose packages are not installed.

    ``sapwood.torch`` and ``sapwood.jax`` are there without theirs, as on the site.
    """
    names, _ = site
    before, found = {*sys.modules}, {}
    for module in names.MODULES:
        with contextlib.suppress(ModuleNotFoundError):
            found[module] = names.names_of(names.imported(module))
    yield found
    for module in {*names.LATER} - before:
        sys.modules.pop(module, None)


@pytest.fixture(scope="module")
def public(site, listed):
    """Names by their modules, each where it is listed first."""
    _, uses = site
    found, seen = {}, set()
    for module, names in listed.items():
        for name in names:
            if uses.identity(module, name) not in seen:
                seen.add(uses.identity(module, name))
                found.setdefault(module, []).append(name)
    return found


def values(public):
    """Module, name and value of all names."""
    for module, names in public.items():
        for name in names:
            yield module, name, getattr(importlib.import_module(module), name)


def test_all_names_are_counted(public):
    assert sum(map(len, public.values())) >= 150
    assert {"solve", "SapSolver", "ContactProblem"} <= set(public["sapwood"])
    assert public["sapwood.torch"] == ["BridgedSolution", "solve"]
    assert public["sapwood.jax"] == ["solve"]


def test_every_name_is_documented(public):
    missing = [
        f"{module}.{name}"
        for module, name, value in values(public)
        if callable(value) and not inspect.getdoc(value)
    ]
    assert missing == []


def untyped(value):
    """Parameters of a function, or of a class and its public methods, without a type."""
    functions = [("", value)]
    if inspect.isclass(value):
        functions = [(n, f) for n, f in vars(value).items() if not n.startswith("_")]
        functions += [(n, vars(value)[n]) for n in ("__init__",) if n in vars(value)]
    missing = []
    for name, function in functions:
        function = getattr(function, "__func__", function)
        if inspect.isfunction(function):
            annotated = function.__annotations__
            code = function.__code__
            count = code.co_argcount + code.co_kwonlyargcount
            arguments = set(code.co_varnames[:count]) - {"self", "cls", "_cls"}
            missing += [f"{name}({argument})" for argument in sorted(arguments - set(annotated))]
            if "return" not in annotated and name != "__init__":
                missing.append(f"{name} ->")
    return missing


def test_every_name_is_typed(public):
    found = {f"{m}.{n}": untyped(v) for m, n, v in values(public) if callable(v)}
    assert {name: missing for name, missing in found.items() if missing} == {}


def test_missing_types_are_found():
    def half(x: int, y, *, z: int = 0):
        return x, y, z

    assert untyped(half) == ["(y)", " ->"]


def test_every_name_has_an_example(site, listed, public):
    """In its docstring, on a page, in a program, a notebook or a test: the site links them."""
    _, uses = site
    examples = uses.Examples(listed)
    lacking = [
        f"{module}.{name}"
        for module, names in public.items()
        for name in names
        if not examples.of(module, name)
    ]
    assert lacking == []


def test_uses_are_found_under_any_name(site):
    _, uses = site
    known = {"sapwood": "sapwood"}
    code = "from sapwood import lcp as l\nl.solve(sapwood.mujoco.Stepper)\nother.solve()"
    found = uses.names_in(code, known)
    assert {"sapwood.lcp.solve", "sapwood.mujoco.Stepper"} <= found
    assert not any(name.startswith("other") for name in found)
