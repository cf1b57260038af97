"""Colours and textures of MuJoCo's geoms."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]

_RGB, _RGBA = mujoco.mjtTextureRole.mjTEXROLE_RGB, mujoco.mjtTextureRole.mjTEXROLE_RGBA

# MuJoCo's default colour of a geom, and its replacement for planes
_UNSET, _GROUND = np.array([0.5, 0.5, 0.5, 1.0]), np.array([0.83, 0.85, 0.88, 1.0])


@dataclasses.dataclass(frozen=True, eq=False)
class Look:
    """The appearance of a geom.

    Attributes
    ----------
    rgba : ndarray (4,)
        Colour and opacity, from 0 to 1; with the mean of a texture that has no place on it.
    texture : ndarray of uint8 (height, width, 3) or None
        Picture, first row above.
    repeat : ndarray (2,)
        Number of repetitions of the picture on the surface, or per metre.
    per_metre : bool
        Whether `repeat` is per metre.
    """

    rgba: _Float
    texture: NDArray[np.uint8] | None
    repeat: _Float
    per_metre: bool


def geom_look(model: mujoco.MjModel, geom: int) -> Look:
    """The look of a geom: its material's where it has one; a plane of no colour is light.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    geom : int
        Number of the geom.

    Returns
    -------
    Look
        The current look.
    """
    seen = look(model, int(model.geom_matid[geom]), model.geom_rgba[geom])
    plane = model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE
    if plane and seen.texture is None and np.allclose(seen.rgba, _UNSET):
        return dataclasses.replace(seen, rgba=_GROUND)
    return seen


def look(model: mujoco.MjModel, material: int, rgba: NDArray[np.floating]) -> Look:
    """The look of a material, or of a geom without one.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    material : int
        Its number; negative for none.
    rgba : ndarray (4,)
        Colour of the element; MuJoCo's default gives way to the material's.

    Returns
    -------
    Look
        The current look.
    """
    own = np.asarray(rgba, dtype=float)
    if material < 0:
        return Look(own, None, np.ones(2), False)
    colour = model.mat_rgba[material].astype(float) if np.allclose(own, _UNSET) else own
    repeat = model.mat_texrepeat[material].astype(float)
    per_metre = bool(model.mat_texuniform[material])
    number = max(int(model.mat_texid[material, role]) for role in (_RGB, _RGBA))
    if number < 0:
        return Look(colour, None, repeat, per_metre)
    picture = _picture(model, number)
    if model.tex_type[number] != mujoco.mjtTexture.mjTEXTURE_2D:
        # a cube: its mean
        mean = picture.reshape(-1, 3).mean(axis=0) / 255.0
        return Look(np.append(colour[:3] * mean, colour[3]), None, repeat, per_metre)
    return Look(colour, picture, repeat, per_metre)


def _picture(model: mujoco.MjModel, number: int) -> NDArray[np.uint8]:
    """A texture as RGB (height, width, 3)."""
    height, width = int(model.tex_height[number]), int(model.tex_width[number])
    channels, start = int(model.tex_nchannel[number]), int(model.tex_adr[number])
    data = model.tex_data[start : start + height * width * channels]
    pixels = data.reshape(height, width, channels)
    # grey, or red, green and blue, with or without an opacity
    found: NDArray[np.uint8] = pixels[:, :, :3] if channels >= 3 else pixels[:, :, [0, 0, 0]]
    return found
