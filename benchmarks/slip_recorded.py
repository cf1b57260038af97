"""The slip control beside a recorded run of Drake, on its meshes and on those of the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sapwood.geometry import FieldShape
from sapwood.studies.slip_control.run import simulate
from sapwood.studies.slip_control.scene import TIME_STEP, Fields, grip_force

RUN, MESHES = "slip_control_state.npz", "slip_pad_handle_t4.npz"
POSITIONS = ("left", "right", "x", "y", "z")
#: Each grip's part that counts, s.
LAST = {"loose": 1.0, "secure": 2.0}

Columns = Mapping[str, NDArray[np.float64]]


def recorded(folder: Path) -> tuple[Columns, Fields]:
    """Columns of Drake's run after the start, and its meshes by the names of the geoms."""
    state, case = np.load(folder / RUN), np.load(folder / MESHES)
    names = ("q_left_m", "q_right_m", "x_m", "y_m", "z_m")
    columns = {ours: state[theirs][1:] for ours, theirs in zip(POSITIONS, names, strict=True)}
    columns |= {"pitch": state["pitch_deg"][1:]}
    columns |= {f"{side}_contacts": state[f"n_{side}"][1:] for side in ("left", "right")}
    pad = FieldShape.tetrahedra(case["A_v"], case["A_tet"], case["A_p"])
    handle = FieldShape.tetrahedra(case["B_v"], case["B_tet"], case["B_p"])
    return columns, {"left pad": pad, "right pad": pad, "handle": handle}


def run(folder: Path, seconds: float, progress: Callable[[str], None]) -> dict[str, Columns]:
    """The recorded run, and the same by `Stepper` on either meshes."""
    drake, fields = recorded(folder)
    steps = min(round(seconds / TIME_STEP), len(drake["pitch"]))
    runs: dict[str, Columns] = {"Drake": {name: column[:steps] for name, column in drake.items()}}
    for name, meshes in (("its meshes", fields), ("own meshes", None)):
        rows = simulate(steps * TIME_STEP, fields=meshes)
        runs[name] = {column: rows[column] for column in drake}
        progress(name)
    return runs


def table(runs: dict[str, Columns]) -> str:
    """Contacts and pitch of each run, and its distance from Drake's."""
    drake = runs["Drake"]
    columns = [_figures(columns, drake) for columns in runs.values()]
    lines = [f"{'':40}" + "".join(f"{name:>12}" for name in runs)]
    lines += [f"{key:40}" + "".join(f"{c[key]:>12}" for c in columns) for key in columns[0]]
    return "\n".join(lines)


def _figures(columns: Columns, drake: Columns) -> dict[str, str]:
    contacts = _contacts(columns)
    found = {}
    for grip, steps in _last_parts(len(contacts)).items():
        if steps.any():
            part = contacts[steps].sum(axis=1)
            for name, value in (("mean", part.mean()), ("least", part.min()), ("most", part.max())):
                found[f"contacts, {grip} grip: {name}"] = f"{value:.0f}"
    found["pitch at the end, degrees"] = f"{columns['pitch'][-1]:.2f}"
    turned = np.abs(columns["pitch"] - drake["pitch"]).max()
    found["pitch, farthest from Drake's, degrees"] = f"{turned:.2g}"
    moved = max(np.abs(columns[name] - drake[name]).max() for name in POSITIONS)
    found["positions, farthest from Drake's, um"] = f"{1e6 * moved:.2g}"
    same = np.all(contacts == _contacts(drake), axis=1)
    found["steps with as many contacts, %"] = f"{100 * same.mean():.1f}"
    return found


def _contacts(columns: Columns) -> NDArray[np.float64]:
    return np.column_stack([columns["left_contacts"], columns["right_contacts"]])


def _last_parts(steps: int) -> dict[str, NDArray[np.bool_]]:
    """Steps that end a grip, by the name of the grip."""
    force = np.array([grip_force(step * TIME_STEP) for step in range(steps + 1)])
    ends = np.append(np.flatnonzero(np.diff(force)) + 1, steps)
    parts = {grip: np.zeros(steps, np.bool_) for grip in LAST}
    for end in ends:
        grip = "loose" if force[end - 1] == force.min() else "secure"
        parts[grip][max(end - round(LAST[grip] / TIME_STEP), 0) : end] = True
    return parts
