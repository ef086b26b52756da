"""Canonical bytes and digests of the pllm.run SDK's documents.

In: a JSON value. Out: its canonical bytes (UTF-8, no white space, keys sorted by code point, minimal
escapes) and `sha256(domain + NUL + bytes)`. This is not RFC 8785: it sorts by code point instead of UTF-16
unit and spells floats differently. The SDK itself has two spellings of a float, so both exist here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from json.encoder import encode_basestring
from math import isfinite
from typing import TypeAlias

from pllm_lang.interchange.errors import DocumentError

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"

FIXED_FROM, FIXED_BELOW = 1e-5, 1e16
"""The native serialiser writes a float without exponent when FIXED_FROM <= |x| < FIXED_BELOW."""


def native_float(x: float) -> str:
    """Shortest digits that read back as `x`, as the SDK's native code spells them: `0.00001`, `1e-6`,
    `1e+16`.
    """
    if not isfinite(x):
        raise DocumentError("document.number", f"{x} is not a JSON number")
    text = repr(x)
    if "e" not in text:
        return text
    if FIXED_FROM <= abs(x) < FIXED_BELOW:
        return format(Decimal(text), "f")
    digits, exponent = text.split("e")
    return f"{digits}e{exponent[0]}{exponent[1:].lstrip('0')}"


def canonical_text(value: JsonValue) -> str:
    """Canonical text of `value` with native float spelling."""
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return native_float(value)
    if isinstance(value, Mapping):
        return (
            "{" + ",".join(f"{encode_basestring(k)}:{canonical_text(value[k])}" for k in sorted(value)) + "}"
        )
    return "[" + ",".join(map(canonical_text, value)) + "]"


def canonical_bytes(value: JsonValue) -> bytes:
    """Canonical bytes of `value` as the SDK's native code writes them."""
    return _utf8(canonical_text(value))


def python_canonical_bytes(value: JsonValue) -> bytes:
    """Canonical bytes as the SDK's Python layer writes them: all but floats alike (`1e-06`, not `1e-6`)."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as fault:
        raise DocumentError("document.value", f"not a JSON value: {fault}") from None
    return _utf8(text)


def digest_bytes(domain: str, data: bytes) -> str:
    """Lower-case hex SHA-256 of the ASCII domain, a NUL byte and `data`."""
    return hashlib.sha256(domain.encode("ascii") + b"\0" + data).hexdigest()


def digest(domain: str, value: JsonValue) -> str:
    """Digest of the native canonical bytes of `value` under `domain`."""
    return digest_bytes(domain, canonical_bytes(value))


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise DocumentError("document.encoding", "a string holds a lone surrogate") from None
