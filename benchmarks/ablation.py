"""The gain of each piece that makes steps faster: steps of builds with and without it.

The pieces and the edits that switch them off are in ``ablation.toml``. A piece stays if steps take
3 % longer without it in the median of the models, or 10 % longer on more than five of them.
"""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from benchmarks import revisions
from benchmarks.models import against, survey
from benchmarks.models.report import quantile
from benchmarks.models.trials import RAN
from benchmarks.rows import aligned, read

PIECES = Path(__file__).with_name("ablation.toml")
#: A piece stays above one of these: median of all models, models that take `MUCH` longer.
LEAST_MEDIAN, MUCH, MOST_MODELS = 1.03, 1.10, 5


@dataclasses.dataclass(frozen=True)
class Edit:
    """One replacement in a source file."""

    path: str
    old: str
    """stands exactly once in the file"""
    new: str


@dataclasses.dataclass(frozen=True)
class Piece:
    """A piece that a step can do without."""

    name: str
    what: str
    files: tuple[str, ...]
    """Files that go if the piece goes."""
    edits: tuple[Edit, ...]

    @property
    def slug(self) -> str:
        """The name as a part of a file's name."""
        return self.name.replace(" ", "_")

    def lines(self) -> int:
        """Number of lines of its files."""
        return sum(len((revisions.ROOT / path).read_text().splitlines()) for path in self.files)


def pieces(names: Sequence[str] = ()) -> list[Piece]:
    """All pieces, or those with these names.

    Raises
    ------
    ValueError
        If there is no piece of a name.
    """
    listed = tomllib.loads(PIECES.read_text(encoding="utf-8"))["piece"]
    found = [
        Piece(
            entry["name"],
            entry["what"],
            tuple(entry["files"]),
            tuple(Edit(**edit) for edit in entry["edit"]),
        )
        for entry in listed
    ]
    unknown = set(names) - {piece.name for piece in found}
    if unknown:
        raise ValueError(f"no piece {sorted(unknown)[0]!r}; there are {[p.name for p in found]}")
    return [piece for piece in found if not names or piece.name in names]


def apply(piece: Piece, folder: Path) -> None:
    """Switch the piece off in the sources of `folder`.

    Raises
    ------
    ValueError
        If a text does not stand exactly once in its file.
    """
    for edit in piece.edits:
        path = folder / edit.path
        text = path.read_text(encoding="utf-8")
        if text.count(edit.old) != 1:
            count = text.count(edit.old)
            raise ValueError(f"{piece.name}: {edit.path} has {edit.old!r} {count} times")
        path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


def copy_sources(folder: Path) -> Path:
    """A copy of the files of the working tree that git knows."""
    command = ["git", "-C", str(revisions.ROOT), "ls-files", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        source, target = revisions.ROOT / name, folder / name
        if source.is_file() and not name.startswith(("benchmarks/results/", "tests/")):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    return folder


def measure(
    chosen: Sequence[Piece],
    paths: Sequence[Path],
    folder: Path,
    out: Path,
    settings: tuple[int, float, int],
    measured: dict[str, list[against.Row]],
    progress: Callable[[str], None],
) -> None:
    """Time steps of each piece's build beside those of the whole.

    Parameters
    ----------
    chosen
        The pieces.
    paths
        Files of models.
    folder
        Holds the builds.
    out
        Folder of the CSV files, one per piece.
    settings
        Steps of a simulation, seconds for it, blocks of visits.
    measured
        Receives the rows of each piece once it is done, by its name.
    progress
        Called with each model and piece that is done.
    """
    steps, seconds, blocks = settings
    out.mkdir(parents=True, exist_ok=True)
    whole = revisions.build(copy_sources(folder / "whole" / "source"), folder / "whole")
    for piece in chosen:
        here = folder / piece.slug
        apply(piece, copy_sources(here / "source"))
        sites = {"A": whole, "B": revisions.build(here / "source", here)}
        environments = {side: revisions.environment_of(site) for side, site in sites.items()}
        table = out / f"ablation_{piece.slug}.csv"
        asked = against.survey(environments, blocks)
        tell = _teller(progress, piece.name)
        survey.run(asked, list(paths), table, steps, seconds, False, tell)
        measured[piece.name] = read(table, against.Row)


def _teller(progress: Callable[[str], None], name: str) -> Callable[[str], None]:
    return lambda model: progress(f"{model} without {name}")


def tables(chosen: Sequence[Piece], measured: dict[str, list[against.Row]]) -> str:
    """The gain of each piece, the least first, and whether it stays."""
    lines = [["without", "lines", "models", "median", "10 %", "90 %", f"above {MUCH}", "stays"]]
    timed = []
    for piece in chosen:
        ratios = [row.ratio for row in measured.get(piece.name, ()) if row.status == RAN]
        if ratios:
            timed.append((median(ratios), piece, ratios))
    for middle, piece, ratios in sorted(timed, key=lambda entry: entry[0]):
        many = sum(ratio >= MUCH for ratio in ratios)
        stays = middle >= LEAST_MEDIAN or many > MOST_MODELS
        lines.append([
            piece.name, str(piece.lines()), str(len(ratios)), f"{middle:.3f}",
            f"{quantile(ratios, 0.1):.3f}", f"{quantile(ratios, 0.9):.3f}", str(many),
            "yes" if stays else "no",
        ])  # fmt: skip
    head = "time of a step without a piece over the time with it"
    return f"{head}\n\n{aligned(lines)}"
