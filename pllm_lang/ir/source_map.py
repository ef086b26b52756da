"""Where the parts of a plan were written, and what its values are called. Kept beside the IR, never inside it."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.expr import Origin


class SourceMap(msgspec.Struct, frozen=True):
    """`values[id]` is the name and the place of a value; `parts[(result id, role)]` the place of a part of the step
    that makes `result id`; roles: `step`, `operand0`, `param:bits`, `using`, `at`, `assume0`, `target0`.

    Values inside an expanded block carry a dotted name (`mlp.gate`), and `expanded[id]` the place of the call.
    """

    plan: Origin
    name: str
    values: dict[int, tuple[str, Origin]]
    parts: dict[tuple[int, str], Origin]
    expanded: dict[int, Origin]
