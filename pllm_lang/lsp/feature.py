"""A feature: which request it answers, what it needs to know, and how it answers. One file of `features/` each.

A file of `features/` holds `FEATURES`, a tuple of these. The server registers what it finds there; a feature that fails
answers with nothing, and the others go on.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal

import msgspec

FEATURES_DIR = os.path.join(os.path.dirname(__file__), "features")


class Feature(msgspec.Struct, frozen=True):
    """`answer(view, params)` answers the request `method`. `needs` says how much is found out before it is asked:

    the document parsed and its names bound (`opened`), or checked as well (`checked`). `options` goes into the server's
    capabilities. What takes long is done in `work(view, params)`, beside the editor's messages, and handed to `answer` as a third
    argument, if the text is still the same then.
    """

    method: str
    answer: Callable[..., Any]
    needs: Literal["opened", "checked"] = "opened"
    options: Any = None
    work: Callable[[Any, Any], Any] | None = None


def features() -> tuple[Feature, ...]:
    """All features, by the names of their files."""
    return tuple(feature for module in feature_modules() for feature in module.FEATURES)


def feature_modules() -> tuple[ModuleType, ...]:
    names = sorted(name[:-3] for name in os.listdir(FEATURES_DIR) if name.endswith(".py"))
    return tuple(
        importlib.import_module(f"pllm_lang.lsp.features.{name}")
        for name in names
        if not name.startswith("_")
    )
