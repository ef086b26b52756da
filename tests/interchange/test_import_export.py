"""Documents to `.pllm` text and back: the same digest, or a refusal that names what cannot be said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.catalog.expr import Num
from pllm_lang.catalog.load import open_project
from pllm_lang.catalog.records import Record
from pllm_lang.interchange import (
    ComponentError,
    DocumentError,
    ExperimentDoc,
    ExportedExperiment,
    ExportRefused,
    InterchangeError,
    NotFaithful,
    NotSaid,
    configuration_digest,
    experiment_from_spec,
    experiment_of_record,
    experiment_spec,
    import_experiment,
)
from pllm_lang.interchange.experiment.written import written
from pllm_lang.syntax.format import format_source
from pllm_lang.syntax.parse import parse
from pllm_lang.text.source import make_source
from tests.interchange.cases import params, permuted

CASES = [p for p in params("experiments") if p.values[0]["expect"]["ok"]]
NOT_SAID = {"ok/foreign": "pipeline.components.x"}
TOO_LARGE = {"ok/budget-max": "budget.requests"}
"""The only recorded documents that `.pllm` text does not say, and the places to be named."""


def exported(text: str, *, lossy: bool = False, name: str = "") -> ExportedExperiment:
    path = "/nowhere/e.pllm"
    opened = open_project([path], "/nowhere", {path: text})
    assert [one.code for one in opened.findings if one.severity.value == "error"] == []
    records = [opened.library.get(key) for key in opened.library.keys("experiment")]
    found = [one for one in records if isinstance(one, Record) and one.module == opened.project.main[0]]
    record = next(one for one in found if name in ("", one.name))
    return experiment_of_record(opened.library, record, lossy=lossy)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("change", ["as recorded", "permuted and renamed"])
def test_recorded_document_as_text_and_back(case: dict[str, Any], change: str) -> None:
    spec = json.loads(case["expect"]["canonical"])
    if change != "as recorded":
        spec = permuted(spec) | {
            "name": "other name é",
            "deployment": {"kind": "local", "root": "local://other/é"},
        }
    document = experiment_from_spec(spec)
    places = NOT_SAID | TOO_LARGE
    if case["id"] in places:
        with pytest.raises(NotSaid if case["id"] in NOT_SAID else DocumentError) as refusal:
            import_experiment(document)
        assert refusal.value.subject == places[case["id"]]
        return
    text = import_experiment(document)
    assert format_source(parse(make_source("x.pllm", text))) == text
    again = exported(text).document
    assert again == document
    if change == "as recorded":
        assert configuration_digest(again) == case["expect"]["configuration_digest"]


SLOT_NAMES = st.sampled_from(
    ["linear", "kernels", "cache", "state", "everything_else", "slots", "softmax", "in", "A_1"]
)
COMPONENTS = st.sampled_from(
    [
        {"component": "pllm/masked-linear", "params": {}},
        {"component": "pllm/client-local-kv", "params": {}},
        {"component": "pllm/binary-table/v1", "params": {}},
        {"component": "pllm/cpu", "params": {"threads": 7}},
        {"component": "pllm/cost", "params": {"currency": "EUR", "basis": "million_input_tokens"}},
        {"component": "pllm/perplexity", "params": {"dataset": 'quo"te\\ \u2028\u202e\x00 😀'}},
        {
            "component": "pllm/kv-cache-eviction",
            "params": {
                "implementation": "a/b",
                "observation_window": {"numerator": 2, "denominator": 4},
                "static_keep": {"numerator": 1, "denominator": 1},
                "dynamic_keep": {"numerator": 1, "denominator": 4},
                "alpha": {"numerator": 3, "denominator": 5},
                "cluster_sizes": [64, 8],
                "share_adjacent_layers": False,
            },
        },
    ]
)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=80)
MODELS = st.one_of(
    st.just({"source": "qwen2", "kind": "tiny"}),
    st.fixed_dictionaries(
        {"source": NAMES, "kind": st.sampled_from(["vllm", "safetensors", "huggingface"])},
        optional={"revision": NAMES, "model_id": NAMES, "local_files_only": st.booleans()},
    ),
    st.fixed_dictionaries({"source": NAMES, "kind": st.sampled_from(["mlx", "mlx-lm", "gguf", "llama.cpp"])}),
    st.just({"source": "m", "kind": "ollama", "endpoint": "HTTPS://Host:99"}),
)
AMOUNTS = st.integers(1, 2**53 - 1)
SPECS = st.fixed_dictionaries(
    {
        "schema": st.just("pllm.experiment.v2"),
        "name": NAMES,
        "pipeline": st.fixed_dictionaries(
            {"model": MODELS, "components": st.dictionaries(SLOT_NAMES, COMPONENTS, max_size=5)}
        ),
        "deployment": st.fixed_dictionaries({"kind": st.just("local"), "root": NAMES}),
        "budget": st.fixed_dictionaries(
            {"requests": AMOUNTS, "max_input_tokens": AMOUNTS, "max_new_tokens": AMOUNTS}
        ),
    }
)


@settings(max_examples=80, deadline=None)
@given(SPECS)
def test_any_document_comes_back(spec: dict[str, Any]) -> None:
    document = experiment_from_spec(spec)
    text = import_experiment(document)
    assert exported(text).document == document
    assert format_source(parse(make_source("x.pllm", text))) == text


@settings(max_examples=40, deadline=None)
@given(SPECS, st.sampled_from(["json", "yaml"]))
def test_written_document_reads_back(spec: dict[str, Any], format: str) -> None:
    document = experiment_from_spec(spec)
    assert experiment_from_spec(written(document, format), format=format) == document


def test_a_slot_that_is_no_name_is_not_said() -> None:
    components = {"a b": {"component": "pllm/inference", "params": {}}}
    with pytest.raises(NotSaid) as refusal:
        import_experiment(document_with(components))
    assert refusal.value.subject == "pipeline.components.a b"


def document_with(components: dict[str, Any]) -> ExperimentDoc:
    return experiment_from_spec(
        {
            "schema": "pllm.experiment.v2",
            "name": "x",
            "pipeline": {"model": {"source": "qwen2", "kind": "tiny"}, "components": components},
            "deployment": {"kind": "local", "root": "local://x"},
            "budget": {"requests": 1, "max_input_tokens": 1, "max_new_tokens": 1},
        }
    )


# ---- from text ----------------------------------------------------------------------------------------

HEAD = """pllm 1

