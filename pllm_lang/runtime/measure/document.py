"""A facts file as bytes: the form that `check` reads (`pllm_lang/resolve/facts_file.py`)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pllm_lang.resolve.facts_file import SCHEMA, SLOTS
from pllm_lang.resolve.modules import Measured


def facts_document(
    checkpoint: str,
    facts: Mapping[str, Measured],
    quantized: Mapping[str, int],
    calibrated: Mapping[str, Measured],
) -> bytes:
    """The same facts give the same bytes; a line a name, sorted."""
    told = dict(facts) | dict(calibrated)
    lines = [f"    {json.dumps(name)}: {json.dumps(_slots(told[name]))}" for name in sorted(told)]
    extra: list[str] = []
    if quantized:
        bits = {name: str(quantized[name]) for name in sorted(quantized)}
        extra.append(f'  "quantized": {json.dumps(bits)}')
    if calibrated:
        extra.append(f'  "calibrated": {json.dumps(sorted(calibrated))}')
    body = "{\n" + ",\n".join(lines) + "\n  }"
    fields = [f'  "schema": "{SCHEMA}"', f'  "checkpoint": "{checkpoint}"', f'  "facts": {body}', *extra]
    return ("{\n" + ",\n".join(fields) + "\n}\n").encode()


def _slots(measured: Measured) -> dict[str, str]:
    values = {slot: getattr(measured, slot) for slot in SLOTS}
    return {slot: str(value) for slot, value in values.items() if value is not None}
