"""`components.json`, written from the library's records.

In: the library. Out: the text of the table that `components.py` reads, so that stating a component does not load the
library and its readers. `python -m pllm_lang.interchange.component_table` writes it again after a change of `stdlib/`;
a test holds the two together.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.load import shipped_library
from pllm_lang.catalog.records import Component, ParamSpec
from pllm_lang.interchange.components import TABLE
from pllm_lang.interchange.experiment.component import own_params

DISTRIBUTION = ex.Text("pllm.run")
KINDS = {"boolean": "flag", "word": "choice", "list": "integers"}


def table_text(library: Library) -> str:
    """The table: one line a component of the SDK, by id."""
    found = [library.component(key) for key in library.keys("component")]
    rows = [_row(one) for one in found if one and one.fields.get("distribution") == DISTRIBUTION]
    lines = [json.dumps(row, ensure_ascii=False) for row in sorted(rows, key=lambda row: row["id"])]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _row(component: Component) -> dict[str, Any]:
    own = own_params(component)
    return {
        "id": component.id,
        "version": component.version,
        "category": _text(component, "category").removeprefix("pllm/"),
        "phase": "-".join(phase.replace("_", "-") for phase in component.phases),
        "capabilities": [
            one.value for one in _items(component.fields.get("capabilities")) if isinstance(one, ex.Text)
        ],
        "host_features": list(component.host_features),
        "roles": list(component.roles),
        "params": {one.name: _param(one) for one in component.params if one.name not in own},
    }


def _text(component: Component, field: str) -> str:
    value = component.fields.get(field)
    return value.value if isinstance(value, ex.Text) else ""


def _items(value: ex.Expr | None) -> tuple[ex.Expr, ...]:
    return value.items if isinstance(value, ex.ListOf) else () if value is None else (value,)


def _param(param: ParamSpec) -> dict[str, Any]:
    return {"kind": KINDS.get(param.kind, param.kind)} | _bounds(param.allowed)


def _bounds(allowed: ex.Expr | None) -> dict[str, Any]:
    """What a value may be, in the words of `ParameterRecord`."""
    match allowed:
        case None:
            return {}
        case ex.ListOf():
            return {"kind": "choice", "choices": [_choice(one) for one in allowed.items]}
        case ex.Between(low=ex.Num() as low, high=ex.Num() as high, closed=True):
            return {"least": int(low.value), "most": int(high.value)}
        case ex.Apply(fn=">=", args=(_, ex.Num() as low)):
            return {"least": int(low.value)}
        case ex.Apply(fn="text", named=(("pattern", ex.Text() as pattern),)):
            return {"pattern": f"^{pattern.value}$"}
        case ex.Apply(fn="text" | "list", args=(inner,)):
            return _bounds(inner)
        case _:
            raise ValueError(f"the table has no word for {allowed}")


def _choice(value: ex.Expr) -> int | str:
    match value:
        case ex.Num():
            return int(value.value)
        case ex.Ref():
            return value.name
        case _:
            raise ValueError(f"the table has no word for {value}")


if __name__ == "__main__":
    Path(TABLE).write_text(table_text(shipped_library()), encoding="utf-8")
    sys.stdout.write(f"{TABLE}\n")
