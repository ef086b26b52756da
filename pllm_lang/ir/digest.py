"""The digest of a plan: SHA-256 over its canonical bytes, apart from every other digest by its domain.

In: a plan, and the library that holds the records it names. Out: `sha256:...`. Computed only when asked.
"""

from __future__ import annotations

import hashlib

from pllm_lang.catalog.library import Library
from pllm_lang.ir.canonical import canonical_bytes
from pllm_lang.ir.content import contents_of
from pllm_lang.ir.plan import Plan

DOMAIN = b"pllm-lang/plan/1\0"


def plan_digest(plan: Plan, library: Library | None = None) -> str:
    """With the library, a project's own records count by content, so a plan that is split into modules
    keeps its digest; without it they count by name."""
    contents = contents_of(plan, library) if library is not None else {}
    return "sha256:" + hashlib.sha256(DOMAIN + canonical_bytes(plan, contents)).hexdigest()
