"""Loading a project: the files of a call, all they import, every module-level name bound.

In: paths, the project's root, what the shipped library exports (so that its text need not be parsed), unsaved
buffers. Out: a `Project`; every problem is a finding in it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from pllm_lang.resolve.bodies import Uses, check_bodies
from pllm_lang.resolve.locate import Location, NotLocated, locate_dotted, locate_file, locate_main
from pllm_lang.resolve.modules import Binding, Exports, Module, Project
from pllm_lang.resolve.named_files import read_named_files
from pllm_lang.resolve.parties import check_parties
from pllm_lang.resolve.places import anchor_span, node_span
from pllm_lang.resolve.scope import Imported, Text, bind_names, declared_kinds
from pllm_lang.resolve.texts import read_text
from pllm_lang.syntax.nodes import File, Import
from pllm_lang.syntax.parse import Parsed, parse
from pllm_lang.text.finding import Finding, Span
from pllm_lang.text.read import decode_source, read_source
from pllm_lang.text.source import Source, make_source

Parse = Callable[[Source], Parsed]
# Declarations that are used as text: a module is parsed when one of them is imported from it.
TEXT_KINDS = frozenset({"block", "plan", "model"})
BOM = "\ufeff"
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Parsed(msgspec.Struct):
    """A module being read: `pending` are the imports that were not followed yet."""

    location: Location
    source: Source
    file: File
    pending: Iterator[Import]
    imports: list[Imported] = []


class _Loading:
    """The state of one load: what is read, what is being read, what was found."""

    def __init__(
        self, shipped: Mapping[str, Exports], buffers: Mapping[str, str], parse_source: Parse
    ) -> None:
        self.shipped = shipped
        self.buffers = {os.path.realpath(path): text for path, text in buffers.items()}
        self.parse = parse_source
        self.modules: dict[str, _Parsed] = {}
        self.open: dict[str, _Parsed] = {}
        self.findings: list[Finding] = []


def load(
    paths: Sequence[str],
    root: str,
    shipped: Mapping[str, Exports],
    buffers: Mapping[str, str] | None = None,
    parse_source: Parse = parse,
    uses: Uses | None = None,
) -> Project:
    """Load `paths` and what they import. `buffers` holds texts (by path) that replace the files' own; `uses` is kept."""
    state = _Loading(shipped, buffers or {}, parse_source)
    main: list[str] = []
    for path in paths:
        location = locate_main(path, root)
        problem = None if location.name in state.modules else _read_tree(state, location, path)
        if problem is None:
            main.append(location.name)
        else:
            state.findings.append(problem)
    return _bind(state, root, tuple(dict.fromkeys(main)), uses)


def load_shipped(names: Sequence[str]) -> Project:
    """The modules of the shipped library from their texts."""
    state = _Loading({}, {}, parse)
    for name in names:
        location = locate_dotted(tuple(name.split(".")))
        if isinstance(location, Location) and name not in state.modules:
            _read_tree(state, location, _shipped_name(name))
    return _bind(state, "", tuple(names))


def _read_tree(state: _Loading, location: Location, shown: str) -> Finding | None:
    """Read a module and all it imports, depth first, so that a module follows what it stands on."""
    first = _parse(state, location, shown)
    if isinstance(first, Finding):
        return first
    state.open = {location.name: first}
    while state.open:
        module = next(reversed(state.open.values()))
        decl = next(module.pending, None)
        if decl is None:
            state.modules[module.location.name] = state.open.pop(module.location.name)
        else:
            module.imports.append(Imported(decl, _follow(state, module, decl)))
    return None


def _parse(state: _Loading, location: Location, shown: str) -> _Parsed | Finding:
    text = state.buffers.get(os.path.realpath(location.path))
    source = _buffered(shown, text) if text is not None else read_source(location.path, shown)
    if isinstance(source, Finding):
        return source
    parsed = state.parse(source)
    state.findings += parsed.findings
    pending = (d for d in parsed.file.decls if isinstance(d, Import))
    return _Parsed(location, source, parsed.file, pending)


