"""Passes: graph in, graph out. Each records its lineage, refuses to be applied twice, and checks the state
hand-over."""

from __future__ import annotations

from pllm_lang.models.passes.chunk_prefill import chunk_prefill
from pllm_lang.models.passes.fuse_qkv import fuse_qkv
from pllm_lang.models.passes.kv_cache_eviction import KvCacheEvictionPolicy, evict_kv_cache
from pllm_lang.models.passes.quantize_weights import quantize_weights

__all__ = ["KvCacheEvictionPolicy", "chunk_prefill", "evict_kv_cache", "fuse_qkv", "quantize_weights"]
