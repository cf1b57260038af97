"""Interleaved timing: rounds, samples and their budget."""

from __future__ import annotations

import time

import numpy as np

from sapwood.studies.experiments import timing


def test_interleaved_rounds():
    """Samples follow an uncounted call of the same function; neighbours change between rounds."""
    log = []
    calls = [lambda k=k: (log.append(k), time.sleep(timing.SAMPLE_SECONDS)) for k in range(3)]
    calls.append(lambda: log.append("slow"))
    first = [timing.Times([s], [s]) for s in (0.002, 0.002, 0.002, 101.0)]
    times = timing.interleaved(calls, first, repeat=8, budget=100.0)
    assert [len(t.wall) for t in times] == [8, 8, 8, 1]
    assert times[3] is first[3]
    assert "slow" not in log

    # a call lasts a sample: one uncounted, one counted, in every round each function once
    pairs = np.array(log).reshape(8, 3, 2)
    assert np.array_equal(pairs[..., 0], pairs[..., 1])
    assert np.array_equal(np.sort(pairs[..., 0], axis=1), np.tile(np.arange(3), (8, 1)))
    turns = pairs[..., 0].ravel()
    before = {k: set(turns[:-1][turns[1:] == k]) - {k} for k in range(3)}
    assert all(len(found) == 2 for found in before.values())


def test_uncounted_call_takes_what_comes_first():
    """A function that is slow whenever another one ran before it is timed without that."""
    last = []

    def call(k):
        time.sleep(0.05 if last != [k] else 0.002)
        last[:] = [k]

    first = [timing.Times([0.02], [0.02])] * 2
    calls = [lambda: call(0), lambda: call(1)]
    for times in timing.interleaved(calls, first, repeat=4, budget=100.0):
        assert len(times.wall) == 4
        assert times.wall_median < 0.05


def test_short_calls_share_a_sample():
    log = []
    (times,) = timing.interleaved(
        [lambda: log.append(0)], [timing.Times([1e-6], [1e-6])], repeat=2, budget=1.0
    )
    assert len(times.cpu) == 2
    assert len(log) > 20


def test_budget_ends_the_samples():
    first = timing.Times([0.02], [0.02])
    (times,) = timing.interleaved([lambda: time.sleep(0.02)], [first], repeat=100, budget=0.05)
    # each sample with its uncounted call takes 0.04 or, on a busy machine, more
    assert 1 <= len(times.wall) <= 2
    assert min(times.wall) >= 0.02
    assert times.cpu_min < times.wall_min
