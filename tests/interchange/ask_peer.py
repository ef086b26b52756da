"""Runs under the SDK's own interpreter: reads a JSON list of questions, writes the list of its answers.

A question is `{"compile": request}`, `{"resolve": [text of an experiment, format]}`, `{"lower": [config,
workload, component or null]}`, or `{"load": [text of a decoder plan, text of a component or null]}`. An answer holds
digests, or `error` with what the SDK said.
"""

import json
import sys

import pllm
import pllm._native


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


def resolved(text, format):
    experiment = pllm.loads_configuration(text, format=format)
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


def loaded(text, component):
    plan = pllm.ModelPlan(text.encode())
    lines = plain(plan.coverage().operators)
    found = {"digest": plan.digest, "operators": sum(plain(line)["occurrences"] for line in lines)}
    if component is None:
        return found
    try:
        evicted = pllm._native.apply_model_component(text.encode(), component.encode())
    except ValueError as refusal:
        return found | {"error": str(refusal)}
    return found | {"evicted": pllm.ModelPlan(evicted).digest}


def answer(question):
    ((kind, argument),) = question.items()
    try:
        if kind == "compile":
            return compiled(argument)
        return {"resolve": resolved, "lower": lowered, "load": loaded}[kind](*argument)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as refusal:  # a panic of its native code is no Exception
        return {"error": str(refusal)}


if __name__ == "__main__":
    json.dump([answer(question) for question in json.load(sys.stdin)], sys.stdout)
