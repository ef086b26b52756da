"""Random plans as data, and their texts: renamed, reordered, laid out otherwise, split in modules.

Every plan is well typed: all values are `fx[4, 4]`. A `Shape` of writing decides what must not matter.
"""

from __future__ import annotations

from random import Random

import msgspec
from hypothesis import strategies as st

UNARY = ("neg", "square", "twice", "transpose")
BINARY = ("add", "sub", "mul", "both")


class Line(msgspec.Struct, frozen=True):
    """`target = fn(operands)`; operands are earlier targets, inputs or weights by number."""

    fn: str
    operands: tuple[int, ...]
    assume: int = 0


class Loop(msgspec.Struct, frozen=True):
    """A repeat that carries `carried`; inside, values count on from the outside."""

    turns: int
    carried: int
    body: tuple[Line, ...]


class Text(msgspec.Struct, frozen=True):
    """Values 0..n-1 are inputs, then weights; every line and every loop makes one more."""

    inputs: tuple[int, ...]
    weights: tuple[int, ...]
    lines: tuple[Line | Loop, ...]
    outputs: tuple[int, ...]


@st.composite
def texts(draw: st.DrawFn) -> Text:
    inputs = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    weights = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    known = len(inputs) + len(weights)
    lines: list[Line | Loop] = []
    for _ in range(draw(st.integers(1, 7))):
        if draw(st.integers(0, 5)) == 0:
            inner = [draw(_line(known + i)) for i in range(draw(st.integers(1, 3)))]
            lines.append(Loop(draw(st.integers(2, 3)), draw(st.integers(0, known - 1)), tuple(inner)))
        else:
            lines.append(draw(_line(known)))
        known += 1
    outputs = draw(st.lists(st.integers(0, known - 1), min_size=1, max_size=3, unique=True))
    return Text(inputs, weights, tuple(lines), tuple(outputs))


@st.composite
def _line(draw: st.DrawFn, known: int) -> Line:
    binary = draw(st.booleans())
    fn = draw(st.sampled_from(BINARY if binary else UNARY))
    operands = tuple(draw(st.integers(0, known - 1)) for _ in range(2 if binary else 1))
    return Line(fn, operands, draw(st.sampled_from((0, 0, 5))))


class Writing(msgspec.Struct, frozen=True):
    """How a text is written down; none of it may show in the digest."""

    seed: int = 0
    rename: bool = False
    reorder: bool = False
    layout: bool = False
    split: bool = False


LIBRARY = """format {fx} = fixed(64, 18)
const {two} = 2
operator twice {{F}} (x: F[...s]) -> (y: F[...s]) {{ means y = x + x }}
policy pol {{
  parties [client, server]
  adversary semi_honest corrupts 1 of [client, server]
}}
block {both} {{F}} ({a}: F[m, n], {b}: F[m, n]) -> ({c}) {{
  {t} = add({a}, {b})
  {c} = mul({t}, {t}) @ server
}}
"""
NAMES = ("fx", "two", "both", "a", "b", "c", "t", "p", "i")


def write(text: Text, how: Writing) -> tuple[str, dict[str, str]]:
    """The main module and the other files."""
    random = Random(how.seed)
    fixed = {name: f"n{random.randrange(10**6)}_{name}" if how.rename else name for name in NAMES}
    library = LIBRARY.format(**fixed)
    body = _body(text, how, random, fixed)
    plan = f"plan {fixed['p']} under pol {{\n" + "\n".join(body) + "\n}\n"
    if how.layout:
        plan, library = _laid_out(plan, random), _laid_out(library, random)
    if not how.split:
        parts = [library, plan]
        if how.reorder:
            random.shuffle(parts)
        return "pllm 1\n" + "".join(parts), {}
    names = ", ".join((fixed["fx"], fixed["two"], fixed["both"], "twice", "pol"))
    imports = f'pllm 1\nimport "./parts.pllm" [{names}]\n'
    return imports + plan, {"parts.pllm": "pllm 1\n" + library}


def _laid_out(text: str, random: Random) -> str:
    """Other blanks, line ends and comments."""
    lines = [
        ("  " * random.randrange(4)) + line.strip() + " " * random.randrange(3) for line in text.split("\n")
    ]
    return "\n".join(line + random.choice(("", "\n", "  # a remark\n", "\n\n")) for line in lines)


