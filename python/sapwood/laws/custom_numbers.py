"""Custom numbers of a model with names of this package: ``sapwood/KIND/NAME``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

PREFIX = "sapwood/"

_Key = TypeVar("_Key")
_Made = TypeVar("_Made")


class Entry(NamedTuple):
    """A name in its parts, before the prefix and behind it, with the numbers there."""

    text: str
    before: str
    kind: str
    name: str
    values: Sequence[float]

    def read(self, make: Callable[..., _Made], names: Sequence[str]) -> _Made:
        """Make an object from the numbers of these names, all or the first ones.

        Raises
        ------
        ValueError
            For their count, or what `make` refuses; the text names the entry.
        """
        if not 1 <= len(self.values) <= len(names):
            raise ValueError(
                f"numeric '{self.text}' has {len(self.values)} values, expected "
                f"{', '.join(names[:-1])} and {names[-1]}, or the first of them"
            )
        try:
            return make(*self.values)
        except ValueError as error:
            raise ValueError(f"numeric '{self.text}': {error}") from None


def entries_of(numbers: Mapping[str, Sequence[float]], prefix: str = PREFIX) -> Iterator[Entry]:
    """The custom numbers whose names have the prefix, which ends with a slash."""
    for text, values in numbers.items():
        before, found, rest = text.partition(prefix)
        if found:
            kind, _, name = rest.partition("/")
            yield Entry(text, before, kind, name, values)


def read_entries(
    numbers: Mapping[str, Sequence[float]],
    read: Callable[[Entry], tuple[_Key, _Made] | None],
    faults: list[str] | None,
    prefix: str = PREFIX,
) -> dict[_Key, _Made]:
    """The objects that custom numbers with the prefix make.

    Parameters
    ----------
    numbers : mapping
        The model's custom numbers.
    read : callable
        Makes an entry and its key, or None for an entry that is read elsewhere; raises ValueError
        for a malformed one.
    faults : list of str or None
        Collects errors, and malformed entries make nothing; with None the first error is raised.
    prefix : str
        Ends with a slash.

    Returns
    -------
    dict
        The objects by key.
    """
    made: dict[_Key, _Made] = {}
    for entry in entries_of(numbers, prefix):
        try:
            found = read(entry)
        except ValueError as error:
            if faults is None:
                raise
            faults.append(str(error))
        else:
            if found is not None:
                made[found[0]] = found[1]
    return made
