"""Files of models: which there are, how each is read, what it starts from, which class it is of."""

from __future__ import annotations

import lzma
import os
import re
import tempfile
from pathlib import Path

import mujoco

#: Ends of names that are read. Compressed binary models are those of MuJoCo's own format.
SUFFIXES = (".mjb.xz", ".mjb", ".xml", ".urdf")

HUMANOID, QUADRUPED, HAND, ARM, OTHER = CLASSES = ("humanoid", "quadruped", "hand", "arm", "other")

# words of a file's name, tried in this order
_WORDS = (
    (OTHER, "cheetah|swimmer|fruitfly|rodent|humanoid100|object|replicate"),
    (HUMANOID, "humanoid|toddlerbot|talos|cassie|_h1_|_g1_|_t1_|floating_legged"),
    (QUADRUPED, "anymal|spot|barkour|go1|go2|b1_|b2w|a1_|a2_|dog|quadruped|_ant"),
    (HAND, "hand|adroit|allegro|leap|2f85|gripper_|_gripper|grippers|finger_v0"),
    (ARM, "panda|fr3|google_robot|wx250|lite6|z1|sawyer|baxter|ur5|ur10|iiwa|peg_insertion"),
)


def default_folder() -> Path | None:
    """Folder ``models`` of the one that SAPWOOD_DATA names; None where there is none."""
    given = os.environ.get("SAPWOOD_DATA")
    folder = Path(given) / "models" if given else None
    return folder if folder is not None and folder.is_dir() else None


def find(folder: Path) -> list[Path]:
    """All files of models below a folder, by name."""
    return sorted(
        path for path in folder.rglob("*") if path.name.endswith(SUFFIXES) and path.is_file()
    )


def name_of(path: Path) -> str:
    """Name of a file without what says its format."""
    for suffix in SUFFIXES:
        if path.name.endswith(suffix):
            return path.name.removesuffix(suffix)
    return path.stem


def load(path: Path) -> mujoco.MjModel:
    """Read a model.

    Parameters
    ----------
    path
        MJCF, URDF, or MuJoCo's binary format, the latter also compressed with xz.

    Raises
    ------
    OSError, ValueError
        The file cannot be read, or MuJoCo finds no model in it.
    lzma.LZMAError
        It is not compressed as its name says.
    """
    if path.name.endswith((".xml", ".urdf")):
        return mujoco.MjModel.from_xml_path(str(path))
    if path.name.endswith(".mjb"):
        return mujoco.MjModel.from_binary_path(str(path))
    with lzma.open(path) as packed, tempfile.NamedTemporaryFile(suffix=".mjb") as binary:
        binary.write(packed.read())
        binary.flush()
        return mujoco.MjModel.from_binary_path(binary.name)


def start(model: mujoco.MjModel) -> mujoco.MjData:
    """Data at keyframe 0, or at the model's own start where there is none."""
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    return data


def class_of(name: str, model: mujoco.MjModel) -> str:
    """Class of a model: by words of its name, else legged ones by what they are made of."""
    for group, words in _WORDS:
        if re.search(words, name):
            return group
    if model.njnt and model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
        if model.nu in (12, 16):
            return QUADRUPED
        if model.nu >= 17:
            return HUMANOID
    return OTHER
