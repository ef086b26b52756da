"""No two ops of one body have one name: names are what operands, texts and facts refer to."""

from collections import Counter

import pytest

from pllm_lang.models import lower_model
from tests.models.tiny_configs import TINY


@pytest.mark.parametrize("model_type", sorted(TINY))
def test_ops_of_a_body_have_names_of_their_own(model_type: str) -> None:
    config = {"model_type": model_type} | TINY[model_type]
    graph = lower_model(config, batch=1, max_input_tokens=5, max_new_tokens=4).graph
    for stage in (graph.prefill, graph.decode):
        for body in (stage.before, stage.after, *(repeat.ops for repeat in stage.layers)):
            assert {name: n for name, n in Counter(op.name for op in body).items() if n > 1} == {}
