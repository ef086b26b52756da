"""Compile requests made from our own fixture: change something, and bind the digests again."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.interchange.cases import sdk_digest
from tests.interchange.renaming import bound_digests

FIXTURE = Path(__file__).parents[2] / "schemas" / "fixtures" / "compile-request.valid.json"
Request = dict[str, Any]


def fixture() -> Request:
    """The request of the seed's `compile` example."""
    return json.loads(FIXTURE.read_text(encoding="utf-8"))


def changed(*edits: Callable[[Request], object], bind: bool = True) -> Request:
    """The fixture after `edits`; with `bind`, every digest is computed anew."""
    request = copy.deepcopy(fixture())
    for edit in edits:
        edit(request)
    if bind:
        bind_digests(request)
    return request


def bind_digests(request: Request) -> None:
    """Compute every digest in `request` anew."""
    context = request["context"]
    for key, digest in bound_digests(request).items():
        context[key]["digest"] = digest
    context["privacy_contract"]["id"] = request["privacy_contract"]["id"]
    context["composition_digest"] = sdk_digest("pllm.pipeline.v2", request["configuration"]["pipeline"])
    results = {
        found["id"]: sdk_digest("pllm.assurance_result.v1", found) for found in request["assurance_results"]
    }
    for binding in request["candidate_evidence"]:
        for reference in binding["assurance_results"]:
            reference["digest"] = results.get(reference["id"], reference["digest"])


def put(path: str, value: Any) -> Callable[[Request], object]:
    """An edit that sets the value at a dotted path; numbers are list indices."""
    *parents, last = path.split(".")

    def edit(request: Request) -> None:
        owner: Any = request
        for name in parents:
            owner = owner[int(name)] if name.isdigit() else owner[name]
        owner[int(last) if last.isdigit() else last] = value

    return edit


def add_copy(path: str, **values: Any) -> Callable[[Request], object]:
    """An edit that appends to a list a copy of its first entry with other `values`."""

    def edit(request: Request) -> None:
        request[path].append({**copy.deepcopy(request[path][0]), **values})

    return edit
