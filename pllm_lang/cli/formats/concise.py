"""`--format concise`: one line a finding."""

from __future__ import annotations

import sys

from pllm_lang.cli.formats.full import all_well
from pllm_lang.cli.told import Told
from pllm_lang.text.render_concise import render_concise
from pllm_lang.text.style import style_for

FIXES = False


def render(told: Told) -> str:
    return render_concise(told.findings, told.sources, style_for(sys.stdout)) or all_well(told)
