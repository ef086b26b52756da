"""The passes of a declared model, `model m = huggingface("config.json") |> quantize_weights(bits: 8)`.

In: the model's record and the library. Out: each pass as its record's id and its parameters, or a sentence that says
which is no pass.
"""

from __future__ import annotations

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.closed import closed_value
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Record
from pllm_lang.models.passes.apply import PassUse, Value

KIND = "pass"


def passes_of(record: Record, library: Library) -> tuple[PassUse, ...] | str:
    uses: list[PassUse] = []
    for name, written in record.fields.items():
        if name == "value":
            continue
        use = pass_use(written, library)
        if isinstance(use, str):
            return use
        uses.append(use)
    return tuple(uses)


def pass_use(written: ex.Expr, library: Library) -> PassUse | str:
    call = ex.Apply(written.name, ()) if isinstance(written, ex.Ref) else written
    if not isinstance(call, ex.Apply):
        return "a pass is the name of a component, with its parameters"
    component = library.component(call.fn)
    if component is None or component.kind != KIND:
        return f"`{call.fn.rpartition('.')[2]}` is no pass"
    values: dict[str, Value] = {}
    for name, given in call.named:
        value = _value(given)
        if value is None:
            return f"the parameter `{name}` of `{component.name}` is no plain value"
        values[name] = value
    return "a pass takes named parameters only" if call.args else PassUse(component.id, values)


def _value(given: ex.Expr) -> Value | None:
    match given:
        case ex.Text(value=text):
            return text
        case ex.Ref(name=name):
            return name
        case ex.ListOf(items=items):
            values = [closed_value(item) for item in items]
            known = tuple(value for value in values if value is not None)
            return known if len(known) == len(values) else None
        case _:
            return closed_value(given)
