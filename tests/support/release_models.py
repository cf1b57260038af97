"""Models that begin with a violation, and how fast they come out of it."""

from __future__ import annotations

import mujoco
import numpy as np

SPHERE = """<mujoco><option {option}/><worldbody><geom type="plane" size="5 5 1" {geom}/>
<body pos="0 0 .09"><freejoint/><geom size=".1" {geom}/></body></worldbody></mujoco>"""
LIMIT = """<mujoco><option {option}/><worldbody>
<body><joint name="hinge" axis="0 0 1" limited="true" range="-10 30" ref="35" {geom}/>
<geom type="capsule" fromto="0 0 0 .5 0 0" size=".03"/></body></worldbody></mujoco>"""
WELD = """<mujoco><option {option}/><worldbody>
<body name="hand" mocap="true" pos="0 0 1"/>
<body name="held" pos="0 0 1"><freejoint/><geom size=".1"/></body></worldbody>
<equality><weld body1="hand" body2="held" {geom}/></equality></mujoco>"""


def compiled(xml, time_step=0.002, geom=""):
    return mujoco.MjModel.from_xml_string(xml.format(option=f"timestep='{time_step}'", geom=geom))


def peak_speed(model, step, start, steps=200):
    data, peak = mujoco.MjData(model), 0.0
    start(data)
    for _ in range(steps):
        step(data)
        peak = max(peak, np.abs(data.qvel).max())
    return peak, data
