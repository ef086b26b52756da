"""Normal forms mean what the expressions mean: random expressions, entry by entry, against plain tensors."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol import index as ix
from pllm_lang.verify.protocol import polynomial as pl
from pllm_lang.verify.protocol.atoms import Atom, Atoms
from pllm_lang.verify.protocol.dense import Tensor, compute
from pllm_lang.verify.protocol.evaluate import evaluate
from pllm_lang.verify.protocol.execute import random_tensor
from pllm_lang.verify.protocol.scalars import entries_of, value_of
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.protocol.substitution import substitute
from pllm_lang.verify.protocol.tensors import joined, parts_of, shape_of

SHAPES = ((2, 3), (3, 2), (4,), (2, 2, 2), (6,), (1, 4), ())


class Grower:
    """Random expressions that fit, with their shapes."""

    def __init__(self, rng: Random, modulus: int) -> None:
        self.rng, self.ring = rng, ir.Ring(modulus)
        self.names: dict[str, tuple[int, ...]] = {}

    def leaf(self, shape: tuple[int, ...]) -> ir.Expr:
        same = [n for n, s in self.names.items() if s == shape]
        if same and self.rng.random() < 0.4:
            return ir.Ref(self.rng.choice(same))
        name = f"v{len(self.names)}"
        self.names[name] = shape
        return ir.Ref(name)

    def grow(self, depth: int) -> tuple[ir.Expr, tuple[int, ...]]:
        rng = self.rng
        if depth == 0:
            shape = rng.choice(SHAPES)
            return self.leaf(shape), shape
        expr, shape = self.grow(depth - 1)
        form = rng.choice(("add", "mul", "scale", "matmul", *("map",) * 6))
        if form == "add":
            return ir.Add((expr, self.leaf(shape), ir.Scale(-1, self.leaf(shape)))), shape
        if form == "mul":
            return ir.Mul(expr, self.leaf(shape)), shape
        if form == "scale":
            return ir.Scale(rng.randrange(-3, 4), expr), shape
        if form == "matmul" and len(shape) == 2:
            n = rng.choice((1, 2, 3))
            return ir.MatMul(expr, self.leaf((shape[1], n))), (shape[0], n)
        return self.structural(expr, shape)

    def structural(self, expr: ir.Expr, shape: tuple[int, ...]) -> tuple[ir.Expr, tuple[int, ...]]:
        rng, rank = self.rng, len(shape)
        size = 1
        for dim in shape:
            size *= dim
        form = rng.choice(("transpose", "reshape", "slice", "gather", "concat", "sum", "broadcast"))
        if rank == 0:
            form = "broadcast"
        axis = rng.randrange(rank) if rank else 0
        if form == "transpose":
            axes = tuple(rng.sample(range(rank), rank))
            return ir.Transpose(expr, axes), tuple(shape[a] for a in axes)
        if form == "reshape":
            choices = [(size,), (1, size), *((d, size // d) for d in (2, 3, 4) if size % d == 0)]
            new = rng.choice(choices)
            return ir.Reshape(expr, new), new
        if form == "slice":
            start = rng.randrange(shape[axis])
            stop, step = rng.randrange(start + 1, shape[axis] + 1), rng.choice((1, 1, 2))
            length = len(range(start, stop, step))
            return ir.Slice(expr, axis, start, stop, step), (*shape[:axis], length, *shape[axis + 1 :])
        if form == "gather":
            indices = tuple(rng.randrange(shape[axis]) for _ in range(rng.choice((1, 2, shape[axis]))))
            return ir.Gather(expr, axis, indices), (*shape[:axis], len(indices), *shape[axis + 1 :])
        if form == "concat":
            other = self.leaf(shape)
            new = (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :])
            return (ir.Concat((expr, other), axis), new) if size <= 16 else (expr, shape)
        if form == "sum":
            return ir.Sum(expr, axis), shape[:axis] + shape[axis + 1 :]
        place = rng.randrange(rank + 1)
        wide = (*shape[:place], 2, *shape[place:])
        return (ir.Broadcast(expr, place, 2), wide) if size <= 16 else (expr, shape)


def _atoms(names: dict[str, tuple[int, ...]], modulus: int) -> tuple[Atoms, dict[str, pl.Poly]]:
    atoms = Atoms()
    numbers = {n: atoms.add(Atom(n, "input", modulus, s)) for n, s in names.items()}
    return atoms, {n: pl.whole(number, modulus, names[n]) for n, number in numbers.items()}


def _opaque(poly: pl.Poly, atoms: Atoms) -> bool:
    return any(atoms[a].kind == "call" for a in pl.atoms_of(poly))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.integers(0, 10**9), st.sampled_from((2, 4, 15, 1 << 64)))
def test_normal_forms_have_the_entries_of_the_expression(seed: int, modulus: int) -> None:
    rng = Random(seed)
    grower = Grower(rng, modulus)
    expr, shape = grower.grow(rng.randrange(1, 7))
    atoms, terms = _atoms(grower.names, modulus)
    sizes = Sizes()
    value = evaluate(expr, terms.__getitem__, atoms, sizes)
    tensors = {n: random_tensor(ir.Ring(modulus), s, rng) for n, s in grower.names.items()}
    want = compute(expr, tensors.__getitem__, sizes)
    assert shape_of(value) == want.shape == shape
    if any(_opaque(p, atoms) for p in parts_of(value)):
        return
    places = {n: next(iter(pl.atoms_of(p))) for n, p in terms.items()}
    numbers = {
        (places[n], at): tensor.at(at)
        for n, tensor in tensors.items()
        for at in entries_of(pl.zero(0, tensor.shape))
    }
    for at, scalar in entries_of(value).items():
        assert value_of(scalar, modulus, numbers) == want.at(at)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 10**9))
def test_an_inverse_map_undoes_the_map(seed: int) -> None:
    """Compositions of transposes, reshapes and permutations are inverted; other maps are never claimed to
    be."""
    rng = Random(seed)
    grower = Grower(rng, 4)
    expr, shape = ir.Ref("v"), rng.choice(((2, 3), (4,), (2, 2, 2), (6,), (1, 4)))
    grower.names["v"] = leaf = shape
    for _ in range(rng.randrange(1, 5)):
        expr, shape = grower.structural(expr, shape)
    atoms, terms = _atoms({"v": leaf}, 4)
    if set(grower.names) != {"v"}:
        return
    value = joined(evaluate(expr, terms.__getitem__, atoms, Sizes()), atoms)
    monos = list(value.terms)
    if len(monos) != 1 or monos[0][0] or atoms[monos[0][1][0][0]].kind == "call":
        return
    entry = monos[0][1][0][1]
    points = list(entries_of(pl.zero(0, value.shape)))
    images = [tuple(ix.value_at(i, at) for i in entry) for at in points]
    count = len(entries_of(pl.zero(0, leaf)))
    inverse = ix.inverse(entry, leaf, value.shape)
    if inverse is not None:
        assert sorted(images) == sorted(set(images))
        assert len(images) == count
        for at, image in zip(points, images, strict=True):
            assert tuple(ix.value_at(i, image) for i in inverse) == at


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 10**9))
def test_substitution_is_substitution(seed: int) -> None:
    rng = Random(seed)
    grower = Grower(rng, 8)
    expr, _ = grower.grow(rng.randrange(1, 5))
    name = rng.choice(sorted(grower.names))
    shape = grower.names[name]
    atoms, terms = _atoms({**grower.names, "p": shape, "q": shape}, 8)
    value = evaluate(expr, terms.__getitem__, atoms, Sizes())
    atom = next(iter(pl.atoms_of(terms[name])))
    other = pl.add(terms["p"], pl.scale(3, terms["q"]))
    direct = evaluate(expr, lambda n: other if n == name else terms[n], atoms, Sizes())
    if any(_opaque(p, atoms) for p in parts_of(value)):
        return
    got = [substitute(p, atom, other, atoms).key() for p in parts_of(value)]
    assert got == [p.key() for p in parts_of(direct)]


def test_equal_terms_written_differently() -> None:
    """(A B)^T = B^T A^T, sums in any order, a product summed over either name."""
    atoms, terms = _atoms({"a": (2, 3), "b": (3, 2)}, 1 << 64)
    sizes = Sizes()
    a, b = ir.Ref("a"), ir.Ref("b")

    def form(expr: ir.Expr) -> object:
        return joined(evaluate(expr, terms.__getitem__, atoms, sizes), atoms).key()

    assert form(ir.Transpose(ir.MatMul(a, b))) == form(ir.MatMul(ir.Transpose(b), ir.Transpose(a)))
    whole = ir.Sum(ir.Sum(ir.Mul(a, ir.Transpose(b)), 0), 0)
    trace = ir.Sum(ir.Sum(ir.Mul(ir.Transpose(a), b), 1), 0)
    assert form(whole) == form(trace)
    assert form(ir.MatMul(a, b)) != form(ir.Transpose(ir.MatMul(a, b)))


def test_a_symbol_is_no_number() -> None:
    """A sum of n equal terms is not n times the term for a size that is a symbol, nor is it 0."""
    atoms = Atoms()
    sizes = Sizes()
    scalar = pl.whole(atoms.add(Atom("s", "input", 4, ())), 4, ())
    wide = ir.Sum(ir.Broadcast(ir.Ref("s"), 0, "n"), 0)
    value = joined(evaluate(wide, lambda _: scalar, atoms, sizes), atoms)
    assert value.terms
    assert value.key() != scalar.key()
    four = ir.Sum(ir.Broadcast(ir.Ref("s"), 0, 4), 0)
    assert not joined(evaluate(four, lambda _: scalar, atoms, sizes), atoms).terms
    assert Tensor((), (0,), 4) == compute(four, lambda _: Tensor((), (3,), 4), sizes)
