"""MuJoCo's data, beside the model that they have to belong to."""

from __future__ import annotations

import mujoco


def check_data(model: mujoco.MjModel, data: object) -> None:
    """Raise TypeError or ValueError where `data` is no MjData of this model."""
    if not isinstance(data, mujoco.MjData):
        hint = ": a stepper has its model" if isinstance(data, mujoco.MjModel) else ""
        raise TypeError(f"data must be a mujoco.MjData, not {type(data).__name__}{hint}")
    sizes = data.qpos.size, data.qvel.size, len(data.xpos), len(data.geom_xpos)
    signatures = {data.signature, model.signature} - {0}  # 0 once a model was pickled
    if sizes != (model.nq, model.nv, model.nbody, model.ngeom) or len(signatures) > 1:
        raise ValueError("data belongs to another model")
