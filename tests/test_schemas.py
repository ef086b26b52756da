"""Every command with `--format json`, and every document of ours, against the published schema of its name."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from jsonschema import Draft202012Validator

import pllm_lang
from pllm_lang.cli.app import app
from pllm_lang.interchange import compile_request, decoder_plan
from tests.cli.process import pllm
from tests.cli.test_exchange import CONFIG, MODELS, SPEC
from tests.corpus_harness import CORPUS
from tests.interchange.cases import load

SCHEMAS = Path(__file__).parent.parent / "schemas"
FILES = sorted(SCHEMAS.glob("*.json"))
REFUSED = str(CORPUS / "reports" / "R08_refused.pllm")
EXAMPLES = Path(__file__).parent.parent / "examples"
PRIVATE = str(EXAMPLES / "first_look.pllm")
PROTOCOL = """pllm 1

component double = "a/double" {
  kind: method
  version: "1"
  implements: add
  n_parties: 2
  adversaries: [semi_honest]
  protocol (x: ring(8)[m] from client, y: ring(8)[m] from client) -> (z: ring(8)[m] to client) {
    online { client: z = x + y }
  }
}
"""

ROW = """pllm 1

import std.formats [fx64_18]
import std.published_functions [shaft_bolt_gelu]

plan row {
  input x: fx64_18[4] from client where abs(x) <= 30
  y = gelu(x) using shaft_bolt_gelu
  output y
}
"""

OUTPUTS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "check a refused plan": ("check", (REFUSED,), "pllm.lang.findings.v1"),
    "check an accepted plan": ("check", (PRIVATE,), "pllm.lang.findings.v1"),
    "check a protocol": ("check", ("protocol.pllm",), "pllm.lang.findings.v1"),
    "check what cannot be parsed": ("check", ("broken.pllm",), "pllm.lang.findings.v1"),
    "count findings": ("check", ("--statistics", REFUSED), "pllm.lang.statistics.v1"),
    "lower a refused config": ("lower", ("refused.json",), "pllm.lang.findings.v1"),
    "coverage with gaps": ("coverage", (REFUSED,), "pllm.lang.coverage.v1"),
    "coverage of a config": ("coverage", ("config.json",), "pllm.lang.coverage.v1"),
    "cost": ("cost", (PRIVATE + ":gated_mlp",), "pllm.lang.cost.v1"),
    "capabilities": ("capabilities", (), "pllm.lang.capabilities.v1"),
    "audit a method": ("audit", ("exp_limit",), "pllm.lang.audit.v1"),
    "audit a method without a formula": ("audit", ("crypten_softmax",), "pllm.lang.audit.v1"),
    "audit a plan": ("audit", ("row.pllm",), "pllm.lang.audit.v1"),
    "export an experiment": ("export", ("two.pllm",), "pllm.experiment.v2"),
    "replay": ("replay", ("lock.json",), "pllm.lang.replay.v1"),
    "replay of half a lock": ("replay", ("half.json",), "pllm.lang.replay.v1"),
    "no difference": ("diff", ("lock.json", "lock.json"), "pllm.lang.diff.v1"),
    "a difference": ("diff", ("lock.json", "other.json"), "pllm.lang.diff.v1"),
    "export a model": ("export", ("models.pllm:evicted",), "pllm.decoder_plan.v1"),
}
"""What is called, with which arguments, and the schema of what it prints."""


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("schemas") / "files"
    found.mkdir()
    (found / "config.json").write_text(json.dumps(CONFIG))
    (found / "refused.json").write_text(json.dumps(CONFIG | {"num_attention_heads": 0}))
    (found / "models.pllm").write_text(MODELS)
    (found / "broken.pllm").write_text("pllm 1\n\nplan p {\n  x == 3\n}\n")
    (found / "protocol.pllm").write_text(PROTOCOL)
    (found / "two.json").write_text(json.dumps(SPEC))
    (found / "row.pllm").write_text(ROW)
    assert pllm(found, "import", "two.json", "-o", "two.pllm").returncode == 0
    for plan, lock in (("first_look.pllm:gated_mlp", "lock.json"), ("llama_block.pllm", "other.json")):
        assert pllm(found, "compile", str(EXAMPLES / plan), "-o", lock).returncode == 0
    (found / "half.json").write_bytes((found / "lock.json").read_bytes()[:-1000])
    return found


def printed(folder: Path, name: str) -> Any:
    command, arguments, _ = OUTPUTS[name]
    done = pllm(folder, command, *arguments, "--format", "json")
    assert done.returncode in {0, 1}, done.stderr
    return json.loads(done.stdout or done.stderr)


@pytest.mark.parametrize("name", OUTPUTS)
def test_what_a_command_prints_fits_its_schema(folder: Path, name: str) -> None:
    document, schema = printed(folder, name), OUTPUTS[name][2]
    validator(schema).validate(document)
    assert document.get("schema", document.get("schema_version", schema)) == schema


def commands_with_json() -> Iterator[str]:
    for name in app.list_commands(click.Context(app)):
        command = app.get_command(click.Context(app), name)
        assert command is not None
        for option in command.params:
            choices = getattr(option.type, "choices", ())
            if "--format" in option.opts and "json" in choices:
                yield name


def test_every_command_that_prints_json_is_here() -> None:
    assert set(commands_with_json()) == {command for command, _, _ in OUTPUTS.values()}


def test_both_ends_of_a_replay_and_of_a_diff_are_seen(folder: Path) -> None:
    assert [printed(folder, name)["proved"] for name in ("replay", "replay of half a lock")] == [True, False]
    assert [bool(printed(folder, name)["changes"]) for name in ("no difference", "a difference")] == [
        False,
        True,
    ]


def test_protocols_and_plans_are_in_the_findings(folder: Path) -> None:
    assert [one["name"] for one in printed(folder, "check a protocol")["protocols"]] == ["double"]
    assert printed(folder, "check an accepted plan")["plans"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_schema_is_one_and_has_its_file_s_name(path: Path) -> None:
    schema = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == path.stem
    assert schema["title"]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in inner:
        yield (*path, key)
        yield from places(entry, (*path, key))


def without(value: Any, path: tuple[Any, ...]) -> Any:
    found = json.loads(json.dumps(value))
    owner = found
    for key in path[:-1]:
        owner = owner[key]
    del owner[path[-1]]
    return found


@pytest.mark.parametrize("name", ["check a refused plan", "export an experiment", "export a model"])
def test_a_document_with_a_key_more_or_less_does_not_fit(folder: Path, name: str) -> None:
    document, found = printed(folder, name), validator(OUTPUTS[name][2])
    assert not found.is_valid(document | {"more": 1})
    for key in document:
        if key not in {"plans", "protocols"}:
            assert not found.is_valid(without(document, (key,))), key


LOADED = [case for case in load("experiments") if case["expect"]["ok"]]


@pytest.mark.parametrize("case", LOADED, ids=lambda case: case["id"])
def test_experiments_fit(case: dict[str, Any]) -> None:
    validator("pllm.experiment.v2").validate(json.loads(case["expect"]["canonical"]))


SMALL = [c for c in load("model_valid") if c["expect"]["canonical_bytes_length"] < 90_000 and "config" in c]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case["id"])
def test_decoder_plans_fit(case: dict[str, Any]) -> None:
    plan = decoder_plan(case["config"], **case["workload"], lossy=True)
    validator("pllm.decoder_plan.v1").validate(json.loads(plan.canonical_bytes))


REAL = sorted((Path(__file__).parent / "data" / "configs" / "real").glob("*.json"))


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_model_graphs_fit(path: Path) -> None:
    try:
        plan = pllm_lang.lower_model(path.read_bytes(), batch=1, max_input_tokens=8, max_new_tokens=2)
    except pllm_lang.LoweringError:
        return
    validator("pllm-lang.model-graph.v1").validate(json.loads(plan.canonical_bytes()))


def test_enough_model_graphs_are_lowered() -> None:
    assert len(REAL) >= 100


def test_the_fixture_compiles() -> None:
    plan = compile_request((SCHEMAS / "fixtures" / "compile-request.valid.json").read_bytes())
    assert (plan.input_shape, plan.output_shape) == ((2, 3), (2, 2))


def test_facts_fit(tmp_path: Path) -> None:
    reader = importlib.import_module("pllm_lang.resolve.facts_file")
    found, schema = validator("pllm.lang.facts.v1"), "sha256:" + "0" * 64
    good = {
        "schema": "pllm.lang.facts.v1",
        "checkpoint": schema,
        "facts": {"w": {"row_norm1": "64", "min": "-1/2"}},
    }
    bad = [
        {"schema": "pllm.lang.facts.v2"},
        {"checkpoint": "0"},
        {"facts": {"w": {"row_norm1": 64}}},
        {"facts": {"w": {"colour": "1"}}},
        {"more": 1},
    ]
    for change, fits in [({}, True), *((one, False) for one in bad)]:
        path = tmp_path / "facts.json"
        path.write_text(json.dumps(good | change))
        assert found.is_valid(good | change) == fits
        assert (type(reader.read_facts(str(path))).__name__ == "FactsFile") == fits
