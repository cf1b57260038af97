"""Custom numbers of a model by the names that are ours: ``sapwood/KIND/NAME``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

PREFIX = "sapwood/"

_Made = TypeVar("_Made")


class Entry(NamedTuple):
    """A name in its parts, before the prefix and behind it, with the numbers there."""

    text: str
    before: str
    kind: str
    name: str
    values: Sequence[float]

    def read(self, make: Callable[..., _Made], names: Sequence[str]) -> _Made:
        """What numbers of these names make, the first of them or all.

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
