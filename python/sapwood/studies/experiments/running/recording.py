"""Keeping a long run in hand: a gentle Ctrl-C, a progress bar."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupt_flag() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag that the loop asks for between its steps.

    A second Ctrl-C raises KeyboardInterrupt as usual. Outside the main thread, where Python
    delivers no signals, and where Ctrl-C is ignored or handled by somebody else, nothing is
    changed.

    Yields
    ------
    callable
        Returns whether Ctrl-C was pressed.
    """
    pressed = threading.Event()
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield pressed.is_set
        return

    def note(_number: int, _frame: FrameType | None) -> None:
        pressed.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class ProgressBar:
    """A tqdm bar on the standard error stream, or nothing.

    Parameters
    ----------
    label
        Words before the bar.
    total
        Number of steps to come.
    shown
        Whether to draw it; it is drawn on a terminal only, and where tqdm is installed.
    unit
        What is counted.
    """

    def __init__(self, label: str, total: int, shown: bool, unit: str = "step") -> None:
        self._bar = None
        if shown and sys.stderr.isatty():
            try:
                from tqdm import tqdm
            except ImportError:
                return
            self._bar = tqdm(
                total=total, desc=label, unit=unit, dynamic_ncols=True, file=sys.stderr
            )

    def update(self, text: str) -> None:
        """Count one step and show a text behind the bar."""
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update()

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
