"""The kernel records of the library and the kernels themselves say the same."""

from pllm_lang.catalog.expr import Between, Num
from pllm_lang.catalog.load import shipped_library
from pllm_lang.catalog.records import Kernel, Record
from pllm_lang.runtime.record import ELEMENT_OPERATIONS, INSTRUCTION_SETS, MAX_THREADS, OPERATIONS, WIDE_BITS


def kernel(name: str) -> Kernel:
    found = shipped_library().get(f"std.kernels.{name}")
    assert isinstance(found, Kernel)
    return found


def test_operations_and_variants_are_those_of_the_code() -> None:
    products, elements = kernel("matrix_products"), kernel("elements")
    assert products.operations == tuple(operation.name for operation in OPERATIONS)
    assert elements.operations == ELEMENT_OPERATIONS
    levels = tuple(level.name for level in INSTRUCTION_SETS)
    assert products.variants == levels
    assert elements.variants == levels


def test_limits_are_those_of_the_code() -> None:
    limits = {p.name: p.allowed for p in kernel("matrix_products").params}
    assert limits["modulus_bits"] == Between(Num("1"), Num(str(WIDE_BITS)), True)
    assert limits["threads"] == Between(Num("1"), Num(str(MAX_THREADS)), True)


def test_every_machine_of_the_library_has_a_variant() -> None:
    variants = set(kernel("matrix_products").variants)
    for key in shipped_library().keys("target"):
        target = shipped_library().get(key)
        assert isinstance(target, Record)
        isa = target.fields["isa"]
        assert variants & {item.name for item in getattr(isa, "items", ())}, key
