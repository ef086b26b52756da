"""Documents of locks: data as JSON without places, in the one spelling that digests are taken over.

In: Structs of plans, records, protocols. Out: JSON values, bytes (RFC 8785) and SHA-256 digests, each under a domain of
its own. Where something was written (files, offsets) and what was said about it (`doc`) leave no trace, so a lock does not
depend on the folder that it was made in. Whole numbers that JSON readers may round are written as text.
"""

from __future__ import annotations

import hashlib
from typing import Any, cast

import msgspec
import rfc8785

from pllm_lang.catalog.expr import NOWHERE, Origin

LARGEST = 2**53 - 1
"""The largest whole number that every JSON reader keeps."""

_PLACES = frozenset({"doc", "field_origins"})


def without_places(value: Any) -> Any:
    """The same data with every place and every comment taken out."""
    if isinstance(value, Origin):
        return NOWHERE
    if isinstance(value, msgspec.Struct):
        fields = {f: without_places(getattr(value, f)) for f in value.__struct_fields__ if f not in _PLACES}
        empty: dict[str, Any] = {"doc": "", "field_origins": {}}
        fields |= {f: empty[f] for f in value.__struct_fields__ if f in _PLACES}
        if "origin" in fields and isinstance(fields["origin"], int):
            fields["origin"] = -1  # a protocol's lines are numbered places
        return msgspec.structs.replace(value, **fields)
    if isinstance(value, tuple):
        return tuple(without_places(item) for item in cast("tuple[Any, ...]", value))
    if isinstance(value, dict):
        return {key: without_places(item) for key, item in cast("dict[str, Any]", value).items()}
    return value


def document(value: Any) -> Any:
    """A JSON value of the data."""
    return safe(msgspec.to_builtins(without_places(value), str_keys=True))


def safe(value: Any) -> Any:
    """Lists, mappings, texts and numbers that every reader keeps."""
    if isinstance(value, dict):
        return {key: safe(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [safe(item) for item in cast("list[Any]", value)]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return str(value)
    return value


def canonical(value: Any) -> bytes:
    """The bytes of a JSON value (RFC 8785)."""
    return rfc8785.dumps(value)


def digest(what: str, value: Any) -> str:
    """Hex SHA-256 of a document, apart from every other kind of document by its domain."""
    return hashlib.sha256(f"pllm.lang.lock.v1/{what}\0".encode() + canonical(value)).hexdigest()
