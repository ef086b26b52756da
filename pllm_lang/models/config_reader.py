"""Typed, exact reading of one config object; it remembers which keys were read, so that no key is passed over
silently.

An adapter asks for each key that it understands. `null` means absent. A key of the wrong type, out of range
or in conflict with its other spelling is refused with its dotted name. `finish` warns of every key that
nobody read and that `irrelevant_keys` does not list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Literal

from pllm_lang.models.errors import LoweringError, Note, shortened
from pllm_lang.models.exact_json import Json, decimal_text, in_range, kind_of
from pllm_lang.models.irrelevant_keys import IRRELEVANT_KEYS
from pllm_lang.models.limits import MAX_HINTS, MAX_LAYERS, MAX_SIZE, MAX_WORD


class ConfigReader:
    """Reads the object `values`, which stands at `path` in the document; `notes` is shared by nested
    readers."""

    def __init__(self, values: Mapping[str, Json], notes: list[Note], path: str = "") -> None:
        self.values = values
        self.notes = notes
        self.path = path
        self._read: set[str] = set()

    def dotted(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def has(self, key: str) -> bool:
        return self.values.get(key) is not None

    def raw(self, *keys: str) -> Json:
        """The value under the first of `keys` that is set; the others, where set, must say the same."""
        self._read.update(keys)
        found = [key for key in keys if self.values.get(key) is not None]
        for other in found[1:]:
            if self.values[other] != self.values[found[0]]:
                raise LoweringError(
                    "config.conflict",
                    f"{self.dotted(found[0])} and {self.dotted(other)} mean the same, but differ:"
                    f" {_show(self.values[found[0]])} and {_show(self.values[other])}",
                    key=self.dotted(other),
                )
        return self.values[found[0]] if found else None

    def name_of(self, *keys: str) -> str:
        return self.dotted(next((key for key in keys if self.has(key)), keys[0]))

    def size(self, *keys: str, default: int | None = None, least: int = 1, most: int = MAX_SIZE) -> int:
        """A whole number in `least..most`; without a default the key is required."""
        value = self.optional_size(*keys, least=least, most=most)
        if value is not None:
            return value
        if default is None:
            raise missing(self.dotted(keys[0]))
        return default

    def optional_size(self, *keys: str, least: int = 1, most: int = MAX_SIZE) -> int | None:
        value = self.raw(*keys)
        return None if value is None else self._whole(self.name_of(*keys), value, least, most)

    def layer_count(self, *keys: str, default: int | None = None) -> int:
        return self.size(*keys, default=default, most=MAX_LAYERS)

    def number(self, *keys: str, default: str | None = None, positive: bool = False) -> str:
        """A real number as exact text."""
        value = self.optional_number(*keys, positive=positive)
        if value is not None:
            return value
        if default is None:
            raise missing(self.dotted(keys[0]))
        return default

    def optional_number(self, *keys: str, positive: bool = False) -> str | None:
        value = self.raw(*keys)
        return None if value is None else exact_number(self.name_of(*keys), value, positive=positive)

    def flag(self, *keys: str, default: bool = False) -> bool:
        value = self.raw(*keys)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise wrong_type(self.name_of(*keys), "true or false", value)
        return value

    def optional_text(self, *keys: str) -> str | None:
        value = self.raw(*keys)
        if value is not None and not isinstance(value, str):
            raise wrong_type(self.name_of(*keys), "a string", value)
        return value

    def text(self, *keys: str, default: str) -> str:
        value = self.optional_text(*keys)
        return default if value is None else value

    def choice(self, *keys: str, default: str, among: Sequence[str]) -> str:
        """One word of `among`; another one is refused by name."""
        value = self.text(*keys, default=default)
        if value not in among:
            raise unsupported(self.name_of(*keys), value, among)
        return value

    def items(self, *keys: str) -> list[Json] | None:
        value = self.raw(*keys)
        if value is not None and not isinstance(value, list):
            raise wrong_type(self.name_of(*keys), "an array", value)
        return value

    def texts(self, *keys: str) -> tuple[str, ...] | None:
        items = self.items(*keys)
        if items is None:
            return None
        for index, item in enumerate(items):
            if not isinstance(item, str):
                raise wrong_type(f"{self.name_of(*keys)}[{index}]", "a string", item)
        return tuple(str(item) for item in items)

    def sizes(self, *keys: str, least: int = 0) -> tuple[int, ...] | None:
        items = self.items(*keys)
        if items is None:
            return None
        name = self.name_of(*keys)
        return tuple(self._whole(f"{name}[{i}]", item, least, MAX_SIZE) for i, item in enumerate(items))

    def section(self, *keys: str) -> ConfigReader | None:
        value = self.raw(*keys)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise wrong_type(self.name_of(*keys), "an object", value)
        return ConfigReader(value, self.notes, self.name_of(*keys))

    def require(self, key: str, *, default: str | bool | int | None, among: Sequence[Json]) -> None:
        """Refuse a key whose value is not one of `among`: the maths of another value is not represented."""
        value = self.raw(key)
        value = default if value is None else value
        if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in among):
            raise unsupported(self.dotted(key), _show(value), [_show(one) for one in among])

    def without_effect(self, key: str, why: str) -> None:
        """Note a key that this family does not look at, so that nobody thinks it counts."""
        if self.has(key):
            self.note("config.no_effect", key, f"{self.dotted(key)} has no effect: {why}")
        self._read.add(key)

    def ignore(self, *keys: str) -> None:
        """Keys known not to change what this family computes."""
        self._read.update(keys)

    def note(
        self, code: str, key: str, message: str, severity: Literal["warning", "note"] = "warning"
    ) -> None:
        self.notes.append(Note(code, self.dotted(key), shortened(message), severity))

    def finish(self) -> None:
        """Warn of every key that was not read, the first ones with the known key that they resemble."""
        unread = [key for key in self.values if not self._is_known(key)]
        for number, key in enumerate(unread):
            hint = resembling(key, self._read) if number < MAX_HINTS else ""
            self.note(
                "config.unknown_key",
                key,
                f"{self.dotted(key)} is unknown and was not used; it may change what the model computes{hint}",
            )

    def _is_known(self, key: str) -> bool:
        return key in self._read or key in IRRELEVANT_KEYS or self.values[key] is None

    def _whole(self, name: str, value: Json, least: int, most: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise wrong_type(name, "a whole number", value)
        if isinstance(value, Decimal):
            if not value.is_finite() or not in_range(value) or value != value.to_integral_value():
                raise LoweringError("config.range", f"{name} is {value}, not a whole number", key=name)
            self.notes.append(
                Note("config.integral", name, f"{name} is written {value}; taken as {int(value)}")
            )
            value = int(value)
        if not least <= value <= most:
            raise LoweringError("config.range", f"{name} is {value}; it must be in {least}..{most}", key=name)
        return value


def resembling(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` where a known word is near."""
    near = get_close_matches(word, known, n=1, cutoff=0.75) if len(word) <= MAX_WORD else []
    return f"; did you mean {near[0]!r}?" if near else ""


def exact_number(name: str, value: Json, *, positive: bool = False) -> str:
    """The exact text of the number at `name`."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise wrong_type(name, "a number", value)
    if isinstance(value, Decimal) and not (value.is_finite() and in_range(value)):
        raise LoweringError("config.range", f"{name} is {value}, not a finite number of usual size", key=name)
    if positive and value <= 0:
        raise LoweringError("config.range", f"{name} is {value}; it must be positive", key=name)
    return decimal_text(value)


def missing(name: str) -> LoweringError:
    return LoweringError("config.missing_key", f"{name} is missing", key=name)


def wrong_type(name: str, wanted: str, value: Json) -> LoweringError:
    what = f"{kind_of(value)} ({_show(value)})" if isinstance(value, str | bool) else kind_of(value)
    return LoweringError("config.type", f"{name} must be {wanted}, but is {what}", key=name)


def unsupported(name: str, value: str, among: Sequence[str]) -> LoweringError:
    return LoweringError(
        "config.unsupported_value", f"{name} is {value!r}, which is not supported", key=name,
        help=f"supported: {', '.join(among)}",
    )  # fmt: skip


def _show(value: Json) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
