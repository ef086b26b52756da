"""Completion: names, fields, parameters with the values they allow, components that cover the operator at the cursor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types

from pllm_lang.catalog.expr import Apply, ListOf, Ref, Text
from pllm_lang.catalog.policies import effective
from pllm_lang.catalog.read.fields import ADVERSARY_KINDS, FIELDS, FORBIDDABLE
from pllm_lang.catalog.records import AnyRecord, Component, Operator, ParamSpec
from pllm_lang.ir.words import show_expr
from pllm_lang.lsp.call import Before, Bracket, before
from pllm_lang.lsp.describe import described, parameter, signature
from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.pointing import names
from pllm_lang.lsp.view import View
from pllm_lang.resolve.bodies import statements
from pllm_lang.resolve.locate import shipped_modules
from pllm_lang.syntax import nodes as syn

Kind = types.CompletionItemKind
DECLARATIONS = (
    "import", "const", "format", "policy", "model", "plan", "block", "operator", "component", "experiment", "stock", "target",
    "deployment", "assurance",
)  # fmt: skip
STATEMENTS = ("input", "weight", "state", "stage", "repeat", "output", "requires", "facts")
CLAUSES = ("using", "assume")
_KINDS = {
    "operator": Kind.Function,
    "block": Kind.Function,
    "component": Kind.Class,
    "format": Kind.Struct,
    "policy": Kind.Interface,
    "const": Kind.Constant,
}
_AFTER = {"using": "component", "under": "policy", "tightens": "policy"}
_POLICY_WORDS = ("parties", "adversary", "learns", "forbids")
_NAMED = {"operators": "operator", "components": "component", "policy": "policy", "plan": "plan"}
_PARTY_WORDS = frozenset({"@", "from", "to"})


def answer(view: View, params: types.CompletionParams) -> types.CompletionList:
    offset = view.offset(params.position)
    found = before(view.text, offset)
    items = () if found.typed == "#" else _items(view, found, offset)
    unique = {item.label: item for item in items}
    return types.CompletionList(is_incomplete=False, items=list(unique.values()))


def _items(view: View, found: Before, offset: int) -> Iterator[types.CompletionItem]:
    last = found.words[-1] if found.words else ""
    inner = found.inner
    if found.words[:1] == ("import",):
        yield from _imports(view, found)
    elif (decl := _written_in(view, offset)) is not None and found.words and "=" not in found.words:
        yield from _in_record(view, decl, found, offset)
    elif last in _AFTER and (inner is None or inner.sign == "{"):
        yield from _of_kind(view, _AFTER[last], _operator_before(view, found))
    elif last in _PARTY_WORDS or (inner is not None and inner.sign == "[" and _takes_parties(found)):
        yield from _parties(view, offset)
    elif inner is not None and inner.sign == "(":
        yield from _in_brackets(view, inner, offset)
    elif last.endswith(":") and _declares(found):
        yield from _of_kind(view, "format")
    elif last == "=":
        yield from _of_kind(view, "operator")
        yield from _of_kind(view, "block")
    elif not found.words:
        yield from _at_line_start(view, offset)
    elif "=" in found.words:
        yield from (types.CompletionItem(word, kind=Kind.Keyword) for word in CLAUSES)
        yield from _values(view, offset)
    else:
        yield from _values(view, offset)


def _declares(found: Before) -> bool:
    return found.words[0] in ("input", "weight", "state")


def _takes_parties(found: Before) -> bool:
    return bool({"secret", "corrupts", "shared"} & set(found.words))


# ---- modules ----


def _imports(view: View, found: Before) -> Iterator[types.CompletionItem]:
    path = "".join(word for word in found.words[1:] if word not in "[],")
    if found.inner is not None and found.inner.sign == "[":
        module = path.partition("[")[0]
        for name in shipped_modules():
            if module.startswith(name):
                module = name
        offered = view.opened.library.exports.get(module)
        for name, kind in (offered.kinds if offered is not None else {}).items():
            yield types.CompletionItem(name, kind=_KINDS.get(kind, Kind.Value), detail=kind)
        return
    for name in shipped_modules():
        if name.startswith(path):
            rest = name[path.rfind(".") + 1 :]
            yield types.CompletionItem(rest, kind=Kind.Module, detail=name)


# ---- names of the module and of the library ----


def _of_kind(view: View, kind: str, operator: Operator | None = None) -> Iterator[types.CompletionItem]:
    """Names of a kind: those in scope first, then those of the library with their import; with an operator only what
    covers it."""
    module, library = view.opened.module, view.opened.library
    covering = None
    if operator is not None:
        covering = {
            f"{c.module}.{c.name}" for c in library.implementing(f"{operator.module}.{operator.name}")
        }
    scope = module.scope if module is not None else {}
    keys = {binding.key: name for name, binding in scope.items() if binding.kind == kind}
    for key, name in keys.items():
        if covering is None or key in covering:
            yield _named(library.get(key), name, kind, "0")
    for key in library.keys(kind):
        owner, _, name = key.rpartition(".")
        if (
            key in keys
            or owner.startswith("./")
            or name in scope
            or (covering is not None and key not in covering)
        ):
            continue
        item = _named(library.get(key), name, kind, "1")
        item.detail = f"import {owner} [{name}]"
        item.additional_text_edits = [_import(view, owner, name)]
        yield item


def _named(record: AnyRecord | None, name: str, kind: str, rank: str) -> types.CompletionItem:
    item = types.CompletionItem(name, kind=_KINDS.get(kind, Kind.Value), detail=kind, sort_text=rank + name)
    if record is not None:
        item.detail = signature(record)
        item.documentation = types.MarkupContent(types.MarkupKind.Markdown, described(record))
    return item


def _import(view: View, module: str, name: str) -> types.TextEdit:
    """The edit that brings a name of the library into scope: into an import of its module, or a line of its own."""
    decls = view.opened.parsed.file.decls
    imports = [decl for decl in decls if isinstance(decl, syn.Import)]
    for decl in imports:
        if ".".join(word.id for word in decl.path) == module and decl.names:
            last = decl.names[-1]
            at = decl.at + last.end
            return types.TextEdit(view.range(at, at), f", {name}")
    line = f"import {module} [{name}]\n"
    if imports:
        end = view.buffer.position(imports[-1].at + imports[-1].end)
        place = types.Position(end.line + 1, 0)
    else:
        edition = view.opened.parsed.file.edition
        first = 0 if edition is None else view.buffer.position(edition.end).line + 1
        place = types.Position(first, 0)
        line = line if edition is None else f"\n{line}"
    return types.TextEdit(types.Range(place, place), line)


def _operator_before(view: View, found: Before) -> Operator | None:
    """The operator of the step that the cursor is in."""
    module = view.opened.module
    words = found.words
    if module is None or "=" not in words:
        return None
    callee = words[words.index("=") + 1 : words.index("=") + 2]
    binding = module.scope.get(callee[0]) if callee else None
    return view.opened.library.operator(binding.key) if binding is not None else None


# ---- inside brackets ----


def _in_brackets(view: View, bracket: Bracket, offset: int) -> Iterator[types.CompletionItem]:
    module = view.opened.module
    binding = module.scope.get(bracket.word) if module is not None else None
    record = view.opened.library.get(binding.key) if binding is not None else None
    params: tuple[ParamSpec, ...] = getattr(record, "params", ())
    if bracket.named:
        spec = next((one for one in params if one.name == bracket.named), None)
        if spec is not None:
            yield from _allowed(view, spec)
        elif isinstance(record, Component) and bracket.named in record.roles:
            yield from _parties(view, offset)
        else:
            yield from _values(view, offset)
        return
    for spec in params:
        yield types.CompletionItem(
            f"{spec.name}:",
            kind=Kind.Property,
            detail=parameter(spec),
            insert_text=f"{spec.name}: ",
            sort_text="0" + spec.name,
        )
    for role in record.roles if isinstance(record, Component) and bracket.role == "using" else ():
        yield types.CompletionItem(f"{role}:", kind=Kind.Property, detail="a role", insert_text=f"{role}: ")
    if not isinstance(record, Component):
        yield from _values(view, offset)


def _allowed(view: View, spec: ParamSpec) -> Iterator[types.CompletionItem]:
    """The values that a parameter allows."""
    if spec.kind == "format":
        yield from _of_kind(view, "format")
    if spec.kind == "component":
        yield from _of_kind(view, "component")
    if spec.kind == "boolean":
        yield from (types.CompletionItem(word, kind=Kind.EnumMember) for word in ("true", "false"))
    items = spec.allowed.items if isinstance(spec.allowed, ListOf) else ()
    for item in items:
        name = item.name if isinstance(item, Ref) else item.fn if isinstance(item, Apply) else show_expr(item)
        text = f'"{item.value}"' if isinstance(item, Text) else name
        is_default = spec.default is not None and item == spec.default
        yield types.CompletionItem(
            text, kind=Kind.EnumMember, detail="default" if is_default else spec.name, sort_text="0" + text
        )


# ---- values, parties, lines ----


def _values(view: View, offset: int) -> Iterator[types.CompletionItem]:
    """Values of the body that are made before the cursor, and constants."""
    decl = _around(view, offset)
    module = view.opened.module
    if decl is not None and module is not None:
        path = f"{module.name}.{decl.name.id}/"
        own = next((step.at for step in _steps(decl) if step.at <= offset <= step.at + step.end), offset)
        for one in names(view):
            if one.defines and one.start < own and one.target.startswith(path):
                yield types.CompletionItem(
                    one.text, kind=Kind.Variable, detail=one.kind, sort_text="0" + one.text
                )
        for param in decl.params if isinstance(decl, syn.Block) else ():
            yield types.CompletionItem(param.name.id, kind=Kind.Variable, detail="parameter")
    for name in module.constants if module is not None else ():
        yield types.CompletionItem(name, kind=Kind.Constant, detail="const")


def _steps(decl: syn.Decl) -> Iterator[syn.Step]:
    body = decl.body if isinstance(decl, syn.Plan | syn.Block) else ()
    return (stmt for stmt in statements(body) if isinstance(stmt, syn.Step))


def _around(view: View, offset: int) -> syn.Plan | syn.Block | syn.Record | syn.Policy | None:
    """The declaration that the cursor is in; the last one that begins before it, where a brace is missing."""
    found = [
        decl
        for decl in view.opened.parsed.file.decls
        if isinstance(decl, syn.Plan | syn.Block | syn.Record | syn.Policy) and decl.at < offset
    ]
    return found[-1] if found else None


def _parties(view: View, offset: int) -> Iterator[types.CompletionItem]:
    decl, module = _around(view, offset), view.opened.module
    if decl is None or module is None:
        return
    name = (
        decl.under.id if isinstance(decl, syn.Plan | syn.Record) and decl.under is not None else decl.name.id
    )
    binding = module.scope.get(name)
    policy = (
        effective(binding.key, view.opened.library)
        if binding is not None and binding.kind == "policy"
        else None
    )
    parties: Iterable[str] = policy.parties if policy is not None else _parties_written(view)
    yield from (types.CompletionItem(party, kind=Kind.EnumMember, detail="a party") for party in parties)


def _parties_written(view: View) -> Iterator[str]:
    """Parties of a plan under no policy: those that it names."""
    for decl in view.opened.parsed.file.decls:
        for stmt in decl.body if isinstance(decl, syn.Plan) else ():
            for clause in getattr(stmt, "clauses", ()):
                if isinstance(clause, syn.From | syn.To | syn.At):
                    yield clause.party.id


# ---- records and policies ----


def _written_in(view: View, offset: int) -> syn.Record | syn.Policy | None:
    """The record or policy whose body the cursor is in."""
    decl = _around(view, offset)
    inside = isinstance(decl, syn.Record | syn.Policy) and decl.name.end < offset - decl.at <= decl.end
    return decl if inside and isinstance(decl, syn.Record | syn.Policy) else None


def _in_record(
    view: View, decl: syn.Record | syn.Policy, found: Before, offset: int
) -> Iterator[types.CompletionItem]:
    """What may stand behind the first word of a line: the values that a field allows, parties, what a policy can say."""
    first, last = found.words[0], found.words[-1]
    if first in _POLICY_WORDS and isinstance(decl, syn.Policy):
        if first == "forbids":
            yield from (types.CompletionItem(word, kind=Kind.EnumMember) for word in FORBIDDABLE)
        elif first == "adversary" and last == first:
            yield from (types.CompletionItem(word, kind=Kind.EnumMember) for word in ADVERSARY_KINDS)
        elif first != "learns" or last == first or ":" not in "".join(found.words):
            yield from _parties(view, offset)
        return
    kind = decl.kind if isinstance(decl, syn.Record) else "policy"
    field = next((one for one in FIELDS.get(kind, ()) if first == f"{one.name}:"), None)
    if field is None:
        return
    yield from (types.CompletionItem(word, kind=Kind.EnumMember, detail=field.doc) for word in field.allowed)
    if field.accepts in _NAMED:
        yield from _of_kind(view, _NAMED[field.accepts])
    if field.accepts == "boolean":
        yield from (types.CompletionItem(word, kind=Kind.EnumMember) for word in ("true", "false"))
    if field.name in ("independent", "hosts", "administered_by", "provider"):
        yield from _parties(view, offset)


def _at_line_start(view: View, offset: int) -> Iterator[types.CompletionItem]:
    decl = _around(view, offset)
    inside = decl is not None and offset <= decl.at + decl.end
    if decl is None or not inside:
        yield from (types.CompletionItem(word, kind=Kind.Keyword) for word in DECLARATIONS)
        return
    if isinstance(decl, syn.Plan | syn.Block):
        yield from (types.CompletionItem(word, kind=Kind.Keyword) for word in STATEMENTS)
        yield from _values(view, offset)
        return
    kind = decl.kind if isinstance(decl, syn.Record) else "policy"
    if kind == "policy":
        yield from (types.CompletionItem(word, kind=Kind.Keyword) for word in _POLICY_WORDS)
    written = {item.name.id for item in decl.body if isinstance(item, syn.Field)}
    for field in FIELDS.get(kind, ()):
        if field.name not in written:
            yield types.CompletionItem(
                f"{field.name}:",
                kind=Kind.Field,
                detail=field.accepts,
                documentation=field.doc,
                insert_text=f"{field.name}: ",
            )


FEATURES = (
    Feature(
        types.TEXT_DOCUMENT_COMPLETION,
        answer,
        options=types.CompletionOptions(trigger_characters=["(", ",", " ", ":", "@", "[", "."]),
    ),
)
