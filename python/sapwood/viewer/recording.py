"""Frames of a simulation, kept to be looked at again, and as one HTML file."""

from __future__ import annotations

import base64
import html
from collections import deque
from collections.abc import Callable
from os import PathLike

import mujoco
import numpy as np

from sapwood import _core
from sapwood.base.files import write_file
from sapwood.mujoco import Stepper
from sapwood.solution import Region
from sapwood.viewer.arrows import COLOURS
from sapwood.viewer.frames import Camera, Frame
from sapwood.viewer.pages import quiet_server
from sapwood.viewer.scene import Scene

_HEIGHT = 480


class Recording:
    """Frames of one model in the order of time.

    As the last line of a notebook cell, a recording shows its page with a time slider.

    Parameters
    ----------
    model : mujoco.MjModel
        The simulated model.
    longest : int, optional
        Frames to keep, the last ones; by default all.

    Attributes
    ----------
    model : mujoco.MjModel
        The simulated model.
    frames : deque of Frame
        The frames, in the order of time.
    """

    def __init__(self, model: mujoco.MjModel, longest: int | None = None) -> None:
        self.model = model
        self.frames: deque[Frame] = deque(maxlen=longest)

    def __len__(self) -> int:
        return len(self.frames)

    def __repr__(self) -> str:
        if not self.frames:
            return "Recording(no frames)"
        first, last = self.frames[0].time, self.frames[-1].time
        return f"Recording({len(self)} frames, {first:.3g} to {last:.3g} s)"

    def at(self, time: float) -> Frame:
        """The frame nearest to a time.

        Parameters
        ----------
        time : float
            Simulated time, s.

        Returns
        -------
        Frame
            The frame.

        Raises
        ------
        ValueError
            If there are no frames.
        """
        if not self.frames:
            raise ValueError("the recording has no frames")
        times = np.array([frame.time for frame in self.frames])
        return self.frames[int(np.argmin(np.abs(times - time)))]

    def to_html(self, title: str = "sapwood") -> str:
        """A stand-alone page with all frames and their player.

        Parameters
        ----------
        title : str
            Title of the page.

        Returns
        -------
        str
            HTML: a megabyte, and the frames. The page needs no network.

        Raises
        ------
        ValueError
            If there are no frames.
        """
        if not self.frames:
            raise ValueError("the recording has no frames")
        with quiet_server() as server:
            scene = Scene(server, self.model)
            scene.draw(self.frames[0])
            serializer = server.get_scene_serializer()
            time = self.frames[0].time
            for frame in self.frames:
                serializer.insert_sleep(max(0.0, frame.time - time))
                time = max(time, frame.time)
                scene.draw(frame)
            page: str = serializer.as_html()
        named = f"<title>{html.escape(title)}</title>"
        page = page.replace("<title>Viser</title>", named, 1)
        end = page.rindex("</body>")
        return page[:end] + _legend(any(len(f.regions) for f in self.frames)) + page[end:]

    def save(self, path: str | PathLike[str], title: str = "sapwood") -> None:
        """Write the page of :meth:`to_html`.

        Parameters
        ----------
        path : str or path
            File to write, ``.html``.
        title : str
            Title of the page.

        Raises
        ------
        ValueError
            If there are no frames.
        OSError
            If the file cannot be written.
        """
        write_file(path, self.to_html(title))

    def _repr_html_(self) -> str:
        if not self.frames:
            return html.escape(repr(self))
        page = base64.b64encode(self.to_html().encode()).decode()
        return (
            f'<iframe src="data:text/html;base64,{page}" '
            f'style="width:100%;height:{_HEIGHT}px;border:1px solid #ddd;border-radius:6px">'
            "</iframe>"
        )


def record(
    stepper: Stepper,
    data: mujoco.MjData,
    seconds: float,
    *,
    control: Callable[[mujoco.MjData], object] | None = None,
    rate: float = 30.0,
) -> Recording:
    """Simulate, and keep frames; no page is opened.

    Parameters
    ----------
    stepper : Stepper
        Takes the steps.
    data : mujoco.MjData
        Advanced in place.
    seconds : float
        Simulated time, s.
    control : callable, optional
        Called with ``data`` before each step, to set controls.
    rate : float
        Frames per second of simulated time.

    Returns
    -------
    Recording
        The recording; its first frame is the initial state.

    Raises
    ------
    StepError, NotSupported, ValueError
        The same as for :meth:`sapwood.mujoco.Stepper.step`.

    Examples
    --------
    >>> import mujoco, sapwood.mujoco, sapwood.viewer
    >>> model = sapwood.studies.scenes.clutter(4).compile()
    >>> stepper, data = sapwood.mujoco.Stepper(model), mujoco.MjData(model)
    >>> sapwood.viewer.record(stepper, data, 0.5)
    Recording(16 frames, 0 to 0.5 s)
    """
    _core.as_float64(seconds, "seconds", (), "non-negative")
    _core.as_float64(rate, "rate", (), "positive")
    camera, recording = Camera(stepper.model, stepper.soft), Recording(stepper.model)
    recording.frames.append(camera.take(data))
    start, taken = data.time, 0
    steps = round(seconds / stepper.time_step)
    for _ in range(steps):
        if control is not None:
            control(data)
        stepper.step(data)
        # half a step of room for sums of time steps
        if data.time - start >= (taken + 1) / rate - stepper.time_step / 2:
            taken += 1
            recording.frames.append(camera.take(data, stepper))
    return recording


def _legend(contacts: bool) -> str:
    """A legend of the colours, for a corner of the page; empty without contacts."""
    if not contacts:
        return ""
    return (
        '<div style="position:fixed;left:14px;top:14px;padding:8px 12px;border-radius:8px;'
        "background:rgba(255,255,255,.85);box-shadow:0 1px 4px rgba(0,0,0,.2);"
        'font:13px system-ui,sans-serif;color:#222;z-index:10;pointer-events:none">'
        f"{legend()}</div>"
    )


def legend() -> str:
    """The legend of the colours of contacts, as HTML.

    Returns
    -------
    str
        A line per region.
    """
    words = {Region.stiction: "sticks", Region.sliding: "slides"}
    return "".join(
        '<div style="display:flex;align-items:center;gap:8px;line-height:1.5">'
        f'<span style="width:11px;height:11px;border-radius:50%;background:rgb{COLOURS[region]}">'
        f"</span>contact {word}</div>"
        for region, word in words.items()
    )
