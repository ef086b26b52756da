"""Evidence replayed by other means: scalars instead of tensors, the text executed on polynomials, no search.

In: a protocol with concrete sizes, a coalition, the steps of its view. The executor runs the text with a variable
for every entry of every secret and draw; each step must find, for each entry of its draw, one entry of its message
where the draw stands alone with a unit before it. Then it is replaced everywhere. At the end no secret is left.
"""

from __future__ import annotations

from math import gcd
from random import Random

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.dense import Tensor
from pllm_lang.verify.protocol.execute import execute, input_variables
from pllm_lang.verify.protocol.report import Step
from pllm_lang.verify.protocol.sizes import Sizes

Product = tuple[str, ...]


class Scalar:
    """A polynomial with integer coefficients, as far as `dense.py` computes with its entries."""

    def __init__(self, terms: dict[Product, int]) -> None:
        self.terms = {m: c for m, c in terms.items() if c}

    def __add__(self, other: Scalar | int) -> Scalar:
        added = dict(self.terms)
        for product, coef in _scalar(other).terms.items():
            added[product] = added.get(product, 0) + coef
        return Scalar(added)

    __radd__ = __add__

    def __mul__(self, other: Scalar | int) -> Scalar:
        out: dict[Product, int] = {}
        for one, a in self.terms.items():
            for two, b in _scalar(other).terms.items():
                product = tuple(sorted((*one, *two)))
                out[product] = out.get(product, 0) + a * b
        return Scalar(out)

    __rmul__ = __mul__

    def __mod__(self, modulus: int) -> Scalar:
        return Scalar({m: c % modulus for m, c in self.terms.items()})

    def __bool__(self) -> bool:
        return bool(self.terms)


def _scalar(value: Scalar | int) -> Scalar:
    return value if isinstance(value, Scalar) else Scalar({(): value})


def variable(name: str, place: int) -> Scalar:
    return Scalar({(f"{name}#{place}",): 1})


class Named(Random):
    """Gives the entries of one draw as variables."""

    def __init__(self, name: str) -> None:
        super().__init__(0)
        self.name, self.place = name, 0

    def _next(self) -> Scalar:
        self.place += 1
        return variable(self.name, self.place - 1)

    def randrange(self, *_: int) -> Scalar:  # type: ignore[override]
        return self._next()

    def getrandbits(self, _: int, /) -> Scalar:  # type: ignore[override]
        return self._next()


def replay(protocol: ir.Protocol, coalition: frozenset[str], steps: tuple[Step, ...]) -> bool:
    """Whether the steps prove the view."""
    known, secret = set[str](), set[str]()
    inputs = _inputs(protocol, coalition, known, secret)
    draws = {st.name: Named(st.name) for st in protocol.body if isinstance(st, ir.Draw)}
    run = execute(protocol, {}, inputs, lambda st: draws[st.name])  # type: ignore[arg-type]
    held = {st.name for st in protocol.body if isinstance(st, ir.Draw) and coalition & set(st.holders)}
    sent = [s for s in run.sent if s.sender not in coalition and coalition & set(s.receivers)]
    rows = [[_unknown(_scalar(e), known, held) for e in s.value.entries] for s in sent]  # type: ignore[arg-type]
    rings = {st.name: _modulus(st.type.number) for st in protocol.body if isinstance(st, ir.Draw)}
    fresh: set[tuple[int, int]] = set()
    for step in steps:
        if step.draw in held or step.draw not in draws or step.term >= len(rows):
            return False
        if not step.modulus == sent[step.term].value.modulus == rings[step.draw]:
            return False
        for place in range(draws[step.draw].place):
            if not _replaced(rows, step, f"{step.draw}#{place}", fresh, known, held):
                return False
    left = [e for t, row in enumerate(rows) for p, e in enumerate(row) if (t, p) not in fresh]
    return not any(_stem(v) in secret for entry in left for product in entry.terms for v in product)


def _modulus(number: ir.Number) -> int:
    return number.modulus if isinstance(number, ir.Ring) else 0


