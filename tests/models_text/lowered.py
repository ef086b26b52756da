"""Texts of models as the tests read them: printed, opened and lowered."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.load import open_project
from pllm_lang.ir.digest import plan_digest
from pllm_lang.ir.lower import lower_plan
from pllm_lang.ir.plan import Plan
from pllm_lang.ir.source_map import SourceMap
from pllm_lang.models import ModelGraph, lower_model
from pllm_lang.models.text.model import model_text
from pllm_lang.syntax.nodes import Plan as PlanNode
from pllm_lang.text.finding import Finding
from tests.models.tiny_configs import Config


class Text(msgspec.Struct, frozen=True):
    """A plan's text, lowered. `names` gives the name of each value."""

    plan: Plan
    source_map: SourceMap
    library: Library
    findings: tuple[Finding, ...]

    @property
    def digest(self) -> str:
        return plan_digest(self.plan, self.library)


def graph_of(config: bytes | Config, tokens: int = 5, new: int = 4) -> ModelGraph:
    return lower_model(config, batch=1, max_input_tokens=tokens, max_new_tokens=new).graph


def opened(text: str) -> Text:
    project = open_project(["/nowhere/model.pllm"], "/nowhere", {"/nowhere/model.pllm": text})
    module = project.project.modules[project.project.main[0]]
    (node,) = (decl for decl in module.file.decls if isinstance(decl, PlanNode))
    lowered = lower_plan(project.project, project.library, module.name, node)
    findings = (*project.findings, *lowered.findings)
    return Text(lowered.plan, lowered.source_map, project.library, findings)


def text_of(config: bytes | Config, tokens: int = 5, new: int = 4) -> str:
    return model_text(graph_of(config, tokens, new))
