"""JSON or YAML text of an experiment as a JSON value, strictly.

In: text or bytes of at most 1 MiB. Out: a JSON value, or `DocumentError`: duplicate keys, custom tags,
values that JSON does not have, and text whose nesting or aliases would make it explode are refused by name.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pllm_lang.interchange.errors import DocumentError
from pllm_lang.interchange.reading import check_depth, decode, finite_float, parse_json, plain_int

MAX_BYTES = 1 << 20
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


def _read_yaml(text: str) -> Any:
    try:
        module = import_module("pllm_lang.interchange.experiment.yaml_text")
    except ModuleNotFoundError as fault:
        why = f"YAML needs {fault.name}: pip install 'pllm-lang[interchange]', or use JSON"
        raise DocumentError("document.format", why) from None
    return module.read_yaml(text)
