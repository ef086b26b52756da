"""From resolved syntax to the typed plan; one idea a file, `lower_plan` is the way in."""

from pllm_lang.ir.lower.plan import Lowered as Lowered
from pllm_lang.ir.lower.plan import lower_plan as lower_plan
