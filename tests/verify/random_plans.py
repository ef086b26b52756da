"""Random integer plans as text, with an execution of our own to compare verdicts with.

A plan is a list of steps over small integer matrices. `execute` computes them with Python integers alone; it shares
nothing with the product.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

Matrix = tuple[tuple[int, ...], ...]
N = 3


@dataclass(frozen=True)
class Given:
    name: str
    low: int
    high: int


@dataclass(frozen=True)
class Step:
    name: str
    operator: str
    operands: tuple[str, ...]
    bits: int


@dataclass(frozen=True)
class RandomPlan:
    given: tuple[Given, ...]
    steps: tuple[Step, ...]

    def text(self, widen: int = 0) -> str:
        """The plan as `.pllm`; `widen` moves both ends of every input outward."""
        bits = sorted({step.bits for step in self.steps} | {32})
        lines = ["pllm 1", "", *[f"format i{b} = int({b})" for b in bits], "", "plan random {"]
        for one in self.given:
            lines.append(
                f"  input {one.name}: i32[{N}, {N}] from client where {one.name} in {one.low - widen}..{one.high + widen}"
            )
        lines += [f"  {line}" for step in self.steps for line in step_lines(step)]
        outputs = dict.fromkeys(step.name for step in self.steps)
        return "\n".join([*lines, *[f"  output {name} to client" for name in outputs], "}"]) + "\n"


def step_lines(step: Step) -> list[str]:
    """The operation on 32-bit operands gives a whole number of any size; casting it to the step's format owes the range."""
    raw, operands = f"{step.name}_raw", ", ".join(step.operands)
    return [
        f"{raw} = {step.operator}({operands}) @ client",
        f"{step.name}_kept = cast({raw}, to: i{step.bits}) @ client",
        f"{step.name} = cast({step.name}_kept, to: i32) @ client",
    ]


def fits(matrix: Matrix, bits: int) -> bool:
    return all(-(2 ** (bits - 1)) <= entry < 2 ** (bits - 1) for row in matrix for entry in row)


def apply(operator: str, operands: list[Matrix]) -> Matrix:
    a = operands[0]
    b = operands[1] if len(operands) > 1 else a
    match operator:
        case "add":
            return _each(a, b, lambda x, y: x + y)
        case "sub":
            return _each(a, b, lambda x, y: x - y)
        case "mul":
            return _each(a, b, lambda x, y: x * y)
        case "minimum":
            return _each(a, b, min)
        case "maximum":
            return _each(a, b, max)
        case "neg":
            return tuple(tuple(-x for x in row) for row in a)
        case "square":
            return tuple(tuple(x * x for x in row) for row in a)
        case "relu":
            return tuple(tuple(max(x, 0) for x in row) for row in a)
        case "matmul":
            return tuple(tuple(sum(a[i][k] * b[k][j] for k in range(N)) for j in range(N)) for i in range(N))
        case "linear":
            return tuple(tuple(sum(a[i][k] * b[j][k] for k in range(N)) for j in range(N)) for i in range(N))
    raise AssertionError(operator)


def _each(a: Matrix, b: Matrix, f) -> Matrix:
    return tuple(tuple(f(x, y) for x, y in zip(r, s, strict=True)) for r, s in zip(a, b, strict=True))


def first_overflow(plan: RandomPlan, inputs: dict[str, Matrix]) -> str:
    """The name of the first step whose exact result leaves its format or 32 bits, "" where all fit."""
    values = dict(inputs)
    for step in plan.steps:
        result = apply(step.operator, [values[name] for name in step.operands])
        if not fits(result, min(step.bits, 32)):
            return step.name
        values[step.name] = result
    return ""


UNARY = ("neg", "square", "relu")
BINARY = ("add", "sub", "mul", "minimum", "maximum", "matmul", "linear")


@st.composite
def plans(draw: st.DrawFn) -> RandomPlan:
    given = tuple(
        Given(f"x{i}", low := draw(st.integers(-20, 20)), low + draw(st.integers(0, 20)))
        for i in range(draw(st.integers(1, 3)))
    )
    names = [one.name for one in given]
    steps: list[Step] = []
    for i in range(draw(st.integers(1, 6))):
        operator = draw(st.sampled_from(UNARY + BINARY))
        arity = 1 if operator in UNARY else 2
        operands = tuple(draw(st.sampled_from(names)) for _ in range(arity))
        steps.append(Step(f"y{i}", operator, operands, draw(st.sampled_from((6, 8, 12, 16, 24, 32)))))
        names.append(f"y{i}")
    return RandomPlan(given, tuple(steps))


def matrices(one: Given) -> st.SearchStrategy[Matrix]:
    entry = st.sampled_from((one.low, one.high)) | st.integers(one.low, one.high)
    row = st.tuples(*[entry] * N)
    return st.tuples(*[row] * N)
