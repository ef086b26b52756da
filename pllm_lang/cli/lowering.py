"""A config's file to the text of its model, with findings at the config's own keys, or at the pass of the call."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence

import msgspec

from pllm_lang.cli.given import head_of
from pllm_lang.cli.pass_argument import MAX_LENGTH, read_pass
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.findings import key_place, note, refusal
from pllm_lang.models.limits import MAX_CONFIG_BYTES
from pllm_lang.models.lower import lower_model
from pllm_lang.models.passes.apply import apply_pass
from pllm_lang.models.text.model import model_text
from pllm_lang.text.finding import Finding, Span
from pllm_lang.text.render_concise import render_concise
from pllm_lang.text.render_full import render_full
from pllm_lang.text.render_json import render_json
from pllm_lang.text.source import Source, make_source
from pllm_lang.text.style import style_for


class ConfigText(msgspec.Struct, frozen=True):
    """`text` is None where the config is refused; `messages` are its findings, rendered."""

    text: str | None
    messages: str


def config_text(
    path: str, sizes: Mapping[str, int], name: str, format_: str, passes: Sequence[str] = ()
) -> ConfigText:
    """Raises NotGivenError for a file that gives nothing."""
    data = head_of(path, MAX_CONFIG_BYTES)
    source = make_source(path, data.decode("utf-8", "replace"))
    called = os.path.basename(path)
    findings: list[Finding] = []
    text = None
    shown = source
    try:
        lowering = lower_model(data, **sizes)
        findings += [note(one, called, _place(source, one.key)) for one in lowering.notes]
        graph = lowering.graph
        for written in passes:
            shown = make_source(PASS, written[:MAX_LENGTH])
            graph = apply_pass(graph, read_pass(written))
        shown = source
        text = model_text(graph, name)
    except LoweringError as error:
        place = _place(source, error.key) if shown is source else _in_pass(shown, error.key)
        findings.append(refusal(error, called, place))
    return ConfigText(text, _rendered(findings, (source, shown), format_))


PASS = "--pass"
"""In place of a file's name: the text is the argument of this option."""


def _in_pass(source: Source, key: str) -> Span:
    """The parameter that is at fault, else the whole pass."""
    found = re.search(rf"\b{re.escape(key)}\b", source.text) if key else None
    return Span(source.name, *(found.span() if found else (0, len(source.text))))


def _place(source: Source, key: str) -> Span:
    return key_place(source.text, key, source.name)


def _rendered(findings: list[Finding], shown: Sequence[Source], format_: str) -> str:
    sources = {source.name: source for source in shown}
    if format_ == "json":
        return render_json(findings, sources) + "\n"
    if not findings:
        return ""
    render = render_concise if format_ == "concise" else render_full
    return render(findings, sources, style_for(sys.stderr))
