"""Passes over a model plan: see `pllm_lang.sdk.passes`."""

from pllm_lang.sdk.passes import ChunkPrefill, FuseQkv, KvCacheEviction, PlanPass, QuantizeWeights

__all__ = ["ChunkPrefill", "FuseQkv", "KvCacheEviction", "PlanPass", "QuantizeWeights"]
