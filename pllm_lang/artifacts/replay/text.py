"""What a replay ended in, as text and as JSON."""

from __future__ import annotations

import msgspec

from pllm_lang.artifacts.library_records import own_records
from pllm_lang.artifacts.replay.lock import Replayed
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.text.visible import visible

SCHEMA = "pllm.lang.replay.v1"
NEXT = {
    "lock": "compile the plan again, or get the file again from whoever sent it",
    "certificate": "the plan may be right, but this certificate does not show it: compile it again with a compiler you trust",
    "library": "replay it with the release of pllm-lang that compiled it, or compile the plan again with this one",
    "beyond": "the plan may be right: `pllm check` has more means than replay has",
}


def as_text(path: str, done: Replayed) -> str:
    lines = [
        f"{path}: `{done.name}` is proved by its certificate",
        f"plan_lock_digest {done.plan_lock_digest}",
    ]
    lines += [f"  shown again     {count:4} {code}" for code, count in done.shown.items()]
    lines += [f"  assumed         {text}" for text in done.assumed]
    lines += [f"  taken on trust  {text}" for text in done.trusted]
    lines += [f"  under policy    {done.policy}"] if done.policy else []
    lines += [f"  brought along   {key}" for key in own_records(done.records, done.policy)]
    return "\n".join(map(visible, lines))


def refused_text(path: str, problem: ReplayError) -> str:
    family, _, last = problem.code.partition(".")
    return (
        visible(f"{path}: refused [{problem.code}] {problem}") + f"\n  next: {NEXT.get(last, NEXT[family])}"
    )


def as_json(done: Replayed) -> str:
    told = {"schema": SCHEMA, "proved": True, **msgspec.to_builtins(done)}
    for inner in ("records", "modules", "on_machines"):
        del told[inner]
    told["own_records"] = list(own_records(done.records, done.policy))
    return msgspec.json.format(msgspec.json.encode(told), indent=2).decode()


def refused_json(problem: ReplayError) -> str:
    told = {
        "schema": SCHEMA,
        "proved": False,
        "code": problem.code,
        "message": problem.message,
        "place": problem.place,
    }
    return msgspec.json.format(msgspec.json.encode(told), indent=2).decode()
