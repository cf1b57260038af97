"""Files are replaced when all is written: what fails leaves the old one, and nothing beside it."""

from __future__ import annotations

import errno
import os
import stat
import threading

import pytest

import helpers
import sapwood
from full_disk import contents, full_disk
from sapwood.base.files import NewFile, RowFile, write_file

PROBLEM = sapwood.load_problem(helpers.DATA / "chain_8_impact_block.npz")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_full_disk_leaves_the_old_problem(share, tmp_path):
    path = tmp_path / "p.npz"
    sapwood.save_problem(path, PROBLEM)
    before = contents(tmp_path)
    with (
        full_disk(int(share * path.stat().st_size)),
        pytest.raises(OSError, match="too large") as caught,
    ):
        sapwood.save_problem(path, PROBLEM)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
    assert contents(tmp_path) == before
    assert sapwood.load_problem(path) == PROBLEM


# operations on the way to a new file, in their order
@pytest.mark.parametrize("name", ["fstat", "chmod", "fsync", "replace"])
def test_each_operation_that_fails_leaves_the_old_file(name, tmp_path, monkeypatch):
    path = tmp_path / "old"
    path.write_bytes(b"old")

    def fail(*_arguments):
        raise OSError(errno.EDQUOT, "quota exceeded")

    monkeypatch.setattr(os, name, fail)
    with pytest.raises(OSError, match="quota exceeded") as caught:
        write_file(path, b"new")
    assert caught.value.filename == str(path)
    monkeypatch.undo()
    assert contents(tmp_path) == {"old": b"old"}


