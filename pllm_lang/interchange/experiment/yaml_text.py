"""YAML text of an experiment as a JSON value, strictly.

The only importer of yaml, which is an optional dependency: `text` imports this module when it meets YAML.
"""

from __future__ import annotations

from typing import Any

import yaml

from pllm_lang.interchange.errors import DocumentError
from pllm_lang.interchange.reading import MAX_DEPTH, as_list, as_object, finite_float

MAX_VALUES = 20_000
"""Values that a document may hold once its aliases are followed; before that, lines and commas, which end values."""


def read_yaml(text: str) -> Any:
    """The value of a YAML document."""
    if text.count("\n") + text.count(",") > MAX_VALUES:
        raise DocumentError("document.size", f"more than {MAX_VALUES} lines and commas")
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
    if isinstance(value, str):
        return _whole_characters(value)
    if value is None or isinstance(value, bool | int):
        return value
    raise DocumentError("document.value", f"JSON has no {type(value).__name__}")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise DocumentError("document.value", f"the key {key!r} is not text")
    return _whole_characters(key)


def _whole_characters(text: str) -> str:
    """YAML reads the escapes of a surrogate pair as two characters, neither of which is one."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise DocumentError("document.encoding", "an escape gives half of a surrogate pair") from None
    return text


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
