"""What a real headless browser makes of a page or a picture: Debian's chromium, at 1280 pixels.

In: HTML or SVG text. Out: what is wrong with its texts: overlaps, clipping, letters below 11 pixels, poor contrast.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

WIDTH = 1280
SMALLEST = 11
CONTRAST = 4.5
"""Of text to its ground, as WCAG 2.1 AA asks."""

_SCRIPT = """
<script>
window.addEventListener('load', () => {
  const texts = [], wrong = [];
  const roots = [...document.querySelectorAll('ROOTS')];
  function* nodes() { for (const root of roots) { const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node; node = walker.nextNode();) yield node; } }
  const rgb = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length == 3 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
  for (const node of nodes()) {
    const host = node.parentElement, style = getComputedStyle(host);
    if (!node.data.trim() || style.visibility == 'hidden' || ['SCRIPT', 'STYLE', 'title', 'desc'].includes(host.tagName)) continue;
    const range = document.createRange(); range.selectNodeContents(node);
    const scale = host.getScreenCTM ? host.getScreenCTM().a : 1;
    const size = parseFloat(style.fontSize) * scale;
    if (size < SMALLEST) wrong.push(`${size.toFixed(1)}px: ${node.data.trim()}`);
    const inSvg = !!host.ownerSVGElement;
    const behind = inSvg ? null : ground(host);
    if (behind) { const a = light(rgb(style.color).slice(0, 3)), b = light(behind);
      const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
      if (ratio < CONTRAST) wrong.push(`contrast ${ratio.toFixed(2)}: ${node.data.trim()}`); }
    const frame = inSvg ? host.ownerSVGElement.getBoundingClientRect() : {left: 0, right: WIDTH, top: 0, bottom: 1e9};
    for (const box of range.getClientRects()) {
      if (box.width < 1) continue;
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        wrong.push(`outside: ${node.data.trim()}`);
      for (let e = host; e && e.clientWidth !== undefined && !e.ownerSVGElement; e = e.parentElement) {
        const s = getComputedStyle(e), c = e.getBoundingClientRect();
        if (s.display == 'inline') continue;
        // What has to be scrolled sideways is cut; a column that scrolls down is how pages are read.
        const down = ['hidden', 'clip'].includes(s.overflowY) && e !== document.body && box.bottom > c.bottom + 1;
        if (down || (s.overflowX != 'visible' && box.right > c.right + 1))
          wrong.push(`clipped: ${node.data.trim()}`);
      }
      texts.push({box, text: node.data.trim(), node});
    }
  }
  for (let i = 0; i < texts.length; i++) for (let j = i + 1; j < texts.length; j++) {
    const a = texts[i].box, b = texts[j].box;
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 1 && down > Math.min(a.height, b.height) * 0.25)
      wrong.push(`overlap: ${texts[i].text} | ${texts[j].text}`);
  }
  const found = {texts: texts.length, wrong: wrong.slice(0, 20), width: document.documentElement.scrollWidth,
    ground: ground(document.body),
    images: [...document.images].map(e => ({src: e.getAttribute('src'), width: e.clientWidth, natural: e.naturalWidth}))};
  const out = document.createElement('pre'); out.id = 'measured'; out.textContent = JSON.stringify(found);
  document.body.append(out);
});
</script>
"""


def measured(text: str, folder: Path, *, dark: bool = False) -> dict[str, Any]:
    """`texts` is how many pieces of text there are, `wrong` what is wrong with them, `width` what the page needs, `images`
    which pictures it shows and how wide."""
    return measured_in_place(_page(text), folder / "page.html", folder / "profile", dark=dark)


def measured_in_place(
    text: str, page: Path, profile: Path, *, dark: bool = False, roots: str = "body"
) -> dict[str, Any]:
    """The text is written to `page`, beside what it loads; `roots` selects the elements whose texts are measured. A page that
    does not name its encoding is refused: a browser guesses then, and not always the same."""
    assert text.isascii() or "charset" in text[:1000]
    browser = shutil.which("chromium")
    assert browser is not None, "Debian's chromium is needed; .ci/install-system installs it"
    script = (
        _SCRIPT.replace("SMALLEST", str(SMALLEST))
        .replace("CONTRAST", str(CONTRAST))
        .replace("WIDTH", str(WIDTH))
        .replace("ROOTS", roots)
    )
    page.write_text(text.replace("</body>", script + "</body>"), encoding="utf-8")
    call = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}",
        f"--window-size={WIDTH},2000", "--virtual-time-budget=5000", f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(call, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="measured">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(unescape(found[1]))


def _page(text: str) -> str:
    """A picture stands in a page of its own; a page loses its rule against scripts, for the measuring one."""
    if text.lstrip().startswith(("<svg", "<?xml")):
        head = '<head><meta charset="utf-8"></head>'
        return f'<!doctype html><html>{head}<body style="margin:0;background:#fff">{text}</body></html>'
    return re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)


def assert_readable(text: str, folder: Path, *, dark: bool = False) -> dict[str, Any]:
    found = measured(text, folder, dark=dark)
    assert found["texts"] > 3
    assert found["wrong"] == []
    assert found["width"] <= WIDTH
    return found
