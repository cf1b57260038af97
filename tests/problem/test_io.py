"""Problem files: what is written is read back, and what is damaged is refused by name."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helpers
import sapwood
from point_masses import ALL, POINTS, changed, exactly, points
from sapwood import ContactProblem
from sapwood.problem import archive
from sapwood.problem.sizes import Blocks


def load(path):
    """Load a problem; an error must name the file, in one line."""
    failure = None
    try:
        return sapwood.load_problem(path)
    except (OSError, ValueError) as error:
        failure = error
    if isinstance(failure, OSError):
        assert failure.filename == str(path)
    else:
        assert re.fullmatch(f"{re.escape(str(path))}: .+", str(failure))
    raise failure


def compressed(path, problem):
    """Save a problem in a compressed archive."""
    sapwood.save_problem(path, problem)
    with np.load(path) as archive:
        np.savez_compressed(path, **archive)


@pytest.mark.parametrize("path", helpers.small_paths(), ids=lambda path: path.stem)
def test_file_is_read_as_stored_and_written_back(path, tmp_path):
    problem = sapwood.load_problem(path)
    with np.load(path) as archive:
        for name in archive.files:
            assert np.array_equal(getattr(problem, name), archive[name])
    # no suffix is added to the name
    copied = tmp_path / "copy.problem"
    sapwood.save_problem(copied, problem)
    assert sapwood.load_problem(str(copied)) == problem


@pytest.mark.parametrize("arguments", [POINTS, ALL], ids=["physical", "all"])
def test_saved_problem_is_equal(arguments, tmp_path):
    problem = ContactProblem(**arguments, delassus="diagonal", source="µ")
    sapwood.save_problem(tmp_path / "p.npz", problem)
    assert sapwood.load_problem(tmp_path / "p.npz") == problem


def test_file_without_regularization_gets_it_computed(tmp_path):
    np.savez(tmp_path / "p.npz", **POINTS)
    assert np.array_equal(sapwood.load_problem(tmp_path / "p.npz").R_n, points().R_n)


@pytest.mark.parametrize("missing", ["dt", "A", "tree_b"])
def test_missing_key_is_named(missing, tmp_path):
    path = tmp_path / "p.npz"
    np.savez(path, **{k: v for k, v in POINTS.items() if k != missing})
    with pytest.raises(ValueError, match=exactly(f"{path}: {missing} is missing")):
        sapwood.load_problem(path)


def test_wrong_array_in_a_file_is_named(tmp_path):
    path = tmp_path / "p.npz"
    np.savez(path, **{**POINTS, **changed("mu", 1, -1.0)})
    with pytest.raises(ValueError, match=exactly(f"{path}: mu[1] = -1: must be >= 0")):
        sapwood.load_problem(path)


def test_pickled_objects_in_a_file_are_not_run(tmp_path):
    path = tmp_path / "p.npz"
    np.savez(path, **{**POINTS, "mu": np.array([{}, {}])})
    text = f"{path}: not a problem file: mu is no array of numbers or text"
    with pytest.raises(ValueError, match=exactly(text)):
        sapwood.load_problem(path)


def test_unreadable_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        sapwood.load_problem(tmp_path / "none.npz")
    with pytest.raises(IsADirectoryError):
        sapwood.load_problem(tmp_path)
    with pytest.raises(FileNotFoundError):
        sapwood.save_problem(tmp_path / "none" / "p.npz", points())
    with pytest.raises(TypeError, match="problem must be a ContactProblem, not int"):
        sapwood.save_problem(tmp_path / "p.npz", 3)


def test_files_of_another_kind(tmp_path):
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "text.npz").write_text("dt = 0.01\n")
    (tmp_path / "empty.npz").touch()
    (tmp_path / "pickle.npz").write_bytes(pickle.dumps({"dt": 0.01}))
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(ValueError, match=exactly(f"{path}: not a .npz archive")):
            sapwood.load_problem(path)


@pytest.mark.parametrize("path", [3, b"p.npz", None])
def test_wrong_paths_are_named(path, tmp_path, monkeypatch):
    """A number is no file descriptor to write to."""
    monkeypatch.chdir(tmp_path)
    text = exactly(f"path must be a str or a path, not {type(path).__name__}")
    with pytest.raises(TypeError, match=text):
        sapwood.load_problem(path)
    with pytest.raises(TypeError, match=text):
        sapwood.save_problem(path, points())


@pytest.mark.parametrize("save", [sapwood.save_problem, compressed], ids=["stored", "deflated"])
@given(data=st.data())
def test_damaged_file_is_an_error_that_names_it(save, data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    save(path, points())
    content = bytearray(path.read_bytes())
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=20)):
        content[at] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    path.write_bytes(content)
    # damage may hit bytes that mean nothing, as file dates
    with contextlib.suppress(ValueError):
        load(path)


def test_damaged_member_is_found_by_its_checksum(tmp_path):
    path = tmp_path / "p.npz"
    sapwood.save_problem(path, points())
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo("mu.npy")
    content = bytearray(path.read_bytes())
    content[member.header_offset + member.file_size] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a problem file: Bad CRC-32"):
        sapwood.load_problem(path)


# ---- archives that NumPy does not write ----------------------------------------------------------


def npy(array, **changes):
    """A .npy file of an array, with changes in its header."""
    array = np.asarray(array)
    entries = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape, **changes}
    return npy_with(repr(entries).encode(), array.tobytes())


def npy_with(header, content, version=(1, 0)):
    length = struct.pack("<H" if version == (1, 0) else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header + content


def write_archive(path, method=zipfile.ZIP_STORED, **members):
    """The point masses, with members of these contents, or chunks of them."""
    contents = {key: npy(np.array(value)) for key, value in POINTS.items()} | members
    with zipfile.ZipFile(path, "w", method, compresslevel=1) as archive:
        for key, content in contents.items():
            with archive.open(f"{key}.npy", "w") as file:
                for chunk in [content] if isinstance(content, bytes) else content:
                    file.write(chunk)


MANY = 4_000_000
ZEROS = [bytes(MANY)] * 8


def zeros(descr, shape):
    """Chunks of an array of MANY numbers of 8 bytes, or as much text."""
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    return [npy_with(header, b""), *ZEROS]


LARGE = {
    **dict.fromkeys(("A", "v_star", "J", "mu", "k", "v_guess", "v_ref", "dt"), ("<f8", (MANY,))),
    **dict.fromkeys(("tree_nv", "tree_a", "tree_b"), ("<i8", (MANY,))),
    "gamma_ref": ("<f8", (MANY // 4, 4)),
    "source": (f"<U{2 * MANY}", ()),
    "delassus": (f"<U{2 * MANY}", ()),
    "core": ("<U1", (2 * MANY,)),
    **{f"constraints.0.{key}": ("<f8", (MANY,)) for key in ("J", "Kp", "q_0", "R", "beta")},
    **{f"constraints.0.{key}": ("<i8", (MANY,)) for key in ("tree_a", "tree_b")},
    "constraints.0.kind": (f"<U{2 * MANY}", ()),
}
GROUP = {"kind": "controller", "J": np.ones(3), "tree_a": [0], "tree_b": [-1], "Kp": [1.0]}


@pytest.mark.parametrize("key", LARGE)
def test_an_array_that_is_too_large_is_refused_before_it_is_read(key, tmp_path):
    path = tmp_path / "p.npz"
    group = {f"constraints.0.{name}": npy(np.array(value)) for name, value in GROUP.items()}
    write_archive(path, zipfile.ZIP_DEFLATED, **group | {key: zeros(*LARGE[key])})
    assert path.stat().st_size < 1_000_000
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=re.escape(key)):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_matrix_of_a_group_is_no_wider_than_the_velocities(tmp_path):
    path = tmp_path / "p.npz"
    keys = {"kind": "limit", "J": np.ones((1, 7)), "phi0": [0.0]}
    for J in (np.ones((1, 7)), np.ones(6)):
        keys["J"] = J
        group = {f"constraints.0.{name}": npy(np.array(value)) for name, value in keys.items()}
        write_archive(path, **group)
        with pytest.raises(ValueError, match=r"constraints\.0\.J has shape"):
            load(path)


MU = np.array(POINTS["mu"])
NESTED = b"-" * 9000 + b"1"
WRONG = {
    "object": (npy(MU, descr="|O"), "mu is no array of numbers or text"),
    "structure": (npy(MU, descr=[("a", "<f8")]), "mu is no array of numbers or text"),
    "later version": (npy_with(b" " * 70000, b"", (2, 0)), "mu is no array of numbers or text"),
    "bytes": (b"1234567890", "magic"),
    "nothing": (b"", "EOF"),
    "nested header": (npy_with(NESTED, MU.tobytes()), "mu has a header that cannot be read"),
    "no header": (npy_with(b"\xff", MU.tobytes()), "header"),
    "more than it says": (npy(MU) + b"1", "mu has 17 bytes for shape (2,)"),
    "less than it says": (npy(MU, shape=(3,)), "mu has 16 bytes for shape (3,)"),
    "negative shape": (npy(MU, shape=(-1, -2)), "mu has 16 bytes for shape (-1, -2)"),
    "huge shape": (npy(MU, shape=(2**70,)), f"mu has 16 bytes for shape ({2**70},)"),
    "complex": (npy(MU + 0j), "mu must hold real numbers, not complex128"),
    "text": (npy(["a", "b"]), "mu must hold real numbers, not <U1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_an_array_is_said(name, tmp_path):
    path = tmp_path / "p.npz"
    content, text = WRONG[name]
    write_archive(path, mu=content)
    with pytest.raises(ValueError, match=re.escape(text)):
        load(path)


def test_text_that_is_no_unicode_is_refused(tmp_path):
    path = tmp_path / "p.npz"
    write_archive(path, source=npy(np.array(0x7FFFFFFF, np.uint32), descr="<U1"))
    with pytest.raises(ValueError, match="source is no text"):
        load(path)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_read_in_both_orders(order, tmp_path):
    path = tmp_path / "p.npz"
    gamma = np.arange(6.0).reshape(2, 3)
    np.savez(path, **POINTS, gamma_ref=np.asarray(gamma, order=order))
    assert np.array_equal(sapwood.load_problem(path).gamma_ref, gamma)


def test_archives_that_cannot_be_right_are_refused(tmp_path):
    path = tmp_path / "p.npz"
    write_archive(path, zipfile.ZIP_BZIP2)
    with pytest.raises(ValueError, match="is not compressed as NumPy does it"):
        load(path)

    # the same member twice, by way of a name of the same length
    write_archive(path, bla=npy(MU))
    path.write_bytes(path.read_bytes().replace(b"bla.npy", b"tau_d.npy"[2:]))
    content = path.read_bytes().replace(b"mu.npy", b"dt.npy")
    path.write_bytes(content)
    with pytest.raises(ValueError, match="dt is there twice"):
        load(path)


def damaged_member(path, change, **members):
    """Write an archive and change bytes of the directory entry of mu."""
    write_archive(path, **members)
    content = bytearray(path.read_bytes())
    at = content.rindex(b"mu.npy") - 46
    assert content[at : at + 4] == b"PK\x01\x02"
    change(content, at)
    path.write_bytes(content)


def test_encrypted_and_overlapping_members_are_refused(tmp_path):
    path = tmp_path / "p.npz"

    def encrypt(content, at):
        content[at + 8] |= 1

    damaged_member(path, encrypt)
    with pytest.raises(ValueError, match="encrypted"):
        load(path)

    def grow(content, at):
        content[at + 20 : at + 24] = struct.pack("<I", len(content))

    damaged_member(path, grow)
    with pytest.raises(ValueError, match=r"arrays overlap|Overlapped entries"):
        load(path)


def test_a_directory_before_the_beginning_is_refused(tmp_path):
    """The central directory of the zip file: its place and size stand at the end of the file."""
    path = tmp_path / "p.npz"
    sapwood.save_problem(path, points())
    content = bytearray(path.read_bytes())
    end = content.rindex(b"PK\x05\x06")
    for at in (end + 12, end + 16):
        changed_content = bytearray(content)
        changed_content[at : at + 4] = struct.pack("<I", 2**31)
        path.write_bytes(changed_content)
        with pytest.raises(ValueError, match="not a problem file"):
            load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="not a regular file"):
        load(path)
    for missing in (tmp_path / "none", tmp_path, tmp_path / "pipe" / "p"):
        with pytest.raises(OSError):  # noqa: PT011
            load(missing)


# ---- symmetry --------------------------------------------------------------------------------


def with_asymmetry(part):
    """Arguments of a problem whose second block differs from its transpose, and the blocks."""
    blocks = [np.diag([2.0, 3.0, 4.0]), np.array([[5.0, 1.0, 0.5], [1.0, 6.0, 0.2], [0.5, 0.2, 7]])]
    blocks[1][0, 2] += part * 7
    return {**POINTS, "A": np.concatenate([block.ravel() for block in blocks])}, blocks


def test_blocks_of_single_precision_are_made_symmetric(tmp_path):
    arguments, blocks = with_asymmetry(1.5e-7)
    path = tmp_path / "p.npz"
    np.savez(path, **arguments)
    with pytest.warns(UserWarning, match=r"p\.npz: A is symmetric to single .* 1\.5e-07 of"):
        problem = sapwood.load_problem(path)
    symmetric = np.concatenate([((block + block.T) / 2).ravel() for block in blocks])
    assert np.array_equal(problem.A, symmetric)
    # arrays of a program are held to round-off
    with pytest.raises(ValueError, match="A: the block of tree 1 must be symmetric"):
        ContactProblem(**arguments)


def test_blocks_that_differ_by_round_off_are_read_as_they_are(tmp_path):
    arguments, _ = with_asymmetry(1e-15)
    np.savez(tmp_path / "p.npz", **arguments)
    problem = sapwood.load_problem(tmp_path / "p.npz")
    assert np.array_equal(problem.A, arguments["A"])
    assert not np.array_equal(problem.A[9:].reshape(3, 3), problem.A[9:].reshape(3, 3).T)


def test_blocks_that_are_not_symmetric_are_refused_with_the_number(tmp_path):
    arguments, _ = with_asymmetry(1e-6)
    np.savez(tmp_path / "p.npz", **arguments)
    text = r"A: the block of tree 1 must be symmetric: entries differ by 1e-06 of the largest"
    with pytest.raises(ValueError, match=text):
        load(tmp_path / "p.npz")


# ---- many groups -----------------------------------------------------------------------------


def test_each_group_takes_as_long_as_its_own_arrays(tmp_path, monkeypatch):
    """Not as long as the trees of the problem, nor as parsing a header that was seen before."""
    n, n_trees = 200, 300_000
    groups = [sapwood.JointLimits([1.0], phi0=0.0, tree_a=[i], tree_b=[-1]) for i in range(n)]
    ones = np.ones(n_trees)
    problem = ContactProblem(ones.astype(np.int32), ones, ones, dt=0.01, constraints=groups)
    path = tmp_path / "p.npz"
    compressed(path, problem)
    headers = []
    parse = np.lib.format.read_array_header_1_0

    def counted(stream):
        headers.append(stream)
        return parse(stream)

    archive._parse_header.cache_clear()
    monkeypatch.setattr(np.lib.format, "read_array_header_1_0", counted)
    tracemalloc.start(1)
    copies = []
    columns = Blocks._columns

    def measured(self, tree):
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        result = columns(self, tree)
        copies.append(tracemalloc.get_traced_memory()[1] - before)
        return result

    monkeypatch.setattr(Blocks, "_columns", measured)
    try:
        assert sapwood.load_problem(path) == problem
    finally:
        tracemalloc.stop()
    assert len(headers) < 20
    assert len(copies) > n
    assert max(copies[-n:]) < 10_000
