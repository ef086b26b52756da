"""The component that describes the `KvCacheEviction` pass, with the SDK's defaults.

In: settings by name. Out: `{"component", "params"}` for `evict_kv_cache` or for a slot of an experiment.
"""

from __future__ import annotations

from typing import Any

from pllm_lang.interchange.components import checked_params
from pllm_lang.interchange.decoder.eviction import COMPONENT, IMPLEMENTATION

DEFAULTS: dict[str, Any] = {
    "implementation": IMPLEMENTATION,
    "observation_window": (1, 5),
    "static_keep": (3, 10),
    "dynamic_keep": (1, 4),
    "alpha": (3, 5),
    "cluster_sizes": (32, 16),
    "share_adjacent_layers": True,
}


def kv_cache_eviction(**settings: Any) -> dict[str, Any]:
    """The component with `settings` over the defaults; ratios are pairs (numerator, denominator).

    Errors: `ComponentError` naming the setting.
    """
    return {"component": COMPONENT, "params": checked_params(COMPONENT, DEFAULTS | settings)}
