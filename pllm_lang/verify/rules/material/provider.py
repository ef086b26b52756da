"""One-use material from somebody else than the party that makes it in the plan."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.verify.hosting import ExperimentView
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.proving import of_experiment

CODE = "material.provider"


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    yield from of_experiment(view, CODE)
