"""Every public name is documented, and has an example or a link to one."""

from __future__ import annotations

import contextlib
import enum
import importlib
import importlib.util
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


def test_every_name_is_documented(public):
    """Summaries; in the two main modules each argument and result as well, by numpydoc."""
    validate = pytest.importorskip("numpydoc.validate").validate
    wrong = [name for _, name, value in values(public) if callable(value) and not value.__doc__]
    for module in ("sapwood", "sapwood.mujoco"):
        for name in public[module]:
            value = getattr(importlib.import_module(module), name)
            names = [name] if inspect.isfunction(value) else []
            if inspect.isclass(value):
                names = [
                    f"{name}.{n}" for n, f in vars(value).items() if n[0] != "_" and callable(f)
                ]
            for documented in names:
                errors = validate(f"{module}.{documented}")["errors"]
                wrong += [
                    (documented, *e) for e in errors if e[0] in {"GL08", "PR01", "PR02", "RT01"}
                ]
    assert wrong == []


def test_docstrings_of_main_names_are_short():
    """A reader of help() finds the parameters on two screens, and an example below them."""
    pytest.importorskip("mujoco")
    viewer = ["viewer.Viewer"] if importlib.util.find_spec("viser") else []
    for name in (*viewer, "ContactProblem", "Solution", "SapSettings", "SapSolver",
                 "mujoco.Stepper", "mujoco.Batch", "mujoco.DifferentiableModel", "mujoco.RunResult",
                 "mujoco.StepContacts", "mujoco.patch", "trajectory.FreeBodies",
                 "trajectory.Trajectory", "trajectory.simulate", "geometry.ContactSurface",
                 "invdyn.InverseDynamics", "invdyn.InverseDynamicsResult", "fem.World",
                 "fem.SoftBody"):  # fmt: skip
        module, _, short = f"sapwood.{name}".rpartition(".")
        text = inspect.getdoc(getattr(importlib.import_module(module), short))
        assert len(text.split()) < 400, name
        assert ">>>" in text, name


def test_enumerations_list_their_members(public):
    """`help` of a class shows its docstring, and not those of its members."""
    lacking = [
        f"{name}.{member}"
        for _, name, value in values(public)
        if inspect.isclass(value) and issubclass(value, enum.Enum)
        for member in value.__members__
        if f"``{member}``" not in value.__doc__
    ]
    assert lacking == []


@pytest.mark.slow
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
