"""Texts to plans: texts come from buffers; of imported files only the names are on disk."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.load import Opened, open_project
from pllm_lang.ir.lower import Lowered, lower_plan
from pllm_lang.ir.plan import Plan, Step
from pllm_lang.ir.walk import nodes
from pllm_lang.resolve.modules import Module
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Finding, Severity

_FOLDER = tempfile.TemporaryDirectory()
ROOT = os.path.realpath(_FOLDER.name)

HEAD = """pllm 1
format fx = fixed(64, 18)
format fy = fixed(32, 8)
format w8 = int(8) { scale: row }
const n_layers = 4
policy pol {
  parties [client, preparation, inference]
  adversary semi_honest corrupts 1 of [preparation, inference]
}
component masked = "acme/masked" {
  kind: method
  implements: linear
  version: "1"
  params { bits: integer in [16, 32, 64] = 32, mode: word in [fast, slow] = fast }
  roles: [client, preparation, inference]
}
"""


class Case(msgspec.Struct):
    """A lowered text. `findings` are the errors of loading its modules and of lowering."""

    opened: Opened
    module: Module
    lowered: Lowered
    findings: list[Finding]

    @property
    def plan(self) -> Plan:
        return self.lowered.plan

    @property
    def library(self) -> Library:
        return self.opened.library

    @property
    def codes(self) -> list[str]:
        return [finding.code for finding in self.findings]

    def text(self, finding: Finding) -> str:
        """What the finding's span covers."""
        return self.module.source.text[finding.span.start : finding.span.end]

    def told(self) -> list[tuple[str, str]]:
        return [(finding.code, self.text(finding)) for finding in self.findings]

    def name(self, value: int) -> str:
        return self.lowered.source_map.values[value][0]

    def steps(self) -> list[Step]:
        return [n for stage in self.plan.stages for n, _ in nodes(stage.body) if isinstance(n, Step)]


def lower(text: str, head: str = HEAD, files: dict[str, str] | None = None) -> Case:
    """The last plan of the text, which stands under `head`; `files` are further modules by file name."""
    path = os.path.join(ROOT, "main.pllm")
    buffers: dict[str, str] = {}
    for name, other in (files or {}).items():
        Path(ROOT, name).touch()
        buffers[os.path.join(ROOT, name)] = other
    opened = open_project([path], ROOT, {**buffers, path: head + text})
    module = opened.project.modules[opened.project.main[0]]
    decl = [d for d in module.file.decls if isinstance(d, syn.Plan)][-1]
    lowered = lower_plan(opened.project, opened.library, module.name, decl)
    found = [*(f for f in opened.findings if not f.span.file.startswith("std/")), *lowered.findings]
    return Case(opened, module, lowered, [f for f in found if f.severity is Severity.ERROR])


def body(text: str) -> Case:
    """A plan with some inputs and weights, and `text` as its steps."""
    return lower(
        f"""plan p under pol {{
  input x: fx[2, 3] from client where abs(x) <= 12
  input z: fx[2, 3] from client
  weight w: fx[4, 3] public
  weight v[0..<n_layers]: fx[3, 3] public where row_norm1(v) <= 64
  weight q: w8[4, 3] public
  {text}
}}
"""
    )
