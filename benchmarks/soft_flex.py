"""The cube of the speed comparison of soft bodies as a flex of MuJoCo."""

from __future__ import annotations

from collections.abc import Callable

import mujoco

from benchmarks.soft_cube import DAMPING, DENSITY, FRICTION, POISSON, SIDE, YOUNG, Cube

_XML = """
<mujoco>
  <option timestep="{time_step}" integrator="discrete" solver="{solver}" cone="elliptic"/>
  <worldbody>
    <geom type="plane" size="1 1 1" friction="{friction}"/>
    <flexcomp name="cube" type="direct" dim="3" mass="{mass}" radius="0.0001" point="{points}"
        element="{elements}">
      <elasticity young="{young}" poisson="{poisson}" damping="{damping}"/>
      <contact selfcollide="none" friction="{friction}"/>
    </flexcomp>
  </worldbody>
</mujoco>"""


def step_call(cube: Cube, solver: str, time_step: float) -> Callable[[], object]:
    """One step of the cube on a plane, as a call."""
    numbers = (" ".join(f"{value:.17g}" for value in cube.positions.ravel()),)
    text = _XML.format(
        time_step=time_step,
        solver=solver,
        friction=FRICTION,
        mass=DENSITY * SIDE**3,
        points=numbers[0],
        elements=" ".join(str(corner) for corner in cube.mesh.tetrahedra.ravel()),
        young=YOUNG,
        poisson=POISSON,
        damping=DAMPING,
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    return lambda: mujoco.mj_step(model, data)
