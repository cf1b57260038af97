"""The figures of the papers, and others, by number or name.

Numbers are those of Castro, Permenter and Han; ``id-19`` is Figure 19 and ``id-table-5`` Table 5 of
Zapolsky and Drumwright, "Inverse Dynamics with Rigid Contact and Friction". One table says where
each comes from; its module is imported when the figure is made. A figure is a `Plan`: sweeps that
write CSV files, and a drawing made from these files alone.

>>> FIGURES["9"].title
'clutter: contacts, iterations and time per step'
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.rendering import RenderingError
from sapwood.studies.experiments.sweep import Sweep, SweepResult, run_sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: CSV files by the names of their sweeps.
Files = Mapping[str, Path]


@dataclass(frozen=True)
class Plan:
    """The recipe of a figure.

    Attributes
    ----------
    sweeps
        What is computed.
    draw
        Called with the CSV files by the names of the sweeps and with the image file to write;
        returns the matplotlib figure.
    report
        Called with the CSV files; returns a few lines with the numbers that the figure shows. None
        for nothing to say.
    workers
        Number of local processes unless the caller says otherwise: 1 where times are measured,
        which several processes on one machine would spoil for each other. None for one per core.
    """

    sweeps: Sequence[Sweep]
    draw: Callable[[Files, Path], Figure]
    report: Callable[[Files], str] | None = None
    workers: int | None = None


@dataclass(frozen=True)
class Entry:
    """A row of the table of figures.

    Attributes
    ----------
    source
        ``module:function`` of a function ``(quick: bool) -> Plan``. With ``quick`` the plan is a
        small version, of seconds to a few minutes, in place of the paper's sizes; the docstring of
        the function says how small, and which sweeps the plan has.
    title
        What the figure shows.
    packages
        Optional packages that it needs besides matplotlib, and the extra that installs each.
    """

    source: str
    title: str
    packages: tuple[tuple[str, str], ...] = ()

    def plan(self, quick: bool = False) -> Plan:
        """Import the module and make the plan.

        Parameters
        ----------
        quick
            A small version, of seconds to a few minutes, in place of the paper's sizes.

        Returns
        -------
        Plan
            Sweeps and drawing.
        """
        module, _, function = self.source.partition(":")
        plan = getattr(importlib.import_module(module), function)(quick)
        assert isinstance(plan, Plan)
        return plan


_MUJOCO = (("mujoco", "mujoco"),)
_PEERS = (*_MUJOCO, ("scipy", "peers"))

#: Number in its paper, or name, of every figure.
FIGURES: dict[str, Entry] = {
    "1": Entry(
        "sapwood.studies.experiments.dual_arm:figure_1",
        "two arms and a jar: keyframes of the task",
        _PEERS,
    ),
    "5": Entry(
        "sapwood.studies.experiments.spring_cylinder:figure_5",
        "spring-cylinder without friction: energy by three schemes",
    ),
    "6": Entry(
        "sapwood.studies.experiments.spring_cylinder:figure_6",
        "spring-cylinder with friction: energy by three schemes",
    ),
    "7": Entry(
        "sapwood.studies.experiments.spring_cylinder:figure_7",
        "spring-cylinder with friction: position error against the time step",
    ),
    "8": Entry(
        "sapwood.studies.experiments.clutter_figures:figure_8",
        "clutter: the scene at the beginning and after 2 s",
        _MUJOCO,
    ),
    "9": Entry(
        "sapwood.studies.experiments.clutter_figures:figure_9",
        "clutter: contacts, iterations and time per step",
        _MUJOCO,
    ),
    "10": Entry(
        "sapwood.studies.experiments.algorithms.convergence:figure_10",
        "clutter: cost against iteration, at steps 60 and 520",
        _MUJOCO,
    ),
    "11": Entry(
        "sapwood.studies.experiments.clutter_figures:figure_11",
        "clutter: contacts at rest against the number of bodies",
        _MUJOCO,
    ),
    "12": Entry(
        "sapwood.studies.experiments.algorithms.solver_figures:figure_12",
        "clutter: speed-up against other solvers at equal accuracy",
        _PEERS,
    ),
    "13": Entry(
        "sapwood.studies.experiments.algorithms.solver_figures:figure_13",
        "clutter: errors of the solvers at their usual tolerances",
        _PEERS,
    ),
    "14": Entry(
        "sapwood.studies.experiments.slip_parameter:figure_14",
        "clutter: mean slip against the slip parameter",
        _MUJOCO,
    ),
    "15": Entry(
        "sapwood.studies.experiments.slip_parameter:figure_15",
        "clutter: iterations and condition number against the slip parameter",
        _MUJOCO,
    ),
    "16": Entry(
        "sapwood.studies.slip_control.figure:figure_16",
        "slip control: the gripper and its patches at both grips, coloured by pressure",
        _MUJOCO,
    ),
    "17": Entry(
        "sapwood.studies.slip_control.figure:figure_17",
        "slip control: grip force and pitch of a spatula between soft pads, against time",
        _MUJOCO,
    ),
    "step-solvers": Entry(
        "sapwood.studies.experiments.algorithms.step_solvers:figure",
        "clutter: iterations, momentum error and time of other solvers, step by step",
        _PEERS,
    ),
    "slip-solvers": Entry(
        "sapwood.studies.slip_control.solvers:figure",
        "slip control: iterations, momentum error and time of solvers at the paper's tolerances",
        _PEERS,
    ),
    "line-search": Entry(
        "sapwood.studies.experiments.algorithms.line_search:figure",
        "clutter: iterations and time of Algorithm 1 with either line search",
        _MUJOCO,
    ),
    "theory": Entry(
        "sapwood.studies.experiments.algorithms.theory:figure",
        "Lemma 3's bound beside the cost of Algorithm 1, values of the dual programs (3) and (5)",
        (*_PEERS, ("clarabel", "peers")),
    ),
    "constraints": Entry(
        "sapwood.studies.experiments.constraints:figure",
        "a closed loop, a joint limit, a stiff servo, dry friction of a joint",
        _MUJOCO,
    ),
    "18": Entry(
        "sapwood.studies.experiments.dual_arm:figure_18",
        "two arms and a jar: contacts in time, with what happens",
        _PEERS,
    ),
    "19": Entry(
        "sapwood.studies.experiments.dual_arm:figure_19",
        "two arms and a jar: momentum error of the solvers against their tolerances",
        _PEERS,
    ),
    "20": Entry(
        "sapwood.studies.experiments.dual_arm:figure_20",
        "two arms and a jar: complementarity error of the solvers against their tolerances",
        _PEERS,
    ),
    "21": Entry(
        "sapwood.studies.experiments.dual_arm:figure_21",
        "two arms and a jar: iterations per step of the solvers against their tolerances",
        _PEERS,
    ),
    "rigid-core": Entry(
        "sapwood.studies.experiments.rigid_core:figure",
        "rigid cores: penetration against load, a tower, an impact",
        _MUJOCO,
    ),
    "sliding": Entry(
        "sapwood.studies.experiments.sliding:figure",
        "a box that slides and a weight that is held, under every law of friction",
        _MUJOCO,
    ),
    "cube-toss": Entry(
        "sapwood.studies.experiments.cube_toss:figure",
        "a cube identified from its tosses by gradients: errors on tosses that were held out",
        _PEERS,
    ),
    "identification": Entry(
        "sapwood.studies.identification.figure:figure",
        "friction of a pushed block and of a tossed cube, found from several starts",
        (*_PEERS, ("tabulate", "sysid")),
    ),
    "analytic-gradients": Entry(
        "sapwood.studies.experiments.analytic_gradients:figure",
        "a bounce, a collision and a slide: gradients beside closed forms",
    ),
    "id-6": Entry(
        "sapwood.studies.experiments.walking:figure_6",
        "a quadruped stands: torque by one stage and by two",
        _PEERS,
    ),
    "balance": Entry(
        "sapwood.studies.walking.pushed:figure",
        "a standing quadruped is pushed: tilt of the base with balance and without",
        _PEERS,
    ),
    "id-8": Entry(
        "sapwood.studies.walking.pictures:figure_8",
        "the quadruped on level ground",
        _MUJOCO,
    ),
    "id-9": Entry(
        "sapwood.studies.walking.pictures:figure_9",
        "the arm with a box between its fingertips",
        _MUJOCO,
    ),
    "id-13": Entry(
        "sapwood.studies.walking.pictures:figure_13",
        "the quadruped on rough ground",
        _MUJOCO,
    ),
    "id-14": Entry(
        "sapwood.studies.experiments.walking:figure_14",
        "a quadruped trots: error of the joints over time",
        _PEERS,
    ),
    "id-15": Entry(
        "sapwood.studies.experiments.walking:figure_15",
        "a quadruped stands: change of the torques by one stage and by two",
        _PEERS,
    ),
    "id-16": Entry(
        "sapwood.studies.experiments.walking:figure_16",
        "a quadruped trots on rough ground: error of the joints over time",
        _PEERS,
    ),
    "id-17": Entry(
        "sapwood.studies.experiments.walking:figure_17",
        "a quadruped trots: path between the waypoints",
        _PEERS,
    ),
    "id-18": Entry(
        "sapwood.studies.grasping.figure:figure_18",
        "inverse dynamics: an arm swings with a box in its hand, by every controller",
        _MUJOCO,
    ),
    "id-19": Entry(
        "sapwood.studies.experiments.invdyn_times:figure_19",
        "inverse dynamics: time of every controller against the number of contacts",
    ),
    "mindiff": Entry(
        "sapwood.studies.walking.mindiff:figure",
        "a biped sways: torques by Lemke's method and by the solution nearest to the last",
        _MUJOCO,
    ),
    "id-table-1": Entry(
        "sapwood.studies.counting.figure:table_1",
        "inverse dynamics: operations of the first stage as printed, step by step",
    ),
    "id-table-2": Entry(
        "sapwood.studies.counting.figure:table_2",
        "inverse dynamics: operations of three forms of the first stage against contacts",
    ),
    "id-table-3": Entry(
        "sapwood.studies.experiments.walking:table_3",
        "a quadruped trots: errors of the joints",
        _PEERS,
    ),
    "id-table-4": Entry(
        "sapwood.studies.experiments.walking:table_4",
        "a quadruped trots: torques and their changes",
        _PEERS,
    ),
    "id-table-5": Entry(
        "sapwood.studies.experiments.walking:table_5",
        "a quadruped trots: errors of predicted forces",
        _PEERS,
    ),
    "id-table-6": Entry(
        "sapwood.studies.experiments.walking:table_6",
        "a quadruped trots with two feet on the ground at most",
        _PEERS,
    ),
}


#: What figures of the paper on contact show that are not made.
SCHEMATICS = {
    "2": "a schematic of trees and contact patches",
    "3": "a schematic of sparsity, which ContactProblem.plot_structure draws of any problem",
    "4": "a schematic of the spring-cylinder",
    "22": "a schematic of the friction cone",
}


def entry_of(name: str) -> Entry:
    """Entry of a figure.

    Parameters
    ----------
    name
        Number in its paper, or name in `FIGURES`.

    Returns
    -------
    Entry
        What makes it.

    Raises
    ------
    ValueError
        There is no figure of that name; the text says what there is.
    """
    if name in FIGURES:
        return FIGURES[name]
    if name in SCHEMATICS:
        raise ValueError(f"the paper's figure {name} is {SCHEMATICS[name]}: it is not made here")
    raise ValueError(f"there is no figure {name!r}, but {', '.join(FIGURES)}")


@dataclass(frozen=True)
class FigureResult:
    """The outcome of a figure.

    Attributes
    ----------
    sweeps
        What came of its sweeps, those that were begun.
    image
        The file that was drawn, None where the run was interrupted or nothing could be drawn.
    figure
        The same as a matplotlib figure.
    report
        A few lines with the numbers that it shows.
    undrawn
        Why nothing could be drawn, empty where it was.
    """

    sweeps: tuple[SweepResult, ...]
    image: Path | None = None
    figure: Figure | None = None
    report: str = ""
    undrawn: str = ""

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the run."""
        return any(sweep.interrupted for sweep in self.sweeps)


