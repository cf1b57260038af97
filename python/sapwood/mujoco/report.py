"""What a stepper would say of a model."""

from __future__ import annotations

import dataclasses
import lzma
import tempfile
import warnings
from pathlib import Path

import mujoco

from sapwood.mujoco.stepper import Stepper
from sapwood.mujoco.support import NotSupported


@dataclasses.dataclass(frozen=True)
class Report:
    """Whether a model can be simulated.

    Attributes
    ----------
    reasons : tuple of str
        Why not, each with what lets it run; empty where it can.
    warnings : tuple of str
        What is done in another way than MuJoCo does it.
    """

    reasons: tuple[str, ...]
    warnings: tuple[str, ...]


def report(model: mujoco.MjModel) -> Report:
    """Make a stepper for a model and keep what it says.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.

    Returns
    -------
    Report
        All reasons to refuse it, and all warnings.
    """
    reasons: tuple[str, ...] = ()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            Stepper(model)
        except NotSupported as error:
            reasons = error.reasons
        except ValueError as error:
            # pressure fields of the model that cannot be
            reasons = (str(error),)
    return Report(reasons, tuple(str(warning.message) for warning in caught))


def load_model(path: Path) -> mujoco.MjModel:
    """Load a model from MJCF, URDF, or MuJoCo's binary format, which may be compressed.

    Parameters
    ----------
    path : Path
        File that ends in ``.mjb``, ``.mjb.xz``, or anything else for XML.

    Returns
    -------
    mujoco.MjModel
        The model.

    Raises
    ------
    ValueError
        Where MuJoCo or lzma cannot read it.
    OSError
        Where it cannot be opened.
    """
    path.open("rb").close()  # MuJoCo tells too little of a file that is not there
    if path.suffix == ".mjb":
        return mujoco.MjModel.from_binary_path(str(path))
    if path.suffixes[-2:] != [".mjb", ".xz"]:
        return mujoco.MjModel.from_xml_path(str(path))
    try:
        binary = lzma.decompress(path.read_bytes())
    except (lzma.LZMAError, EOFError) as error:
        raise ValueError(f"not compressed by lzma: {error}") from None
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "model.mjb"
        whole.write_bytes(binary)
        return mujoco.MjModel.from_binary_path(str(whole))
