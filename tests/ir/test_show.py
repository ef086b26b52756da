"""A plan as text: every kind of line once, as a person reads it."""

from __future__ import annotations

from pllm_lang.ir.show import show_plan
from tests.ir.lowering import lower

PLAN = """plan p under pol {
  input x: fx[3, 3] from client where abs(x) <= 12
  weight w[0..<4]: fx[3, 3] public where row_norm1(w) <= 64
  weight q: w8[3, 3] secret from [inference]
  state s: fx[3, 3] where abs(s) <= 9
  stage first {
    c = encode([[1, 2, 3]], to: fx)
    a = rescale(x, by: outer(q.scale, q.scale), to: fx, saturate: true) @ client assume abs(a) <= 2
    repeat i in 0..<4 carrying [a] {
      a = mul(a, w[3 - i])
    }
    b = linear(a, w[0]) using masked(bits: 64)
    t = add(a, nothing)
    s = a
    requires error(a) <= 1/2 else "too coarse"
    output b to client
  }
}
"""

ROLES = ", ".join(f"{role}: {role}" for role in ("client", "preparation", "inference"))
SHOWN = """plan p under ./main.pol
  format %f0 fx: fixed -9223372036854775808..9223372036854775807 / 2^18
  format %f1 w8: int -128..127 / 2^0
  format %f2 exact: exact
  input %0 x: fx[3, 3] from client @ client where max_abs <= 12
  input %13: unknown
  weight %1 w[0..<4]: fx[3, 3] public where row_norm1 <= 64
  weight %2 q: w8[3, 3] secret from [inference]
  weight %6 q.scale: exact[3] secret from [inference] scale of %2 q
  state %3 s: fx[3, 3] where max_abs <= 9
  constant %4: exact[1, 3] = 1, 2, 3
  stage first
    %5 c: fx[1, 3] = encode(%4, to: fx)
    %7: exact[3, 3] = outer(%6 q.scale, %6 q.scale) @ client
    %8 a: fx[3, 3] = rescale(%0 x, %7, to: fx, saturate: true) @ client assume max_abs(%8 a) <= 2
    repeat i0 in 0..<4
      carry %9 a from %8 a
      %10 a: fx[3, 3] = mul(%9 a, %1 w[-1 * i0 + 3])
      carry on %10 a; after it %11 a
    %12 b: exact[3, 3] = linear(%11 a, %1 w[0]) using {use}
    %14 t: unknown = add(%11 a, %13)
    %3 s := %11 a
    requires error(%11 a) <= 1/2 else "too coarse"
    output %12 b to client
"""


def test_a_plan_is_shown_line_by_line() -> None:
    case = lower(PLAN)
    assert case.told() == [("names.unknown", "nothing")]
    assert show_plan(case.plan, case.lowered.source_map) == SHOWN.replace(
        "{use}", f"masked(bits: 64, mode: fast, {ROLES})"
    )
