"""Model plans and compiled plans: recorded digests, coverage, and that nothing else makes or changes one."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from pllm_lang import (
    CompilationError,
    CompiledPlan,
    ConfigurationError,
    LoweringError,
    ModelPlan,
    NotFaithful,
    Pipeline,
    compile,
    lower_model,
)
from pllm_lang.artifacts.coverage import Coverage
from pllm_lang.kernels import Cpu, KernelBackend
from pllm_lang.nonlinear import ArithmeticGarblingSiluQ7
from pllm_lang.passes import ChunkPrefill, FuseQkv, KvCacheEviction, PlanPass, QuantizeWeights
from pllm_lang.profiles import MaskedLinear, MaskedLinearCpu
from pllm_lang.sources import TinyModel
from tests.interchange.cases import load

FIXTURE = Path(__file__).parents[2] / "schemas" / "fixtures" / "compile-request.valid.json"
CONFIG: dict[str, Any] = {
    "model_type": "qwen2",
    "hidden_size": 64,
    "intermediate_size": 192,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
    "max_position_embeddings": 128,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
}
WORK = {"batch": 1, "max_input_tokens": 16, "max_new_tokens": 4}


def plan(**changes: Any) -> ModelPlan:
    return lower_model(CONFIG | changes, **WORK)


KV_CASES = [
    pytest.param(case, id=f"{case['id']}")
    for case in load("kv_components")
    if case["how"] == "constructor" and case["expect"]["ok"]
]


@pytest.mark.parametrize("case", KV_CASES)
def test_recorded_evictions(case: dict[str, Any]) -> None:
    source = lower_model(case["plan"]["config"], **case["plan"]["workload"])
    evicted = source.apply(KvCacheEviction(**case["argument"]))
    assert evicted.decoder_plan(lossy=True).digest == case["expect"]["digest"]
    assert source.decoder_plan(lossy=True).digest == case["expect"]["input_digest"]


REFUSED_KV_CASES = [
    pytest.param(case, id=f"{case['id']}")
    for case in load("kv_components")
    if case["how"] == "constructor"
    and not case["expect"]["ok"]
    and case["plan"]["config"]["model_type"] == "qwen2"
]


@pytest.mark.parametrize("case", REFUSED_KV_CASES)
def test_recorded_refusals_of_evictions(case: dict[str, Any]) -> None:
    found = lower_model(case["plan"]["config"], **case["plan"]["workload"])
    for first in case["plan"]["apply_first"]:
        found = found.apply(KvCacheEviction(**first.get("params", first)))
    with pytest.raises((ConfigurationError, LoweringError)):
        found.apply(KvCacheEviction(**case["argument"]))


def test_mappings_bytes_and_text_give_one_plan() -> None:
    text = json.dumps(CONFIG)
    assert plan() == lower_model(text, **WORK) == lower_model(text.encode(), **WORK)
    assert (
        plan().digest == hashlib.sha256(b"pllm-lang.model-graph.v1\0" + plan().canonical_bytes()).hexdigest()
    )
    assert plan(hidden_size=128).digest != plan().digest


def test_the_config_is_a_snapshot() -> None:
    config = dict(CONFIG)
    found = lower_model(config, **WORK)
    before = found.decoder_plan(lossy=True).digest
    config["hidden_size"] = 128
    assert found.decoder_plan(lossy=True).digest == before
    assert found.to_dict()["dimensions"]["hidden"] == 64


def test_passes_leave_their_plan_and_record_themselves() -> None:
    base = plan()
    digest = base.digest
    both = base.apply(FuseQkv()).apply(ChunkPrefill(size=8))
    lineage = both.to_dict()["transformations"]
    assert [step["name"] for step in lineage] == ["fuse_qkv", "chunk_prefill"]
    assert lineage[0]["input_digest"] == digest == base.digest
    assert lineage[1]["input_digest"] == base.apply(FuseQkv()).digest
    assert base.apply(QuantizeWeights(bits=8)).digest != digest


@pytest.mark.parametrize(
    ("component", "code"),
    [
        (PlanPass("acme/pass"), "pass.unsupported"),
        (KvCacheEviction(implementation="acme/other/v1"), "pass.unsupported"),
        (ChunkPrefill(size=7), "pass.parameter"),
        (QuantizeWeights(bits=1), "pass.parameter"),
    ],
)
def test_passes_that_do_not_fit(component: PlanPass, code: str) -> None:
    with pytest.raises(LoweringError) as refusal:
        plan().apply(component)
    assert refusal.value.code == code


def test_a_pass_applies_once_and_others_are_no_passes() -> None:
    with pytest.raises(LoweringError) as refusal:
        plan().apply(KvCacheEviction()).apply(KvCacheEviction(cluster_sizes=(8,)))
    assert refusal.value.code == "pass.applied_twice"
    for wrong in ("string", Cpu(), None):
        with pytest.raises(TypeError, match="component must be a PlanPass"):
            plan().apply(wrong)  # type: ignore[arg-type]


def test_a_pass_that_the_format_does_not_know_is_not_exported() -> None:
    for lossy in (False, True):
        with pytest.raises(NotFaithful, match="pllm-lang/fuse-qkv"):
            plan().apply(FuseQkv()).decoder_plan(lossy=lossy)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"hidden_size": 0}, "config."),
        ({"hidden_act": "swoosh"}, "config."),
        ({"model_type": "bert"}, "config."),
    ],
)
def test_configs_are_refused_by_name(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(LoweringError) as refusal:
        plan(**changes)
    assert refusal.value.code.startswith(code)


@pytest.mark.parametrize("wrong", [None, 3, [], bytearray(b"{}"), object()], ids=lambda v: type(v).__name__)
def test_a_config_is_a_mapping_bytes_or_text(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"not {type(wrong).__name__}"):
        lower_model(wrong, **WORK)
    with pytest.raises(CompilationError, match="E_INVALID_DOCUMENT"):
        compile(wrong)


def levels(report: Coverage) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for row in report.rows:
        found.setdefault((row.aspect, row.subject), set()).add(row.level)
    return found


def test_coverage_names_what_is_missing() -> None:
    masked = MaskedLinearCpu(TinyModel())
    assert {row.level for row in plan().coverage().rows} == {"open"}, "no pipeline was named"
    whole = plan().coverage(masked)
    assert {row.level for row in whole.rows} == {"covered"}
    assert not whole.complete, "values, placement and material were not looked at"
    counted = {(row.subject, row.by): row.occurrences for row in whole.rows if row.aspect == "operator"}
    # two graphs of two layers with q, k, v, o, gate, up and down; a head each, which stays at the client
    assert counted["linear", "pllm/masked-linear"] == 2 * 2 * 7
    assert counted["linear", "std/clear"] == 2
    evicted = levels(plan().apply(KvCacheEviction()).coverage(masked))
    assert evicted["operator", "secure_top_k"] == {"missing"}
    assert evicted["operator", "linear"] == {"covered"}


def test_coverage_fills_nothing_in() -> None:
    bare = levels(
        plan().coverage(Pipeline(TinyModel(), {"linear": MaskedLinear(), "odd": KernelBackend("acme/x")}))
    )
    assert bare["operator", "linear"] == {"covered", "missing"}
    assert bare["operator", "softmax"] == {"missing"}
    assert bare["role", "client"] == {"covered"}
    assert bare["role", "preparation"] == {"missing"}
    assert bare["version", "odd"] == {"missing"}
    garbled = levels(plan().coverage(Pipeline(TinyModel(), {"nonlinear": ArithmeticGarblingSiluQ7()})))
    assert garbled["operator", "silu"] == {"covered"}
    assert garbled["operator", "mul"] == {"missing"}
    assert garbled["target", "native-core"] == {"assumed"}


@pytest.mark.parametrize(("features", "level"), [(133144, "covered"), (133148, "missing")])
def test_the_ring_of_masked_layers_bounds_their_inputs(features: int, level: str) -> None:
    # 32 bits hold signed sums below 2^31 = 133144.1... * 127 * 127
    report = plan(intermediate_size=features).coverage(MaskedLinearCpu(TinyModel()))
    assert levels(report)["bound", "down_proj"] == {level}
    assert levels(report)["bound", "up_proj"] == {"covered"}


def test_model_plan_is_sealed() -> None:
    found = plan()
    digest = found.digest
    with pytest.raises(TypeError, match="lower_model"):
        ModelPlan()
    for name in ("graph", "notes", "digest", "_config", "new"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(found, name, None)
    found.to_dict()["prefill"]["layers"].clear()
    assert found.digest == digest
    assert copy.deepcopy(found) is found
    evicted = found.apply(KvCacheEviction())
    kept = pickle.loads(pickle.dumps(evicted))
    assert (kept, kept.digest) == (evicted, evicted.digest)
    assert kept.decoder_plan(lossy=True) == evicted.decoder_plan(lossy=True)


def request() -> dict[str, Any]:
    return json.loads(FIXTURE.read_text(encoding="utf-8"))


NAMES = ("logical_plan", "execution_plan", "plan_lock", "region_program")


def test_documents_and_digests_belong_together() -> None:
    found = compile(request())
    for name in NAMES:
        document = getattr(found, name)
        schema = json.loads(document)["schema_version"]
        digest = hashlib.sha256(schema.encode() + b"\0" + document).hexdigest()
        assert getattr(found, f"{name}_digest") == digest
    lock = json.loads(found.plan_lock)
    assert lock["execution_plan_digest"] == found.execution_plan_digest
    assert lock["configuration_digest"] == found.configuration_digest
    assert compile(request()) == found
    assert hash(compile(request())) == hash(found)


def test_compiled_plan_is_sealed() -> None:
    found = compile(request())
    with pytest.raises(TypeError, match=r"made by compile\(\) only"):
        CompiledPlan()
    with pytest.raises(TypeError, match=r"made by compile\(\) only"):
        CompiledPlan(found._region)
    with pytest.raises(TypeError, match=r"made by compile\(\) only"):
        CompiledPlan.__new__(CompiledPlan)
    with pytest.raises(TypeError, match="subclassed"):
        type("Mine", (CompiledPlan,), {})
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(found)
    assert copy.copy(found) is copy.deepcopy(found) is found
    public = [name for name in dir(CompiledPlan) if not name.startswith("_")]
    assert len(public) == 11
    for name in (*public, "_region", "new"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(found, name, None)
        with pytest.raises(AttributeError, match="immutable"):
            delattr(found, name)
    assert isinstance(found.input_shape, tuple)
    assert all(isinstance(getattr(found, name), bytes) for name in NAMES)


def test_a_changed_request_is_refused_with_its_reasons() -> None:
    wrong = request()
    wrong["operations"][0]["operator"] = "unsupported"
    with pytest.raises(CompilationError) as refusal:
        compile(wrong)
    codes = [reason.code for reason in refusal.value.diagnostics]
    assert codes == ["E_INVALID_CONTEXT", "E_UNSUPPORTED_OPERATOR"]
    assert all(reason.message and reason.subject_id for reason in refusal.value.diagnostics)