def make_figure(
    name: str | int,
    out: str | PathLike[str],
    *,
    quick: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = True,
    progress: bool = True,
    say: Callable[[str], None] = lambda _: None,
    image_format: str = "png",
) -> FigureResult:
    """Compute what a figure shows, as far as that is not done already, and draw it.

    Parameters
    ----------
    name
        Number in its paper, or name in `FIGURES`.
    out
        Folder for the CSV files and for ``figureN`` or ``NAME`` with the suffix of the image.
    quick
        A small version, of seconds to a few minutes, in place of the paper's sizes. Its files have
        names of their own, which end in ``_quick``.
    workers
        Number of local processes, by default that of the `Plan`.
    scheduler, resume, progress, say
        As for `sapwood.studies.experiments.sweep.run_sweep`.
    image_format
        Format of the image: "png", "pdf", "svg", or another that Matplotlib writes.

    Returns
    -------
    FigureResult
        The files and the figure.

    Raises
    ------
    ValueError
        There is no figure of that name.
    ImportError
        A package that the figure needs is missing.
    OSError
        The folder cannot be written to.
    SchedulerError
        The cluster cannot be used, or was lost.
    """
    name = str(name)
    entry = entry_of(name)
    plan = entry.plan(quick)
    folder, suffix = Path(out), "_quick" if quick else ""
    image = folder / ((f"figure{name}" if name.isdecimal() else name) + f"{suffix}.{image_format}")
    packages = tuple(package for package, _ in entry.packages)
    results: list[SweepResult] = []
    for sweep in plan.sweeps:
        result = run_sweep(
            dataclasses.replace(
                sweep,
                name=sweep.name + suffix,
                packages=tuple(dict.fromkeys((*sweep.packages, *packages))),
            ),
            folder,
            workers=plan.workers if workers is None and scheduler is None else workers,
            scheduler=scheduler,
            resume=resume,
            progress=progress,
            say=say,
        )
        results.append(result)
        if result.interrupted:
            # one that was drawn before is not that of the files any more
            image.unlink(missing_ok=True)
            return FigureResult(tuple(results))

    files = {sweep.name: result.csv for sweep, result in zip(plan.sweeps, results, strict=True)}
    try:
        figure = plan.draw(files, image)
        report = "" if plan.report is None else plan.report(files)
    except RenderingError as error:
        image.unlink(missing_ok=True)
        return FigureResult(tuple(results), undrawn=str(error))
    except ValueError as error:
        image.unlink(missing_ok=True)
        # points that the figure cannot do without have failed
        if not any(result.failures for result in results):
            raise
        return FigureResult(tuple(results), undrawn=str(error))
    return FigureResult(tuple(results), image, figure, report)