def _stem(name: str) -> str:
    return name.split("#", 1)[0]


def _unknown(entry: Scalar, known: set[str], held: set[str]) -> Scalar:
    """Without what the coalition can subtract."""
    knows = known | held
    return Scalar({m: c for m, c in entry.terms.items() if not all(_stem(v) in knows for v in m)})


def _replaced(
    rows: list[list[Scalar]],
    step: Step,
    name: str,
    fresh: set[tuple[int, int]],
    known: set[str],
    held: set[str],
) -> bool:
    """One entry of the draw, through the one entry of the message that it stands alone in."""
    modulus = step.modulus
    found = [p for p, e in enumerate(rows[step.term]) if any(name in m for m in e.terms)]
    if len(found) != 1 or (step.term, found[0]) in fresh:
        return False
    entry = rows[step.term][found[0]] % modulus
    coef = entry.terms.get((name,), 0)
    alone = all(name not in m for m in entry.terms if m != (name,))
    divides = all(c % step.divided == 0 for c in entry.terms.values()) and modulus % step.divided == 0
    if not (coef and alone and divides) or coef // step.divided % modulus != step.coefficient % modulus:
        return False
    if gcd(step.coefficient, modulus) != 1:
        return False
    fresh.add((step.term, found[0]))
    seen = f"seen{step.term}.{found[0]}"
    known.add(seen)
    rest = Scalar({m: -(c // step.divided) for m, c in entry.terms.items() if m != (name,)})
    value = (rest + variable(seen, 0)) * pow(step.coefficient, -1, modulus)
    for term, row in enumerate(rows):
        for place, other in enumerate(row):
            if (term, place) != (step.term, found[0]):
                row[place] = _unknown(_substituted(other, name, value) % modulus, known, held)
    return True


def _substituted(entry: Scalar, name: str, value: Scalar) -> Scalar:
    out = Scalar({})
    for product, coef in entry.terms.items():
        part = Scalar({tuple(v for v in product if v != name): coef})
        for _ in range(product.count(name)):
            part = part * value
        out = out + part
    return out


def _inputs(
    protocol: ir.Protocol, coalition: frozenset[str], known: set[str], secret: set[str]
) -> dict[tuple[str, int], Tensor]:
    """Variables for inputs; the last honest piece of a sharing is its value minus the others."""
    out: dict[tuple[str, int], Tensor] = {}
    sizes = Sizes()
    for (name, run), type_, given in input_variables(protocol):
        assert isinstance(type_.number, ir.Ring)
        shape = sizes.shape(type_.shape)
        count = 1
        for dim in shape:
            count *= dim
        entries = tuple(variable(name, i) for i in range(count))
        out[name, run] = Tensor(shape, entries, type_.number.modulus)  # type: ignore[arg-type]
        holders = _holders(given, name)
        (known if holders is None or holders & coalition else secret).add(name)
    for given in protocol.inputs:
        if isinstance(given.holding, ir.Shared):
            _tie(given, given.holding, out, known, secret)
    return out


def _holders(given: ir.Input, name: str) -> set[str] | None:
    match given.holding:
        case ir.Public():
            return None
        case ir.Clear():
            return set(given.holding.parties)
        case ir.Shared():
            return next(set(p.holders) for p in given.holding.pieces if f"{given.name}.{p.label}" == name)


def _tie(
    given: ir.Input,
    holding: ir.Shared,
    out: dict[tuple[str, int], Tensor],
    known: set[str],
    secret: set[str],
) -> None:
    names = [f"{given.name}.{p.label}" for p in holding.pieces]
    honest = [n for n in names if n not in known]
    if not honest:
        return
    last = next(k for k in out if k[0] == honest[-1])
    tensor = out[last]
    entries: list[Scalar] = []
    for place in range(len(tensor.entries)):
        total = variable(given.name, place)
        for other in names:
            if other != honest[-1]:
                total = total + variable(other, place) * -1
        entries.append(total)
    out[last] = Tensor(tensor.shape, tuple(entries), tensor.modulus)  # type: ignore[arg-type]
    secret.add(given.name)
