"""The package as a whole: documentation, stubs, what an import costs."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sapwood
from sapwood import _core

PUBLIC_MODULES = ["contact_law", "io", "problem", "settings", "solution", "solver"]


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
    named |= {n.target.id: n for n in stub.body if isinstance(n, ast.AnnAssign)}
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
