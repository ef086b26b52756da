"""Rename every identifier of a compile request, and bind its digests again where they were bound before.

The renaming keeps the order and the length of names, so that everything that is sorted or bounded stays so.
"""

from __future__ import annotations

import copy
import string
from collections.abc import Callable, Iterator
from typing import Any

from tests.interchange.cases import sdk_digest

PORTABLE = sorted(string.ascii_letters + string.digits + "._:/-")
NAMES = frozenset({"id", "claim_id", "method_id", "kernel_id", "execution_role", "role"})
CONFIGURATION = "configuration"
INSTALLED = frozenset(
    {
        "arithmetic-garbling-silu-q7",
        "pllm-garble-silu-quadratic-q7",
        "pllm-compiler",
        "pllm.numeric.silu.quadratic_q7.v1",
        "pllm.protected.arithmetic_garbling.silu_q7.v1",
    }
)
"""Names that the SDK has built in; a silu region must carry exactly these."""

Rename = Callable[[str], str]


def order_preserving(names: set[str]) -> Rename:
    """Map the characters that `names` use to other characters in the same order."""
    used = sorted(set("".join(names)) & set(PORTABLE))
    table = str.maketrans(dict(zip(used, PORTABLE[len(PORTABLE) - len(used) :], strict=True)))
    return lambda name: name if name in INSTALLED else name.translate(table)


def names_in(value: Any) -> Iterator[str]:
    """All identifiers of a request outside of its configuration."""
    if isinstance(value, list):
        for inner in value:
            yield from names_in(inner)
    for key, inner in value.items() if isinstance(value, dict) else ():
        if key in NAMES and isinstance(inner, str):
            yield inner
        elif key == "roles":
            yield from inner
        elif key != CONFIGURATION:
            yield from names_in(inner)


def renamed(value: Any, rename: Rename) -> Any:
    """`value` with every identifier outside of its configuration renamed."""
    if isinstance(value, list):
        return [renamed(inner, rename) for inner in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for key, inner in value.items():
        if key in NAMES and isinstance(inner, str):
            found[key] = rename(inner)
        elif key == "roles":
            found[key] = [rename(role) for role in inner]
        else:
            found[key] = inner if key == CONFIGURATION else renamed(inner, rename)
    return found


def renamed_request(request: dict[str, Any]) -> tuple[dict[str, Any], Rename]:
    """A request with other names, and the renaming of subjects (`id`, `id@version`, or two of these)."""
    rename = order_preserving(set(names_in(request)))
    other = renamed(request, rename)
    _bind_again(request, other)
    known = {name: rename(name) for name in names_in(request)}
    return other, lambda subject: _subject(subject, known)


def _subject(subject: str, known: dict[str, str]) -> str:
    if subject in known:
        return known[subject]
    for name in sorted(known, key=len, reverse=True):
        if subject.startswith(name + "@"):
            version, slash, rest = subject[len(name) + 1 :].partition("/")
            return f"{known[name]}@{version}{slash}{_subject(rest, known) if slash else ''}"
    return subject


def bound_digests(request: dict[str, Any]) -> dict[str, str]:
    """The digests that a request must carry to be bound, by where they stand."""
    steps = request["operations"]
    semantic = sdk_digest(
        "pllm.semantic_region.v1",
        {
            "input_shape": request["input"]["shape"],
            "output_shape": request["output"]["shape"],
            "operations": [
                {"id": s["id"], "operator": s["operator"], "output_shape": s["output"]["shape"]}
                for s in steps
            ],
        },
    )
    numeric = sdk_digest(
        "pllm.numeric_region.v1",
        {
            "semantic_graph_digest": semantic,
            "input_numeric": request["input"]["numeric"],
            "output_numeric": request["output"]["numeric"],
            "operations": [{"output_numeric": s["output"]["numeric"]} for s in steps],
        },
    )
    ends = ("input_representation", "output_representation")
    protected = sdk_digest(
        "pllm.protected_region.v1",
        {
            "numeric_graph_digest": numeric,
            **{key: request[key] for key in ends},
            "operations": [{key: s[key] for key in ends} for s in steps],
        },
    )
    contract = request["privacy_contract"]
    claims = [
        claim | {key: _in_order(claim[key], order) for key, order in SETS.items()}
        for claim in contract["required_claims"]
    ]
    return {
        "semantic_graph": semantic,
        "numeric_graph": numeric,
        "protected_graph": protected,
        "privacy_contract": sdk_digest("pllm.privacy_contract.v1", contract | {"required_claims": claims}),
    }


SETS = {
    "accepted_outcomes": [
        "proved_in_model",
        "refuted_in_scope",
        "not_refuted",
        "inconclusive",
        "outside_contract",
        "unchecked",
    ],
    "accepted_implementation_refinements": [
        "not_established",
        "tested_differential",
        "proved_for_locked_code",
    ],
}


def _in_order(names: list[str], order: list[str]) -> list[str]:
    return sorted(names, key=order.index)


def _bind_again(before: dict[str, Any], after: dict[str, Any]) -> None:
    old, new = bound_digests(before), bound_digests(after)
    for key, digest in old.items():
        if before["context"][key]["digest"] == digest:
            after["context"][key] = {**after["context"][key], "digest": new[key]}
    results = {
        was["id"]: (sdk_digest("pllm.assurance_result.v1", was), sdk_digest("pllm.assurance_result.v1", now))
        for was, now in zip(before["assurance_results"], after["assurance_results"], strict=True)
    }
    after["candidate_evidence"] = copy.deepcopy(after["candidate_evidence"])
    for was, now in zip(before["candidate_evidence"], after["candidate_evidence"], strict=True):
        for old_ref, new_ref in zip(was["assurance_results"], now["assurance_results"], strict=True):
            bound = results.get(old_ref["id"])
            if bound and old_ref["digest"] == bound[0]:
                new_ref["digest"] = bound[1]
