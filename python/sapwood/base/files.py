"""Files that are written aside first, so that a write that fails costs nothing.

A full disk, an interrupt or an error while a file is written leaves the old file as it was and
nothing beside it. Once all is written the new file takes the name: a reader sees the old content or
the new one, never a part. What a process that is killed had written is left beside the file, as
``NAME.xxxxxxxx.new``.

As where a file is written in place, a symbolic link stays and what it leads to is replaced; owner
and permissions are kept, and a file that must not be written is not. What cannot be replaced is
written in place: a device, a pipe, a file in a folder that takes no new ones, a file whose owner
cannot be kept. Other hard links keep the old content.
"""

from __future__ import annotations

import csv
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from typing import BinaryIO, Self

#: Characters of a name in that of the file beside it: a name has at most 255 bytes.
_MOST_CHARACTERS = 40


def write_file(path: str | PathLike[str], content: bytes | memoryview | str) -> None:
    """Write a whole file.

    Parameters
    ----------
    path : path-like
        Where to write; an existing file is replaced once all is written.
    content : bytes or str
        What to write, see :meth:`NewFile.write`.

    Raises
    ------
    OSError
        The file cannot be written; the error names it, and an existing one is as it was.
    """
    new = NewFile(path)
    try:
        new.write(content)
        new.take_name()
    finally:
        new.close()


class NewFile:
    """A file that is written under another name until it takes its own.

    Errors name the file by the path that was given.

    Parameters
    ----------
    path : path-like
        The name that it will take.

    Raises
    ------
    OSError
        The file cannot be written.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._target = os.path.realpath(self._path)
        self._aside: str | None = None
        self._failure: OSError | None = None
        with self._errors():
            try:
                self._old: os.stat_result | None = os.stat(self._path)
            except FileNotFoundError:
                self._old = None
            self._stream = self._open()

    def _open(self) -> BinaryIO:
        """The file beside, or the file itself where it cannot be replaced."""
        old = self._old
        writable = old is None or (stat.S_ISREG(old.st_mode) and os.access(self._path, os.W_OK))
        if writable and os.path.basename(self._path):
            with suppress(PermissionError):
                return self._open_aside()
        return open(self._path, "wb")

    def _open_aside(self) -> BinaryIO:
        folder, name = os.path.split(self._target)
        aside = os.path.join(folder, f"{name[:_MOST_CHARACTERS]}.{os.urandom(4).hex()}.new")
        stream = open(aside, "xb")  # noqa: SIM115 (see close)
        try:
            if self._old is not None:
                new = os.fstat(stream.fileno())
                if (new.st_uid, new.st_gid) != (self._old.st_uid, self._old.st_gid):
                    os.chown(aside, self._old.st_uid, self._old.st_gid)
                os.chmod(aside, stat.S_IMODE(self._old.st_mode))
        except BaseException:
            stream.close()
            os.unlink(aside)
            raise
        self._aside = aside
        return stream

    def write(self, content: bytes | memoryview | str) -> None:
        """Add to the file.

        Parameters
        ----------
        content : bytes or str
            Text is written in UTF-8, and bytes of file names that are no text as they are.

        Raises
        ------
        OSError
            There is no room for it.
        """
        if isinstance(content, str):
            content = content.encode("utf-8", "surrogateescape")
        with self._errors():
            self._stream.write(content)

    def flush(self) -> None:
        """Let others see what was written.

        Raises
        ------
        OSError
            There is no room for it.
        """
        with self._errors():
            self._stream.flush()

    def fileno(self) -> int:
        """Descriptor of the file.

        Returns
        -------
        int
            The same before and after the file takes its name.
        """
        return self._stream.fileno()

    def take_name(self) -> None:
        """Replace the old file; what is written from now on is added to the new one.

        Raises
        ------
        OSError
            The old file cannot be replaced, or a part of the new one is missing, because there was
            no room for it.
        """
        if self._failure is not None:
            raise self._failure
        self.flush()
        if self._aside is None:
            return
        with self._errors():
            # where there is something to lose, a power failure must not leave an empty file
            if self._old is not None:
                os.fsync(self._stream.fileno())
            os.replace(self._aside, self._target)
        self._aside = None

    def close(self) -> None:
        """Close the file; without its name it is removed.

        Raises
        ------
        OSError
            There is no room for what was written.
        """
        if self._aside is None:
            with self._errors():
                self._stream.close()
            return
        # nobody misses the rest of a file that is given up
        with suppress(OSError):
            self._stream.close()
        with suppress(OSError):
            os.unlink(self._aside)
        self._aside = None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of the system, with the name that the caller knows."""
        try:
            yield
        except OSError as error:
            self._failure = OSError(error.errno, error.strerror, self._path)
            raise self._failure from None


class RowFile:
    """CSV file that is written row by row.

    The header is written at once and the rows are flushed about every `flush_seconds`, so that a
    killed run loses little. A context manager; leaving it, for whatever reason, gives the file its
    name, but where a row could not be written: then it is removed.

    Parameters
    ----------
    path : path-like
        File to write; an old one is replaced in the end.
    header : sequence of str
        Names of the columns.
    flush_seconds : float
        Longest time that a row waits in memory while others follow, s.

    Raises
    ------
    OSError
        The file cannot be written.
    """

    def __init__(
        self, path: str | PathLike[str], header: Sequence[str], flush_seconds: float = 0.5
    ) -> None:
        self._file = NewFile(path)
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._flush_seconds = flush_seconds
        self._flushed = time.monotonic()
        try:
            self._writer.writerow(header)
            self._file.flush()
        except BaseException:
            self._file.close()
            raise

    def write(self, row: Iterable[object]) -> None:
        """Append one row.

        Parameters
        ----------
        row : iterable
            Its entries.

        Raises
        ------
        OSError
            There is no room for it.
        """
        self._writer.writerow(row)
        now = time.monotonic()
        if now - self._flushed >= self._flush_seconds:
            self._file.flush()
            self._flushed = now

    def take_name(self) -> None:
        """Replace the old file now; the rows that follow are added to the new one.

        Raises
        ------
        OSError
            There is no room for the rows, or the old file cannot be replaced.
        """
        self._file.take_name()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._file.take_name()
        finally:
            self._file.close()
