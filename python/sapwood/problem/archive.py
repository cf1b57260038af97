"""Archives of arrays, .npz, read without trust: all sizes are known before arrays are read.

An archive is a zip file of .npy files, and a few bytes of either may claim any size. So the header
of an array is read by itself, and held against the zip directory and the size of the file: arrays
share no bytes, and deflate, the only compression that NumPy writes, makes nothing smaller than a
thousandth. Which shapes make sense is for the reader to say, see `sizes`.
"""

from __future__ import annotations

import errno
import functools
import io
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from zipfile import ZipInfo

# first bytes of an archive, with and without members
_BEGINNINGS = (b"PK\x03\x04", b"PK\x05\x06")
_SUFFIX = ".npy"
_VERSION = (1, 0)  # later versions have longer headers, for structured arrays
_MOST_OF_ONE = {0: 1, 8: 1032}  # largest ratio of sizes: stored, deflated
_NUMBERS, _TEXT = "biufcmM", "SU"  # kinds of dtypes
_MOST_TEXT = 16  # largest size over the file's: deflate saves four bytes per letter fourfold
_LAST_LETTER = 0x10FFFF  # largest code point of Unicode
_CHUNK = 1 << 18  # bytes per read


class Header(NamedTuple):
    """The type and shape of an array, from its header."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: Literal["C", "F"]

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)

    @property
    def n_bytes(self) -> int:
        """Bytes of all entries."""
        return self.size * self.dtype.itemsize


class ArchiveError(ValueError):
    """The archive is damaged, or holds what NumPy does not write; the text says where."""


class Archive:
    """A .npz file; its methods raise ArchiveError.

    Parameters
    ----------
    file : binary file
        At its beginning; it must stay open.

    Attributes
    ----------
    n_bytes : int
        Size of the file.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is no archive.
    """

    def __init__(self, file: BinaryIO) -> None:
        # not before it is needed: it brings much along
        import zipfile

        if file.read(4) not in _BEGINNINGS:
            raise ValueError("not a .npz archive")
        self.n_bytes = os.fstat(file.fileno()).st_size
        self._members: dict[str, ZipInfo] = {}
        self._streams: dict[str, IO[bytes]] = {}
        self._headers: dict[str, Header] = {}
        with _damage():
            self._zip = zipfile.ZipFile(file)
        for member in self._zip.infolist():
            key = member.filename.removesuffix(_SUFFIX)
            if key in self._members:
                raise ArchiveError(f"{key} is there twice")
            self._members[key] = member

    @property
    def keys(self) -> list[str]:
        """Names of the arrays."""
        return list(self._members)

    def headers(self, keys: Iterable[str]) -> dict[str, Header]:
        """Headers of arrays of numbers and text.

        Numbers take no more room than the file can hold if all of them are equal; text takes at
        most a few times the size of the file.

        Parameters
        ----------
        keys : iterable of str
            Names of all arrays that will be read.

        Returns
        -------
        dict
            Header by key.
        """
        with _damage():
            self._headers = {key: self._header(key) for key in keys}
        if sum(self._members[key].compress_size for key in self._headers) > self.n_bytes:
            raise ArchiveError("arrays overlap")
        return self._headers

    def _header(self, key: str) -> Header:
        member = self._members[key]
        if member.file_size > _MOST_OF_ONE.get(member.compress_type, 0) * member.compress_size:
            raise ArchiveError(f"{key} is not compressed as NumPy does it")
        stream = self._streams[key] = self._zip.open(member)
        if np.lib.format.read_magic(stream) != _VERSION:
            raise ArchiveError(f"{key} is no array of numbers or text")
        length = stream.read(2)
        try:
            header = _parse_header(length + stream.read(int.from_bytes(length, "little")))
        # errors of the parser for other text; the last two for text that is nested too deeply
        except (TypeError, ValueError, MemoryError, RecursionError):
            raise ArchiveError(f"{key} has a header that cannot be read") from None
        if header.dtype.kind not in _NUMBERS + _TEXT:
            raise ArchiveError(f"{key} is no array of numbers or text")
        rest = member.file_size - stream.tell()
        if header.n_bytes != rest or any(n < 0 for n in header.shape):
            raise ArchiveError(f"{key} has {rest} bytes for shape {header.shape}")
        if header.dtype.kind in _TEXT and header.n_bytes > _MOST_TEXT * self.n_bytes:
            raise ArchiveError(f"{key} is text of {header.n_bytes} bytes: too long for this file")
        return header

    def read(self, key: str) -> NDArray[Any]:
        """Read an array, once; its checksum is compared.

        Parameters
        ----------
        key : str
            A key that `headers` was called with.

        Returns
        -------
        ndarray
            A new array.
        """
        shape, dtype, order = self._headers[key]
        content = np.empty(self._headers[key].n_bytes, np.uint8)
        with _damage(), self._streams.pop(key) as stream:
            for start in range(0, len(content), _CHUNK):
                part = content[start : start + _CHUNK]
                read = stream.read(len(part))
                if len(read) < len(part):
                    raise ArchiveError(f"{key} ends early")
                part[:] = np.frombuffer(read, np.uint8)
        # NumPy would make a str of these bytes without a check
        if dtype.kind == "U" and (content.view(f"{dtype.str[0]}u4") > _LAST_LETTER).any():
            raise ArchiveError(f"{key} is no text")
        return np.ndarray(shape, dtype, content.data, order=order)


# arrays of groups share few headers, and NumPy's parser takes longer than all the rest of a read
@functools.lru_cache(maxsize=64)
def _parse_header(text: bytes) -> Header:
    """Parse the header of an array: its length in two bytes, and its text."""
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(io.BytesIO(text))
    return Header(shape, dtype, "F" if by_columns else "C")


@contextmanager
def _damage() -> Iterator[None]:
    """Turn the various errors of a damaged file into one error of one line."""
    try:
        yield
    except (ArchiveError, MemoryError):
        raise
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise ArchiveError("its directory points before the beginning") from error
    except Exception as error:
        raise ArchiveError(" ".join(str(error).split()) or type(error).__name__) from error
