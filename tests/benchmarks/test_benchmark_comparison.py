"""The table of times over ours, with times from elsewhere beside them."""

from __future__ import annotations

from benchmarks import solvers_comparison
from benchmarks.solvers import MISSED, REACHED, Row


def made_row(file, solver, seconds, mode="cold", contacts=50):
    return Row(
        file=file,
        solver=solver,
        mode=mode,
        target=1e-6,
        contacts=contacts,
        status=MISSED if seconds is None else REACHED,
        cpu_min=seconds,
        iterations=2,
    )


def compared(text):
    """{(accuracy, solver): words} of the tables of ratios."""
    found, target = {}, None
    for line in text.splitlines():
        if line.startswith("e_m <= "):
            target = float(line.split(",")[0].split()[-1])
        elif not line or line.startswith(("times", "sapwood is", "sapwood does")):
            target = None
        elif target is not None:
            name, *words = line.split("  ")
            found[target, name] = [word.strip() for word in words if word.strip()]
    return found


def test_comparison():
    rows = [
        made_row("p", "sapwood", 1e-4), made_row("q", "sapwood", 1e-3),
        made_row("p", "sapwood", 5e-5, "warm"), made_row("q", "sapwood", 5e-4, "warm"),
        made_row("p", "mujoco", 4e-4), made_row("q", "mujoco", 9e-4),
        made_row("p", "qoco", 8e-4), made_row("q", "qoco", None),
        made_row("p", "scs", 9e-4), made_row("q", "scs", 2e-3),
        made_row("small", "sapwood", 1.0, contacts=19),
    ]  # fmt: skip
    recorded = {
        "mujoco": {"p": 8e-4, "q": 4.5e-4, "elsewhere": 1.0},
        "drake": {"p": 1.6e-3, "elsewhere": 1.0},
        "conic": {"p": 1.0},
    }
    text = solvers_comparison.comparison(rows, recorded)
    # 0.5 on p, 2 on q
    assert "multiplied by 1.00: mujoco here over mujoco there" in text
    assert "over 2 files, from 0.500 to 2.00" in text
    ratios = compared(text)
    assert ratios[1e-6, "mujoco"] == ["2", "1.90", "3.79", "0.900", "q", "1"]
    assert ratios[1e-6, "qoco"] == ["1", "8.00", "16.0", "8.00", "p", "0"]
    assert ratios[1e-6, "best conic"] == ["2", "4.00", "8.00", "2.00", "q", "0"]
    assert ratios[1e-6, "drake, recorded"] == ["1", "16.0", "32.0", "16.0", "p", "0"]
    # recorded at another accuracy
    assert (1e-6, "conic, recorded") not in ratios
    assert (1e-6, "mujoco, recorded") not in ratios
    assert "sapwood is slower than mujoco on q (0.900)" in text
    assert "small" not in text


def test_comparison_tells_what_we_miss():
    rows = [made_row("p", "sapwood", None), made_row("p", "mujoco", 1e-3)]
    text = solvers_comparison.comparison(rows, {})
    assert "sapwood does not reach 1e-06 on p" in text
    assert compared(text)[1e-6, "mujoco"] == ["1", "-", "-", "-", "-", "0"]
