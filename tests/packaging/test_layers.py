"""scripts/layers: the tree keeps its layers, and what does not is told."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "layers"

SOUND = {
    "csrc/base/memory.h": "",
    "csrc/base/memory.c": '#include "base/memory.h"\n#include <stdlib.h>\n',
    "csrc/solver/newton/newton.c": '#include "base/memory.h"\n#include "sapwood.h"\n',
    "csrc/step/gather.h": '#include "base/memory.h"\n',
    "python/sapwood/__init__.py": (
        "from sapwood.solver import solve\ndef look_up():\n    import sapwood.studies\n"
    ),
    "python/sapwood/solver.py": "def solve():\n    import sapwood.base.checks\n",
    "python/sapwood/base/checks.py": "",
    "python/sapwood/types.py": "if TYPE_CHECKING:\n    from sapwood.solver import solve\n",
    "python/sapwood/studies/__init__.py": "from sapwood import solve\n",
}
WRONG = {
    "circle: base/list, base/memory": {
        "csrc/base/list.h": '#include "base/memory.h"\n',
        "csrc/base/memory.c": '#include "base/list.h"\n',
    },
    "base/memory includes solver/plan": {"csrc/base/memory.c": '#include "solver/plan.h"\n'},
    "step/gather includes solver/newton": {"csrc/step/gather.c": '#include "solver/newton.h"\n'},
    "mujoco/stages/step includes problem/graph": {
        "csrc/mujoco/stages/step.c": '#include "problem/graph.h"\n'
    },
    "mujoco/stages/step.c has api->data., which belongs to mujoco/engine": {
        "csrc/mujoco/stages/step.c": "int *nefc = data + api->data.nefc, n = api->contact.size;\n",
        "csrc/mujoco/engine/guard.c": "setjmp(api->model.nv);\n",
    },
    "circle: sapwood.shapes, sapwood.types": {
        "python/sapwood/shapes.py": "def draw():\n    from . import types\n",
        "python/sapwood/types.py": "if TYPE_CHECKING:\n    import sapwood.shapes\n",
    },
    "sapwood.base.checks imports sapwood.solver": {
        "python/sapwood/solver.py": "",
        "python/sapwood/base/checks.py": "if TYPE_CHECKING:\n    import sapwood.solver\n",
    },
    "sapwood.base.checks imports sapwood": {
        "python/sapwood/__init__.py": "",
        "python/sapwood/base/checks.py": "from sapwood import solve\n",
    },
    "sapwood.mujoco.reading.arrays imports sapwood.mujoco.results.faults": {
        "python/sapwood/mujoco/reading/arrays.py": "from sapwood.mujoco.results import faults\n",
        "python/sapwood/mujoco/results/faults.py": "",
    },
    "twice: base/memory.c, lcp/memory.c": {"csrc/lcp/memory.c": ""},
    "sapwood.types imports sapwood.studies": {"python/sapwood/types.py": "from . import studies\n"},
}


CALLED = {
    "circle by calls: base/list, base/memory": {
        "base/list": "void take(void); void add(void) { take(); }",
        "base/memory": "void add(void); void take(void) { add(); }",
    },
    "base/memory calls lcp/qp": {
        "base/memory": "void solve(void); void take(void) { solve(); }",
        "lcp/qp": "void solve(void) {}",
    },
}


def told(script, *build):
    """Exit status and lines of the script."""
    command = [sys.executable, script, *build]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def tree(folder, files):
    """A tree with these files and the script."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "scripts").mkdir()
    return shutil.copy(SCRIPT, folder / "scripts")


def test_a_sound_tree_passes(tmp_path):
    assert told(tree(tmp_path, SOUND)) == (0, [])


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_told(line, tmp_path):
    assert told(tree(tmp_path, SOUND | WRONG[line])) == (1, [line])


@pytest.mark.parametrize("line", CALLED)
def test_calls_are_read_from_objects(line, tmp_path):
    """In the places where CMake leaves them; those of tests and of files that are gone are not."""
    if not (shutil.which("cc") and shutil.which("nm")):
        pytest.skip("needs a C compiler and nm")
    objects = tmp_path / "build/csrc/CMakeFiles/sapwood_library.dir"
    for unit, text in CALLED[line].items():
        made = objects / f"{unit}.c.o"
        made.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-x", "c", "-c", "-", "-o", made], input=text, text=True, check=True)
    shutil.copy(made, objects / "base/gone.c.o")
    (tmp_path / "build/tests").mkdir()
    shutil.copy(made, tmp_path / "build/tests/test.c.o")
    sources = {f"csrc/{unit}.c": text for unit, text in CALLED[line].items()}
    assert told(tree(tmp_path, SOUND | sources), tmp_path / "build") == (1, [line])
