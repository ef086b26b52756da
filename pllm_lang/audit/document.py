"""The audit as a document (`pllm.lang.audit.v1`, schema in `schemas/`). Numbers are exact, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pllm_lang.audit.derive import Derived
from pllm_lang.audit.report import Audited, Stated
from pllm_lang.exact.number import text
from pllm_lang.text.json_text import json_text
from pllm_lang.verify.terms import term_text

SCHEMA = "pllm.lang.audit.v1"


def document(name: str, audited: Sequence[Audited]) -> str:
    """`name` is the plan or method that was asked for, or "the library"."""
    return json_text(
        {
            "schema": SCHEMA,
            "subject": name,
            "good": all(one.good for one in audited),
            "components": [_component(one) for one in audited],
        }
    )


def _component(one: Audited) -> dict[str, Any]:
    component = one.component
    return {
        "id": component.id,
        "name": component.name,
        "version": component.version,
        "operators": list(one.operators),
        "steps": list(one.steps),
        "good": one.good,
        "source": one.source,
        "n_parties": "" if component.n_parties is None else term_text(component.n_parties),
        "adversaries": list(component.adversaries),
        "holds_where": list(one.domain),
        "bounds": [_stated(bound) for bound in one.bounds],
        "claims": [_stated(claim) for claim in one.claims],
        "assumed": list(one.assumed),
        "against": [{"text": defect.text, "applies": defect.applies} for defect in one.against],
        "note": one.note,
    }


def _stated(one: Stated) -> dict[str, Any]:
    return {
        "text": one.text,
        "outcome": one.outcome,
        "operator": one.operator,
        "given": {name: text(value) for name, value in one.given},
        "derived": None if one.derived is None else _derived(one.derived),
    }


def _derived(found: Derived) -> dict[str, Any]:
    return {
        "domain": [text(found.domain.low), text(found.domain.high)],
        "low": text(found.low),
        "high": text(found.high),
        "at": text(found.at),
    }