def _body(text: Text, how: Writing, random: Random, fixed: dict[str, str]) -> list[str]:
    n_declared = len(text.inputs) + len(text.weights)
    names = [f"v{k}" for k in range(n_declared + len(text.lines))]
    if how.rename:
        names = [f"q{random.randrange(10**6)}_{k}" for k in range(len(names))]
    fx = fixed["fx"]
    declared = [
        f"input {names[k]}: {fx}[4, 4] from client where abs({names[k]}) <= {bound}"
        for k, bound in enumerate(text.inputs)
    ]
    declared += [
        f"weight {name}: {fx}[4, 4] public where abs({name}) <= {bound}"
        for name, bound in zip(names[len(text.inputs) :], text.weights, strict=False)
    ]
    # A loop takes over the name that it carries, so what it makes is known under that name from there on.
    statements, needs = _statements(text, names, fixed, how, random)
    outputs = [f"output {_alias(text, names, k)} to client" for k in text.outputs]
    if not how.reorder:
        return [*declared, *statements, *outputs]
    random.shuffle(declared)
    random.shuffle(outputs)
    return _mixed(declared, [statements[k] for k in _order(needs, random)], outputs, random)


def _mixed(declared: list[str], statements: list[str], outputs: list[str], random: Random) -> list[str]:
    """Declarations and outputs anywhere among the statements, which keep their order."""
    body = list(statements)
    for line in (*declared, *outputs):
        body.insert(random.randrange(len(body) + 1), line)
    return body


def _alias(text: Text, names: list[str], value: int) -> str:
    return names[value]


def _statements(
    text: Text, names: list[str], fixed: dict[str, str], how: Writing, random: Random
) -> tuple[list[str], list[set[int]]]:
    """One text a line; and the lines that must come before it."""
    n_declared = len(text.inputs) + len(text.weights)
    statements: list[str] = []
    needs: list[set[int]] = []
    for k, line in enumerate(text.lines):
        target = names[n_declared + k]
        if isinstance(line, Line):
            statements.append(_call(line, target, names, fixed))
            used = set(line.operands)
        else:
            statements.append(_loop(line, target, names, n_declared + k, fixed, how, random))
            used = {line.carried, *(o for inner in line.body for o in inner.operands if o < n_declared + k)}
        needs.append({value - n_declared for value in used if value >= n_declared})
    return statements, needs


def _call(line: Line, target: str, names: list[str], fixed: dict[str, str]) -> str:
    fn = fixed["both"] if line.fn == "both" else line.fn
    assume = f" assume abs({target}) <= {line.assume}" if line.assume and line.fn != "both" else ""
    return f"{target} = {fn}({', '.join(names[o] for o in line.operands)}){assume}"


def _loop(
    loop: Loop, target: str, names: list[str], known: int, fixed: dict[str, str], how: Writing, random: Random
) -> str:
    """`target` starts as a copy of the carried value (its negation) and goes round."""
    mark = random.randrange(10**6) if how.rename else known
    inside = [f"l{mark}_{target}_{k}" for k in range(len(loop.body))]
    local = [target if k == loop.carried else name for k, name in enumerate([*names[:known], *inside])]
    order = list(range(len(loop.body)))
    if how.reorder:
        order = _order([{o - known for o in line.operands if o >= known} for line in loop.body], random)
    body = [_call(loop.body[k], inside[k], local, fixed) for k in order]
    body.append(f"{target} = add({target}, {inside[-1]})")
    lines = "\n".join(f"    {line}" for line in body)
    return (
        f"{target} = neg({names[loop.carried]})\n"
        f"  repeat {fixed['i']} in 0..<{loop.turns} carrying [{target}] {{\n{lines}\n  }}"
    )


def _order(needs: list[set[int]], random: Random) -> list[int]:
    """Some order in which every line comes after what it needs."""
    done: list[int] = []
    while len(done) < len(needs):
        ready = [k for k in range(len(needs)) if k not in done and needs[k] <= set(done)]
        done.append(random.choice(ready))
    return done
