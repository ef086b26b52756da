"""Requests for `driver.py`: shapes around the block edges, extreme values, long K, every ring; answers by
numpy."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from pllm_lang.runtime import reference
from tests.runtime.driver import Request

EDGES = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    12,
    13,
    15,
    16,
    17,
    31,
    32,
    33,
    47,
    48,
    49,
    63,
    64,
    65,
    127,
    128,
    129,
    255,
    256,
    257,
)
RING_BITS = (1, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 40, 41, 48, 49, 56, 57, 63, 64)
NARROW_MODULI = (2, 3, 255, 256, 257, 65535, 65536, 65537, 2**24 - 3, 2**30 + 3, 2**31 - 1)
WIDE_MODULI = (
    2**31,
    2**32,
    2**40 - 87,
    2**48,
    2**47 + 5,
    2**54 - 1,
    2**54 - 33,
    2**61 - 1,
    2**62 - 57,
    2**62 - 1,
)
LONG_K = (65535, 65536, 65537, 65793, 65796, 131073, 200_000)

Array = np.ndarray[Any, Any]


def product_requests(seed: int, count: int, widest: int = 257) -> Iterator[Request]:
    """`count` shapes, each with five rings; values are random, or all at one extreme."""
    pick = random.Random(seed)
    edges = [edge for edge in EDGES if edge <= widest]
    for index in range(count):
        shape = pick.choice(edges), pick.choice(edges), pick.choice(edges)
        yield from _of_shape(pick, shape, extreme=index % 4 == 0, threads=1 + index % 3)


def long_requests(seed: int) -> Iterator[Request]:
    """K beyond every fold, with the values that make the sums largest."""
    pick = random.Random(seed)
    for width in LONG_K:
        for extreme in (True, False):
            yield from _of_shape(pick, (3, width, 2), extreme=extreme, threads=1)


def large_requests(seed: int) -> Iterator[Request]:
    """Enough work for several threads, several panels a thread and several blocks of rows."""
    pick = random.Random(seed)
    for shape in ((320, 700, 600), (1000, 130, 257), (65, 5000, 140)):
        yield from _of_shape(pick, shape, extreme=False, threads=2)


def written_in_place(seed: int) -> Iterator[Request]:
    """Sums that are written where results belong: every count of rows of a tile, K of one chunk and of several, whole
    panels and a part of one."""
    draw = np.random.default_rng(seed)
    for width, outputs in ((300, 128), (1300, 128), (5000, 130)):
        for rows in range(1, 14):
            bits = 4 if rows % 3 == 0 else 8
            half = 2 ** (bits - 1)
            weights = draw.integers(-half, half, (outputs, width)).astype(np.int8)
            inputs = draw.integers(-128, 128, (rows, width)).astype(np.int8)
            expected = (inputs.astype(np.int64) @ weights.astype(np.int64).T).astype(np.int32)
            label = f"in place, {outputs}x{width} batch {rows}, {bits} bits"
            shape = {"outputs": outputs, "inputs": width, "rows": rows, "bits": bits}
            yield Request("clear", weights, inputs, expected, label=label, **shape)


def _of_shape(
    pick: random.Random, shape: tuple[int, int, int], *, extreme: bool, threads: int
) -> Iterator[Request]:
    outputs, width, rows = shape
    draw = np.random.default_rng(pick.getrandbits(32))
    bits = pick.choice((8, 8, 4))
    low = -(2 ** (bits - 1))
    full = (outputs, width)
    weights = np.full(full, low, np.int8) if extreme else draw.integers(low, -low, full).astype(np.int8)
    common = {"outputs": outputs, "inputs": width, "rows": rows, "bits": bits, "threads": threads}
    label = f"{outputs}x{width} batch {rows}, {bits} bits, {'extreme' if extreme else 'random'}"

    small = (
        np.full((rows, width), -128, np.int8)
        if extreme
        else draw.integers(-128, 128, (rows, width)).astype(np.int8)
    )
    clear = (small.astype(np.int64) @ weights.astype(np.int64).T).astype(
        np.int32
    )  # wraps where int32 is too small
    yield Request("clear", weights, small, clear, label=label, **common)

    for ring in pick.sample(RING_BITS, 2):
        words = _values(draw, (rows, width), 2**ring, extreme)
        name, kind = ("ring32", np.uint32) if ring <= 32 else ("ring64", np.uint64)
        expected = reference.ring(weights, words, ring)
        yield Request(
            name, weights, words.astype(kind), expected, parameter=ring, label=f"2^{ring} {label}", **common
        )

    q = pick.choice(NARROW_MODULI)
    words = _values(draw, (rows, width), q, extreme)
    expected = reference.residues(weights, words, q).astype(np.uint32)
    yield Request(
        "residues32",
        weights,
        words.astype(np.uint32),
        expected,
        parameter=q,
        label=f"mod {q} {label}",
        **common,
    )
    for columns in (0, 1):
        q = pick.choice(NARROW_MODULI + WIDE_MODULI)
        words = _values(draw, (rows, width), q, extreme)
        expected = reference.residues(weights, words, q)
        if columns:
            words, expected = np.ascontiguousarray(words.T), np.ascontiguousarray(expected.T)
        extra = {"parameter": q, "columns": columns, "label": f"mod {q} columns {columns} {label}"}
        yield Request("residues64", weights, words, expected, **common, **extra)


def refused_requests() -> Iterator[Request]:
    """One input too large, at the first and at the last place of several blocks."""
    weights = np.ones((70, 100), np.int8)
    for place in ((0, 0), (299, 99)):
        for name, kind, parameter in (
            ("ring32", np.uint32, 16),
            ("ring64", np.uint64, 40),
            ("residues32", np.uint32, 65537),
            ("residues64", np.uint64, 2**62 - 57),
        ):
            words = np.zeros((300, 100), kind)
            words[place] = 2**parameter if "ring" in name else parameter
            nothing = np.zeros((300, 70), kind)
            shape = {"outputs": 70, "inputs": 100, "rows": 300, "bits": 8}
            yield Request(
                name, weights, words, nothing, status=1, parameter=parameter, label=str(place), **shape
            )


def element_requests(seed: int) -> Iterator[Request]:
    draw = np.random.default_rng(seed)
    for count in (1, 2, 7, 16, 63, 64, 65, 1000):
        yield from _masks(draw, count)
        yield from _words(draw, count)
        yield from _rows(draw, count)


def _masks(draw: np.random.Generator, count: int) -> Iterator[Request]:
    for q in (2, 3, 17, 255, 256, 257, 65537, 2**31 - 1, 2**32 - 5, 2**32):
        values = draw.integers(-128, 128, count).astype(np.int8)
        masks, other = (
            _values(draw, (count,), q, extreme).astype(np.uint32) for extreme in (False, count == 7)
        )
        for operation, left, right, expected in (
            ("mask", values, masks, reference.mask(values, masks, q)),
            ("unmask", other, masks, reference.unmask(other, masks, q)),
        ):
            label = f"mod {q}, {count}"
            yield Request(operation, left, right, expected, 1, rows=count, bits=32, parameter=q, label=label)
    for q in (2, 2**33, 2**40 - 87, 2**62 - 57, 2**64 - 59, 2**64):
        values = draw.integers(-(2**63), 2**63 - 1, count)
        masks, other = (_values(draw, (count,), q, extreme) for extreme in (False, count == 7))
        for operation, left, right, expected in (
            ("mask", values, masks, reference.mask(values, masks, q)),
            ("unmask", other, masks, reference.unmask(other, masks, q)),
        ):
            label = f"wide mod {q}, {count}"
            yield Request(operation, left, right, expected, 1, rows=count, bits=64, parameter=q, label=label)


def _words(draw: np.random.Generator, count: int) -> Iterator[Request]:
    for width in (2, 3, 4):
        values = _values(draw, (count,), 256**width, count == 7).astype(np.uint32)
        packed = reference.pack_unsigned(values, width)
        none = np.zeros(0, np.uint8)
        yield Request(
            "pack", values, none, packed, 1, rows=count, parameter=width, label=f"{width} bytes, {count}"
        )
        yield Request(
            "unpack", packed, none, values, rows=count, parameter=width, label=f"{width} bytes, {count}"
        )
    for divisor in (1, 2, 3, 128, 512, 2**40 + 1, 2**62 - 1):
        values = draw.integers(-(2**62), 2**62, count)
        values[: min(count, 4)] = np.array([divisor, -divisor, divisor // 2, -3 * divisor // 2])[
            : min(count, 4)
        ]
        expected = reference.rescale(values, divisor)
        yield Request(
            "rescale",
            values,
            np.zeros(0),
            expected,
            rows=count,
            parameter=divisor,
            label=f"{divisor}, {count}",
        )


def _rows(draw: np.random.Generator, count: int) -> Iterator[Request]:
    rows = 3
    values = (draw.normal(size=(rows, count)) * 10.0 ** draw.integers(-3, 4)).astype(np.float32)
    for bits in (2, 3, 4, 7, 8):
        scales = reference.row_scales(values, bits)
        quantized = reference.quantize(values, bits, scales)
        shape = {"rows": rows, "columns": count, "bits": bits, "label": f"{bits} bits, {count}"}
        yield Request("quantize", values, scales, quantized, **shape)
        yield Request("dequantize", quantized, scales, reference.dequantize(quantized, scales), **shape)
    for p in (2, 65537, 2**32 - 5, 2**32):
        left, right = (_values(draw, (n, count), p, n == 2).astype(np.uint32) for n in (3, 2))
        expected = reference.project(left, right, p)
        yield Request(
            "project",
            left,
            right,
            expected,
            rows=3,
            outputs=2,
            inputs=count,
            parameter=p,
            label=f"mod {p}, {count}",
        )


def _values(draw: np.random.Generator, shape: tuple[int, ...], below: int, extreme: bool) -> Array:
    """uint64 values below a limit: random, or all at the largest."""
    if extreme:
        return np.full(shape, below - 1, np.uint64)
    return (
        draw.integers(0, below, shape, dtype=np.uint64, endpoint=False)
        if below < 2**64
        else draw.integers(0, 2**64 - 1, shape, dtype=np.uint64, endpoint=True)
    )
