"""JSON or YAML text of an experiment as a JSON value, strictly.

In: text or bytes of at most 1 MiB. Out: a JSON value, or `DocumentError`: duplicate keys, custom tags,
values that JSON does not have, and text whose nesting or aliases would make it explode are refused by name.
"""

from __future__ import annotations

from typing import Any

import yaml

from pllm_lang.interchange.errors import DocumentError
from pllm_lang.interchange.reading import (
    MAX_DEPTH,
    as_list,
    as_object,
    check_depth,
    decode,
    finite_float,
    parse_json,
    plain_int,
)

MAX_BYTES = 1 << 20
MAX_VALUES = 200_000
"""Values that a document may hold once its aliases are followed."""
FORMATS = {"json": "json", "yaml": "yaml", "yml": "yaml"}


def read_text(source: object, format: str | None = None) -> Any:
    """Read `source` as `format`, or as JSON if it starts with a brace and as YAML if not.

    Errors: `DocumentError` with code `document.type`, `.size`, `.encoding`, `.format`, `.syntax`,
    `.duplicate`, `.depth`, `.number` or `.value`.
    """
    text = decode(source)
    if len(text.encode("utf-8")) > MAX_BYTES:
        raise DocumentError("document.size", f"longer than {MAX_BYTES} bytes")
    kind = FORMATS.get(format or ("json" if text.lstrip().startswith("{") else "yaml"))
    if kind is None:
        raise DocumentError("document.format", f"{format!r} is neither json nor yaml")
    return _read_json(text) if kind == "json" else _read_yaml(text)


def _read_json(text: str) -> Any:
    check_depth(text)
    return parse_json(text, _no_duplicates, read_float=finite_float, read_int=plain_int)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise DocumentError("document.duplicate", "occurs twice", key)
        found[key] = value
    return found


class _StrictLoader(yaml.SafeLoader):
    """YAML 1.1 without custom tags; every key of a mapping occurs once, also after merging."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        self.flatten_mapping(node)
        seen: set[str] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise DocumentError("document.value", "a mapping key is not text")
            if key_node.value in seen:
                raise DocumentError("document.duplicate", "occurs twice", key_node.value)
            seen.add(key_node.value)
        return super().construct_mapping(node, deep)


def _read_yaml(text: str) -> Any:
    try:
        value = yaml.load(text, _StrictLoader)
        return _plain(value, [0], 0)
    except yaml.YAMLError as fault:
        raise DocumentError("document.syntax", " ".join(str(fault).split())) from None
    except RecursionError:
        raise DocumentError("document.depth", f"nested deeper than {MAX_DEPTH} levels") from None
    except (ValueError, OverflowError) as fault:
        if isinstance(fault, DocumentError):
            raise
        raise DocumentError("document.value", str(fault)) from None


def _plain(value: Any, count: list[int], depth: int) -> Any:
    """Copy of `value` with aliases followed; `count[0]` is the number of values so far."""
    count[0] += 1
    if count[0] > MAX_VALUES:
        raise DocumentError("document.size", f"more than {MAX_VALUES} values once aliases are followed")
    if depth > MAX_DEPTH:
        raise DocumentError("document.depth", f"nested deeper than {MAX_DEPTH} levels")
    entries, items = as_object(value), as_list(value)
    if entries is not None:
        return {_key(key): _plain(inner, count, depth + 1) for key, inner in entries.items()}
    if items is not None:
        return [_plain(inner, count, depth + 1) for inner in items]
    if isinstance(value, float):
        return finite_float(repr(value))
    if value is None or isinstance(value, bool | int | str):
        return value
    raise DocumentError("document.value", f"JSON has no {type(value).__name__}")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise DocumentError("document.value", f"the key {key!r} is not text")
    return key
