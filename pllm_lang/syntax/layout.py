"""A small layout language: what may break over lines, and the lines that come out.

In: a `Doc` and a width. Out: text. A `Group` is laid out on one line where it fits, else each of its `Line`s
breaks; `Fill` breaks only where the next item does not fit.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

WIDTH = 110
_STEP = 2


class Line(NamedTuple):
    """A place to break; `flat` stands there otherwise."""

    flat: str = " "


class OnlyBroken(NamedTuple):
    """Text that stands only where the group around it is broken."""

    text: str


class Indent(NamedTuple):
    doc: Doc


class Group(NamedTuple):
    doc: Doc


class Fill(NamedTuple):
    """Items with a comma behind each but the last, as many on a line as fit."""

    items: tuple[Doc, ...]


class Concat(NamedTuple):
    docs: tuple[Doc, ...]


Doc: TypeAlias = "str | Line | OnlyBroken | Indent | Group | Fill | Concat"


def concat(*docs: Doc) -> Doc:
    return Concat(docs)


def joined(docs: tuple[Doc, ...], separator: Doc) -> Doc:
    parts: list[Doc] = []
    for doc in docs:
        if parts:
            parts.append(separator)
        parts.append(doc)
    return Concat(tuple(parts))


def bracket(left: str, items: tuple[Doc, ...], right: str, pad: str = "", *, fill: bool = False) -> Doc:
    """A bracketed list: on one line, or an item a line with a comma behind each."""
    if not items:
        return left + right
    return Group(open_bracket(left, items, right, pad, fill=fill))


def open_bracket(left: str, items: tuple[Doc, ...], right: str, pad: str = "", *, fill: bool = False) -> Doc:
    """The same without a group of its own: it breaks with the one around it."""
    inner: Doc = Fill(items) if fill else joined(items, concat(",", Line()))
    return concat(left, Indent(concat(Line(pad), inner, OnlyBroken(","))), Line(pad), right)


def flat(doc: Doc) -> str:
    """The text on one line."""
    match doc:
        case str():
            return doc
        case Line():
            return doc.flat
        case OnlyBroken():
            return ""
        case Indent() | Group():
            return flat(doc.doc)
        case Fill():
            return ", ".join([flat(item) for item in doc.items])
        case Concat():
            return "".join([flat(part) for part in doc.docs])


def render(doc: Doc, indent: int, start: int) -> str:
    """The text, over lines where it must be; `start` is the column at which it begins."""
    out: list[str] = []
    _Writer(out, start).write(doc, indent, 0, broken=False)
    return "".join(out)


def _lead(doc: Doc, broken: bool) -> tuple[int, bool]:
    """How many columns stand before the first place that may break, and whether there is one."""
    match doc:
        case str():
            return len(doc), False
        case Line():
            return (0, True) if broken else (len(doc.flat), False)
        case OnlyBroken():
            return len(doc.text) if broken else 0, False
        case Indent():
            return _lead(doc.doc, broken)
        case Group():
            return _lead(doc.doc, True)
        case Fill():
            return _lead(doc.items[0], True)[0], True
        case Concat():
            columns = 0
            for part in doc.docs:
                more, ends = _lead(part, broken)
                columns += more
                if ends:
                    return columns, True
            return columns, False


class _Writer:
    """Writes into `out` and keeps the column."""

    def __init__(self, out: list[str], column: int) -> None:
        self.out = out
        self.column = column

    def write(self, doc: Doc, indent: int, tail: int, *, broken: bool) -> None:
        """`tail` columns of text follow that cannot move to another line."""
        match doc:
            case str():
                self._text(doc)
            case Line():
                if broken:
                    self._break(indent)
                else:
                    self._text(doc.flat)
            case OnlyBroken():
                self._text(doc.text if broken else "")
            case Indent():
                self.write(doc.doc, indent + _STEP, tail, broken=broken)
            case Group():
                too_wide = self.column + len(flat(doc.doc)) + tail > WIDTH
                self.write(doc.doc, indent, tail, broken=too_wide)
            case Fill():
                self._fill(doc, indent)
            case Concat():
                for index, part in enumerate(doc.docs):
                    following, ends = _lead(Concat(doc.docs[index + 1 :]), broken)
                    self.write(part, indent, following if ends else following + tail, broken=broken)

    def _fill(self, doc: Fill, indent: int) -> None:
        last = len(doc.items) - 1
        for index, item in enumerate(doc.items):
            text = flat(item) + ("," if index < last else "")
            if index and self.column + 1 + len(text) > WIDTH:
                self._break(indent)
            elif index:
                self._text(" ")
            self._text(text)

    def _text(self, text: str) -> None:
        self.out.append(text)
        self.column += len(text)

    def _break(self, indent: int) -> None:
        self.out.append("\n" + " " * indent)
        self.column = indent
