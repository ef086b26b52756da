"""A checkpoint to the text of its facts file, or one sentence that refuses it. Loads numpy."""

from __future__ import annotations

import os

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import ModelGraph
from pllm_lang.models.lower import lower_model
from pllm_lang.resolve.limits import MAX_JSON_BYTES
from pllm_lang.runtime.checkpoint.errors import CheckpointError
from pllm_lang.runtime.checkpoint.open import checkpoint_digest, open_checkpoint
from pllm_lang.runtime.measure.calibrate import calibrated
from pllm_lang.runtime.measure.document import facts_document
from pllm_lang.runtime.measure.facts import facts_of_checkpoint
from pllm_lang.text.visible import visible


class NotMeasuredError(Exception):
    """The text is a code, what is wrong, and a next step."""


def facts_text(path: str, bits: int, calibration: str | None) -> bytes:
    try:
        opened = open_checkpoint(path)
        graph = None if opened.config is None else _graph(opened.config)
        found = facts_of_checkpoint(opened, graph, bits)
        seen = {} if calibration is None else calibrated(calibration, opened)
        for name in sorted(seen):
            if name in found.facts:
                message = f"`{name}` is a weight; a recorded value needs a name of its own"
                raise CheckpointError("calibration.name", message)
        text = facts_document(checkpoint_digest(opened), found.facts, found.quantized, seen)
        if len(text) > MAX_JSON_BYTES:
            message = f"its facts would have {len(text)} bytes; `check` reads at most {MAX_JSON_BYTES}"
            help_ = "put the model's config.json beside the files: then the experts of a layer are one weight"
            raise CheckpointError("checkpoint.too_large", message, help_)
        return text
    except MemoryError:
        text = "a tensor or an array claims more than the memory holds"
        raise NotMeasuredError(_told("checkpoint.too_large", path, text, "")) from None
    except CheckpointError as error:
        raise NotMeasuredError(_told(error.code, path, str(error), error.help)) from None
    except LoweringError as error:
        message = str(error).removesuffix(f" ({error.help})") if error.help else str(error)
        raise NotMeasuredError(_told(error.code, path, message, error.help)) from None


def _graph(config: bytes) -> ModelGraph:
    """The weights of a model, which no workload changes."""
    return lower_model(config, batch=1, max_input_tokens=1, max_new_tokens=1).graph


def _told(code: str, path: str, message: str, help: str) -> str:
    named = os.path.basename(os.path.normpath(path))
    return f"error[{code}]: {visible(f'{named}: {message}')}" + (
        f"\n  = help: {visible(help)}" if help else ""
    )
