"""The known name that was probably meant, as a help sentence, and out of one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pllm_lang.text.similar import closest

MAX_CANDIDATES = 5_000


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """A help sentence, "" where no candidate is like `name`."""
    known = sorted(set(candidates))[:MAX_CANDIDATES]
    same = (k for k in known if len(k) > 1 and k != name and k.lower() == name.lower())
    best = next(same, None) or closest(name, known)
    return f"did you mean `{best}`?" if best else ""


def modules_of(keys: Sequence[str]) -> dict[str, str]:
    """The names of records with the module that declares each, the first of several; files of a project are no modules."""
    parts = (key.rpartition(".") for key in reversed(keys) if not key.startswith("./"))
    return {name: module for module, _, name in parts}


def import_help(name: str, modules: Mapping[str, str]) -> str:
    """A help sentence, "" where no module declares the name."""
    return f"import it: `import {modules[name]} [{name}]`" if name in modules else ""


class Meant(NamedTuple):
    """`module` is "" where the name is in scope."""

    name: str
    module: str


def meant(help: str) -> Meant | None:
    """The name that a help sentence of `did_you_mean` asks about, None for other sentences."""
    match = _ASKED.match(help)
    return Meant(match[1], match[2] or "") if match else None


_ASKED = re.compile(r"did you mean `([^`]+)`(?:, of `([^`]+)`)?\?")
