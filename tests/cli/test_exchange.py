"""`pllm export` and `pllm import` as a user calls them: files, messages, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pllm_lang.cli.app import app
from pllm_lang.interchange import configuration_digest, decoder_plan, experiment_from_spec
from tests.interchange.cases import load

SPEC: dict[str, Any] = {
    "schema": "pllm.experiment.v2",
    "name": "two-threads",
    "pipeline": {
        "model": {"kind": "tiny", "source": "qwen2"},
        "components": {
            "linear": {"component": "pllm/masked-linear", "params": {}},
            "preparation": {"component": "pllm/model-aware-corrections", "params": {}},
            "inference": {"component": "pllm/inference", "params": {}},
            "kernels": {"component": "pllm/cpu", "params": {"threads": 2}},
        },
    },
    "deployment": {"kind": "local", "root": "local://two"},
    "budget": {"requests": 1, "max_input_tokens": 64, "max_new_tokens": 1},
}
CONFIG = {
    "model_type": "qwen2",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 128,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
}
MODELS = """pllm 1

import std.components [kv_cache_eviction]
import std.passes [quantize_weights]

model small = huggingface("config.json")
model evicted = huggingface("config.json") |> kv_cache_eviction(cluster_sizes: [8, 4])
model narrow = huggingface("config.json") |> quantize_weights(bits: 8)
"""


def pllm(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments), standalone_mode=False)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.return_value or 0, result.stdout, result.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.json").write_text(json.dumps(SPEC))
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "models.pllm").write_text(MODELS)
    return tmp_path


def test_a_document_goes_in_and_out_with_its_digest(folder: Path) -> None:
    assert pllm("import", "two.json", "-o", "two.pllm") == (0, "", "")
    digest = configuration_digest(experiment_from_spec(SPEC))
    for output, format in (("again.json", "json"), ("again.yaml", "yaml"), ("again.yml", "yaml")):
        code, out, err = pllm("export", "two.pllm:two_threads", "-o", output)
        assert (code, out) == (0, "")
        assert digest in err
        assert "pipeline.linear.bits" in err
        document = experiment_from_spec((folder / output).read_bytes(), format=format)
        assert configuration_digest(document) == digest
    assert pllm("import", "again.yaml")[1] == (folder / "two.pllm").read_text()
    assert pllm("export", "two.pllm")[1] == (folder / "again.json").read_text()
    assert pllm("export", "two.pllm", "--format", "yaml")[1] == (folder / "again.yaml").read_text()


def test_an_imported_text_is_formatted_and_checks_with_its_config(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "config.json").write_text(json.dumps(CONFIG))
    assert pllm("import", "two.json", "--config", "config.json", "-o", "sub/two.pllm")[0] == 0
    assert 'model: huggingface("config.json")' in (folder / "sub" / "two.pllm").read_text()
    assert pllm("fmt", "--check", "sub/two.pllm")[0] == 0
    codes = {
        found["code"]
        for found in json.loads(pllm("check", "sub/two.pllm", "--format", "json")[1])["findings"]
    }
    assert not {
        code for code in codes if code.partition(".")[0] in {"syntax", "names", "records", "params", "file"}
    }
    assert json.loads(pllm("export", "sub/two.pllm")[1])["pipeline"]["model"] == SPEC["pipeline"]["model"]


def test_a_model_is_exported_as_a_decoder_plan(folder: Path) -> None:
    code, out, err = pllm("export", "models.pllm:small", "--max-new-tokens", "4", "-o", "plan.json")
    plan = decoder_plan(CONFIG, 1, 64, 4)
    assert (code, out) == (0, "")
    assert plan.digest in err
    assert (folder / "plan.json").read_bytes() == plan.canonical_bytes
    assert pllm("export", "models.pllm:small", "--max-new-tokens", "4")[1].encode() == plan.canonical_bytes


def test_passes_of_a_model_are_applied_or_named(folder: Path) -> None:
    evicted = json.loads(pllm("export", "models.pllm:evicted")[1])
    assert [one["component"] for one in evicted["transformations"]] == ["pllm/kv-cache-eviction"]
    code, out, err = pllm("export", "models.pllm:narrow")
    assert (code, out) == (1, "")
    assert "quantize" in err
    assert pllm("export", "models.pllm:narrow", "--lossy")[1] == pllm("export", "models.pllm:small")[1]


@pytest.mark.parametrize("key", ["use_sliding_window", "rope_scaling"])
def test_what_the_format_drops_is_refused_unless_lossy(folder: Path, key: str) -> None:
    value: Any = {"rope_type": "yarn", "factor": 4.0} if key == "rope_scaling" else True
    window = {"sliding_window": 16, "max_window_layers": 0} if key == "use_sliding_window" else {}
    (folder / "config.json").write_text(json.dumps(CONFIG | window | {key: value}))
    code, out, err = pllm("export", "models.pllm:small")
    assert (code, out) == (1, "")
    assert "error[export.not_faithful]" in err
    assert key in err
    assert pllm("export", "models.pllm:small", "--lossy")[0] == 0


def test_a_config_that_check_refuses_is_not_exported(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps(CONFIG | {"rms_norm_eps": "1e-6"}))
    code, out, err = pllm("export", "models.pllm:small")
    assert (code, out) == (1, "")
    assert "rms_norm_eps" in err
    assert pllm("export", "models.pllm:small", "--lossy")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("export", "absent.pllm"), "no such file: absent.pllm"),
        (("export", "models.pllm"), "holds evicted, narrow, small; name one, as in models.pllm:evicted"),
        (("export", "models.pllm:absent"), "it holds evicted, narrow, small"),
        (("import", "absent.json"), "no such file: absent.json"),
        (("import", "two.json", "--config", "absent.json"), "no such file: absent.json"),
        (("import", "two.json", "-o", "no/such/folder.pllm"), "cannot write"),
        (("export", "models.pllm:small", "-o", "no/such/plan.json"), "cannot write"),
    ],
)
def test_a_wrong_call_is_2(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = pllm(*arguments)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("edit", "code", "said"),
    [
        ({"schema": "pllm.experiment.v1"}, "import.refused", "experiment.schema"),
        ({"name": ""}, "import.refused", "name: must be a non-empty string"),
        ({"budget": SPEC["budget"] | {"requests": 2**53}}, "import.refused", "document.integer"),
        ({"x": 1}, "import.refused", "experiment.unknown"),
        (
            {"pipeline": SPEC["pipeline"] | {"components": {"x": {"component": "acme/x", "params": {}}}}},
            "import.not_said",
            "acme/x",
        ),
    ],
)
def test_a_document_that_cannot_come_in_is_1(
    folder: Path, edit: dict[str, Any], code: str, said: str
) -> None:
    (folder / "bad.json").write_text(json.dumps(SPEC | edit, indent=1))
    status, out, err = pllm("import", "bad.json")
    assert (status, out) == (1, "")
    assert f"error[{code}]" in err
    assert said in err


def test_a_refusal_points_at_the_key(folder: Path) -> None:
    (folder / "bad.json").write_text(
        json.dumps(SPEC | {"budget": SPEC["budget"] | {"requests": 0}}, indent=1)
    )
    err = pllm("import", "bad.json")[2]
    line = next(
        n for n, text in enumerate((folder / "bad.json").read_text().split("\n"), 1) if "requests" in text
    )
    assert f"bad.json:{line}:" in err


def test_a_file_with_errors_is_not_exported(folder: Path) -> None:
    (folder / "broken.pllm").write_text(MODELS + "experiment e { budgett: { requests: 1 } }\n")
    code, out, err = pllm("export", "broken.pllm:small")
    assert (code, out) == (1, "")
    assert "records.unknown_field" in err


def is_accepted(folder: Path, spec: dict[str, Any]) -> bool:
    """Whether `check` accepts an imported document under a policy."""
    (folder / "in.json").write_text(json.dumps(spec))
    code, text, err = pllm("import", "in.json", "--config", "config.json")
    assert code == 0, err
    text = text.replace("\nimport std.", "\nimport std.policies [single_evaluator]\nimport std.", 1)
    text = re.sub(r"(?m)^(experiment .*) \{$", r"\1 under single_evaluator {", text)
    (folder / "in.pllm").write_text(text)
    plans = json.loads(pllm("check", "in.pllm", "--format", "json")[1])["plans"]
    return [plan["verdict"] for plan in plans] == ["accepted"]


UNRESOLVED = [
    case
    for case in load("experiments")
    if case["expect"]["ok"]
    and not case["expect"]["resolve"]["ok"]
    and case["id"] not in {"ok/foreign", "ok/budget-max"}
]


@pytest.mark.parametrize("case", UNRESOLVED, ids=lambda case: case["id"])
def test_what_does_not_resolve_there_is_not_accepted_here(folder: Path, case: dict[str, Any]) -> None:
    assert not is_accepted(folder, json.loads(case["expect"]["canonical"]))


def test_the_usual_document_is_accepted(folder: Path) -> None:
    assert is_accepted(folder, SPEC)


def test_a_remote_deployment_is_told_what_the_document_takes(folder: Path) -> None:
    text = """pllm 1

import std.pipelines [masked_linear_cpu]

target machine {
  isa: [sse2]
  memory: 1GiB
}

deployment apart {
  kind: remote
  hosts: { client: machine, preparation: machine, inference: machine }
}

experiment far {
  model: huggingface("config.json")
  pipeline: masked_linear_cpu
  deployment: apart
  budget: { requests: 1, max_input_tokens: 16, max_new_tokens: 4 }
}
"""
    (folder / "far.pllm").write_text(text)
    code, out, err = pllm("export", "far.pllm:far")
    assert code == 1
    assert (
        'help: the document says where the SDK runs: export an experiment with `deployment: local(root: "local://name")`'
        in out + err
    )
