"""Simulations in the browser and in notebooks, and as files that open without a network.

:class:`Viewer` shows a simulation while a loop of yours runs it: play, pause, step, the time that
was recorded, contact forces as arrows, contacts that stick and that slide by colour, contact
surfaces by pressure; Ctrl and the mouse pull at bodies::

    stepper, data = sapwood.mujoco.Stepper(model), mujoco.MjData(model)
    with sapwood.viewer.Viewer(stepper, data) as viewer:
        while viewer.is_running():
            stepper.step(data)
            viewer.sync()

:func:`view` is that loop; :func:`record` simulates without a page and returns a
:class:`Recording`, which notebooks show and ``Recording.save`` writes as one HTML file.
"""

from sapwood.base.optional import imported_for

with imported_for("sapwood.viewer", "viewer"):
    import mujoco as _mujoco  # noqa: F401
    import viser as _viser  # noqa: F401

from sapwood.viewer.frames import Frame
from sapwood.viewer.recording import Recording, record
from sapwood.viewer.viewer import Viewer, view

__all__ = ["Frame", "Recording", "Viewer", "record", "view"]
