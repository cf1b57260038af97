"""The package as a whole: its public names, its stub, what an import costs."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import subprocess
import sys

import pytest

import sapwood
from sapwood.base.optional import install_command

# ---- what is public ------------------------------------------------------------------------------


def test_names_of_the_contract():
    for name in (
        "ContactMaterial ContactProblem SapSettings SapSolver Solution load_problem project "
        "save_problem solve"
    ).split():
        assert name in sapwood.__all__
        assert hasattr(sapwood, name), name
    assert callable(sapwood.ContactProblem.from_dense)
    assert list(inspect.signature(sapwood.ContactProblem.from_dense).parameters)[:11] == (
        "A v_star J phi0 k tau_d mu dt sigma beta trees".split()
    )
    assert list(inspect.signature(sapwood.solve).parameters) == [
        "problem", "v_guess", "settings", "friction", "sensitivity", "verbose",
    ]  # fmt: skip
    assert list(inspect.signature(sapwood.SapSolver.solve).parameters)[1:] == [
        "problem", "v_guess", "sensitivity",
    ]  # fmt: skip
    assert list(inspect.signature(sapwood.project).parameters)[:4] == ["y", "mu", "R_t", "R_n"]
    assert list(inspect.signature(sapwood.save_problem).parameters) == ["path", "problem"]
    assert list(inspect.signature(sapwood.ContactMaterial).parameters) == [
        "stiffness", "dissipation_time", "friction", "core", "restitution",
        "static_friction",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["invdyn", "mujoco", "reference", "studies", "studies.plotting", "studies.scenes"]
)
def test_modules_are_loaded_when_used(name):
    needs = {"mujoco": "mujoco", "studies.scenes": "mujoco", "studies.plotting": "matplotlib"}
    if name in needs:
        pytest.importorskip(needs[name])
    code = (
        "import sys, sapwood\n"
        f"assert 'sapwood.{name}' not in sys.modules\n"
        f"assert sapwood.{name} is sys.modules['sapwood.{name}']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_dir_lists_what_users_look_for():
    modules = (
        "bridge constraints fem geometry gymnasium invdyn jax laws lcp mujoco problem qp reference "
        "stepping studies torch trajectory viewer"
    )
    assert set(dir(sapwood)) == {*sapwood.__all__, *modules.split()}
    code = "import sapwood; print(*dir(sapwood))"
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert fresh.stdout.split() == dir(sapwood)


def test_public_names_are_where_they_say_they_are():
    """Functions and classes name a public module, for help() and pickle."""
    packages = [
        sapwood,
        sapwood.constraints,
        sapwood.fem,
        sapwood.geometry,
        sapwood.laws,
        sapwood.problem,
        sapwood.reference,
    ]
    if importlib.util.find_spec("mujoco") is not None:
        packages.append(sapwood.mujoco)
        if importlib.util.find_spec("viser") is not None:
            packages.append(sapwood.viewer)
    for package in packages:
        assert list(package.__all__) == sorted(package.__all__, key=natural), package.__name__
        for name in package.__all__:
            found = getattr(package, name)
            module = getattr(found, "__module__", None)
            if isinstance(found, type) or callable(found):
                assert not any(part.startswith("_") for part in module.split(".")), name
                assert getattr(importlib.import_module(module), name) is found


def natural(name):
    """CONSTANTS, then Classes, then functions, as the linter sorts them."""
    return (not name.isupper(), not name[:1].isupper(), name)


def test_names_of_the_contract_in_the_stepper():
    pytest.importorskip("mujoco")
    parameters = inspect.signature(sapwood.mujoco.Stepper).parameters
    assert {"model", "time_step", "contact"} <= set(parameters)
    assert sapwood.mujoco.ContactMaterial is sapwood.ContactMaterial
    assert sapwood.mujoco.ConstraintMaterial is sapwood.ConstraintMaterial
    for name in ("step", "problem"):
        signature = inspect.signature(getattr(sapwood.mujoco.Stepper, name))
        assert list(signature.parameters)[:2] == ["self", "data"]


# ---- the import ----------------------------------------------------------------------------------

IMPORTED = """
import sys, time
begin = time.process_time()
import numpy
before = set(sys.modules)
start = time.process_time()
import sapwood
print((time.process_time() - start) / (start - begin))
print(*sorted({name.split(".")[0] for name in set(sys.modules) - before}))
"""


def test_import_needs_numpy_alone_and_is_fast():
    # beside NumPy's own, in the same process: a busy machine slows both; the smallest of some has
    # the least noise. The first import compiles the package, and the others find it compiled
    ratios = []
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", IMPORTED],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        first, second = done.stdout.splitlines()
        ratios.append(float(first))
        assert set(second.split()) - sys.stdlib_module_names == {"numpy", "sapwood"}
    assert min(ratios) < 1.1


IMPORT_INSIDE = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
code = "try:\\n import sapwood\\nexcept ImportError as error:\\n print(error)"
interpreters.run_string(interpreters.create(), code)
"""


def test_without_mujoco_the_extra_is_named():
    code = (
        "import sys; sys.modules['mujoco'] = None\n"
        "try:\n    import sapwood.mujoco\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert install_command("mujoco") in done.stdout


def test_sub_interpreters_are_refused():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_INSIDE], capture_output=True, text=True, check=True
    )
    assert re.search("not support (loading in )?sub-?interpreters", done.stdout)
