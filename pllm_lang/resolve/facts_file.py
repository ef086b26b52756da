"""Facts files (`pllm.lang.facts.v1`): what was measured of a checkpoint, bound to its digest.

    {"schema": "pllm.lang.facts.v1", "checkpoint": "sha256:...", "facts": {"w_up": {"row_norm1": "64"}}}

Numbers are exact and written as texts (`"127"`, `"1/128"`). `"calibrated": ["h"]` lists names whose ranges
were seen on data. `"quantized": {"w_up": "8"}` says of which weights the facts are those of the integers that a
quantisation to that many bits stores, beside a scale for each row. Strict: an unknown key, a key twice, a
number that is no text, a range upside down are all refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

from pllm_lang.resolve.limits import MAX_FACTS, MAX_JSON_BYTES
from pllm_lang.resolve.modules import ConfigFile, FactsFile, Measured
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.resolve.units import exact, within_limits
from pllm_lang.text.limits import MAX_WORD_CHARACTERS
from pllm_lang.text.regular_file import Unreadable, read_bytes

SCHEMA = "pllm.lang.facts.v1"
SLOTS = Measured.__struct_fields__
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NUMBER = re.compile(r"-?[0-9]+(/[0-9]+)?")
_KEYS = ("schema", "checkpoint", "facts", "calibrated", "quantized")
_BITS = range(2, 33)


class BadFacts(Exception):
    """A facts file breaks its format; the text says where. Never leaves this module."""


def read_facts(path: str) -> FactsFile | Unreadable:
    """Read and check a facts file."""
    data = read_bytes(path, MAX_JSON_BYTES)
    if isinstance(data, Unreadable):
        return data
    try:
        return _facts_file(path, hashlib.sha256(data).hexdigest(), _parse(data))
    except BadFacts as problem:
        return Unreadable("facts.invalid", str(problem), "write the file anew with `pllm measure`")


def read_config(path: str) -> ConfigFile | Unreadable:
    """Read a model configuration, without looking into it."""
    data = read_bytes(path, MAX_JSON_BYTES)
    if isinstance(data, Unreadable):
        return data
    try:
        return ConfigFile(path, hashlib.sha256(data).hexdigest(), data.decode("utf-8"))
    except UnicodeDecodeError as error:
        return Unreadable("file.not_text", f"not UTF-8 at byte {error.start}", "save the file as UTF-8")


def _parse(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(
            data.decode("utf-8"), object_pairs_hook=_object, parse_float=_refuse, parse_constant=_refuse
        )
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadFacts(f"not JSON: {error}") from None
    except RecursionError:
        raise BadFacts("nested too deep") from None
    if not isinstance(value, dict):
        raise BadFacts("the top level is no object")
    return cast("dict[str, Any]", value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise BadFacts(f'the key "{next(k for k in keys if keys.count(k) > 1)}" occurs twice')
    return found


def _refuse(text: str) -> Any:
    raise BadFacts(f'the number {text} is not exact: write it as a text, such as "1/128"')


def _facts_file(path: str, digest: str, value: dict[str, Any]) -> FactsFile:
    for key in value:
        if key not in _KEYS:
            raise BadFacts(f'unknown key "{key}" {did_you_mean(key, _KEYS)}'.rstrip())
    if value.get("schema") != SCHEMA:
        raise BadFacts(f'"schema" is not "{SCHEMA}"')
    checkpoint, facts, calibrated = value.get("checkpoint"), value.get("facts"), value.get("calibrated", [])
    if not isinstance(checkpoint, str) or not _DIGEST.fullmatch(checkpoint):
        raise BadFacts('"checkpoint" is no digest: "sha256:" and 64 hexadecimal digits')
    if not isinstance(facts, dict) or len(cast("dict[str, Any]", facts)) > MAX_FACTS:
        raise BadFacts(f'"facts" is no object of at most {MAX_FACTS} names')
    measured = {name: _measured(name, entry) for name, entry in cast("dict[str, Any]", facts).items()}
    if not isinstance(calibrated, list) or not all(
        isinstance(c, str) and c in measured for c in cast("list[Any]", calibrated)
    ):
        raise BadFacts('"calibrated" is a list of names that "facts" has')
    quantized = _quantized(value.get("quantized", {}), measured)
    return FactsFile(path, digest, checkpoint, measured, tuple(cast("list[str]", calibrated)), quantized)


def _quantized(value: Any, measured: Mapping[str, Measured]) -> dict[str, int]:
    entries = cast("dict[Any, Any]", value) if isinstance(value, dict) else {"": value}
    for name, bits in entries.items():
        if name not in measured or bits not in map(str, _BITS):
            raise BadFacts('"quantized" gives bits, "2" to "32", to names that "facts" has')
    return {name: int(bits) for name, bits in entries.items()}


def _measured(name: str, entry: Any) -> Measured:
    if not isinstance(entry, dict) or not entry:
        raise BadFacts(f'"{name}" has no facts')
    values = {slot: _number(name, slot, text) for slot, text in cast("dict[str, Any]", entry).items()}
    found = Measured(**values)
    if found.min is not None and found.max is not None and found.min > found.max:
        raise BadFacts(f'"{name}": "min" {found.min} is above "max" {found.max}')
    return found


def _number(name: str, slot: str, text: Any) -> int | Fraction:
    if slot not in SLOTS:
        raise BadFacts(f'"{name}": unknown fact "{slot}" {did_you_mean(slot, SLOTS)}'.rstrip())
    if not isinstance(text, str) or len(text) > MAX_WORD_CHARACTERS or not _NUMBER.fullmatch(text):
        raise BadFacts(f'"{name}": "{slot}" is no exact number in a text, such as "127" or "1/128"')
    top, _, bottom = text.partition("/")
    if bottom and int(bottom) == 0:
        raise BadFacts(f'"{name}": "{slot}" divides by zero')
    number = Fraction(int(top), int(bottom or 1))
    if not within_limits(number):
        raise BadFacts(f'"{name}": "{slot}" is too large')
    if "norm" in slot and number < 0:
        raise BadFacts(f'"{name}": "{slot}" is negative')
    return exact(number)
