"""The question about environments: rows of both runs, and which of them are kept."""

from __future__ import annotations

import pytest

pytest.importorskip("mujoco")

from benchmarks import command, rows
from benchmarks.environments import Row


def test_quick_run(tmp_path, capsys):
    pytest.importorskip("gymnasium")
    arguments = ["environments", "--quick", "--out", str(tmp_path)]
    assert command.main(arguments) == 0
    (found,) = rows.read(tmp_path / "environments.csv", Row)
    assert (found.name, found.steps) == ("Hopper-v5", 5)
    # other contacts, the same actions
    assert found.reward != found.reward_mj
    assert abs(found.reward - found.reward_mj) < 0.2 * abs(found.reward_mj)
    # an environment that cannot be made is named, and the rows before are kept
    assert command.main([*arguments, "--match", "Hopper-v9"]) == 2
    assert "Hopper-v9" not in capsys.readouterr().out
    assert rows.read(tmp_path / "environments.csv", Row) == [found]
