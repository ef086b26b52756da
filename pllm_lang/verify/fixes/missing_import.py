"""Import a name that a module of the library declares."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.text.finding import Fix
from pllm_lang.verify.fixes.around import Around, imported

CODES = ("names.unknown",)


def propose(around: Around) -> Iterator[Fix]:
    """One fix a module that has the name; where only one has, nothing else can be meant."""
    name = around.text
    if not around.finding.help.startswith("import it") or name in around.module.scope:
        return
    every = around.library.keys("")
    keys = [key for key in every if key.endswith(f".{name}") and not key.startswith("./")]
    modules = [key.rpartition(".")[0] for key in keys]
    for module in modules:
        edits = imported(around, module, name)
        if edits:
            yield Fix(f"Import `{name}` from `{module}`", edits, safe=len(modules) == 1)
