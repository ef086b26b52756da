"""Replay of an experiment: its slots are those of the pipeline that it names.

What is asked of an experiment depends on its slots (a check of results is asked how many wrong rows it misses), so none of them
may be left out, or be another one. In: a lock that was walked. ReplayError where slots and pipeline differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pllm_lang.artifacts.replay.refusal import need
from pllm_lang.artifacts.replay.walked import Walked, component_at, record
from pllm_lang.catalog.expr import Apply, Expr, ListOf, Ref
from pllm_lang.catalog.records import Record
from pllm_lang.ir.plan import ComponentUse

UNASKED = ("profile", "runtime", "source", "activations", "weights")
"""Fields of a pipeline that hold no component."""
Slot = tuple[str, str, tuple[tuple[str, Expr | None], ...], tuple[tuple[str, str], ...]]


def has_its_slots(walked: Walked) -> None:
    experiment = walked.lock.documents.experiment
    if experiment is None:
        return
    wanted = [] if experiment.pipeline is None else list(_slots(walked, experiment.pipeline))
    given = [(slot, use.key, use.params, use.roles) for slot, use in experiment.slots]
    same = Counter(wanted) == Counter(given)
    need(same, "certificate.plan", "its slots are not those of the pipeline that it names")


def _slots(walked: Walked, use: ComponentUse) -> Iterator[Slot]:
    pipeline = record(walked, use.key)
    is_one = isinstance(pipeline, Record) and pipeline.kind == "pipeline"
    need(is_one, "certificate.plan", "the lock does not hold the pipeline that it names")
    defaults = {spec.name: spec.default for spec in pipeline.params}
    arguments: dict[str, Expr | None] = {**defaults, **dict(use.params)}

    def put_in(value: Expr | None) -> Expr | None:
        return arguments.get(value.name, value) if isinstance(value, Ref) else value

    for slot, value in pipeline.fields.items():
        for one in () if slot in UNASKED else value.items if isinstance(value, ListOf) else (value,):
            found = put_in(one)
            key = found.fn if isinstance(found, Apply) else found.name if isinstance(found, Ref) else ""
            given = dict(found.named) if isinstance(found, Apply) else {}
            component = component_at(walked, key)
            params = [(spec.name, put_in(given.get(spec.name, spec.default))) for spec in component.params]
            own = {name for name, _ in params}
            roles = [
                (role, _player(role, None if role in own else given.get(role))) for role in component.roles
            ]
            yield slot, key, tuple(params), () if slot == "kernels" else tuple(roles)


def _player(role: str, written: Expr | None) -> str:
    """The party that is written, else the one of the role's name; kernels run wherever a step does."""
    return written.name.rpartition(".")[2] if isinstance(written, Ref) else role
