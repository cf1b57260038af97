"""The guide: few entries per part, short sentences, and answers that a newcomer finds."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import deque
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest

from questions import QUESTIONS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# words of a sentence
LIMITS = {"tutorials": 35, "how-to": 35, "explanation": 40}


# ---- pages as they are written -------------------------------------------------------------------


def entries(page):
    """Pages that a page lists below it."""
    return [
        line
        for block in TOCTREE.findall(page.read_text())
        for line in block.splitlines()
        if line and not line.startswith(":")
    ]


@pytest.mark.parametrize("part", ["tutorials", "how-to", "explanation", "reference", "development"])
def test_a_part_shows_nine_entries_at_most(part):
    assert 0 < len(entries(DOCS / part / "index.md")) <= 9


@pytest.mark.parametrize("part", ["tutorials", "how-to", "explanation", "reference", "development"])
def test_the_page_of_a_part_names_all_of_its_pages(part):
    """A newcomer finds each page by what it answers, not in the sidebar alone."""
    index = DOCS / part / "index.md"
    named = re.findall(r"\]\(([\w/]+\.md)\)", index.read_text())
    pages = {str(page.relative_to(DOCS / part)) for page in (DOCS / part).rglob("*.md")}
    pages = {page for page in pages if not page.startswith("api/")} - {"index.md"}
    assert pages - set(named) == set()


def sentences(text):
    """Sentences of a page without code, tables, formulas and markup; items of lists are apart."""
    text = re.sub(r"^(```|~~~).*?^\1\s*$", "\n\n", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\$\$.*?\$\$", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"\$[^$\n]+\$", "x", text)
    text = re.sub(r"`[^`\n]+`", "x", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    lines = [
        "\n\n" if line.startswith(("|", "#", "    ", "!")) else line for line in text.splitlines()
    ]
    text = re.sub(r"^(- |\d+\. |  - )", "\n\n", "\n".join(lines), flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", text):
        yield from re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split()))


@pytest.mark.parametrize(
    "page",
    [page for part in LIMITS for page in sorted(DOCS.glob(f"{part}/**/*.md"))],
    ids=lambda page: str(page.relative_to(DOCS)),
)
def test_no_sentence_of_a_guide_is_long(page):
    limit = LIMITS[page.relative_to(DOCS).parts[0]]
    counted = {sentence: len(sentence.split()) for sentence in sentences(page.read_text())}
    assert {text: count for text, count in counted.items() if count > limit} == {}


# directives that draw, run in every build or with the notebooks
DRAWN = re.compile(r"^(!\[|```\{(drawn|quick-figure|gallery)\}|:picture: )", re.MULTILINE)
SHOWN = re.compile(r"^(plt\.show\(\)|Image\()", re.MULTILINE)


def has_picture(page):
    """Whether a page shows a picture or a video on the site."""
    (block,) = re.findall(
        r"^executed_pages = \[(.*?)^\]", (DOCS / "conf.py").read_text(), re.M | re.S
    )
    text, name = page.read_text(), str(page.relative_to(DOCS).with_suffix(""))
    runs = name in re.findall(r'"(.+)"', block)
    return bool(DRAWN.search(text) or (runs and SHOWN.search(text)))


@pytest.mark.parametrize(
    ("part", "least"), [("tutorials", 1), ("explanation", 1), ("how-to", 2 / 3)]
)
def test_pages_have_pictures(part, least):
    pages = [page for page in DOCS.glob(f"{part}/**/*.md") if page.name != "index.md"]
    bare = sorted(page.stem for page in pages if not has_picture(page))
    assert len(bare) <= (1 - least) * len(pages), bare


def test_the_entries_to_cite_are_those_of_the_citation_file():
    page, file = (DOCS / "how-to/cite.md").read_text(), (ROOT / "CITATION.cff").read_text()
    for key in ("title", "doi", "value", "year"):
        for value in re.findall(rf"^ +{key}: (.+)$", file, re.MULTILINE):
            assert value in page, value
    (version,) = re.findall(r"^version: (.+)$", file, re.MULTILINE)
    assert f"version = {{{version}}}" in page


STORED_TASK = re.compile(r"(\w+ [\de-]+) \d+/\d+ (yes|no) ")


def test_the_jar_is_opened_at_the_tolerances_that_the_page_names():
    page, stored = DOCS / "explanation/dual_arm.md", DOCS / "_static/full/21.txt"
    tasks = stored.read_text().split("dual_arm_tasks")[1]
    lines = [" ".join(line.split()) for line in tasks.splitlines()]
    found = {match.groups() for line in lines if (match := STORED_TASK.match(line))}
    rows = re.findall(r"^\| .+ \| (.*) \| (.*) ?\|$", page.read_text(), re.MULTILINE)
    named = re.compile(r"dual_arm_tasks > (\w+ [\de-]+);")
    said = {
        (run, outcome)
        for row in rows
        for cell, outcome in zip(row, ("yes", "no"), strict=True)
        for run in named.findall(cell)
    }
    assert len(said) > 20
    assert said == found


# ---- the site as it is built ---------------------------------------------------------------------


class Links(HTMLParser):
    """Targets of the links within the article of a page, not of the sidebars."""

    def __init__(self):
        super().__init__()
        self.found, self.depth = [], 0

    def handle_starttag(self, tag, attrs):
        self.depth += tag == "article"
        if tag == "a" and self.depth:
            self.found.append(dict(attrs).get("href", ""))

    def handle_endtag(self, tag):
        self.depth -= tag == "article"


def clicks_from_start(site, farthest):
    """Pages by the number of clicks from the start page, up to the farthest."""
    found, queue = {"index": 0}, deque(["index"])
    while queue:
        page = queue.popleft()
        if found[page] == farthest:
            continue
        links = Links()
        links.feed((site / f"{page}.html").read_text(encoding="utf-8"))
        for target in links.found:
            path = urldefrag(urljoin(f"/{page}.html", target))[0]
            name = path.strip("/").removesuffix(".html")
            if path.endswith(".html") and name not in found and (site / f"{name}.html").exists():
                found[name] = found[page] + 1
                queue.append(name)
    return found


@pytest.mark.slow
def test_answers_are_three_clicks_from_the_start(site):
    near = clicks_from_start(site, 3)
    for question, pages in QUESTIONS.items():
        assert set(pages) & set(near), question


class Code(HTMLParser):
    """Pieces of code within the article of a page that are no links, no blocks and no headings."""

    ASIDE = ("a", "pre", "h1", "h2", "h3", "h4", "title")

    def __init__(self):
        super().__init__()
        self.found, self.inside = [], []

    def handle_starttag(self, tag, _attributes):
        if tag in ("article", "code", *self.ASIDE):
            self.inside.append(tag)
            if tag == "code":
                self.found.append("")

    def handle_endtag(self, tag):
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass
            if tag == "code" and set(self.inside) & set(self.ASIDE):
                self.found.pop()

    def handle_data(self, data):
        if "code" in self.inside and "article" in self.inside:
            self.found[-1] += data


@pytest.mark.slow
def test_names_of_classes_lead_to_the_reference(site):
    """In tutorials, how-to guides and explanations; with arguments or members, or without."""
    classes = set()
    for page in (site / "reference/api").glob("*.html"):
        classes |= set(
            re.findall(r'<dl class="py class">\n<dt[^>]*id="[\w.]*\.(\w+)"', page.read_text())
        )
    assert {"Stepper", "ContactProblem", "SapSettings"} <= classes
    dead = []
    for part in ("tutorials", "how-to", "explanation"):
        for page in (site / part).rglob("*.html"):
            code = Code()
            code.feed(page.read_text(encoding="utf-8"))
            names = [
                re.match(r"(?:sapwood\.)?([A-Z]\w+)(\(.*\))?$", text, re.S) for text in code.found
            ]
            dead += [(page.name, name[0]) for name in names if name and name[1] in classes]
    assert dead == []


# Sphinx's own search, in a document that has nothing
SEARCH = """
const fs = require('fs'), vm = require('vm');
const site = process.argv[2], queries = JSON.parse(process.argv[3]);
const nothing = new Proxy(function () {}, {get: () => nothing, apply: () => nothing});
global.document = {documentElement: {dataset: {content_root: './'}}, addEventListener: () => {},
  readyState: 'loading', getElementById: () => null, querySelector: () => null,
  createElement: () => nothing};
