"""Sphinx configuration: furo, myst, the pages made from the library's records, and the Python reference."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name("extensions")))

project = "pllm-lang"
copyright = "2026, the pllm-lang authors"
author = "the pllm-lang authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "library_pages", "command_pages"]
html_theme = "furo"
html_title = "pllm-lang"
html_static_path = ["static"]
html_css_files = ["docs.css"]
exclude_patterns = ["_build", "extensions"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# Pages of syntax findings show text that no lexer takes; tests/syntax holds the lexer against all other text.
suppress_warnings = ["misc.highlighting_failure"]
