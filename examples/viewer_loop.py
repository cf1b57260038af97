"""A loop of one's own with the viewer beside it: a ball that is pushed to and fro on a plane.

python examples/viewer_loop.py    # opens a page; Ctrl-C ends
"""

from __future__ import annotations

import contextlib
import math
import webbrowser

import mujoco

import sapwood.mujoco
import sapwood.viewer

MODEL = """
<mujoco>
  <worldbody>
    <geom type="plane" size="0 0 .1" rgba=".75 .78 .82 1"/>
    <geom type="box" size=".05 .5 .1" pos="1 0 .1" rgba=".5 .55 .6 1"/>
    <geom type="box" size=".05 .5 .1" pos="-1 0 .1" rgba=".5 .55 .6 1"/>
    <body name="ball" pos="0 0 .15">
      <freejoint/>
      <geom size=".15" mass="1" rgba=".85 .35 .2 1"/>
    </body>
  </worldbody>
</mujoco>
"""


def main() -> None:
    """Push, step, show."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    stepper = sapwood.mujoco.Stepper(model)
    viewer = sapwood.viewer.Viewer(stepper, data)
    with viewer, contextlib.suppress(KeyboardInterrupt):
        print(viewer.url, flush=True)
        webbrowser.open(viewer.url)
        while viewer.is_running():
            # what the mouse pulls comes on top
            data.qfrc_applied[:3] = (4.0 * math.sin(2.0 * data.time), 0.0, 0.0)
            stepper.step(data)
            viewer.sync()


if __name__ == "__main__":
    main()
