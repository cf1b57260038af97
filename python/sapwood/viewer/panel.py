"""The buttons and sliders beside the scene."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import viser

from sapwood.solution import Region
from sapwood.viewer.arrows import COLOURS
from sapwood.viewer.frames import Frame
from sapwood.viewer.recording import Recording, legend
from sapwood.viewer.scene import Scene

_SPEEDS = ("1/16x", "1/4x", "1/2x", "1x", "2x", "as fast as it goes")
_FASTEST = float("inf")


class Panel:
    """The controls of the page.

    Parameters
    ----------
    server : viser.ViserServer
        The server of the page.
    scene : Scene
        The scene on the page.
    recording : Recording
        The frames so far; the slider goes through them.
    paused : bool
        Whether the simulation waits for Play.

    Attributes
    ----------
    paused : bool
        Whether the simulation waits.
    speed : float
        Simulated over wall time; infinite for no waiting.
    """

    def __init__(
        self, server: viser.ViserServer, scene: Scene, recording: Recording, paused: bool
    ) -> None:
        self._scene, self._recording = scene, recording
        self._asked = threading.Event()
        # the loop draws in its own thread, and the callbacks of the user run in others
        self._drawing = threading.Lock()
        self._steps, self._reset = 0, False
        self.paused = paused
        self._moving = self._looking_back = False
        self.speed = 1.0
        gui = server.gui
        gui.set_panel_label("sapwood")
        gui.configure_theme(
            show_logo=False, show_share_button=False, brand_color=COLOURS[Region.stiction]
        )
        gui.main_panel.dock_right()
        self._play = gui.add_button("Play", icon=viser.Icon.PLAYER_PLAY)
        self._step = gui.add_button("Step", icon=viser.Icon.PLAYER_TRACK_NEXT, disabled=True)
        restart = gui.add_button("Reset", icon=viser.Icon.REFRESH, color="gray")
        self._time = gui.add_slider("Time (s)", 0.0, 1.0, 1e-3, 0.0, hint="of what was recorded")
        speed = gui.add_dropdown("Speed", _SPEEDS, initial_value="1x")
        self._status = gui.add_markdown("")
        with gui.add_folder("Contacts"):
            gui.add_html(f'<div style="font:13px sans-serif;padding:0 12px">{legend()}</div>')
            contacts = gui.add_checkbox("Forces", True)
            length = gui.add_slider("Arrow length", -2.0, 2.0, 0.1, 0.0, hint="powers of ten")
            patches = gui.add_checkbox("Pressure patches", True)
        with gui.add_folder("Model"):
            inside = gui.add_checkbox("See through", False)
            shapes = gui.add_checkbox("Collision shapes", scene.collision_shapes)
        gui.add_markdown("*Ctrl and drag pulls at a body.*")

        self._play.on_click(lambda _: self._set_paused(not self.paused))
        self._step.on_click(lambda _: self._one_step())
        restart.on_click(lambda _: self._ask_reset())
        self._time.on_update(lambda _: self._go_to_time())
        speed.on_update(lambda _: self._set_speed(speed.value))
        arrows, unit = scene.arrows, scene.arrows.metres_per_newton

        def change(set_to: Callable[[], None]) -> Callable[[Any], None]:
            """Set something of the scene and draw it again."""

            def changed(_: Any) -> None:
                with self._drawing:
                    set_to()
                    scene.redraw()

            return changed

        contacts.on_update(change(lambda: setattr(arrows, "shown", contacts.value)))
        length.on_update(
            change(lambda: setattr(arrows, "metres_per_newton", unit * 10.0**length.value))
        )
        patches.on_update(change(lambda: setattr(scene.pressures, "shown", patches.value)))
        inside.on_update(lambda _: scene.set_transparent(inside.value))
        shapes.on_update(lambda _: scene.set_collision_shapes(shapes.value))
        self._set_paused(paused)

    # ---- asked for by the user ------------------------------------------------------------------

    def _set_paused(self, paused: bool) -> None:
        self.paused = paused
        self._looking_back &= paused
        self._play.label = "Play" if paused else "Pause"
        self._play.icon = viser.Icon.PLAYER_PLAY if paused else viser.Icon.PLAYER_PAUSE
        self._step.disabled = not paused
        self._asked.set()

    def _one_step(self) -> None:
        self._steps, self._looking_back = self._steps + 1, False
        self._asked.set()

    def _ask_reset(self) -> None:
        self._reset, self._looking_back = True, False
        self._asked.set()

    def _set_speed(self, words: str) -> None:
        number = words.rstrip("x").partition("/")
        if not words.endswith("x"):
            self.speed = _FASTEST
        else:
            self.speed = float(number[0]) / float(number[2] or 1.0)

    def _go_to_time(self) -> None:
        """Show an earlier frame; the simulation waits meanwhile."""
        if not self._moving and len(self._recording):
            with self._drawing:
                self._set_paused(True)
                self._looking_back = True
                frame = self._recording.at(self._time.value)
                self._scene.draw(frame)
                self._tell(frame, "recorded")

    # ---- asked by the loop ----------------------------------------------------------------------

    def take_reset(self) -> bool:
        """Whether the simulation is to begin again; asked once.

        Returns
        -------
        bool
            True once after each press of the button.
        """
        reset, self._reset = self._reset, False
        return reset

    def take_step(self) -> bool:
        """Whether one step is to be taken in spite of the pause.

        Returns
        -------
        bool
            True once for each press of the button.
        """
        if self._steps == 0:
            return False
        self._steps -= 1
        return True

    def wait(self, seconds: float) -> None:
        """Wait until the user asks for something.

        Parameters
        ----------
        seconds : float
            Longest time, s.
        """
        self._asked.wait(seconds)
        self._asked.clear()

    def show(self, frame: Frame, pace: float) -> None:
        """Show the simulation, unless the user looks at an earlier frame.

        Parameters
        ----------
        frame : Frame
            The last one of the recording.
        pace : float
            Simulated over wall time, of late.
        """
        first = self._recording.frames[0].time
        with self._drawing:
            if self._looking_back:
                return
            self._scene.draw(frame)
            # the slider follows; that is no wish of the user's
            self._moving = True
            self._time.min = first
            self._time.max = max(frame.time, first + 1e-3)
            self._time.value = frame.time  # type: ignore[misc]
            self._moving = False
            self._tell(frame, "paused" if self.paused else f"{pace:.2g}x real time")

    def _tell(self, frame: Frame, how: str) -> None:
        self._status.content = f"**{frame.time:.3f} s** · {len(frame.regions)} contacts · {how}"
