"""The question about environments: rows of both runs, and which of them are kept."""

from __future__ import annotations

import pytest

pytest.importorskip("mujoco")

from benchmarks import command, rows
from benchmarks.environments import NAMES, Row, merged


def row(name, reward):
    return Row(name, "4.0.0", 10, reward, 1.0, 0.5)


def test_rows_that_were_measured_take_the_place_of_those_before():
    before = [row(NAMES[1], 1.0), row(NAMES[4], 2.0)]
    measured = [row(NAMES[4], 3.0), row(NAMES[0], 4.0)]
    assert [(r.name, r.reward) for r in merged(before, measured)] == [
        (NAMES[0], 4.0), (NAMES[1], 1.0), (NAMES[4], 3.0)
    ]  # fmt: skip


def test_quick_run(tmp_path, capsys):
    pytest.importorskip("gymnasium")
    arguments = ["environments", "--quick", "--out", str(tmp_path)]
    assert command.main(arguments) == 0
    (found,) = rows.read(tmp_path / "environments.csv", Row)
    assert (found.name, found.steps) == ("Hopper-v5", 5)
    # other contacts, the same actions
    assert found.reward != found.reward_mj
    assert abs(found.reward - found.reward_mj) < 0.2 * abs(found.reward_mj)
    # what cannot be made is named, and the rows before are kept
    assert command.main([*arguments, "--match", "Hopper-v9"]) == 2
    assert "Hopper-v9" not in capsys.readouterr().out
    assert rows.read(tmp_path / "environments.csv", Row) == [found]
