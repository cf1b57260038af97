"""Problem files: what is written is read back, and what is damaged is refused by name."""

from __future__ import annotations

import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helpers
import sapwood
from point_masses import ALL, POINTS, changed, exactly, points
from sapwood import ContactProblem


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


@given(data=st.data())
def test_damaged_file_is_an_error_that_names_it(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    sapwood.save_problem(path, points())
    content = bytearray(path.read_bytes())
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=20)):
        content[at] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    path.write_bytes(content)
    # damage may hit bytes that mean nothing, as file dates
    text = str(path)
    try:
        sapwood.load_problem(path)
    except (TypeError, ValueError) as error:
        text = str(error)
    assert text.startswith(str(path))


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