def _buffered(shown: str, text: str) -> Source | Finding:
    """The source of an unsaved text, or why its bytes would be none: bytes that are no UTF-8 stand in it as lone surrogates.

    A byte order mark means nothing; a blank takes its place, so that offsets stay.
    """
    if text.startswith(BOM):
        text = " " + text[1:]
    if "\0" not in text and (text.isascii() or not _SURROGATE.search(text)):
        return make_source(shown, text)
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode("utf-8", "surrogatepass")
    return decode_source(shown, data)


def _follow(state: _Loading, importer: _Parsed, decl: Import) -> str:
    """The name of the module that an import leads to, "" after a finding; a new one is opened."""
    file = importer.source.name
    place = node_span(file, decl, decl.file) if decl.file else _path_span(file, decl)
    location = _locate(importer.location, decl)
    if isinstance(location, NotLocated):
        state.findings.append(Finding(location.code, location.message, place, help=location.help))
        return ""
    name = location.name
    if name in state.modules or _served_compiled(state, name, decl):
        return name
    if name in state.open:
        state.findings.append(_cycle(list(state.open), name, place))
        return ""
    parsed = _parse(state, location, _shown_name(location))
    if isinstance(parsed, Finding):
        message = f"`{_written(decl)}`: {parsed.message}"
        state.findings.append(msgspec.structs.replace(parsed, message=message, span=place))
        return ""
    state.open[name] = parsed
    return name


def _locate(importer: Location, decl: Import) -> Location | NotLocated:
    if decl.file is None:
        return locate_dotted(tuple(word.id for word in decl.path))
    return locate_file(read_text(decl.file), importer)


def _served_compiled(state: _Loading, name: str, decl: Import) -> bool:
    offered = state.shipped.get(name)
    return offered is not None and not any(
        offered.kinds.get(item.name.id) in TEXT_KINDS for item in decl.names
    )


def _cycle(open_modules: list[str], name: str, place: Span) -> Finding:
    circle = " -> ".join([*open_modules[open_modules.index(name) :], name])
    return Finding(
        "modules.cycle",
        f"modules import each other in a circle: {circle}",
        place,
        help="move what both need into a module of its own",
    )


def _bind(state: _Loading, root: str, main: tuple[str, ...], uses: Uses | None = None) -> Project:
    exports: dict[str, Exports] = dict(state.shipped)
    for name, parsed in state.modules.items():
        exports[name] = Exports(declared_kinds(parsed.file))
    prelude = find_prelude(exports)
    modules: dict[str, Module] = {}
    for name, parsed in state.modules.items():
        scope = bind_names(Text(name, parsed.source, parsed.file, tuple(parsed.imports)), exports, prelude)
        state.findings += scope.findings
        own = {d: v for d, v in scope.constants.items() if d in exports[name].kinds}
        exports[name] = Exports(exports[name].kinds, own)
        named = read_named_files(parsed.source.name, parsed.file, parsed.location)
        state.findings += named.findings
        state.findings += check_bodies(name, parsed.source.name, parsed.file, scope.names, uses)
        state.findings += check_parties(parsed.source.name, parsed.file)
        modules[name] = Module(
            name,
            parsed.location.path,
            parsed.source,
            parsed.file,
            hashlib.sha256(parsed.source.text.encode()).hexdigest(),
            scope.names,
            scope.constants,
            tuple(i.module for i in parsed.imports if i.module),
            named.facts,
            named.configs,
        )
    return Project(root, main, modules, tuple(state.findings))


def find_prelude(exports: Mapping[str, Exports]) -> dict[str, Binding]:
    """The operators of the shipped library: in scope everywhere without an import."""
    return {
        name: Binding(module, name, kind)
        for module, offered in exports.items()
        if module.startswith("std.")
        for name, kind in offered.kinds.items()
        if kind == "operator"
    }


def _path_span(file: str, decl: Import) -> Span:
    if not decl.path:
        return anchor_span(file, decl)
    return Span(file, decl.at + decl.path[0].start, decl.at + decl.path[-1].end)


def _written(decl: Import) -> str:
    return read_text(decl.file) if decl.file else ".".join(word.id for word in decl.path)


def _shown_name(location: Location) -> str:
    if location.name.startswith("std."):
        return _shipped_name(location.name)
    relative = os.path.relpath(location.path)
    return location.path if relative.startswith("..") else relative


def _shipped_name(name: str) -> str:
    return name.replace(".", "/") + ".pllm"
