"""No narration makes the check raise, however strange; and what is not understood is never proved by accident."""

from random import Random

import pytest

from pllm_lang.catalog.load import shipped_library
from pllm_lang.verify.narrations.check import check_component
from tests.narrations.strange import strange

LIBRARY = shipped_library()
KEYS = [
    k for k in LIBRARY.keys("component") if (c := LIBRARY.component(k)) is not None and c.protocol is not None
]


@pytest.mark.parametrize("block", range(4))
def test_anything_gives_findings_or_a_proof(block: int) -> None:
    refused = 0
    for seed in range(100 * block, 100 * block + 100):
        rng = Random(seed)
        key = rng.choice(KEYS)
        component = LIBRARY.component(key)
        assert component is not None
        found = check_component(key, strange(component, rng), LIBRARY)
        refused += bool(found.findings)
    assert refused > 50