global.window = global;
global.location = {search: ''};
global.addEventListener = () => {};
global._ = (text) => text;
global._ready = () => {};
global.SPHINX_HIGHLIGHT_ENABLED = false;
global.DOCUMENTATION_OPTIONS = {FILE_SUFFIX: '.html', LINK_SUFFIX: '.html',
  SHOW_SEARCH_SUMMARY: false, BUILDER: 'html'};
let code = '';
for (const file of ['language_data.js', 'searchtools.js'])
  code += fs.readFileSync(site + '/_static/' + file, 'utf8') + '\\n';
code += fs.readFileSync(site + '/searchindex.js', 'utf8') + '\\n';
code += `
for (const query of queries) {
  const parsed = Search._parseQuery(query);
  const results = Search._performSearch(...parsed);
  found[query] = results.reverse().slice(0, 8).map((result) => result[0]);
}`;
const found = {};
vm.runInThisContext('(function (queries, found) {' + code + '})')(queries, found);
console.log(JSON.stringify(found));
"""


def found_by_search(site, folder, queries):
    """Pages of the first results of each query, best first."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node")
    script = folder / "search.js"
    script.write_text(SEARCH)
    command = [node, script, site, json.dumps(list(queries))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_search_finds_the_answers_first(site, tmp_path):
    found = found_by_search(site, tmp_path, QUESTIONS)
    missed = {
        question: found[question][:5]
        for question, pages in QUESTIONS.items()
        if not set(pages) & set(found[question][:5])
    }
    assert missed == {}


@pytest.mark.slow
def test_search_ranks_main_names_and_guides_first(site, tmp_path):
    """Members, and names of the mirror in NumPy, come after what they belong to."""
    names = {"Stepper": "sapwood.mujoco", "ContactProblem": "sapwood", "solve": "sapwood"}
    found = found_by_search(site, tmp_path, [*names, "friction", "video"])
    for name, module in names.items():
        assert found[name][0] == f"reference/api/{module}", name
    for word in ("friction", "video"):
        assert found[word][0].startswith(("tutorials/", "how-to/")), word
