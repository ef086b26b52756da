"""Material that was made from other weights than the plan runs with."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.verify.hosting import ExperimentView
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.proving import of_experiment

CODE = "material.binding"


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    yield from of_experiment(view, CODE)