import std.components [
  masked_linear, model_aware_corrections, inference, cpu, client_local_kv, binary_table, guarded_linear,
]
import std.formats [act8, weight8, q7]
import std.methods [clear]
import std.metrics [latency]
import std.pipelines [masked_linear_cpu, proprietary_guarded]
import std.policies [single_evaluator]
import std.schedules [chunked, scalar]
import std.targets [laptop_24gib]

deployment far { hosts: { client: laptop_24gib } }
deployment near {
  kind: local
  root: "local://near"
  hosts: { client: laptop_24gib }
}
stock rows {
  of: correction
  count: 100
  provider: preparation
}
plan nothing { input x: int8[1] from client output x to client }
pipeline wider {
  linear: masked_linear(bits: 64)
  activations: ACT
  state: client_local_kv
  everything_else: clear
  EXTRA
}
"""
FIELDS = {
    "source": 'source: tiny("qwen2")',
    "pipeline": "pipeline: masked_linear_cpu(kernels: cpu(threads: 2))",
    "deployment": 'deployment: local(root: "local://x")',
    "budget": "budget: { requests: 1, max_input_tokens: 64, max_new_tokens: 1 }",
}


def text_with(under: str = "", act: str = "act8", extra: str = "", **fields: str) -> str:
    body = "\n".join(f"  {line}" for line in (FIELDS | fields).values() if line)
    head = HEAD.replace("ACT", act).replace("EXTRA", extra)
    return f'{head}\nexperiment two_threads = "two-threads"{under} {{\n{body}\n}}\n'


def test_an_experiment_is_the_document_that_it_reads_like() -> None:
    done = exported(text_with())
    assert experiment_spec(done.document) == {
        "schema": "pllm.experiment.v2",
        "name": "two-threads",
        "pipeline": {
            "model": {"source": "qwen2", "kind": "tiny"},
            "components": {
                "linear": {"component": "pllm/masked-linear", "params": {}},
                "preparation": {"component": "pllm/model-aware-corrections", "params": {}},
                "inference": {"component": "pllm/inference", "params": {}},
                "kernels": {"component": "pllm/cpu", "params": {"threads": 2}},
            },
        },
        "deployment": {"kind": "local", "root": "local://x"},
        "budget": {"requests": 1, "max_input_tokens": 64, "max_new_tokens": 1},
    }
    assert list(done.kept_here) == ["pipeline.linear.bits"]


def test_what_only_judges_the_run_stays_and_is_told() -> None:
    text = text_with(
        " under single_evaluator",
        deployment="deployment: near",
        stock="stock: [rows]",
        measure="measure: [latency]",
    )
    done = exported(text)
    assert set(done.kept_here) == {"deployment.hosts", "stock", "measure", "under", "pipeline.linear.bits"}
    assert done.document.root == "local://near"


LOST = {
    "another limit": (text_with(budget=FIELDS["budget"].replace("{", "{ rounds: 3,")), "budget.rounds"),
    "other formats": (text_with(act="q7", pipeline="pipeline: wider"), "pipeline.activations"),
    "formats of another method": (
        text_with(pipeline="pipeline: wider").replace(
            "linear: masked_linear(bits: 64)", "linear: guarded_linear"
        ),
        "pipeline.activations",
    ),
    "a schedule inside a method": (
        text_with(
            pipeline="pipeline: wider",
            extra="gated_multiply: binary_table(schedule: chunked(max_elements: 8))",
        ),
        "pipeline.gated_multiply.schedule",
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_what_would_run_differently_is_refused_unless_lossy(name: str) -> None:
    text, path = LOST[name]
    with pytest.raises(NotFaithful) as refusal:
        exported(text)
    assert refusal.value.keys == (path,)
    assert path not in exported(text, lossy=True).kept_here


REFUSED = {
    "a plan": (text_with(source="plan: nothing"), "plan"),
    "no model": (text_with(source=""), "model"),
    "unknown source": (text_with(source='source: floppy("x")'), "source"),
    "two places": (text_with(source='source: tiny("qwen2", "x")'), "source"),
    "unknown tiny": (text_with(source='source: tiny("qwen3")'), "source"),
    "revision of tiny": (text_with(source='source: tiny("qwen2", revision: "x")'), "source"),
    "unknown argument": (text_with(source='source: tiny("qwen2", colour: "x")'), "source"),
    "number for a text": (text_with(source='source: huggingface("a", revision: 3)'), "source"),
    "no deployment": (text_with(deployment=""), "deployment"),
    "remote": (text_with(deployment="deployment: far"), "deployment"),
    "no root": (text_with(deployment="deployment: local()"), "deployment"),
    "more of a deployment": (
        text_with(deployment='deployment: local(root: "x", colour: "y")'),
        "deployment",
    ),
    "empty root": (text_with(deployment='deployment: local(root: "")'), "deployment"),
    "no budget": (text_with(budget=""), "budget"),
    "short budget": (
        text_with(budget="budget: { requests: 1, max_input_tokens: 64 }"),
        "budget.max_new_tokens",
    ),
    "half a token": (text_with(budget=FIELDS["budget"].replace("64", "1/2")), "budget.max_input_tokens"),
    "no pipeline": (text_with(pipeline=""), "pipeline"),
    "unknown parameter": (text_with(pipeline="pipeline: masked_linear_cpu(colour: cpu)"), "pipeline"),
    "positional argument": (text_with(pipeline="pipeline: masked_linear_cpu(cpu)"), "pipeline"),
    "unknown component parameter": (
        text_with(pipeline="pipeline: masked_linear_cpu(kernels: cpu(colour: 1))"),
        "pipeline.kernels",
    ),
    "positional component argument": (
        text_with(pipeline="pipeline: masked_linear_cpu(kernels: cpu(2))"),
        "pipeline.kernels",
    ),
    "no component": (text_with(pipeline="pipeline: masked_linear_cpu(kernels: act8)"), "pipeline.kernels"),
    "text for a number": (
        text_with(pipeline='pipeline: masked_linear_cpu(kernels: cpu(threads: "2"))'),
        "pipeline.kernels.threads",
    ),
    "a slot twice": (text_with(pipeline="pipeline: wider", extra="slots: { linear: cpu }"), "pipeline"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_document_is_refused_with_its_place(name: str) -> None:
    text, path = REFUSED[name]
    for lossy in (False, True):
        with pytest.raises(ExportRefused) as refusal:
            exported(text, lossy=lossy)
        assert refusal.value.subject == path


@pytest.mark.parametrize(
    ("fields", "error", "subject"),
    [
        (
            {"pipeline": "pipeline: masked_linear_cpu(kernels: cpu(threads: 0))"},
            ComponentError,
            "pllm/cpu.threads",
        ),
        (
            {"budget": FIELDS["budget"].replace("64", str(2**53))},
            DocumentError,
            "budget.max_input_tokens",
        ),
    ],
)
def test_values_outside_of_the_bounds(
    fields: dict[str, str], error: type[InterchangeError], subject: str
) -> None:
    with pytest.raises(error) as refusal:
        exported(text_with(**fields))
    assert refusal.value.subject == subject


def test_a_field_that_is_new_to_export_is_lost_not_dropped() -> None:
    path = "/nowhere/e.pllm"
    opened = open_project([path], "/nowhere", {path: text_with()})
    record = next(
        one for k in opened.library.keys("experiment") if isinstance(one := opened.library.get(k), Record)
    )
    newer = msgspec.structs.replace(record, fields=record.fields | {"retries": Num("3")})
    with pytest.raises(NotFaithful) as refusal:
        experiment_of_record(opened.library, newer)
    assert refusal.value.keys == ("retries",)


def test_the_folder_of_a_config_is_the_source(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    for path in ("m/config.json", "m.json"):
        (tmp_path / path).write_text("{}")
    file = str(tmp_path / "e.pllm")
    sources: list[str] = []
    for config in ("m/config.json", "m.json"):
        text = text_with(source=f'model: huggingface("{config}")')
        opened = open_project([file], str(tmp_path), {file: text})
        record = next(
            one for k in opened.library.keys("experiment") if isinstance(one := opened.library.get(k), Record)
        )
        if config == "m.json":
            with pytest.raises(NotFaithful) as refusal:
                experiment_of_record(opened.library, record)
            assert refusal.value.keys == ("model",)
        sources.append(experiment_of_record(opened.library, record, lossy=True).document.model.source)
    assert sources == ["m", "m.json"]
