"""A cloth falls on a ball and drapes it; a cable with a weight swings through a ring."""

import sys
from itertools import pairwise

import mujoco
import numpy as np

from sapwood.mujoco import Stepper

CLOTH = """
<mujoco model="cloth">
  <option timestep="0.001" integrator="implicitfast"/>
  <worldbody>
    <geom name="ball" type="sphere" size="0.15" friction="0.5"/>
    <body name="cloth" pos="0.03 0 0.16">
      <flexcomp name="cloth" type="grid" count="11 11 1" spacing="0.04 0.04 0.04" radius="0.005"
          dim="2" mass="0.2">
        <contact selfcollide="none" friction="0.5"/><edge equality="true" damping="0.01"/>
      </flexcomp>
    </body>
  </worldbody>
</mujoco>"""
CABLE = """
<mujoco model="cable">
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body name="ring">{ring}</body>
    <body name="cable" pos="0.005 0 -0.12" euler="0 90 0">
      <flexcomp name="cable" type="grid" count="16 1 1" spacing="0.02 0.02 0.02" radius="0.004"
          dim="1" mass="0.03">
        <contact selfcollide="none" friction="0.3"/><edge equality="true" damping="0.01"/>
      </flexcomp>
    </body>
    <body name="bead" pos="0.005 0 0.03"><freejoint/>
      <geom type="sphere" size="0.03" mass="0.02" friction="0.3" contype="2" conaffinity="2"/>
    </body>
    <body name="weight" pos="0.005 0 -0.27"><joint name="weight" type="free" damping="0.01"/>
      <geom type="sphere" size="0.015" mass="0.05" contype="0" conaffinity="0"/></body>
  </worldbody>
  <equality>
    <connect body1="bead" body2="cable_0" anchor="0 0 0"/>
    <connect body1="weight" body2="cable_15" anchor="0 0 0"/>
  </equality>
</mujoco>"""


def ring(radius=0.03, parts=12):
    """Capsules around a circle."""
    at = 2 * np.pi * np.arange(parts + 1) / parts
    places = [f"{radius * np.cos(a):.5f} {radius * np.sin(a):.5f} 0" for a in at]
    return "".join(
        f'<geom type="capsule" size="0.008" fromto="{a} {b}" friction="0.3" contype="3"/>'
        for a, b in pairwise(places)
    )


def run(model, data, steps, every):
    """Step the model: places of the vertices, the largest strain of an edge, the least gap (mm)."""
    stepper, places, strain, gap = Stepper(model), [], 0.0, np.inf
    for i in range(steps):
        stepper.step(data)
        strain = max(strain, np.abs(data.flexedge_length / model.flexedge_length0 - 1).max())
        gap = min(gap, data.contact.dist.min(initial=np.inf))
        if i % every == every - 1:
            places.append(data.flexvert_xpos.copy())
    return places, strain, 1e3 * gap


cloth = mujoco.MjModel.from_xml_string(CLOTH)
draped, strain, gap = run(cloth, mujoco.MjData(cloth), 1000, 1000)
print(f"cloth: hangs down to {100 * draped[-1][:, 2].min():.1f} cm")
print(f"  edges are {100 * strain:.1f} % too long or short at most, gaps at least {gap:.2f} mm")

cable = mujoco.MjModel.from_xml_string(CABLE.format(ring=ring()))
data = mujoco.MjData(cable)
data.joint("weight").qvel[0] = 1.5  # m/s
swings, strain, gap = run(cable, data, 500, 25)
reach = max(np.abs(x[:, 0]).max() for x in swings)
print(f"cable: swings out to {100 * reach:.1f} cm")
print(f"  edges are {100 * strain:.1f} % too long or short at most, gaps at least {gap:.2f} mm")

if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(9, 4.5), layout="constrained")
    solid = figure.add_subplot(1, 2, 1, projection="3d")
    u, w = np.mgrid[0 : 2 * np.pi : 24j, 0 : np.pi : 12j]
    ball = 0.15 * np.array([np.cos(u) * np.sin(w), np.sin(u) * np.sin(w), np.cos(w)])
    solid.plot_surface(*ball, color="#d0d0d0", alpha=0.4)
    triangles = cloth.flex_elem.reshape(-1, 3)
    solid.plot_trisurf(*draped[-1].T, triangles=triangles, color="#56b4e9", edgecolor="0.3", lw=0.2)
    solid.set_title("A cloth on a ball, after 1 s")
    solid.set_axis_off()
    plane = figure.add_subplot(1, 2, 2)
    for x in swings:
        plane.plot(x[:, 0], x[:, 2], color="#0072b2", linewidth=0.8)
        plane.plot(*x[-1, [0, 2]], "o", color="#d55e00", markersize=4)
    plane.plot([], [], "o", color="#d55e00", markersize=4, label="weight")
    for side in (-0.03, 0.03):
        plane.add_patch(plt.Circle((side, 0.0), 0.008, color="0.4"))
    plane.plot([], [], "o", color="0.4", markersize=9, label="ring, cut")
    plane.legend(loc="upper left")
    plane.set_title("A cable in a ring, every 50 ms")
    plane.set_xlabel("x (m)")
    plane.set_ylabel("z (m)")
    plane.set_aspect("equal")
    sides = [np.ptp(limits) for limits in (solid.get_xlim(), solid.get_ylim(), solid.get_zlim())]
    solid.set_box_aspect(sides, zoom=1.4)
    figure.savefig(sys.argv[1], dpi=120)
