"""The site in a browser without a window: what its search finds, and that pages fit a phone."""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
from html import unescape
from urllib.parse import urlparse

import pytest

from questions import QUESTIONS

pytestmark = pytest.mark.slow

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PHONE, DESK = 390, 1280  # widths in pixels

# loads pages in a frame one after the other, and leaves what it has seen as text
PROBE = """<!DOCTYPE html><iframe id="frame" style="height: 900px; border: 0"></iframe><script>
const asked = ASKED, frame = document.getElementById('frame');
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
async function load(url, width) {
  frame.style.width = width + 'px';
  await new Promise((done) => { frame.onload = done; frame.src = url; });
  return frame.contentDocument;
}
async function search(query) {
  const page = await load('/search.html?q=' + encodeURIComponent(query), 1280);
  for (let i = 0; i < 200 && !page.querySelector('#search-results li'); i++) await wait(50);
  await wait(500);
  const links = page.querySelectorAll('#search-results li > a');
  return [...links].slice(0, 5).map((link) => link.href);
}
(async () => {
  const found = {}, wide = [];
  for (const query of asked.queries) found[query] = await search(query);
  for (const width of asked.widths)
    for (const name of asked.pages) {
      const page = (await load('/' + name, width)).documentElement;
      if (page.scrollWidth > width) wide.push([name, width, page.scrollWidth]);
    }
  document.body.innerHTML = '<pre id="seen"></pre>';
  document.getElementById('seen').textContent = JSON.stringify({found, wide});
})();
</script>"""


class Server(http.server.SimpleHTTPRequestHandler):
    """The files of the site, and the probe."""

    probe = b""

    def do_GET(self):
        if self.path != "/probe.html":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        return self.wfile.write(self.probe)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def seen(site, tmp_path_factory):
    """The report of the probe on the site."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)}")
    pages = sorted(str(page.relative_to(site)) for page in site.rglob("*.html"))
    pages = [page for page in pages if not page.startswith(("_", "search", "genindex"))]
    asked = {"queries": list(QUESTIONS), "pages": pages, "widths": [PHONE, DESK]}
    handler = functools.partial(Server, directory=site)
    Server.probe = PROBE.replace("ASKED", json.dumps(asked)).encode()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--user-data-dir={tmp_path_factory.mktemp('browser')}",
            "--virtual-time-budget=3600000", "--dump-dom",
            f"http://127.0.0.1:{server.server_address[1]}/probe.html",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
        server.shutdown()
    (text,) = re.findall(r'<pre id="seen">(.*)</pre>', done.stdout, re.DOTALL)
    return json.loads(unescape(text)) | {"pages": pages}


def test_search_finds_the_answers_among_the_first_five(seen):
    missed = {}
    for question, answers in QUESTIONS.items():
        found = [urlparse(link).path.strip("/") for link in seen["found"][question]]
        if not {f"{answer}.html" for answer in answers} & set(found):
            missed[question] = found
    assert missed == {}


def test_no_page_is_wider_than_a_screen(seen):
    assert len(seen["pages"]) > 100
    assert seen["wide"] == []
