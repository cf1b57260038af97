"""scripts/mutate: mutations of C sources that are drawn are made where code is, again by seed."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from itertools import islice
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SOURCE = r"""
#include <math.h>
#define TWICE(x) (2 * (x))
static const double tolerance = 1e-9; /* 3 > 2 */

static double worst(const struct box *of, double x[3]) {
  double y[4] = {x[0], -x[1]}, *end = y + 2; // a < b
  static_assert(sizeof y > 3, "1 + 1");
  const int many = of->n >= 7 && x[0] != 0.5;
  if (!many) {
    scale(x, "a - b");
    y[1] *= fmax(x[2], 0);
  }
  for (int32_t i = 0; i < 6; ++i) {
    ++*end;
  }
  return many ? x[2] / 8 : y[0];
}
"""


def module_of(monkeypatch, name):
    """One of the scripts, with what it imports beside it."""
    monkeypatch.syspath_prepend(SCRIPTS)
    loader = SourceFileLoader(name, str(SCRIPTS / name))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    monkeypatch.setitem(sys.modules, name, made)
    loader.exec_module(made)
    return made


@pytest.fixture
def draws(monkeypatch):
    return module_of(monkeypatch, "draws.py")


@pytest.fixture
def source(draws):
    return draws.Source(SOURCE)


def changes(source):
    """The old and the new text of all edits."""
    (body,) = source.functions().values()
    return [
        (source.text[mutation.start : mutation.end], mutation.new)
        for place in source.mutations(body)
        for mutation in place
    ]


def test_functions_are_found(source):
    assert list(source.functions()) == ["worst"]


@pytest.mark.parametrize(
    "change",
    [
        ("<", "<="), ("<", ">="), (">=", ">"), ("!=", "=="), ("&&", "||"), ("+", "-"), ("/", "*"),
        ("*=", "/="), ("-", ""), ("!", ""), ("(!many)", "(!(!many))"), ("fmax", "fmin"),
        ("[1]", "[1 + 1]"), ("[2]", "[2 - 1]"), ("7", "8"), ("7", "6"), ("0.5", "(10 * 0.5)"),
        ('scale(x, "a - b");', ";"), ("y[1] *= fmax(x[2], 0);", ";"), ("++*end;", ";"),
    ],
    ids=lambda change: f"{change[0]} to {change[1] or 'nothing'}",
)  # fmt: skip
def test_a_mistake_can_be_made(source, change):
    assert change in changes(source)


def test_nothing_else_is_touched(source):
    """Comments, strings, the preprocessor, declarators, assertions, clauses of loops."""
    untouched = {"3", "1e-9", "[4]", "[3]", ">", "> 3", "(2 * (x))", "i < 6;", "return many;"}
    olds = {old for old, _ in changes(source)}
    assert not olds & untouched
    assert all(";" not in old[:-1] for old in olds)
    assert changes(source).count(("*", "/")) == 0  # a star before a pointer multiplies nothing


def drawn(draws, path, seed):
    return list(draws.drawn([path], seed))


def test_a_seed_draws_the_same_again_and_each_mutation_once(draws, tmp_path):
    path = tmp_path / "worst.c"
    path.write_text(SOURCE)
    first = drawn(draws, path, 3)
    assert first == drawn(draws, path, 3)
    assert first != drawn(draws, path, 4)
    assert len(set(first)) == len(first) == len(changes(draws.Source(SOURCE)))


def test_draws_are_made_where_they_say(monkeypatch):
    mutate = module_of(monkeypatch, "mutate")
    for draw in islice(mutate.draw(["csrc/lcp/lemke"], 5), 50):
        text = (mutate.ROOT / draw.file).read_text()
        made = draw.made_in(text)
        line = int(draw.place.split(":")[1])
        assert text.splitlines()[: line - 1] == made.splitlines()[: line - 1]
        assert made != text
        assert len(made) - len(text) == len(draw.new) - len(draw.old)
        assert draw.c == ["test_lcp"]
        assert draw.python[-1] == "tests/lcp"
