"""Keeping a long run safe and visible: a growing CSV file, a gentle Ctrl-C, a progress bar."""

from __future__ import annotations

import csv
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


class RowFile:
    """CSV file that is written row by row.

    The header is written at once and the file is flushed about every `flush_seconds`, so that a
    killed run loses little. A context manager; leaving it closes the file.

    Parameters
    ----------
    path
        File to write; an old one is replaced.
    header
        Names of the columns.
    flush_seconds
        Longest time that a row waits in memory while others follow, s.

    Raises
    ------
    OSError
        The file cannot be written.
    """

    def __init__(self, path: Path, header: Sequence[str], flush_seconds: float = 0.5) -> None:
        self._file = open(path, "w", newline="", encoding="utf-8")  # noqa: SIM115 (see __exit__)
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(header)
        self._file.flush()
        self._flush_seconds = flush_seconds
        self._flushed = time.monotonic()

    def write(self, row: Iterable[object]) -> None:
        """Append one row."""
        self._writer.writerow(row)
        now = time.monotonic()
        if now - self._flushed >= self._flush_seconds:
            self._file.flush()
            self._flushed = now

    def __enter__(self) -> RowFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


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
