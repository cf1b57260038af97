"""The benchmark of solvers looks for settings, keeps to its time, and is resumed."""

from __future__ import annotations

import time

import pytest

import helpers
import sapwood
from benchmarks import solvers
from benchmarks.solvers import REACHED
from sapwood.studies.peers.base import Answer, Peer

pytestmark = pytest.mark.slow

FILES = helpers.small_paths()


# ---- variants and patience ---------------------------------------------------------------------


class Dawdler(Peer):
    """Solves with sapwood, and takes as much more time as it is told to, by variant."""

    name = "dawdler"
    seconds = 0.0
    works = True

    def __init__(self, **variants):
        self.options = variants
        self.log = []

    def describe(self):
        return "dawdler 1.0"

    def variants(self, _problem):
        return [self.varied(name, **attributes) for name, attributes in self.options.items()]

    def tolerances(self, _target):
        return (1e-1, 1e-2, 1e-3, 1e-4)

    def form(self, problem):
        return problem

    def solve(self, form, tolerance, _mode):
        settings = sapwood.SapSettings(relative_tolerance=tolerance)

        def run():
            self.log.append((self.variant, tolerance))
            if not self.works:
                raise ZeroDivisionError(self.variant)
            end = time.thread_time() + self.seconds
            while time.thread_time() < end:
                pass
            return sapwood.solve(form, settings=settings)

        return run

    def answer(self, _form, result):
        told = str(result.status), result.iterations, result.total_iterations
        return Answer(result.v, *told, result.gamma)


def test_fastest_variant_counts():
    peer = Dawdler(slow={"seconds": 0.02}, quick={"seconds": 0.01}, broken={"works": False})
    (row,) = solvers.measure(FILES[0], [peer], [1e-3], 3, 1.0)
    assert (row.status, row.variant) == (REACHED, "quick")
    assert row.e_m <= 1e-3
    assert 0.01 <= row.cpu_min < 0.02
