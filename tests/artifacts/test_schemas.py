"""What is written meets its JSON schema, and the page about locks names every code of a refusal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pllm_lang.artifacts.diff import as_json, compare
from pllm_lang.artifacts.replay.reading import read_lock
from tests.artifacts.locks import FIXED, MASKED, ROOT, SHARED, compiled, data, of_text
from tests.artifacts.test_experiments import EXPERIMENT
from tests.artifacts.texts import POLICED


def schema(name: str) -> Any:
    return json.loads((ROOT / "schemas" / f"pllm.lang.{name}.v1.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", [MASKED, SHARED, FIXED])
def test_locks_and_certificates(text: str) -> None:
    lock = data(of_text(text))
    jsonschema.validate(lock, schema("lock"))
    jsonschema.validate(lock["documents"]["certificate"], schema("certificate"))
    del lock["digests"]["ir"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(lock, schema("lock"))


@pytest.mark.parametrize("text", [POLICED, EXPERIMENT])
def test_locks_of_experiments(text: str, tmp_path: Path) -> None:
    (tmp_path / "run.pllm").write_text(text, encoding="utf-8")
    jsonschema.validate(data(compiled(tmp_path / "run.pllm", "run")), schema("lock"))


def test_differences() -> None:
    found = compare(read_lock(of_text(MASKED)), read_lock(of_text(SHARED)))
    jsonschema.validate(json.loads(as_json("a", "b", found)), schema("diff"))


def test_every_code_is_on_the_page() -> None:
    folder = ROOT / "pllm_lang" / "artifacts"
    sources = [*(folder / "replay").glob("*.py"), folder / "library_records.py"]
    codes = {
        code
        for path in sources
        for code in re.findall(r'"((?:lock|certificate)\.[a-z_]+)"', path.read_text(encoding="utf-8"))
    }
    page = (ROOT / "docs" / "how-to" / "lock.md").read_text(encoding="utf-8")
    assert codes == set(re.findall(r"`((?:lock|certificate)\.[a-z_]+)`", page))
