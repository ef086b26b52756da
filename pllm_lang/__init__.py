"""pllm-lang: a plan language and verifier for private LLM inference."""

__version__ = "0.1.0"
