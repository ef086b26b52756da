"""Sphinx configuration: furo, myst, and the pages generated from the library."""

project = "pllm-lang"
copyright = "2026, the pllm-lang authors"
author = "the pllm-lang authors"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "pllm-lang"
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]
