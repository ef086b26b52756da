"""A stock of one-use material that may have been used before."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.verify.hosting import ExperimentView
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.proving import of_experiment

CODE = "material.used_before"


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    yield from of_experiment(view, CODE)
