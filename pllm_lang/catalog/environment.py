"""What the names of a record's clause stand for where the record is used."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.records import Format


class Env(msgspec.Struct):
    """`facts` and `shapes` by operand and result; `formats` by format variable, format parameter, operand,
    result.

    `exact`: shape variables, numeric and boolean (0 or 1) parameters, constants. `lists`: parameters that
    list
    numbers, and `...s`. `words`: parameters whose value is a word. `context`: `n_parties` and the like. `unbound`: parameters of
    which nothing is known here; every other name that stands for nothing is a word.
    """

    facts: dict[str, Facts] = {}
    exact: dict[str, Exact] = {}
    formats: dict[str, Format] = {}
    words: dict[str, str] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    context: dict[str, Exact] = {}
    lists: dict[str, tuple[Exact, ...]] = {}
    unbound: frozenset[str] = frozenset()
