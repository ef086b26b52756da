"""The digest of a plan: SHA-256 over its canonical bytes, under a name of its own so no other digest can equal it.

In: a plan, and content digests of the records that it names. Out: `sha256:...`. Computed only when asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from pllm_lang.ir.canonical import canonical_bytes
from pllm_lang.ir.plan import Plan

DOMAIN = b"pllm-lang/plan/1\0"


def plan_digest(plan: Plan, contents: Mapping[str, str] | None = None) -> str:
    """`contents` maps the qualified names of records to content digests; a plan that is split into modules keeps
    its digest only where they are given."""
    return "sha256:" + hashlib.sha256(DOMAIN + canonical_bytes(plan, contents)).hexdigest()
