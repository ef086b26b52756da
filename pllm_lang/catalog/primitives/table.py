"""The table of primitives, by name. Adding one is adding its file and its line here."""

from __future__ import annotations

from pllm_lang.catalog.primitives.absolute import ABS
from pllm_lang.catalog.primitives.add import ADD
from pllm_lang.catalog.primitives.alibi import ALIBI
from pllm_lang.catalog.primitives.broadcast import COL_BROADCAST, REPEAT, ROW_BROADCAST
from pllm_lang.catalog.primitives.causal import CAUSAL
from pllm_lang.catalog.primitives.causal_at import CAUSAL_AT
from pllm_lang.catalog.primitives.choosing import COMPARISONS, WHERE
from pllm_lang.catalog.primitives.circular import COS, SIN
from pllm_lang.catalog.primitives.concat import CONCAT
from pllm_lang.catalog.primitives.delta_rule import DELTA_RULE
from pllm_lang.catalog.primitives.div import DIV
from pllm_lang.catalog.primitives.exponential import EXP, LOG
from pllm_lang.catalog.primitives.extremes import BELOW_ROW_MAX, CLAMP, MAX, MIN, ROW_MAX
from pllm_lang.catalog.primitives.gather import GATHER
from pllm_lang.catalog.primitives.marked import MARKED
from pllm_lang.catalog.primitives.matmul import MATMUL
from pllm_lang.catalog.primitives.mul import MUL
from pllm_lang.catalog.primitives.outer import OUTER
from pllm_lang.catalog.primitives.permute import PERMUTE
from pllm_lang.catalog.primitives.polynomial_of import POLYNOMIAL
from pllm_lang.catalog.primitives.power import POWER
from pllm_lang.catalog.primitives.primitive import Primitive
from pllm_lang.catalog.primitives.ranking import TOP_INDICES, TOP_VALUES
from pllm_lang.catalog.primitives.recurrence import LINEAR_RECURRENCE
from pllm_lang.catalog.primitives.reshape import RESHAPE
from pllm_lang.catalog.primitives.root import SQRT
from pllm_lang.catalog.primitives.rotary import ROTARY
from pllm_lang.catalog.primitives.rounding import FLOOR, ROUND_TO
from pllm_lang.catalog.primitives.saturating import ERF, TANH
from pllm_lang.catalog.primitives.slice import SLICE
from pllm_lang.catalog.primitives.sub import NEG, SUB
from pllm_lang.catalog.primitives.sum import ROW_MEAN, ROW_SUM, SUM
from pllm_lang.catalog.primitives.take import TAKE
from pllm_lang.catalog.primitives.transpose import TRANSPOSE
from pllm_lang.catalog.primitives.windows import WINDOWS

ARITHMETIC = (ADD, SUB, NEG, MUL, DIV, POWER, MIN, MAX, CLAMP, ABS, POLYNOMIAL, MATMUL, OUTER)
FUNCTIONS = (SQRT, EXP, LOG, TANH, ERF, COS, SIN, FLOOR, ROUND_TO, WHERE, *COMPARISONS)
OVER_ROWS = (
    SUM,
    ROW_SUM,
    ROW_MEAN,
    ROW_MAX,
    BELOW_ROW_MAX,
    TOP_VALUES,
    TOP_INDICES,
    TAKE,
    MARKED,
    CAUSAL,
    CAUSAL_AT,
    ALIBI,
    ROTARY,
)
OVER_STEPS = (LINEAR_RECURRENCE, DELTA_RULE)
STRUCTURE = (
    TRANSPOSE,
    PERMUTE,
    RESHAPE,
    SLICE,
    GATHER,
    CONCAT,
    WINDOWS,
    ROW_BROADCAST,
    COL_BROADCAST,
    REPEAT,
)

PRIMITIVES: dict[str, Primitive] = {
    primitive.name: primitive for primitive in (*ARITHMETIC, *FUNCTIONS, *OVER_ROWS, *OVER_STEPS, *STRUCTURE)
}
