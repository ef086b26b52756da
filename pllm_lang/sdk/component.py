"""A component as Python names it: an id and its parameters, checked against its record.

In: the arguments of a constructor. Out: a view whose `to_spec` is `{"component": id, "params": {...}}`.
The records say which parameters there are and what they may be; the classes only give them a signature.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from pllm_lang.catalog.records import Component as ComponentEntry
from pllm_lang.interchange.canonical import python_canonical_bytes
from pllm_lang.interchange.components import checked_params, component_records
from pllm_lang.interchange.reading import shown
from pllm_lang.sdk.errors import ConfigurationError, configuration_errors
from pllm_lang.sdk.library import shipped_library
from pllm_lang.sdk.view import View, fill


class Component(View):
    """Any component; one that the records do not know keeps its parameters as they are.

    `category` is what the classes of one kind have in common, such as "kernel-backend"; `id` is set in the
    classes that show one component. Raises `ConfigurationError` naming the parameter.
    """

    __slots__ = ("_params", "component")

    category: ClassVar[str] = ""
    id: ClassVar[str] = ""
    component: str
    _params: bytes

    def __init__(self, component: str, params: Mapping[str, Any] | None = None) -> None:
        self._check_kind(component)
        if not isinstance(params, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(
                "component.value", f"params must be a mapping, not {shown(params)}", "params"
            )
        with configuration_errors():
            checked = checked_params(component, params or {})
            fill(self, component=component, _params=python_canonical_bytes(checked))
            self.canonical_bytes()

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """The component of this class with exactly these parameters, as a document has them."""
        found = object.__new__(cls)
        Component.__init__(found, cls.id, params)
        return found

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters; ratios are {"numerator", "denominator"}, lists are lists."""
        return MappingProxyType(json.loads(self._params))

    @property
    def record(self) -> ComponentEntry | None:
        """The record in the library: phases, roles, host features, bounds; None for components of others."""
        return shipped_library().by_id(self.component)

    def to_spec(self) -> dict[str, Any]:
        return {"component": self.component, "params": dict(self.params)}

    def _check_kind(self, component: object) -> None:
        if not isinstance(component, str) or not component:
            raise ConfigurationError("component.name", "component must be a non-empty string", "component")
        record = component_records().get(component)
        if record is not None and self.category not in {"", record.category}:
            why = f"{component} is a {record.category}, not a {self.category}"
            raise ConfigurationError("component.category", why, "component")
