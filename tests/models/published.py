"""The published configs of `tests/data/configs`, and how the tests read them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from pllm_lang.models import Lowering, lower_model

DATA = Path(__file__).parents[1] / "data" / "configs"


def load(name: str) -> Any:
    return json.loads((DATA / name).read_text("utf-8"))


@cache
def index() -> dict[str, dict[str, Any]]:
    return {entry["file"]: entry for entry in load("index.json")}


@cache
def lowered(file: str) -> Lowering:
    """A published config for a small workload."""
    return lower_model((DATA / "real" / file).read_bytes(), batch=1, max_input_tokens=16, max_new_tokens=4)


def resolved(file: str) -> dict[str, Any] | None:
    path = DATA / "resolved" / file
    return json.loads(path.read_text("utf-8")) if path.exists() else None
