"""`decoder_plan_of_record`: a model of a `.pllm` file as a `pllm.decoder_plan.v1` document.

In: the library with the file's records, the model's record, and the text of its config. Out: the plan after the
model's passes, compared with the model as `pllm check` reads it. A pass that the format has not is refused, or left
out where loss is asked for.
"""

from __future__ import annotations

import msgspec

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Record
from pllm_lang.interchange.decoder.agreement import disagreement
from pllm_lang.interchange.decoder.eviction import COMPONENT, evict_kv_cache
from pllm_lang.interchange.decoder.lower import decoder_plan
from pllm_lang.interchange.decoder.plan import DecoderPlan, Workload
from pllm_lang.interchange.errors import ExportRefused, NotFaithful
from pllm_lang.interchange.experiment.component import component_used
from pllm_lang.ir.words import show_expr
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.lower import lower_model


def config_path(record: Record) -> str:
    """The path of the model's config, as written. Errors: `ExportRefused`."""
    match record.fields["value"]:
        case ex.Apply(fn="huggingface", args=(ex.Text(value=path),), named=()):
            return path
        case value:
            raise ExportRefused(f'{show_expr(value)} is no model `huggingface("config.json")`', "value")


def decoder_plan_of_record(
    library: Library, record: Record, config: str, work: Workload, *, lossy: bool = False
) -> DecoderPlan:
    """The plan. Errors: `ConfigRefused`, `NotFaithful`, `PassError`, `ExportRefused`, `ComponentError`."""
    plan = decoder_plan(config, work.batch, work.max_input_tokens, work.max_new_tokens, lossy=lossy)
    if not lossy and (why := _other_meaning(plan, config, work)):
        raise NotFaithful({"value": why})
    for field in [name for name in record.fields if name != "value"]:
        used = component_used(library, record.fields[field], field)
        if used.component.component == COMPONENT:
            plan = evict_kv_cache(plan, msgspec.to_builtins(used.component))
        elif not lossy:
            raise NotFaithful({field: f"the format has no pass {used.component.component}"})
    return plan


def _other_meaning(plan: DecoderPlan, config: str, work: Workload) -> str:
    """Why the model that `check` reads of the config is not the one of the document, "" where it is."""
    try:
        lowering = lower_model(config, **msgspec.structs.asdict(work))
    except LoweringError as error:
        return f"`pllm check` refuses the config, {error.code}: {error}"
    return disagreement(plan.document, lowering.graph)
