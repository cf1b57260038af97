"""sapwood.experiments, peers, plotting and scenes: names of what lies in sapwood.studies."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import pickle
import pkgutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import sapwood.experiments.sweep

import sapwood
from sapwood import studies
from sapwood._aliases import STUDIES


def python(*arguments):
    """What a new process prints."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, input=""
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def modules():
    """Second names of all packages and modules, which a module's dependencies may keep out."""
    for name in STUDIES:
        yield name
        spec = importlib.util.find_spec(f"sapwood.studies.{name}")
        for module in pkgutil.iter_modules(spec.submodule_search_locations or []):
            yield f"{name}.{module.name}"


@pytest.mark.parametrize("name", list(modules()))
def test_both_names_are_one_module(name):
    try:
        second = importlib.import_module(f"sapwood.{name}")
    except ModuleNotFoundError as error:
        pytest.skip(f"needs {error.name}")
    first = importlib.import_module(f"sapwood.studies.{name}")
    assert second is first
    assert sys.modules[f"sapwood.{name}"] is first
    assert first.__name__ == first.__spec__.name == f"sapwood.studies.{name}"
    assert first.__package__ == first.__spec__.parent
    assert importlib.util.find_spec(f"sapwood.{name}") is first.__spec__


@pytest.mark.parametrize("order", [("", "studies."), ("studies.", "")])
def test_whichever_name_comes_first(order):
    lines = [f"import sapwood.{word}experiments.sweep" for word in order]
    python(
        "-c",
        "\n".join(lines) + "\nimport sapwood, sys\n"
        "from sapwood.experiments import sweep\n"
        "from sapwood.studies.experiments.sweep import Sweep\n"
        "assert sapwood.experiments.sweep is sapwood.studies.experiments.sweep is sweep\n"
        "assert sapwood.experiments is sapwood.studies.experiments\n"
        "assert sweep.Sweep is Sweep and Sweep.__module__ == 'sapwood.studies.experiments.sweep'",
    )


def test_threads_find_one_module():
    code = (
        "import importlib, sapwood; from concurrent.futures import ThreadPoolExecutor\n"
        "names = ['sapwood.experiments.sweep', 'sapwood.studies.experiments.sweep'] * 8\n"
        "found = set(map(id, ThreadPoolExecutor(16).map(importlib.import_module, names)))\n"
        "assert len(found) == 1"
    )
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: python("-c", code), range(6)))


def test_pickles_hold_the_first_name_and_load_by_both():
    kept = pickle.dumps(sapwood.experiments.sweep.Sweep)
    assert b"sapwood.studies.experiments.sweep" in kept
    older = b"csapwood.experiments.sweep\nSweep\n."
    for stored in (kept, older):
        assert pickle.loads(stored) is sapwood.experiments.sweep.Sweep
        code = f"import pickle; print(pickle.loads({stored!r}).__name__)"
        assert python("-c", code) == "Sweep\n"


def test_reload():
    code = (
        "import importlib, sapwood.experiments.points as points\n"
        "before = points.Outcome\n"
        "assert importlib.reload(points) is points and points.Outcome is not before\n"
        "import sapwood, sys\n"
        "n = len(sys.meta_path)\n"
        "importlib.reload(sapwood)\n"
        "assert len(sys.meta_path) == n\n"
        "import sapwood.studies.experiments.points as again\n"
        "assert again is points"
    )
    python("-c", code)


def test_sources_are_found_without_an_import():
    code = (
        "import importlib.util, sys\n"
        "spec = importlib.util.find_spec('sapwood.experiments.worker')\n"
        "assert 'sapwood.studies.experiments.worker' not in sys.modules\n"
        "assert '__main__' in spec.loader.get_source(spec.name)\n"
        "package = importlib.util.find_spec('sapwood.peers')\n"
        "print(spec.origin, spec.loader.is_package(spec.name), *package.submodule_search_locations)"
    )
    origin, is_package, folder = python("-c", code).split()
    sweep = inspect.getfile(sapwood.experiments.sweep)
    assert os.path.samefile(origin, os.path.join(os.path.dirname(sweep), "worker.py"))
    assert is_package == "False"
    assert os.path.basename(folder) == "peers"


@pytest.mark.parametrize("name", ["experiments.worker", "studies.experiments.worker"])
def test_modules_run_as_scripts(name):
    """A worker that is told nothing ends."""
    python("-m", f"sapwood.{name}")


@pytest.mark.parametrize("name", ["experiments.nonsense", "experiments.sweep.nonsense"])
def test_what_is_not_there_is_told_by_the_name_asked_for(name):
    with pytest.raises(ModuleNotFoundError, match=f"No module named 'sapwood.{name}'") as caught:
        importlib.import_module(f"sapwood.{name}")
    assert caught.value.name == f"sapwood.{name}"
    assert importlib.util.find_spec("sapwood.experiments.nonsense") is None


def test_other_names_are_none_of_its_business():
    for name in ("sapwood.nonsense", "sapwood.studies.nonsense", "experiments"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)
    assert not hasattr(studies, "nonsense")
