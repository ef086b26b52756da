"""`format name = constructor(...)`: a number format with its exact set of values.

`int(bits)`, `int(low, high)`; `fixed(bits, frac)`, in a ring with `ring: ring(64)`, narrower with `low:` and
`high:` (raw values, multiples of 2^-frac); `ring(bits)`, `ring(modulus: q)`;
`float(bits, exponent: e)`; `index(low, high)`; `label(bits)`; `boolean`; or the name of another format.
"""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.closed import closed_value
from pllm_lang.catalog.expr import Apply, Expr, Num, Ref
from pllm_lang.catalog.read.body import read_body
from pllm_lang.catalog.read.context import Context
from pllm_lang.catalog.read.expressions import to_expr
from pllm_lang.catalog.records import Format
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.syntax import nodes as syn

CONSTRUCTORS = ("int", "fixed", "ring", "float", "index", "label", "boolean")
MAX_FORMAT_BITS = 4_096


class BadFormat(Exception):
    """The constructor's arguments describe no format; the text says why. Never leaves this module."""


def read_format(decl: syn.Format, ctx: Context) -> Format | None:
    body = read_body("format", decl, decl.body, ctx)
    before = len(ctx.findings)
    value = to_expr(decl.value, ctx, decl)
    if len(ctx.findings) > before:
        return None
    try:
        made = make_format(decl.name.id, value)
    except BadFormat as problem:
        help_ = did_you_mean(
            value.fn if isinstance(value, Apply) else "", CONSTRUCTORS
        ) or "formats are " + ", ".join(CONSTRUCTORS)
        ctx.report("records.wrong_value", str(problem), ctx.span(decl, decl.value), help_)
        return None
    bits = body.expr("bits")
    return msgspec.structs.replace(
        made,
        bits=int(bits.value) if isinstance(bits, Num) else made.bits,
        scale=body.text("scale"),
        doc=decl.doc,
        origin=ctx.origin(decl),
    )


def make_format(name: str, value: Expr) -> Format:
    """The format that a constructor makes; raises BadFormat."""
    if isinstance(value, Ref):
        value = Apply(value.name, ())
    if not isinstance(value, Apply) or value.fn not in CONSTRUCTORS:
        raise BadFormat("this is no format")
    numbers = tuple(_integer(arg) for arg in value.args)
    named = dict(value.named)
    made = _MAKERS[value.fn](name, numbers, named)
    if named:
        raise BadFormat(f"`{value.fn}` takes no `{next(iter(named))}`")
    return made


def _integer(value: Expr | None) -> int:
    number = closed_value(value)
    if not isinstance(number, int):
        raise BadFormat("a format is made of whole numbers and constants")
    return number


def _bits(bits: int) -> int:
    if not 1 <= bits <= MAX_FORMAT_BITS:
        raise BadFormat(f"a width is 1 to {MAX_FORMAT_BITS} bits, not {bits}")
    return bits


def _int(name: str, numbers: tuple[int, ...], _named: dict[str, Expr]) -> Format:
    if len(numbers) == 1:
        bits = _bits(numbers[0])
        return Format(name, "int", str(-(2 ** (bits - 1))), str(2 ** (bits - 1) - 1), bits=bits)
    low, high = _bounds("int", numbers)
    return Format(name, "int", str(low), str(high), bits=_width(low, high))


