"""The C library as others use it, the wheel, the editable install, and the options of the build."""

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

import sapwood

ROOT = Path(__file__).resolve().parents[2]
CMAKE = shutil.which("cmake")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CMAKE is None, reason="cmake is not installed"),
]

needs_build_backend = pytest.mark.skipif(
    importlib.util.find_spec("scikit_build_core") is None,
    reason="scikit-build-core is not installed",
)


def run(*command, ok=True, **options):
    """Output of a command that must succeed, or fail where ``ok`` is False."""
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    assert (done.returncode == 0) == ok, f"{command} gave {done.returncode}:\n{done.stdout}"
    return done.stdout


def configure(build, *arguments, source=ROOT, ok=True):
    """Run the configure step of CMake in a build folder of its own."""
    return run(CMAKE, "-S", source, "-B", build, *arguments, ok=ok)


def version_in_header():
    header = (ROOT / "csrc/include/sapwood.h").read_text()
    return re.search(r'#define SAP_VERSION "(.*)"', header)[1]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Folder into which the C library was installed."""
    build, prefix = tmp_path_factory.mktemp("build"), tmp_path_factory.mktemp("prefix")
    configure(build, f"-DCMAKE_INSTALL_PREFIX={prefix}")
    run(CMAKE, "--build", build, "--parallel", "2")
    run(CMAKE, "--install", build)
    return prefix


def check_example_output(output):
    """Check the pushed mass: stiction in closed form, v_t = v*_t R_t / (1 + R_t), and rest in n."""
    number = r"(-?\d+\.\d+)"
    velocity = re.search(rf"v = {number} {number} {number} m/s", output)
    impulse = re.search(rf"gamma = {number} {number} {number} N s", output)
    assert velocity, output
    assert impulse, output
    R_t = 1e-3 / 3**0.5  # sigma |W|_F / 3 with W = 1
    slip = 0.03 * R_t / (1 + R_t)
    assert [float(x) for x in velocity.groups()] == pytest.approx([slip, 0, 0], abs=2e-8)
    assert [float(x) for x in impulse.groups()] == pytest.approx([slip - 0.03, 0, 0.0981], abs=2e-8)
    assert "converged" in output


# ---- the C library -------------------------------------------------------------------------------


def test_example_finds_package_and_runs(prefix, tmp_path):
    configure(tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}", source=ROOT / "examples/c")
    run(CMAKE, "--build", tmp_path)
    check_example_output(run(tmp_path / "push"))


def test_example_builds_with_pkg_config(prefix, tmp_path):
    pkg_config = shutil.which("pkg-config")
    compiler = shutil.which("cc")
    if pkg_config is None or compiler is None:
        pytest.skip("pkg-config or cc is not installed")
    (pc_file,) = prefix.glob("**/sapwood.pc")
    environment = {"PKG_CONFIG_PATH": str(pc_file.parent), "PATH": os.environ["PATH"]}
    flags = run(pkg_config, "--cflags", "--libs", "sapwood", env=environment).split()
    version = run(pkg_config, "--modversion", "sapwood", env=environment).strip()
    assert version == version_in_header()
    program = tmp_path / "push"
    run(compiler, "-std=c17", ROOT / "examples/c/push.c", "-o", program, *flags)
    check_example_output(run(program))


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("example", ["push", "step", "batch"])
def test_examples_compile_without_warnings(prefix, tmp_path, example, language):
    compiler = shutil.which("cc" if language == "c" else "c++")
    if compiler is None:
        pytest.skip(f"no compiler of {language}")
    include = [f"-I{prefix / 'include'}"]
    if example != "push":
        mujoco = pytest.importorskip("mujoco")
        include += ["-isystem", Path(mujoco.__file__).parent / "include"]
    run(
        compiler, "-x", language, f"-std={'c17' if language == 'c' else 'c++17'}", "-Wall",
        "-Wextra", "-Wpedantic", "-Werror", *include, "-c", ROOT / f"examples/c/{example}.c",
        "-o", tmp_path / "example.o",
    )  # fmt: skip


def test_a_shared_library_shows_what_its_headers_declare(tmp_path):
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("readelf is not installed")
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    configure(build, f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DBUILD_SHARED_LIBS=ON")
    run(CMAKE, "--build", build, "--parallel", "2")
    run(CMAKE, "--install", build)
    (library,) = prefix.glob("**/libsapwood.so")
    major, minor, _ = version_in_header().split(".")
    assert f"libsapwood.so.{major}.{minor}" in run(readelf, "--dynamic", library)
    table = run(readelf, "--dyn-syms", "--wide", library)
    shown = set(re.findall(r"GLOBAL DEFAULT +\d+ (\w+)$", table, re.M))
    headers = "".join(path.read_text() for path in (prefix / "include/sapwood").glob("*.h"))
    assert shown == set(re.findall(r"^SAP_API [^;(]*?(\w+)\(", headers, re.M))

    configure(tmp_path / "use", f"-DCMAKE_PREFIX_PATH={prefix}", source=ROOT / "examples/c")
    run(CMAKE, "--build", tmp_path / "use")
    check_example_output(run(tmp_path / "use/push"))


def test_step_example_takes_the_steps_of_python(prefix, tmp_path):
    """The stepper of C, on the table that a compiler fills, against the one that Python drives."""
    mujoco = pytest.importorskip("mujoco")
    folder = Path(mujoco.__file__).parent
    libraries = sorted(folder.glob("libmujoco.so*"))
    if not libraries or not (folder / "include/mujoco/mujoco.h").exists():
        pytest.skip("the mujoco package has no headers or no library to link with")
    configure(
        tmp_path,
        f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DMUJOCO_INCLUDE_DIR={folder / 'include'}",
        f"-DMUJOCO_LIBRARY={libraries[0]}",
        source=ROOT / "examples/c",
    )
    run(CMAKE, "--build", tmp_path)
    output = run(tmp_path / "step", env={"LD_LIBRARY_PATH": str(folder)})

    source = (ROOT / "examples/c/step.c").read_text()
    lines = re.search(r"description\[\] =(.*?);\n", source, re.S)[1]
    model = mujoco.MjModel.from_xml_string("".join(re.findall(r'"(.*)"', lines)))
    contact = sapwood.ContactMaterial(stiffness=1e5, dissipation_time=0.02)
    stepper, data = sapwood.mujoco.Stepper(model, contact=contact), mujoco.MjData(model)
    records = stepper.run(data, 200).records
    state = [float(number) for number in output.splitlines()[0].split()]
    assert state == [*data.qpos, *data.qvel]
    A = [float(number) for number in output.splitlines()[2].split()]
    expected = sapwood.mujoco.linearize(stepper, data).A[: model.nv]
    np.testing.assert_allclose(A, expected.ravel(), rtol=1e-9, atol=1e-9)
    assert records["contacts"].max() == 4
    assert abs(data.qvel).max() < 1e-6

    # the batch of C and that of Python
    output = run(tmp_path / "batch", env={"LD_LIBRARY_PATH": str(folder)})
    source = (ROOT / "examples/c/batch.c").read_text()
    lines = re.search(r"description\[\] =(.*?);\n", source, re.S)[1]
    model = mujoco.MjModel.from_xml_string("".join(re.findall(r'"(.*)"', lines)))
    rows = np.array([[float(number) for number in line.split()] for line in output.splitlines()])
    batch = sapwood.mujoco.Batch(model, len(rows), 2, contact=contact)
    batch.qvel[:, 0] = rows[:, 0]
    batch.step(nstep=200)
    assert rows[:, 1].tolist() == batch.qpos[:, 0].tolist()
    assert rows[-1, 1] > rows[1, 1] > 0.0


def test_installed_files(prefix):
    files = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    for name in (
        "include/sapwood.h",
        "share/doc/sapwood/LICENSE",
        "share/doc/sapwood/AMD.txt",
    ):
        assert name in files
    assert any(name.endswith("/libsapwood.a") for name in files)
    assert not [name for name in files if name.endswith((".so", ".py"))]


# ---- configure errors and options ----------------------------------------------------------------


def test_missing_suitesparse_names_the_packages(tmp_path):
    """A machine without SuiteSparse is one where CMake looks nowhere."""
    nowhere = tmp_path / "nowhere.cmake"
    nowhere.write_text(
        "set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)\n"
        "set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)\n"
        "set(CMAKE_FIND_USE_CMAKE_ENVIRONMENT_PATH OFF)\n"
    )
    output = configure(tmp_path / "build", f"-DCMAKE_PROJECT_INCLUDE={nowhere}", ok=False)
    assert "Could NOT find AMD" in output
    assert "apt-get install libsuitesparse-dev" in output


def test_no_contraction_outside_the_kernels(tmp_path):
    """Fused multiply-adds are allowed where vector types are written out, and nowhere else."""
    dense = r"linalg/kernels/(kernels|panel_\w+)"
    loops = "problem/products/(assembly|coupling|products|round_off|vectors)"
    fused = re.compile(rf"/({dense}|{loops}|solver/delassus/small_problem)\.c$")
    configure(tmp_path, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    commands = json.loads((tmp_path / "compile_commands.json").read_text())
    assert commands
    for entry in commands:
        expected = "fast" if fused.search(entry["file"]) else "off"
        last = re.findall(r"-ffp-contract=(\w+)", entry["command"])[-1]
        assert last == expected, entry["file"]


# ---- the Python package --------------------------------------------------------------------------


def test_one_version_number():
    version = version_in_header()
    assert sapwood.__version__ == version
    assert importlib.metadata.version("sapwood") == version
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == version


def test_wheel_contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    sources = {
        f"sapwood/{path.relative_to(ROOT / 'python/sapwood')}"
        for path in (ROOT / "python/sapwood").rglob("*")
        if path.suffix in (".py", ".pyi") or path.name == "py.typed"
    }
    packed = {name for name in names if not name.startswith("sapwood-")}
    (module,) = (name for name in packed if name.endswith(".so"))
    assert packed == sources | {module}
    licences = [name for name in names if "/licenses/" in name]
    assert sorted(Path(name).name for name in licences) == ["AMD.txt", "LICENSE"]


def test_wheel_carries_its_libraries(wheel, tmp_path):
    """No system BLAS, no SuiteSparse at run time, and no symbol but the module's entry point."""
    if shutil.which("readelf") is None:
        pytest.skip("readelf is not installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    (module,) = tmp_path.glob("sapwood/_core.*.so")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*?)\]", run("readelf", "-d", module)))
    assert needed <= {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
    symbols = run("readelf", "--dyn-syms", "--wide", module).splitlines()
    exported = [
        line.split()[-1]
        for line in symbols
        if re.search(r"\b(GLOBAL|WEAK)\b", line) and " UND " not in line
    ]
    assert exported == ["PyInit__core"]


CHECK_INSTALLED = """
import numpy as np, sapwood
problem = sapwood.ContactProblem.from_dense(
    np.eye(3), [0.1, 0.0, -0.1], np.eye(3), phi0=[0.0], k=[1e5], tau_d=[0.01], mu=[0.5], dt=0.01)
assert sapwood.solve(problem).status == sapwood.Status.converged
print(sapwood.__file__)
"""


def test_wheel_works(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    output = run(
        sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})" + CHECK_INSTALLED
    )
    assert Path(output.strip()).is_relative_to(tmp_path)


@needs_build_backend
def test_editable_install_works(tmp_path):
    """`pip install -e . --no-build-isolation` uses the Python files of the source tree."""
    environment, build = tmp_path / "venv", tmp_path / "build"
    venv.create(environment, with_pip=False)
    python = environment / "bin/python"
    (site_packages,) = environment.glob("lib/python*/site-packages")
    outer = [path for path in sys.path if path.endswith("site-packages")]
    (site_packages / "outer.pth").write_text("\n".join(outer))
    run(
        sys.executable, "-m", "pip", "--python", python, "install", "--editable", ROOT,
        "--no-deps", "--no-build-isolation", "--ignore-installed", "-C", f"build-dir={build}",
    )  # fmt: skip
    output = run(python, "-c", CHECK_INSTALLED, cwd=tmp_path)
    assert Path(output.strip()) == ROOT / "python/sapwood/__init__.py"
