"""Where the parts of a plan were written, and what its values are called; kept beside the IR."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.expr import Origin


class SourceMap(msgspec.Struct, frozen=True):
    """`values[id]` is the name and the place of a value; `parts[(first result id, role)]` the place of a
    part of the step that makes it; roles: `step`, `operand0`, `param:bits`, `using`, `at`, `assume0`,
    `target0`.

    Values inside an expanded block carry a dotted name (`mlp.gate`), and `expanded[id]` is the place of the
    call in the plan. Statements that make no value are found by position: outputs by `(value, "output")`,
    writes by `(value, "write")`, requirements by `(-1 - n, "requires")` for the n-th one of the plan in
    order of the text.
    """

    plan: Origin
    name: str
    values: dict[int, tuple[str, Origin]]
    parts: dict[tuple[int, str], Origin]
    expanded: dict[int, Origin]
