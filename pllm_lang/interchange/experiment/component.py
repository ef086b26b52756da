"""A component as a `.pllm` file names it, `cpu(threads: 2)`, as the SDK's `{"component", "params"}`.

In: the library, an expression, and what names in it stand for. Out: the component with every parameter that the SDK
knows, defaults filled in, and what of ours it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component, ParamSpec
from pllm_lang.interchange.components import checked_params
from pllm_lang.interchange.errors import ExportRefused
from pllm_lang.interchange.experiment.argument import NotSayable, json_of
from pllm_lang.interchange.experiment.document import ComponentDoc
from pllm_lang.ir.words import show_expr


class Used(msgspec.Struct, frozen=True):
    """`lost` is what the format cannot say, by path; `left_to_sdk` what its runtime decides, by path."""

    component: ComponentDoc
    lost: dict[str, str]
    left_to_sdk: dict[str, str]


def component_used(
    library: Library, value: ex.Expr, path: str, arguments: Mapping[str, ex.Expr] = {}
) -> Used:
    """The component that `value` names, in the field at `path`.

    Errors: `ExportRefused`; `ComponentError` for a value outside of the SDK's bounds.
    """
    value = _meant(value, arguments)
    key = value.fn if isinstance(value, ex.Apply) else value.name if isinstance(value, ex.Ref) else ""
    component = library.component(key)
    if component is None or (isinstance(value, ex.Apply) and value.args):
        raise ExportRefused(f"{show_expr(value)} is no component with named arguments", path)
    given = dict(value.named) if isinstance(value, ex.Apply) else {}
    known = {param.name: param for param in component.params}
    for name in given:
        if name not in known:
            raise ExportRefused(f"{component.name} has no parameter {name}", path)
    own = own_params(component)
    params: dict[str, object] = {}
    lost: dict[str, str] = {}
    left: dict[str, str] = {}
    for name, param in known.items():
        place = f"{path}.{name}"
        argument = given.get(name, param.default)
        if argument is None:
            continue
        argument = _meant(argument, arguments)
        if name not in own:
            params[name] = _json_of(param, argument, place)
        elif param.kind == "component" and argument != param.default:
            lost[place] = f"{show_expr(argument)} is a component in a place that the format does not have"
        else:
            left[place] = f"{show_expr(argument)} here; the SDK chooses its own"
    return Used(ComponentDoc(component.id, checked_params(component.id, params)), lost, left)


def own_params(component: Component) -> frozenset[str]:
    """Parameters that the registry of the SDK does not know."""
    value = component.fields.get("own_params")
    items = value.items if isinstance(value, ex.ListOf) else (value,) if value is not None else ()
    return frozenset(item.name for item in items if isinstance(item, ex.Ref))


def _meant(value: ex.Expr, arguments: Mapping[str, ex.Expr]) -> ex.Expr:
    """What a parameter of the pipeline stands for, else the value itself."""
    return arguments.get(value.name, value) if isinstance(value, ex.Ref) else value


def _json_of(param: ParamSpec, value: ex.Expr, place: str) -> object:
    try:
        return json_of(param, value)
    except NotSayable as fault:
        raise ExportRefused(str(fault), place) from None
