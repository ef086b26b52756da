"""The kernel records of the library and the kernels themselves say the same."""

import re

from pllm_lang.catalog.expr import Between, Num
from pllm_lang.catalog.load import shipped_library
from pllm_lang.catalog.records import Kernel, Record
from pllm_lang.resources import kernels_dir, stdlib_dir
from pllm_lang.runtime.record import ELEMENT_OPERATIONS, INSTRUCTION_SETS, MAX_THREADS, OPERATIONS, WIDE_BITS


def kernel(name: str) -> Kernel:
    found = shipped_library().get(f"std.kernels.{name}")
    assert isinstance(found, Kernel)
    return found


def written(name: str, field: str) -> str:
    """What `stdlib/kernels.pllm` itself says, whatever the shipped library was made from."""
    text = (stdlib_dir() / "kernels.pllm").read_text(encoding="utf-8")
    block = re.search(rf"^kernel {name} = .*?^}}", text, re.DOTALL | re.MULTILINE)
    assert block is not None, name
    found = re.search(rf"^ +{field}: (\[[^\]]*\]|.*)$", block[0], re.MULTILINE)
    assert found is not None, field
    return found[1]


def test_the_text_of_the_library_says_what_the_code_has() -> None:
    levels = [level.name for level in INSTRUCTION_SETS]
    operations = {
        "matrix_products": [operation.name for operation in OPERATIONS],
        "elements": list(ELEMENT_OPERATIONS),
    }
    for name, expected in operations.items():
        assert re.findall(r"\w+", written(name, "operations")) == expected
        assert re.findall(r"\w+", written(name, "variants")) == levels
        assert (kernels_dir() / written(name, "header").strip('"')).is_file()
    assert written("matrix_products", "modulus_bits") == f"integer in 1..{WIDE_BITS} = {WIDE_BITS}"
    assert written("matrix_products", "threads") == f"integer in 1..{MAX_THREADS} = 1"


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
