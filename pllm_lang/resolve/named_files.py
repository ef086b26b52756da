"""Files that a module names besides its imports: `facts "x.json"` and `huggingface("config.json")`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from pllm_lang.resolve.facts_file import read_config, read_facts
from pllm_lang.resolve.locate import Location, NotLocated, locate_data
from pllm_lang.resolve.modules import ConfigFile, FactsFile
from pllm_lang.resolve.places import node_span
from pllm_lang.resolve.texts import read_text
from pllm_lang.resolve.uses import parts
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Finding
from pllm_lang.text.regular_file import Unreadable

MODEL_SOURCE = "huggingface"
Read = TypeVar("Read", FactsFile, ConfigFile)


class NamedFiles(msgspec.Struct, frozen=True):
    facts: dict[str, FactsFile]
    configs: dict[str, ConfigFile]
    findings: tuple[Finding, ...]


def read_named_files(file_name: str, file: syn.File, location: Location) -> NamedFiles:
    findings: list[Finding] = []
    facts: dict[str, FactsFile] = {}
    configs: dict[str, ConfigFile] = {}
    for decl in file.decls:
        for anchor, node in _facts_paths(decl):
            _read(file_name, anchor, node, location, read_facts, facts, findings)
        for anchor, node in _config_paths(decl):
            _read(file_name, anchor, node, location, read_config, configs, findings)
    return NamedFiles(facts, configs, tuple(findings))


def _read(
    file_name: str,
    anchor: syn.Anchor,
    node: syn.String,
    location: Location,
    read: Callable[[str], Read | Unreadable],
    into: dict[str, Read],
    findings: list[Finding],
) -> None:
    written = read_text(node)
    if written in into:
        return
    path = locate_data(written, location, ".json")
    found = read(path) if isinstance(path, str) else path
    if isinstance(found, NotLocated | Unreadable):
        message = found.message if isinstance(found, NotLocated) else f"`{written}`: {found.message}"
        findings.append(Finding(found.code, message, node_span(file_name, anchor, node), help=found.help))
    else:
        into[written] = found


def _facts_paths(decl: syn.Decl) -> Iterator[tuple[syn.Anchor, syn.String]]:
    if isinstance(decl, syn.Plan | syn.Block):
        for stmt in decl.body:
            if isinstance(stmt, syn.Facts):
                yield stmt, stmt.path
    elif isinstance(decl, syn.Record):
        for item in decl.body:
            if isinstance(item, syn.Field) and item.name.id == "facts" and isinstance(item.value, syn.String):
                yield item, item.value


def _config_paths(decl: syn.Decl) -> Iterator[tuple[syn.Anchor, syn.String]]:
    if isinstance(decl, syn.Model):
        for node in _sources(decl.value):
            yield decl, node
    elif isinstance(decl, syn.Record) and decl.kind == "experiment":
        for item in decl.body:
            if isinstance(item, syn.Field) and item.name.id == "model":
                for node in _sources(item.value):
                    yield item, node


def _sources(expr: syn.Expr | syn.Spread | syn.Entry) -> Iterator[syn.String]:
    match expr:
        case syn.Call(callee=syn.Name(id="huggingface"), args=(syn.String() as path, *_)):
            yield path
        case _:
            for part in parts(expr):
                yield from _sources(part)
