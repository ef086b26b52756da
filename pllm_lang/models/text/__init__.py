"""From the semantic graph to `.pllm` text: one plan with a stage for prefill and one for decode."""
