"""Where models come from: see `pllm_lang.sdk.sources`."""

from pllm_lang.sdk.sources import BundleModel, ModelSource, TinyModel

__all__ = ["BundleModel", "ModelSource", "TinyModel"]
