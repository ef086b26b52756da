"""`pllm graph` in a real browser at 1280 pixels, light and dark: no text overlaps another, none is clipped, none is small."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pllm_lang.artifacts.graph_svg import WIDTH

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.system

TARGETS = [
    "beaver_block",
    "decoder_layer",
    "first_look:gated_mlp",
    "moe_layer:dense_experts",
    "three_party_block:block",
]
PAGE = """<!doctype html><meta charset="utf-8"><style>body {{ margin: 0 }}</style>{svg}<pre id="said"></pre><script>
const texts = [...document.querySelectorAll('svg text')].map(text => {{
  const box = text.getBoundingClientRect(), style = getComputedStyle(text);
  return {{ said: text.textContent, x: box.x, y: box.y, right: box.right, bottom: box.bottom,
    size: parseFloat(style.fontSize), colour: style.fill }};
}});
const page = getComputedStyle(document.querySelector('svg .page')).fill;
const svg = document.querySelector('svg').getBoundingClientRect();
document.getElementById('said').textContent = JSON.stringify({{ texts, page, width: svg.width, height: svg.height }});
</script>"""


def seen(tmp_path: Path, target: str, dark: bool) -> dict[str, object]:
    file, _, name = target.partition(":")
    example = f"{ROOT / 'examples' / file}.pllm" + (f":{name}" if name else "")
    drawn = subprocess.run(
        [sys.executable, "-m", "pllm_lang.cli.main", "graph", example],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    page = tmp_path / "page.html"
    page.write_text(PAGE.format(svg=drawn), encoding="utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", scheme, "--window-size=1280,2000"]
    done = subprocess.run([*command, f"--user-data-dir={tmp_path}/profile", "--dump-dom", f"file://{page}"],
        capture_output=True, text=True, check=True, timeout=120)  # fmt: skip
    said = re.search(r'<pre id="said">(.*?)</pre>', done.stdout, re.DOTALL)
    assert said, done.stderr
    return json.loads(said[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


@pytest.mark.parametrize("target", TARGETS)
def test_no_text_overlaps_or_is_clipped_or_small(target: str, tmp_path: Path) -> None:
    found = seen(tmp_path, target, dark=False)
    texts: list[dict[str, float]] = found["texts"]  # type: ignore[assignment]
    assert found["width"] == WIDTH
    assert len(texts) > 5
    for text in texts:
        assert text["size"] >= 11
        assert text["x"] >= 0
        assert text["right"] <= WIDTH
        assert text["bottom"] <= found["height"]  # type: ignore[operator]
    for k, one in enumerate(texts):
        for other in texts[k + 1 :]:
            apart = one["right"] <= other["x"] or other["right"] <= one["x"]
            assert apart or one["bottom"] <= other["y"] + 1 or other["bottom"] <= one["y"] + 1, (one, other)


def luminance(colour: str) -> float:
    red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
    parts = [part / 255 for part in (red, green, blue)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
def test_texts_can_be_read_in_light_and_dark(dark: bool, tmp_path: Path) -> None:
    """WCAG's contrast of at least 4.5."""
    found = seen(tmp_path, "beaver_block", dark)
    page = luminance(str(found["page"]))
    assert (page < 0.1) == dark
    for text in found["texts"]:  # type: ignore[attr-defined]
        high, low = max(page, luminance(text["colour"])), min(page, luminance(text["colour"]))
        assert (high + 0.05) / (low + 0.05) >= 4.5, text
