"""Modules, what they export, and what a name in them stands for.

Data only. A module is known by its *name*: `std.formats`, `acme.ops` of a package, or `./plans/mlp`, a file
relative to the project's root, without its suffix. A declaration's *key* is module and name, such as
`std.formats.q7`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

import msgspec

from pllm_lang.syntax.nodes import File
from pllm_lang.text.finding import Finding
from pllm_lang.text.source import Source

ConstValue: TypeAlias = "int | Fraction | str | bool | tuple[ConstValue, ...]"


class Binding(msgspec.Struct, frozen=True):
    """What a name stands for. `kind` is the keyword of its declaration: `component`, `const`, ..."""

    module: str
    name: str
    kind: str

    @property
    def key(self) -> str:
        return f"{self.module}.{self.name}"


class Exports(msgspec.Struct, frozen=True):
    """What a module offers: kind of declaration by name, and the values of its constants."""

    kinds: dict[str, str]
    constants: dict[str, ConstValue] = {}


class Measured(msgspec.Struct, frozen=True):
    """What a facts file says of one tensor: exact bounds; L2 norms of rows and columns are squared."""

    min: int | Fraction | None = None
    max: int | Fraction | None = None
    row_norm1: int | Fraction | None = None
    row_norm2_sq: int | Fraction | None = None
    col_norm1: int | Fraction | None = None
    col_norm2_sq: int | Fraction | None = None


class FactsFile(msgspec.Struct, frozen=True):
    """A facts file: `checkpoint` is the digest of what was measured, `digest` the SHA-256 of the file itself.

    `calibrated` names those facts that were seen on data instead of being true of the weights; `quantized` those
    that are of the integers which a quantisation to so many bits stores, beside a scale.
    """

    path: str
    digest: str
    checkpoint: str
    facts: dict[str, Measured]
    calibrated: tuple[str, ...] = ()
    quantized: dict[str, int] = {}


class ConfigFile(msgspec.Struct, frozen=True):
    """A model configuration as text; `models` reads it. `digest` is the SHA-256 of its bytes."""

    path: str
    digest: str
    text: str


class Module(msgspec.Struct, frozen=True):
    """One text, parsed and with its names bound.

    `scope` maps every module-level name that can be used here: declared, imported, or an operator of the
    shipped library; `constants` the values of those that are constants; `digest` is the SHA-256 of the text.
    `facts` and `configs` are the files that it names, by the path as written; `imports` the names of modules.
    """

    name: str
    path: str
    source: Source
    file: File
    digest: str
    scope: dict[str, Binding] = {}
    constants: dict[str, ConstValue] = {}
    imports: tuple[str, ...] = ()
    facts: dict[str, FactsFile] = {}
    configs: dict[str, ConfigFile] = {}


class Project(msgspec.Struct, frozen=True):
    """The modules that a call is about (`main`) and all that they import, in order of dependency."""

    root: str
    main: tuple[str, ...]
    modules: dict[str, Module]
    findings: tuple[Finding, ...]
