"""A simulation in the browser, run by a loop of the user's."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from types import TracebackType

import mujoco
import numpy as np

from sapwood import _core
from sapwood.base.checks import boolean
from sapwood.mujoco import Stepper
from sapwood.viewer.dragging import Dragging
from sapwood.viewer.frames import Camera
from sapwood.viewer.pages import start_server, stop_server
from sapwood.viewer.panel import Panel
from sapwood.viewer.recording import Recording
from sapwood.viewer.scene import Scene

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION

# frames to keep: ten minutes at thirty per second
_LONGEST = 18_000


class Viewer:
    """The page of a simulation.

    A loop takes the steps and calls :meth:`sync` after each one, which draws, keeps pace with the
    clock, waits while the simulation is paused, begins anew where the user asks for that, and pulls
    at the body that is dragged. In a notebook, the viewer is its own last line.

    Parameters
    ----------
    stepper : Stepper
        Takes the steps; its contacts are shown.
    data : mujoco.MjData
        Data of the model; Reset returns to their current state.
    host : str
        Address to serve at; ``"0.0.0.0"`` for other machines too, all of which may then pull.
    port : int
        Port; where it is taken, the next free one.
    rate : float
        Frames per second of wall time, at most.
    paused : bool
        Whether to wait for Play.

    Attributes
    ----------
    recording : Recording
        The frames that were drawn, of the last ten minutes.
    url : str
        Address of the page.

    Raises
    ------
    ValueError
        For a rate that is not positive.
    OSError
        If the address cannot be served at.

    Examples
    --------
    >>> import mujoco, sapwood.mujoco, sapwood.viewer  # doctest: +SKIP
    >>> model = mujoco.MjModel.from_xml_path("robot.xml")  # doctest: +SKIP
    >>> stepper, data = sapwood.mujoco.Stepper(model), mujoco.MjData(model)  # doctest: +SKIP
    >>> with sapwood.viewer.Viewer(stepper, data) as viewer:  # doctest: +SKIP
    ...     print(viewer.url)
    ...     while viewer.is_running():
    ...         stepper.step(data)
    ...         viewer.sync()
    """

    def __init__(
        self,
        stepper: Stepper,
        data: mujoco.MjData,
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        rate: float = 30.0,
        paused: bool = False,
    ) -> None:
        paused = boolean(paused, "paused")
        self._interval = 1.0 / float(_core.as_float64(rate, "rate", (), "positive"))
        self._stepper, self._data = stepper, data
        model = stepper.model
        self._start = np.empty(mujoco.mj_stateSize(model, _STATE))
        mujoco.mj_getState(model, data, self._start, _STATE)
        self._soft_start = stepper.soft_state
        self._camera, self._dragging = Camera(model, stepper.soft), Dragging(model)
        self.recording = Recording(model, _LONGEST)
        self._server = start_server(host, port)
        self.url = f"http://{host}:{self._server.get_port()}"
        self._scene = Scene(self._server, model)
        self._panel = Panel(self._server, self._scene, self.recording, paused)
        self._scene.on_drag(self._dragging.dragged)
        self._running = True
        self._keep_pace()
        self._draw(contacts=False)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Viewer({self.url}{'' if self._running else ', closed'})"

    def _repr_html_(self) -> str:
        return (
            f'<iframe src="{html.escape(self.url)}" '
            'style="width:100%;height:560px;border:1px solid #ddd;border-radius:6px"></iframe>'
        )

    def is_running(self) -> bool:
        """Whether the page is served.

        Returns
        -------
        bool
            False after :meth:`close`.
        """
        return self._running

    def close(self) -> None:
        """Stop to serve the page; the recording stays."""
        if self._running:
            self._running = False
            stop_server(self._server)

    # ---- the loop -------------------------------------------------------------------------------

    def sync(self) -> None:
        """Show the state, and apply the user's requests; to be called after each step.

        Returns when the next step is due.
        """
        data, panel = self._data, self._panel
        now = time.perf_counter()
        if now - self._drawn >= self._interval or panel.paused:
            self._draw()
        self._wait()
        if panel.paused and self.recording.frames[-1].time != data.time:
            self._draw()
        while self._running and panel.paused and not panel.take_step():
            panel.wait(0.1)
            if panel.take_reset():
                self._begin_again()
        if panel.take_reset():
            self._begin_again()
        # a change of speed, a pause or a step of the clock is no debt to be paid by haste
        behind = time.perf_counter() - self._due(data.time)
        if panel.paused or self._speed != panel.speed or behind > 0.2:
            self._keep_pace()
        self._dragging.apply(data)

    def _wait(self) -> None:
        """Until the clock is where the simulation is."""
        while self._running and not self._panel.paused:
            rest = self._due(self._data.time) - time.perf_counter()
            if rest <= 0.0 or self._speed != self._panel.speed:
                break
            # frames go on while time runs slowly
            self._panel.wait(min(rest, self._interval))

    def _due(self, simulated: float) -> float:
        """When a simulated time is to be shown, of ``time.perf_counter``."""
        return self._clock + (simulated - self._simulated) / self._speed

    def _keep_pace(self) -> None:
        """Count from now on."""
        self._clock, self._simulated = time.perf_counter(), float(self._data.time)
        self._speed = self._panel.speed
        self._drawn = self._clock - self._interval

    def _draw(self, contacts: bool = True) -> None:
        frame = self._camera.take(self._data, self._stepper if contacts else None)
        self.recording.frames.append(frame)
        self._drawn = time.perf_counter()
        passed = self._drawn - self._clock
        pace = (frame.time - self._simulated) / passed if passed > 0.0 else 0.0
        self._panel.show(frame, pace)

    def _begin_again(self) -> None:
        """Return to the state that the viewer was made with."""
        mujoco.mj_setState(self._stepper.model, self._data, self._start, _STATE)
        mujoco.mj_forward(self._stepper.model, self._data)
        self._stepper.soft_state = self._soft_start
        self.recording.frames.clear()
        self._keep_pace()
        self._draw(contacts=False)


def view(
    stepper: Stepper,
    data: mujoco.MjData,
    *,
    control: Callable[[mujoco.MjData], object] | None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    paused: bool = False,
    opened: Callable[[Viewer], object] | None = None,
) -> Recording:
    """Simulate in the browser until Ctrl-C.

    Parameters
    ----------
    stepper : Stepper
        Takes the steps.
    data : mujoco.MjData
        Data of the model; advanced in place.
    control : callable, optional
        Called with ``data`` before each step, to set controls.
    host, port : str, int
        The same as for :class:`Viewer`.
    paused : bool
        Whether to wait for Play.
    opened : callable, optional
        Called with the viewer once its page is served, such as to print ``viewer.url``.

    Returns
    -------
    Recording
        The frames that were drawn.

    Raises
    ------
    StepError, NotSupported, ValueError, OSError
        The same as for :class:`Viewer` and :meth:`sapwood.mujoco.Stepper.step`.
    """
    with Viewer(stepper, data, host=host, port=port, paused=paused) as viewer:
        try:
            if opened is not None:
                opened(viewer)
            while viewer.is_running():
                if control is not None:
                    control(data)
                stepper.step(data)
                viewer.sync()
        except KeyboardInterrupt:
            pass
        return viewer.recording
