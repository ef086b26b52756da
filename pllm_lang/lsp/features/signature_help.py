"""Signature help: the operands and parameters of the operator, component or block whose brackets the cursor is in."""

from __future__ import annotations

from lsprotocol import types

from pllm_lang.lsp.call import before
from pllm_lang.lsp.describe import pieces, signature
from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.pointing import declaration_of
from pllm_lang.lsp.view import View
from pllm_lang.syntax import nodes as syn


def answer(view: View, params: types.SignatureHelpParams) -> types.SignatureHelp | None:
    module = view.opened.module
    found = before(view.text, view.offset(params.position))
    bracket = next((one for one in reversed(found.brackets) if one.sign == "("), None)
    if module is None or bracket is None or bracket.word not in module.scope:
        return None
    binding = module.scope[bracket.word]
    record = view.opened.library.get(binding.key)
    if record is not None:
        labels, whole, doc = pieces(record), signature(record), record.doc
    else:
        owner = view.opened.project.modules.get(binding.module)
        decl = declaration_of(owner, binding.name) if owner is not None else None
        if owner is None or not isinstance(decl, syn.Block):
            return None
        labels = tuple(owner.source.text[p.at : p.at + p.end] for p in decl.params)
        whole, doc = f"block {decl.name.id}({', '.join(labels)})", decl.doc
    if not labels:
        return None
    active = next(
        (i for i, label in enumerate(labels) if bracket.named and label.startswith(f"{bracket.named}:")), None
    )
    told = types.SignatureInformation(
        whole,
        documentation=types.MarkupContent(types.MarkupKind.PlainText, doc) if doc else None,
        parameters=[types.ParameterInformation(label) for label in labels],
    )
    place = active if active is not None else min(bracket.commas, len(labels) - 1)
    return types.SignatureHelp([told], active_signature=0, active_parameter=place)


FEATURES = (
    Feature(
        types.TEXT_DOCUMENT_SIGNATURE_HELP,
        answer,
        options=types.SignatureHelpOptions(trigger_characters=["(", ","], retrigger_characters=[":"]),
    ),
)