def _fixed(name: str, numbers: tuple[int, ...], named: dict[str, Expr]) -> Format:
    if len(numbers) != 2:
        raise BadFormat("`fixed` takes its bits and its fraction bits, as in `fixed(64, 18)`")
    bits, frac = _bits(numbers[0]), numbers[1]
    if not 0 <= frac <= MAX_FORMAT_BITS:
        raise BadFormat(f"{frac} fraction bits are not possible")
    low = _integer(named.pop("low", Num(str(-(2 ** (bits - 1))))))
    high = _integer(named.pop("high", Num(str(2 ** (bits - 1) - 1))))
    if not -(2 ** (bits - 1)) <= low <= high < 2 ** (bits - 1):
        raise BadFormat(f"raw values from {low} to {high} do not fit into {bits} bits")
    ring = named.pop("ring", None)
    carrier = make_format(name, ring) if ring is not None else None
    if carrier is None:
        return Format(name, "fixed", str(low), str(high), frac, "", bits)
    if carrier.kind != "ring":
        raise BadFormat("`ring:` takes a ring, as in `ring: ring(64)`")
    if 2**bits > int(carrier.modulus):
        raise BadFormat(f"{bits} bits do not fit into a ring of {carrier.bits} bits")
    return Format(name, "fixed", str(low), str(high), frac, carrier.modulus, carrier.bits)


def _ring(name: str, numbers: tuple[int, ...], named: dict[str, Expr]) -> Format:
    if "modulus" in named and not numbers:
        modulus = _integer(named.pop("modulus"))
    elif len(numbers) == 1:
        modulus = 2 ** _bits(numbers[0])
    else:
        raise BadFormat("`ring` takes its bits, or `modulus: q`")
    if not 2 <= modulus <= 2**MAX_FORMAT_BITS:
        raise BadFormat(f"a modulus is at least 2 and has at most {MAX_FORMAT_BITS} bits")
    return Format(
        name,
        "ring",
        str(-(modulus // 2)),
        str((modulus - 1) // 2),
        0,
        str(modulus),
        (modulus - 1).bit_length(),
    )


def _float(name: str, numbers: tuple[int, ...], named: dict[str, Expr]) -> Format:
    exponent = _integer(named.pop("exponent", Num(str(_EXPONENTS.get(numbers[0] if numbers else 0, 0)))))
    if len(numbers) != 1 or not 2 <= exponent <= 15 or not exponent + 2 <= _bits(numbers[0]) <= 128:
        raise BadFormat("`float` takes its bits and, except for 16, 32 and 64, `exponent:` bits")
    mantissa = numbers[0] - 1 - exponent
    largest = (
        (2 ** (mantissa + 1) - 1) * 2 ** (2 ** (exponent - 1) - 1 - mantissa)
        if 2 ** (exponent - 1) - 1 >= mantissa
        else 0
    )
    if not largest:
        raise BadFormat("this float has more fraction bits than its exponent can reach")
    return Format(name, "float", str(-largest), str(largest), bits=numbers[0])


def _index(name: str, numbers: tuple[int, ...], _named: dict[str, Expr]) -> Format:
    if not numbers:
        return Format(name, "index")
    low, high = _bounds("index", numbers)
    return Format(name, "index", str(low), str(high), bits=_width(low, high))


def _label(name: str, numbers: tuple[int, ...], _named: dict[str, Expr]) -> Format:
    if len(numbers) > 1:
        raise BadFormat("`label` takes its bits")
    return Format(name, "label", bits=_bits(numbers[0]) if numbers else 0)


def _boolean(name: str, numbers: tuple[int, ...], _named: dict[str, Expr]) -> Format:
    if numbers:
        raise BadFormat("`boolean` takes no argument")
    return Format(name, "boolean", "0", "1", bits=1)


def _bounds(constructor: str, numbers: tuple[int, ...]) -> tuple[int, int]:
    if len(numbers) != 2 or numbers[0] > numbers[1]:
        raise BadFormat(
            f"`{constructor}` takes the lowest and the highest value, as in `{constructor}(-128, 128)`"
        )
    return numbers[0], numbers[1]


def _width(low: int, high: int) -> int:
    """Bits that hold `low` to `high`: unsigned where nothing is negative, else two's complement."""
    if low >= 0:
        return max(high.bit_length(), 1)
    return max((-low - 1).bit_length(), max(high, 0).bit_length()) + 1


_EXPONENTS = {16: 5, 32: 8, 64: 11}
_MAKERS = {
    "int": _int,
    "fixed": _fixed,
    "ring": _ring,
    "float": _float,
    "index": _index,
    "label": _label,
    "boolean": _boolean,
}
