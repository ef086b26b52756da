"""Content digests of records: what a record says, not where, in which file, or in which order it is written.

A reference to another record is replaced by that record's digest. The names and modules of a project's own
records do not count, those of the shipped library and of packages do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import msgspec
import rfc8785

from pllm_lang.catalog.expr import Apply, Ref

DOMAIN = b"pllm.lang.record.v1\x00"
Find: TypeAlias = "Callable[[str], msgspec.Struct | None]"
_LEFT_OUT = frozenset({"origin", "field_origins", "doc", "module"})


def record_digest(key: str, find: Find, open_keys: tuple[str, ...] = ()) -> str:
    """Hex SHA-256 of the record under `key`; the key itself where there is none or it stands on itself."""
    record = find(key)
    if record is None or key in open_keys:
        return key
    content: dict[str, Any] = _plain(record, find, (*open_keys, key))
    if key.startswith("./"):
        content.pop("name", None)
    else:
        content["key"] = key
    return hashlib.sha256(DOMAIN + rfc8785.dumps(content)).hexdigest()


def _plain(value: Any, find: Find, open_keys: tuple[str, ...]) -> Any:
    if isinstance(value, Ref) and "." in value.name:
        return {"ref": record_digest(value.name, find, open_keys)}
    if isinstance(value, Apply) and "." in value.fn:
        value = msgspec.structs.replace(value, fn="#" + record_digest(value.fn, find, open_keys))
    if isinstance(value, msgspec.Struct):
        fields = {f: getattr(value, f) for f in value.__struct_fields__ if f not in _LEFT_OUT}
        return {"#": type(value).__name__, **{f: _plain(v, find, open_keys) for f, v in fields.items()}}
    if isinstance(value, tuple):
        return [_plain(item, find, open_keys) for item in cast("tuple[Any, ...]", value)]
    if isinstance(value, dict):
        return {k: _plain(v, find, open_keys) for k, v in cast("dict[str, Any]", value).items()}
    if isinstance(value, str) and "." in value and find(value) is not None:
        return "#" + record_digest(value, find, open_keys)
    return value
