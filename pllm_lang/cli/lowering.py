"""A config's file to the text of its model, with findings at the config's own keys."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

import msgspec

from pllm_lang.cli.pass_argument import read_pass
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.findings import key_place, note, refusal
from pllm_lang.models.limits import MAX_CONFIG_BYTES
from pllm_lang.models.lower import lower_model
from pllm_lang.models.passes.apply import apply_passes
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
    with open(path, "rb") as file:
        data = file.read(MAX_CONFIG_BYTES + 1)
    source = make_source(path, data.decode("utf-8", "replace"))
    called = os.path.basename(path)
    findings: list[Finding] = []
    text = None
    try:
        lowering = lower_model(data, **sizes)
        findings += [note(one, called, _place(source, one.key)) for one in lowering.notes]
        graph = apply_passes(lowering.graph, tuple(map(read_pass, passes)))
        text = model_text(graph, name)
    except LoweringError as error:
        findings.append(refusal(error, called, _place(source, error.key)))
    return ConfigText(text, _rendered(findings, source, format_))


def _place(source: Source, key: str) -> Span:
    return key_place(source.text, key, source.name)


def _rendered(findings: list[Finding], source: Source, format_: str) -> str:
    sources = {source.name: source}
    if format_ == "json":
        return render_json(findings, sources) + "\n"
    if not findings:
        return ""
    render = render_concise if format_ == "concise" else render_full
    return render(findings, sources, style_for(sys.stderr))
