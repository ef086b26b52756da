"""What `docs/how-to/ci.md` gives to copy: it is YAML, and its commands run and write what they say."""

import json
import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import yaml

from tests.cli.process import pllm

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")
GITHUB, GITLAB = (
    yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
)
PLAN = """pllm 1

import std.formats [int8]

plan p {
  input x: int8[4] from client where abs(x) <= 9
  y = neg(x) @ client
  output y to client
}
"""


def written(folder: Path, line: str) -> None:
    """Run one line of a page that calls `pllm-lang`, with its redirection."""
    words = shlex.split(line.removesuffix("|| true"))
    target = words[words.index(">") + 1] if ">" in words else ""
    done = pllm(folder, *(words[1 : words.index(">")] if target else words[1:]))
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    if target:
        (folder / target).write_text(done.stdout)


def test_github(tmp_path: Path) -> None:
    (tmp_path / "plan.pllm").write_text(PLAN)
    steps: list[dict[str, Any]] = GITHUB["jobs"]["check"]["steps"]
    lines = [step["run"] for step in steps if step.get("run", "").startswith("pllm-lang ")]
    assert len(lines) == 3
    for line in lines:
        written(tmp_path, line)
    uploaded = next(step["with"]["sarif_file"] for step in steps if "sarif_file" in step.get("with", {}))
    assert json.loads((tmp_path / uploaded).read_text())["version"] == "2.1.0"


def test_gitlab(tmp_path: Path) -> None:
    (tmp_path / "plan.pllm").write_text(PLAN)
    for line in GITLAB["plans"]["script"]:
        if line.startswith("pllm-lang "):
            written(tmp_path, line)
    reports = GITLAB["plans"]["artifacts"]["reports"]
    assert ET.parse(tmp_path / reports["junit"]).getroot().tag == "testsuites"
    assert json.loads((tmp_path / reports["codequality"]).read_text()) == []


def test_every_format_is_in_the_table(tmp_path: Path) -> None:
    from pllm_lang.cli.formats import formats

    table = PAGE.partition("|---|---|")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) == set(formats())