def test_an_interrupt_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "old"
    path.write_bytes(b"old")

    def press(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", press)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, b"new")
    assert contents(tmp_path) == {"old": b"old"}


def test_what_fails_once_never_takes_the_name(tmp_path):
    """Also where there is room again: a part is missing."""
    path = tmp_path / "old"
    path.write_bytes(b"old")
    new = NewFile(path)
    with full_disk(10), pytest.raises(OSError, match=f"{path}"):
        new.write(b"x" * 100_000)
    with pytest.raises(OSError, match=f"{path}"):
        new.take_name()
    new.close()
    assert contents(tmp_path) == {"old": b"old"}


# ---- as where a file is written in place -------------------------------------------------------


def test_text_and_bytes_are_written_as_they_are(tmp_path):
    path = tmp_path / "file"
    write_file(path, b"\0\xff\r\n")
    assert path.read_bytes() == b"\0\xff\r\n"
    # names of files that are no text come from the system like this
    write_file(str(path), os.fsdecode("µ\n".encode() + b"\xff"))
    assert path.read_bytes() == b"\xc2\xb5\n\xff"


def test_a_new_file_has_the_permissions_of_new_files(tmp_path):
    (tmp_path / "plain").touch()
    write_file(tmp_path / "new", b"")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_permissions_are_kept(mode, tmp_path):
    path = tmp_path / "file"
    path.touch()
    path.chmod(mode)
    write_file(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives a file away")
def test_the_owner_is_kept(tmp_path):
    path = tmp_path / "file"
    path.touch()
    os.chown(path, 1234, 5678)
    write_file(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


def test_where_the_owner_cannot_be_kept_the_file_is_written_in_place(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old, and longer")
    number = path.stat().st_ino
    status = os.fstat

    def foreign(descriptor):
        found = status(descriptor)
        return os.stat_result([*found[:4], found.st_uid + 1, *found[5:10]])

    def refuse(*_arguments):
        raise PermissionError(errno.EPERM, "not permitted")

    monkeypatch.setattr(os, "fstat", foreign)
    monkeypatch.setattr(os, "chown", refuse)
    write_file(path, b"new")
    monkeypatch.undo()
    assert contents(tmp_path) == {"file": b"new"}
    assert path.stat().st_ino == number


def test_a_file_that_must_not_be_written_is_not(tmp_path, monkeypatch):
    """Although its folder would take another one in its place."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o400)
    if os.access(path, os.W_OK):
        # a superuser may: see that the question is asked
        monkeypatch.setattr(os, "access", lambda *_: False)
        monkeypatch.setattr("builtins.open", _refuse)
    with pytest.raises(PermissionError) as caught:
        write_file(path, b"new")
    monkeypatch.undo()
    assert caught.value.filename == str(path)
    assert contents(tmp_path) == {"file": b"old"}


def _refuse(path, mode):
    assert mode == "wb"
    raise PermissionError(errno.EACCES, "Permission denied", path)


def test_a_symbolic_link_stays(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder / "file")
    for content in (b"first", b"second"):
        write_file(tmp_path / "link", content)
        assert (tmp_path / "link").is_symlink()
        assert contents(folder) == {"file": content}


def test_the_longest_name_can_be_written(tmp_path):
    name = "ü" * 120 + ".npz"
    sapwood.save_problem(tmp_path / name, PROBLEM)
    sapwood.save_problem(tmp_path / name, PROBLEM)
    assert list(contents(tmp_path)) == [name]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("", FileNotFoundError),
        (".", IsADirectoryError),
        ("folder", IsADirectoryError),
        ("new/", IsADirectoryError),
        ("none/file", FileNotFoundError),
        ("file/file", NotADirectoryError),
    ],
)
def test_what_is_no_place_for_a_file_is_refused_by_name(name, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(error) as caught:
        write_file(name, b"new")
    assert caught.value.filename == name
    assert contents(tmp_path) == {"file": b""}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    sapwood.save_problem(path, PROBLEM)
    reader.join(timeout=60)
    (tmp_path / "copy.npz").write_bytes(read[0])
    assert sapwood.load_problem(tmp_path / "copy.npz") == PROBLEM
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
def test_a_full_device_is_named():
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        sapwood.save_problem("/dev/full", PROBLEM)


# ---- row by row --------------------------------------------------------------------------------


def test_rows_grow_beside_the_old_file_and_replace_it_in_the_end(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("old\n")
    with RowFile(path, ["a", "b"], flush_seconds=0.0) as rows:
        rows.write([1, "x, y"])
        found = contents(tmp_path)
        assert found.pop("rows.csv") == b"old\n"
        # a file as a killed run would leave it
        ((name, content),) = found.items()
        assert name.startswith("rows.csv.")
        assert name.endswith(".new")
        assert content == b'a,b\n1,"x, y"\n'
    assert contents(tmp_path) == {"rows.csv": b'a,b\n1,"x, y"\n'}


def test_rows_that_have_taken_the_name_grow_under_it(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("old\n")
    with RowFile(path, ["a"], flush_seconds=0.0) as rows:
        rows.write([1])
        rows.take_name()
        rows.write([2])
        assert contents(tmp_path) == {"rows.csv": b"a\n1\n2\n"}
    assert contents(tmp_path) == {"rows.csv": b"a\n1\n2\n"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, BrokenPipeError])
def test_rows_outlive_an_error_of_something_else(error, tmp_path):
    def write():
        with RowFile(tmp_path / "rows.csv", ["a"]) as rows:
            rows.write([1])
            raise error

    with pytest.raises(error):
        write()
    assert contents(tmp_path) == {"rows.csv": b"a\n1\n"}


@pytest.mark.parametrize("flush_seconds", [0.0, 100.0])
@pytest.mark.parametrize("room", [0, 1, 2, 4, 5])
def test_rows_for_which_there_is_no_room_leave_the_old_file(room, flush_seconds, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("old\n")

    def write():
        with RowFile(path, ["a"], flush_seconds) as rows:
            rows.write([1])
            rows.write([2])

    with full_disk(room), pytest.raises(OSError, match="too large") as caught:
        write()
    assert caught.value.filename == str(path)
    assert contents(tmp_path) == {"rows.csv": b"old\n"}
