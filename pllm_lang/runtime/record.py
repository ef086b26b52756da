"""Facts about the kernels, in one place: what `cpp_kernels/` holds, on what it runs, what it accepts, what
it costs.

Nothing here is computed. The start-up code reads instruction sets and flags from it, the engine reads
limits, and tests hold it against the C++ headers and against the kernel records of the standard library.
"""

import msgspec

MAX_THREADS = 32
MAX_INPUTS = 2**24  # K: below this the quotient estimate of a residue is right (docs/kernels/bounds.md)
CLEAR_BOUND = 2**31 - 1  # of K * max|w| * 128
MODULAR_BITS = 31  # `modular`: 2 <= q < 2^31
COEFFICIENT_BITS = 54  # `coefficients`: 2 <= q < 2^54
WIDE_BITS = 62  # both, in 64-bit words
PANEL_OUTPUTS = {"zmm": 64, "ymm": 16, "neon": 16, "scalar": 8}
WEIGHT_BITS = (8, 4)
WIRE_WIDTHS = (2, 3, 4)
QUANTIZE_BITS = (2, 8)  # least and most
MASK_LIMIT = 2**32
FREIVALDS_MODULUS = 2**32 - 5


class InstructionSet(msgspec.Struct, frozen=True):
    """One level: `name` is also its header in `cpp_kernels/pllm/isa/` and the value of PLLM_ISA."""

    name: str
    machine: str  # as `platform.machine()` says it; "any" for all
    cpu_flags: tuple[str, ...]  # all must stand in /proc/cpuinfo
    compiler_flags: tuple[str, ...]  # of GCC and Clang
    jit_target: str  # of Clang's target attribute; "" for the target of the process
    digits: str  # what an input is split into: u8, s8 or s16
    instruction: str


_AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl")

# From the fastest down: the first whose flags are all there is used.
INSTRUCTION_SETS = (
    InstructionSet(
        "amx",
        "x86_64",
        (*_AVX512, "avx512_vnni", "amx_tile", "amx_int8"),
        ("-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni", "-mamx-tile", "-mamx-int8"),
        "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8",
        "u8",
        "tdpbusd",
    ),
    InstructionSet(
        "avx512_vnni",
        "x86_64",
        (*_AVX512, "avx512_vnni"),
        ("-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni"),
        "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni",
        "u8",
        "vpdpbusd zmm",
    ),
    InstructionSet(
        "avx_vnni",
        "x86_64",
        ("avx2", "fma", "avx_vnni"),
        ("-mavx2", "-mfma", "-mavxvnni"),
        "avx2,fma,avxvnni",
        "u8",
        "vpdpbusd ymm",
    ),
    InstructionSet("avx2", "x86_64", ("avx2", "fma"), ("-mavx2", "-mfma"), "avx2,fma", "s16", "vpmaddwd ymm"),
    InstructionSet(
        "neon_i8mm",
        "aarch64",
        ("asimd", "asimddp", "i8mm"),
        ("-march=armv8.2-a+dotprod+i8mm",),
        "dotprod,i8mm",
        "u8",
        "usdot",
    ),
    InstructionSet(
        "neon_dot", "aarch64", ("asimd", "asimddp"), ("-march=armv8.2-a+dotprod",), "dotprod", "s8", "sdot"
    ),
    InstructionSet("neon", "aarch64", ("asimd",), ("-march=armv8-a",), "", "s16", "smlal"),
    InstructionSet("scalar", "any", (), (), "", "s16", "integer multiply"),
)


class Operation(msgspec.Struct, frozen=True):
    """One product: weights int8 [out, in] by inputs [batch, in], or [in, columns] where `columns`."""

    name: str
    inputs: str
    results: str
    modulus: str  # the ring: "" is the integers
    columns: bool = False


OPERATIONS = (
    Operation("clear", "int8", "int32", ""),
    Operation("wrap32", "uint32", "uint32", "2^32"),
    Operation("wrap64", "uint64", "uint64", "2^64"),
    Operation("ring", "uint32 or uint64", "uint32 or uint64", "2^k, 1 <= k <= 64"),
    Operation("modular", "uint32", "uint32", "q, 2 <= q < 2^31"),
    Operation("modular_wide", "uint64", "uint64", "q, 2 <= q < 2^62"),
    Operation("coefficients", "uint64", "uint64", "q, 2 <= q < 2^54", True),
    Operation("coefficients_wide", "uint64", "uint64", "q, 2 <= q < 2^62", True),
)

# Functions of `elements.py`; `freivalds.py` adds its checks.
ELEMENT_OPERATIONS = (
    "mask",
    "unmask",
    "mask_wide",
    "unmask_wide",
    "quantize",
    "dequantize",
    "pack_unsigned",
    "unpack_unsigned",
    "uniform_residues",
    "rescale",
    "silu_q7",
    "multiply_q7",
    "gated_q7",
)
