"""One function over many points, on all cores or on a cluster.

A *point* is a mapping of names to plain numbers, booleans and words: the keyword arguments of one
call. `map_points` calls a function at every point and yields what comes of each as it comes. A call
that raises, or whose process dies, is an outcome like another: the rest goes on.

- Local (default): worker processes, one per core, each with one thread for BLAS and OpenMP, so that
  what is computed is the same whatever the number of workers, and times are those of one core.
  Workers import the function by its name and never the caller's main module, so that a script needs
  no guard and a notebook works.
- ``scheduler="tcp://host:8786"``: the workers of that Dask cluster (extra
  ``dask``). They must be able to import the function, and have the same code and the same versions
  of the packages; each point runs in a process of its own there, with one thread too.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from sapwood.base.processors import usable_processors
from sapwood.studies.experiments.running.points import Outcome, Point
from sapwood.studies.experiments.running.processes import on_cores


def map_points(
    function: Callable[..., Any],
    points: Sequence[Point],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    packages: Sequence[str] = (),
) -> Generator[tuple[int, Outcome], None, None]:
    """Call a function at every point, several at a time.

    Closing the generator, or an exception in its consumer such as KeyboardInterrupt, ends what is
    still running.

    Parameters
    ----------
    function
        At the top level of an importable module; takes a point's values as keyword arguments.
    points
        Keyword arguments of the calls; they begin in this order.
    workers
        Number of local processes, by default one per core.
    scheduler
        Address of a Dask scheduler, to use its workers instead.
    packages
        Names of packages, besides NumPy, whose versions must be the same on the cluster.

    Yields
    ------
    tuple of int and Outcome
        Index of a point and what came of it, in the order in which they end.

    Raises
    ------
    SchedulerError
        The cluster cannot be reached, is lost, or has other code or versions; or `distributed` is
        not installed.
    """
    if scheduler is not None:
        # an import here would slow the start of every command
        from sapwood.studies.experiments.running.cluster import on_cluster

        yield from on_cluster(function, points, scheduler, packages)
    else:
        yield from on_cores(function, points, usable_processors() if workers is None else workers)
