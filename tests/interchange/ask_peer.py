"""Runs under the SDK's own interpreter: reads a JSON list of questions, writes the list of its answers.

A question is `{"compile": request}`, `{"resolve": text of an experiment}` or `{"lower": [config, workload,
component or null]}`. An answer holds digests, or `error` with what the SDK said.
"""

import json
import sys

import pllm


def compiled(request):
    try:
        plan = pllm.compile(request)
    except pllm.CompilationError as refusal:
        found = json.loads(str(refusal))
        return {"diagnostics": sorted([entry["code"], entry["subject_id"]] for entry in found)}
    names = ("configuration", "logical_plan", "execution_plan", "plan_lock")
    return {"digests": [getattr(plan, f"{name}_digest") for name in names], "lock": plan.plan_lock.decode()}


def plain(found):
    return found() if callable(found) else found


def resolved(text):
    experiment = pllm.loads_configuration(text, format="json")
    answer = {
        "configuration_digest": plain(experiment.configuration_digest),
        "pipeline_digest": plain(experiment.pipeline.digest),
    }
    try:
        found = experiment.resolve()
    except pllm.ConfigurationError as refusal:
        return {**answer, "unresolved": str(refusal)}
    names = (
        "model",
        "composition_digest",
        "client_runtime",
        "privacy_mode",
        "verification_target_failure_bits",
    )
    return {**answer, "resolved": {name: getattr(found, name) for name in names}}


def lowered(config, workload, component):
    plan = pllm.lower_model(config, **workload)
    if component is not None:
        params = component["params"]
        plan = plan.apply(pllm.KvCacheEviction(**params))
    return {"digest": plan.digest, "length": len(plan.canonical_bytes())}


def answer(question):
    ((kind, argument),) = question.items()
    try:
        if kind == "compile":
            return compiled(argument)
        return resolved(argument) if kind == "resolve" else lowered(*argument)
    except (ValueError, TypeError, OverflowError) as refusal:
        return {"error": str(refusal)}


if __name__ == "__main__":
    json.dump([answer(question) for question in json.load(sys.stdin)], sys.stdout)
