"""Immutable views of documents: what they have in common.

A view shows one document, which `to_spec` gives. Views of equal documents are equal, hash alike, copy to
themselves and can be pickled; nothing about one ever changes.
"""

from __future__ import annotations

from typing import Any, NoReturn

from pllm_lang.interchange.canonical import python_canonical_bytes


class Immutable:
    """Attributes are set once, by `fill` in the constructor."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be set; make a new one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be deleted")

    def __copy__(self) -> Immutable:
        return self

    def __deepcopy__(self, memo: object) -> Immutable:
        return self

    def __setstate__(self, state: tuple[object, dict[str, object]]) -> None:
        """What unpickling calls on the empty object that it made."""
        fill(self, **state[1])


def fill(target: Immutable, **values: object) -> None:
    """Sets the attributes of an object that is being made."""
    for name, value in values.items():
        object.__setattr__(target, name, value)


class View(Immutable):
    """A view of the document that `to_spec` gives."""

    __slots__ = ()

    def to_spec(self) -> dict[str, Any]:
        """The document as a JSON value of its own: changing it changes nothing else."""
        raise NotImplementedError

    def canonical_bytes(self) -> bytes:
        """The one spelling of the document over which digests are taken. (Constructors ask for it, so that a
        document without one, as of half a character, is refused there.)
        """
        return python_canonical_bytes(self.to_spec())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and self.canonical_bytes() == other.canonical_bytes()

    def __hash__(self) -> int:
        return hash(self.canonical_bytes())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.to_spec()})"
