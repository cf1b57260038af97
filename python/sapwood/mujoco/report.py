"""A report on whether and how a stepper can simulate a model."""

from __future__ import annotations

import dataclasses
import lzma
import tempfile
import warnings
from pathlib import Path

import mujoco

from sapwood.base.checks import regular_file
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.stepper import Stepper

_MOST_OF_ONE = 1000  # bytes that one byte of a compressed model stands for
_MOST_MEMORY = 1 << 27  # of the decompressor, bytes: xz -9 needs half of it
_CHUNK = 1 << 18  # bytes that are decompressed at once


@dataclasses.dataclass(frozen=True)
class Report:
    """Whether a model can be simulated.

    Attributes
    ----------
    reasons : tuple of str
        Reasons against it, each with a remedy; empty if it can be simulated.
    warnings : tuple of str
        Differences from MuJoCo.
    """

    reasons: tuple[str, ...]
    warnings: tuple[str, ...]


def report(model: mujoco.MjModel) -> Report:
    """Make a stepper for a model and collect its errors and warnings.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.

    Returns
    -------
    Report
        All reasons to refuse the model, and all warnings.
    """
    reasons: tuple[str, ...] = ()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            Stepper(model)
        except NotSupported as error:
            reasons = error.reasons
        except ValueError as error:
            # also pressure fields that cannot be made
            reasons = (str(error),)
    return Report(reasons, tuple(str(warning.message) for warning in caught))


def load_model(path: Path) -> mujoco.MjModel:
    """Load a model from MJCF, URDF, or MuJoCo's binary format, which may be compressed.

    Parameters
    ----------
    path : Path
        File that ends in ``.mjb``, ``.mjb.xz``, or else is read as XML.

    Returns
    -------
    mujoco.MjModel
        The model.

    Raises
    ------
    ValueError
        If MuJoCo or lzma cannot read it, or it holds a thousand times its own size.
    OSError
        If it cannot be opened.
    """
    regular_file(path, "path")
    if path.suffix == ".mjb":
        return mujoco.MjModel.from_binary_path(str(path))
    if path.suffixes[-2:] != [".mjb", ".xz"]:
        return mujoco.MjModel.from_xml_path(str(path))
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "model.mjb"
        _decompress(path, whole)
        return mujoco.MjModel.from_binary_path(str(whole))


def _decompress(path: Path, target: Path) -> None:
    """Decompress a .xz file in chunks, up to the largest plausible ratio."""
    left = _MOST_OF_ONE * path.stat().st_size
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_MEMORY)
    with path.open("rb") as packed, target.open("wb") as file:
        try:
            while not decompressor.eof:
                part = packed.read(_CHUNK) if decompressor.needs_input else b""
                if decompressor.needs_input and not part:
                    raise ValueError("not compressed by lzma: it ends early")
                content = decompressor.decompress(part, _CHUNK)
                left -= len(content)
                if left < 0:
                    raise ValueError(
                        f"holds more than {_MOST_OF_ONE} times the bytes of the file: no model does"
                    )
                file.write(content)
        except lzma.LZMAError as error:
            raise ValueError(f"not compressed by lzma: {error}") from None
        if decompressor.unused_data or packed.read(1):
            raise ValueError("not compressed by lzma in one stream")
