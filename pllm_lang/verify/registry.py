"""The rules, found by folder: `verify/rules/<family>/<rule>.py` is the rule `<family>.<rule>`.

A rule module holds `CODE` and one or both of
`check_step(view, plan) -> Iterator[Obligation]` for each step that the flow meets, and
`check_plan(plan, flow) -> Iterator[Obligation]` for the plan as a whole.
"""

from __future__ import annotations

import importlib
import os
from functools import cache
from types import ModuleType

RULES_DIR = os.path.join(os.path.dirname(__file__), "rules")


@cache
def rules() -> tuple[ModuleType, ...]:
    """All rule modules, in the order of their codes."""
    return tuple(importlib.import_module(f"pllm_lang.verify.rules.{code}") for code in rule_codes())


def rule_codes() -> list[str]:
    codes: list[str] = []
    for family in sorted(os.listdir(RULES_DIR)):
        folder = os.path.join(RULES_DIR, family)
        if os.path.isdir(folder) and not family.startswith("_"):
            codes += [f"{family}.{name[:-3]}" for name in sorted(os.listdir(folder)) if _is_rule(name)]
    return codes


def _is_rule(name: str) -> bool:
    return name.endswith(".py") and not name.startswith("_")
