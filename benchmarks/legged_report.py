"""The table of robots under task control: forces, torques, and times beside ProxQP."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks import legged, legged_peers, program_peers


def courses(folder: Path, seconds: float) -> list[str]:
    """Lines: robots that stand and squat; errors and changes of the second half, times of calls."""
    head = (
        f"{'robot':10} depth  solved   lowest    tilt  force error: median     99 %  "
        "torque change: median      max   beyond limits   call, ms: median   99 %"
    )
    lines = [head]
    for name in legged.ROBOTS:
        for depth in (0.0, legged.DEPTH):
            course = legged.run(*legged.load(folder, name), seconds=seconds, depth=depth)
            half = slice(len(course.height) // 2, None)
            error, change = course.force_error[half], course.torque_change[half]
            lines.append(
                f"{name:10} {depth:5.2f} {course.solved.mean():7.3f} {course.height.min():8.4f} "
                f"{course.tilt.max():7.4f} {np.median(error):20.5f} "
                f"{np.quantile(error, 0.99):8.4f} {np.median(change):22.2g} {change.max():8.2g} "
                f"{course.excess.max():15.1e} {1e3 * np.median(course.seconds):18.3f} "
                f"{1e3 * np.quantile(course.seconds, 0.99):6.3f}"
            )
    return lines


def times(folder: Path, seconds: float) -> list[str]:
    """Lines: processor time of a program, from Python, beside ProxQP with warm starts."""
    has_peer = "proxqp" in program_peers.installed()
    head = (
        f"{'us':10} motors contacts   median     99 %  over no limits   ProxQP: median     99 %  "
        "difference"
    )
    lines = [head]
    for name in legged.ROBOTS:
        loop = legged.Loop(*legged.load(folder, name), legged.DEPTH)
        recorder = legged_peers.record(loop, seconds)
        ours = 1e6 * np.array(recorder.seconds)
        line = (
            f"{name:10} {len(loop.control.actuated):6} {len(recorder.problems[-1][6]):8} "
            f"{np.median(ours):8.1f} {np.quantile(ours, 0.99):8.1f} "
            f"{np.median(ours) / np.median(1e6 * np.array(recorder.free_seconds)):15.2f}"
        )
        if has_peer:
            programs = [legged_peers.program(p, loop.control.actuated) for p in recorder.problems]
            taken, found = legged_peers.by_proxqp(programs)
            theirs = 1e6 * np.array(taken)
            apart = [
                np.abs(x[: len(a)] - a).max() / (1.0 + np.abs(a).max())
                for x, a in zip(found, recorder.accelerations, strict=True)
            ]
            line += (
                f" {np.median(theirs):16.1f} {np.quantile(theirs, 0.99):8.1f} "
                f"{np.median(apart):11.1e}"
            )
        lines.append(line)
    return lines
