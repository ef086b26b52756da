"""Build hook: makes the parse table and the compiled library, so that the wheel ships them and no run makes them.

In: `grammar/pllm.lark` and `stdlib/*.pllm`. Out: `pllm_lang/syntax/_table.msgpack` and
`pllm_lang/catalog/_stdlib.msgpack`, in the source tree for an editable install and in the wheel. A grammar with a
conflict and a library with an error fail the build.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_TABLE = "pllm_lang/syntax/_table.msgpack"
_LIBRARY = "pllm_lang/catalog/_stdlib.msgpack"


class ShippedDataHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        sys.path.insert(0, self.root)
        try:
            self._write()
        finally:
            sys.path.remove(self.root)
        build_data["artifacts"] += [_TABLE, _LIBRARY]

    def _write(self) -> None:
        # The package can be imported only once its folder is on the path.
        from pllm_lang.catalog.compile import build  # noqa: PLC0415
        from pllm_lang.syntax.build_table import build_table  # noqa: PLC0415
        from pllm_lang.syntax.load_table import table_key, write_table  # noqa: PLC0415

        root = Path(self.root)
        grammar = (root / "grammar" / "pllm.lark").read_bytes()
        write_table(build_table(grammar.decode("utf-8"), table_key(grammar)), root / _TABLE)
        build((root / _LIBRARY).parent)
