"""Mutations of C sources that nobody wrote down, drawn at random by function.

A function of the chosen files is drawn, then a place in its body, then one of the mistakes that can
be made there: in relations, signs, operators, constants, conditions and indices, or a statement is
left out. Comments, strings, the preprocessor, declarators and assertions have no such places.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*)
    |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<number>(?:0[xX]|\.?\d)(?:[eEpP][+-]|[\w.])*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<operator>->|\+\+|--|<<=|>>=|&&|\|\||[-+*/%<>=!&|^]=|<<|>>|\.\.\.|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
# An operator between two values becomes one of these.
BINARY = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
    "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"],
    "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="],
}  # fmt: skip
EXCHANGED = {"fmin": "fmax", "fmax": "fmin"}
TYPES = {"const", "static", "struct", "enum", "int", "double", "float", "char", "void", "unsigned"}
KEYWORDS = {"return", "goto", "break", "continue", "case", "default", "else", "do", "sizeof"}
CONTROL = {"if", "for", "while", "switch"}
ASSERTIONS = {"assert", "static_assert", "_Static_assert"}


@dataclass(frozen=True)
class Token:
    """A piece of C, and where it begins and ends."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Mutation:
    """The text from `start` to `end` becomes `new`."""

    start: int
    end: int
    new: str


class Source:
    """A file of C: its tokens, and which of them begin statements, end values and declare."""

    def __init__(self, text: str) -> None:
        found = (Token(m.lastgroup or "", m[0], m.start(), m.end()) for m in TOKEN.finditer(text))
        self.text = text
        self.tokens = [token for token in found if token.kind != "skip"]
        self.partner: dict[int, int] = {}  # each bracket opens or closes with another
        self.clauses: set[int] = set()  # tokens of `for (...)` behind its first clause
        unclosed = []
        for i, token in enumerate(self.tokens):
            if token.text in ("(", "[", "{"):
                unclosed.append(i)
            elif token.text in (")", "]", "}") and unclosed:
                self.partner[i] = unclosed.pop()
                self.partner[self.partner[i]] = i
        for i, token in enumerate(self.tokens):
            if token.text == "for":
                self.clauses.update(range(self.next_of(";", i + 2), self.partner[i + 1]))

    def word(self, i: int) -> str:
        """The text of a token."""
        return self.tokens[i].text

    def next_of(self, words: str, i: int) -> int:
        """The first of these words from a token on; brackets that open there are passed over."""
        while i < len(self.tokens) and self.word(i) not in words:
            i = (self.partner[i] if self.word(i) in ("(", "[", "{") else i) + 1
        return i

    def functions(self) -> dict[str, range]:
        """The tokens of each body, by the name of its function."""
        found, i = {}, 0
        while (i := self.next_of("{", i)) < len(self.tokens):
            name = self.partner[i - 1] - 1 if self.word(i - 1) == ")" else 0
            if self.tokens[name].kind == "name" and name > 0:
                found[self.word(name)] = range(i + 1, self.partner[i])
            i = self.partner[i] + 1
        return found

    def begins_statement(self, i: int) -> bool:
        """Whether one ends before this token, or a block or the clauses of a loop begin."""
        before = self.word(i - 1)
        if before == "{":
            opener = self.word(i - 2)
            opener = self.word(self.partner[i - 2] - 1) if opener == ")" else opener
            return opener in CONTROL | {"else", "do", ";", "{", "}", ":"}
        if before == "(":
            return self.word(i - 2) == "for"
        return before in (";", "}") and i - 1 not in self.clauses

    def is_declaration(self, i: int) -> bool:
        """Whether a type comes first: a word for it, or a name before another name."""
        after = i + 1
        while self.word(after) in ("*", "const"):
            after += 1
        names = self.tokens[i].kind == self.tokens[after].kind == "name"
        return self.word(i) in TYPES or (names and self.word(i) not in KEYWORDS)

    def declarators(self, i: int) -> set[int]:
        """The tokens of a declaration that belong to no value."""
        found: set[int] = set()
        while self.word(i) != ";":
            end = self.next_of("=;", i)
            found.update(range(i, end))
            i = self.next_of(",;", end)
        return found

    def is_value(self, i: int) -> bool:
        """Whether a value may end here, so that an operator behind it takes two."""
        token = self.tokens[i]
        names = token.kind == "name" and token.text not in KEYWORDS | TYPES
        return names or token.kind in ("number", "text") or token.text in (")", "]")

    def mutations(self, body: range) -> list[list[Mutation]]:
        """All mutations of a function, place by place."""
        silent: set[int] = set()
        places = []
        for i in body:
            if i == body.start or self.begins_statement(i):
                if self.word(i) in ASSERTIONS:
                    silent.update(range(i, self.next_of(";", i)))
                elif self.is_declaration(i):
                    silent.update(self.declarators(i))
                elif self._may_be_left_out(i):
                    end = self.tokens[self.next_of(";", i)].end
                    places.append([Mutation(self.tokens[i].start, end, ";")])
            if i not in silent:
                places.append(list(self._mistakes(i)))
        return [place for place in places if place]

    def _may_be_left_out(self, i: int) -> bool:
        """Whether an assignment or a call begins here."""
        names = self.tokens[i].kind == "name" and self.word(i) not in KEYWORDS | CONTROL
        return (names and self.word(i + 1) != ":") or self.word(i) in ("++", "--", "*")

    def _mistakes(self, i: int) -> Iterator[Mutation]:
        token, follows_value = self.tokens[i], self.is_value(i - 1)
        if token.kind == "number":
            news = changed_number(token.text)
        elif token.text in BINARY and follows_value and self.word(i + 1) not in (")", ","):
            news = BINARY[token.text]
        elif token.text in ("-", "!") and not follows_value:
            news = [""]
        elif token.text in EXCHANGED:
            news = [EXCHANGED[token.text]]
        else:
            news = []
        yield from (Mutation(token.start, token.end, new) for new in news)
        is_index = token.text == "[" and follows_value and self.word(i + 1) != "]"
        if is_index or token.text in ("if", "while"):
            first = i + (not is_index)
            start, end = self.tokens[first].start, self.tokens[self.partner[first]].end
            old = self.text[start:end]
            news = [f"[{old[1:-1]} {by} 1]" for by in "+-"] if is_index else [f"(!{old})"]
            yield from (Mutation(start, end, new) for new in news)


def changed_number(text: str) -> list[str]:
    """The replacements of a constant."""
    if text.isdigit():
        return [str(int(text) + 1)] + [str(int(text) - 1)] * (int(text) > 0)
    is_zero = not text.strip("0.")
    return ["1.0"] if is_zero else [f"(10 * {text})", f"(0.1 * {text})"]


def drawn(paths: list[Path], seed: int) -> Iterator[tuple[Path, str, Mutation]]:
    """All mutations of the files in a random order, with their files and functions."""
    functions = []
    for path in sorted(paths):
        source = Source(path.read_text())
        for name, body in source.functions().items():
            if places := source.mutations(body):
                functions.append((path, name, places))
    at_random = random.Random(seed)
    left = {(path, mutation) for path, _, places in functions for p in places for mutation in p}
    while left:
        path, name, places = at_random.choice(functions)
        mutation = at_random.choice(at_random.choice(places))
        if (path, mutation) in left:
            left.remove((path, mutation))
            yield path, name, mutation
