"""The components that the pllm.run SDK ships, and the check of their parameters.

In: the table `components.json` beside this file, which `component_table.py` writes from the library's records. Out:
one record a component, and `checked_params`, which either normalises the parameters of a component or says what is
wrong with them. All 31 differ by data only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from pllm_lang.interchange.errors import ComponentError
from pllm_lang.interchange.reading import as_list, as_object, shown

TABLE = Path(__file__).with_name("components.json")
RATIO_PARTS = ("numerator", "denominator")
HIERARCHIES = {"pllm/kv-cache-eviction": "cluster_sizes"}
"""Parameters that are sizes of nested clusters, which no bound of single values says."""
RESERVED_NAMES = frozenset({"component", "params"})


class ParameterRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one parameter may be. `least` and `most` bound an integer, each of several, or the length of a text."""

    kind: Literal["integer", "text", "choice", "flag", "ratio", "integers"]
    least: int | None = None
    most: int | None = None
    choices: tuple[str | int, ...] = ()
    pattern: str | None = None


class ComponentRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One component: what it is for, who may run it, what the host must have, and its parameters (all
    required).
    """

    id: str
    version: str
    category: str
    phase: str
    capabilities: tuple[str, ...]
    host_features: tuple[str, ...]
    roles: tuple[str, ...]
    params: dict[str, ParameterRecord]


@cache
def component_records() -> dict[str, ComponentRecord]:
    """All components by id."""
    return {
        record.id: record
        for record in msgspec.json.decode(TABLE.read_bytes(), type=tuple[ComponentRecord, ...])
    }


def checked_params(component: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of `component`, normalised; those of components that we do not know are only checked
    for names.

    Errors: `ComponentError` with code `component.name`, `component.missing`, `component.unknown` or
    `component.value`.
    """
    _check_names(component, params, "params")
    for name in sorted(RESERVED_NAMES & set(params)):
        raise ComponentError("component.name", "is reserved", f"{component}.{name}")
    record = component_records().get(component)
    if record is None:
        return dict(params)
    if unknown := sorted(set(params) - set(record.params)):
        why = f"component params have unknown fields: {unknown}"
        raise ComponentError("component.unknown", why, f"{component}.{unknown[0]}")
    if missing := sorted(set(record.params) - set(params)):
        why = f"component params have missing fields: {missing}"
        raise ComponentError("component.missing", why, f"{component}.{missing[0]}")
    found = {
        name: _checked(f"{component}.{name}", rule, params[name]) for name, rule in record.params.items()
    }
    if component in HIERARCHIES:
        _check_hierarchy(f"{component}.{HIERARCHIES[component]}", found[HIERARCHIES[component]])
    return found


def _check_names(component: str, value: Any, path: str) -> None:
    entries = as_object(value)
    if entries is not None:
        for name, inner in cast("Mapping[Any, Any]", entries).items():
            if not isinstance(name, str) or not name or "__" in name:
                why = f"{name!r} is no key: keys are nonempty and without '__'"
                raise ComponentError("component.name", why, f"{component}.{path}")
            _check_names(component, inner, f"{path}.{name}")
    else:
        for index, inner in enumerate(as_list(value) or ()):
            _check_names(component, inner, f"{path}[{index}]")


def _checked(subject: str, rule: ParameterRecord, value: Any) -> Any:
    match rule.kind:
        case "ratio":
            return _ratio(subject, value)
        case "integers":
            return _integers(subject, rule, value)
        case "flag":
            _require(isinstance(value, bool), subject, "must be a bool", value)
        case "choice":
            same_type = any(type(value) is type(choice) and value == choice for choice in rule.choices)
            _require(same_type, subject, f"must be one of {', '.join(map(str, rule.choices))}", value)
        case "integer":
            fits = _is_integer(value, rule.least, rule.most)
            _require(fits, subject, f"must be an integer{_bounds(rule)}", value)
        case "text":
            _require(isinstance(value, str) and value != "", subject, "must be a non-empty string", value)
            fits = _fits(len(value), rule.least, rule.most)
            _require(fits, subject, f"must have a length{_bounds(rule)}", value)
            matches = rule.pattern is None or re.fullmatch(rule.pattern, value) is not None
            _require(matches, subject, f"must match {rule.pattern}", value)
    return value


def _ratio(subject: str, value: Any) -> dict[str, int]:
    pair = as_list(value)
    given = dict(zip(RATIO_PARTS, pair, strict=True)) if pair and len(pair) == len(RATIO_PARTS) else value
    ratio = dict(as_object(given) or {})
    _require(set(ratio) == set(RATIO_PARTS), subject, "must be a (numerator, denominator) pair", value)
    for part in RATIO_PARTS:
        fits = _is_integer(ratio[part], 1, None)
        _require(fits, f"{subject}.{part}", "must be an integer >= 1", ratio[part])
    _require(ratio["numerator"] <= ratio["denominator"], subject, "must be in (0, 1]", value)
    return ratio


def _integers(subject: str, rule: ParameterRecord, value: Any) -> list[int]:
    items = as_list(value)
    if items is None:
        raise ComponentError("component.value", f"must be a list of integers, not {shown(value)}", subject)
    for index, item in enumerate(items):
        fits = _is_integer(item, rule.least, rule.most)
        _require(fits, f"{subject}[{index}]", f"must be an integer{_bounds(rule)}", item)
    return list(items)


def _check_hierarchy(subject: str, sizes: list[int]) -> None:
    _require(len(sizes) > 0, subject, "must be non-empty", tuple(sizes))
    falling = all(big > small and big % small == 0 for big, small in pairwise(sizes))
    _require(falling, subject, "must fall, each size a divisor of the one before", tuple(sizes))


def _is_integer(value: Any, least: int | None, most: int | None) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and _fits(value, least, most)


def _fits(value: int, least: int | None, most: int | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _bounds(rule: ParameterRecord) -> str:
    if rule.least is None and rule.most is None:
        return ""
    if rule.most is None:
        return f" >= {rule.least}"
    return f" in {rule.least}..{rule.most}"


def _require(holds: bool, subject: str, why: str, value: Any) -> None:
    if not holds:
        raise ComponentError("component.value", f"{why}, not {shown(value)}", subject)
