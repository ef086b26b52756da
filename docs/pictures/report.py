"""A page of HTML as one SVG: the page itself inside it, as wide as a column of the docs and as high as a browser makes it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from xml.etree import ElementTree

WIDTH = 960
_MEASURE = (
    "<script>window.addEventListener('load', () => {"
    "document.documentElement.dataset.high = Math.ceil(document.body.getBoundingClientRect().height)})</script>"
)


def svg(html: str, title: str) -> str:
    """The report's own style and body; what it says of `body` and `:root` holds for the element that stands for them."""
    style, body = (_between(html, tag) for tag in ("style", "body"))
    style = style.replace(":root", "svg").replace("body {", ".body {")
    style += " svg { background: var(--ground); } .body { min-height: 100%; }"
    high = _height(html)
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{high}" viewBox="0 0 {WIDTH} {high}" role="img">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n"
        f'<foreignObject width="{WIDTH}" height="{high}">\n<div xmlns="http://www.w3.org/1999/xhtml" class="body">{body}</div>\n'
        "</foreignObject>\n</svg>\n"
    )
    ElementTree.fromstring(drawn)  # a browser shows nothing of a picture that is no XML
    return drawn


def _between(html: str, tag: str) -> str:
    found = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
    assert found is not None, f"the report has no <{tag}>"
    return found[1]


def _height(html: str) -> int:
    browser = shutil.which("chromium")
    assert browser is not None, "Debian's chromium is needed"
    with tempfile.TemporaryDirectory() as private:
        page = Path(private) / "page.html"
        page.write_text(
            re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html).replace(
                "</body>", _MEASURE + "</body>"
            )
        )
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={private}/profile",
             f"--window-size={WIDTH},2000", "--dump-dom", page.as_uri()],
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
    found = re.search(r'data-high="(\d+)"', done.stdout)
    assert found is not None, done.stderr
    return int(found[1])
