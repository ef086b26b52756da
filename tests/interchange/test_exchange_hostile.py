"""`export` and `import` end in a document or a named refusal, whatever they are given."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pllm_lang.cli.exchange import Exchanged, export, import_
from pllm_lang.cli.naming import NoSuchPlanError
from pllm_lang.interchange import DocumentError, experiment_from_spec
from pllm_lang.interchange.experiment.written import written
from pllm_lang.syntax import nodes as syn
from pllm_lang.syntax.parse import parse
from pllm_lang.text.source import make_source
from tests.cli.test_exchange import SPEC
from tests.corpus_harness import CORPUS

SIZES = {"batch": 1, "max_input_tokens": 8, "max_new_tokens": 2}
ROOT = Path(__file__).parents[2]


def declared(path: Path) -> list[str]:
    """The experiments and models that a file declares."""
    file = parse(make_source(path.name, path.read_text(encoding="utf-8", errors="replace"))).file
    found = [
        d
        for d in file.decls
        if isinstance(d, syn.Model) or (isinstance(d, syn.Record) and d.kind == "experiment")
    ]
    return [decl.name.id for decl in found]


FILES = [
    path
    for folder in (CORPUS, ROOT / "examples", ROOT / "stdlib")
    for path in sorted(folder.rglob("*.pllm"))
    if declared(path)
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_file_we_have_is_exported_or_refused_by_name(path: Path) -> None:
    for name in declared(path):
        for lossy in (False, True):
            try:
                done = export(f"{path}:{name}", "json", SIZES, lossy=lossy)
            except NoSuchPlanError:
                continue
            assert isinstance(done, Exchanged)
            assert done.text is not None or "error[" in done.messages


def test_there_are_files_to_try() -> None:
    assert len(FILES) > 40


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()),
    st.sampled_from(["json", "yaml", "txt"]),
)
def test_any_bytes_are_refused_by_name(tmp_path: Path, data: bytes, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(data)
    done = import_(str(path), "", "")
    assert done.text is None
    assert "error[import.refused]" in done.messages


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    JSON,
    st.sampled_from(["name", "pipeline", "deployment", "budget", "model", "components", "kernels", "params"]),
)
def test_any_value_anywhere_comes_in_or_is_refused_by_name(tmp_path: Path, value: Any, key: str) -> None:
    spec = json.loads(json.dumps(SPEC))
    owners = (
        spec,
        spec["pipeline"],
        spec["pipeline"]["components"],
        spec["pipeline"]["components"]["kernels"],
    )
    next(owner for owner in owners if key in owner)[key] = value
    path = tmp_path / "x.json"
    path.write_text(json.dumps(spec))
    done = import_(str(path), "", "")
    assert done.text is not None or "error[import." in done.messages


CYCLE = """pllm 1

import std.pipelines [masked_linear_cpu]

suite a { pipeline: b }
suite b { pipeline: a }
suite sound { pipeline: masked_linear_cpu }
experiment e {
  source: tiny("qwen2")
  pipeline: NAME
  deployment: local(root: "local://x")
  budget: { requests: 1, max_input_tokens: 64, max_new_tokens: 1 }
}
"""


@pytest.mark.parametrize(("name", "fits"), [("a", False), ("sound", True)])
def test_a_suite_is_the_pipeline_that_it_names(tmp_path: Path, name: str, fits: bool) -> None:
    (tmp_path / "e.pllm").write_text(CYCLE.replace("NAME", name))
    done = export(f"{tmp_path / 'e.pllm'}:e", "json", SIZES, lossy=False)
    assert (done.text is not None) == fits
    assert ("error[export.refused]" in done.messages) != fits


def test_without_the_yaml_library_the_refusal_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "pllm_lang.interchange.experiment.yaml_text", raising=False)
    document = experiment_from_spec(SPEC)
    for action in (lambda: written(document, "yaml"), lambda: experiment_from_spec("a: 1", format="yaml")):
        with pytest.raises(DocumentError) as refusal:
            action()
        assert refusal.value.code == "document.format"
        assert "pllm-lang[interchange]" in refusal.value.message
