"""Words for instruction sets: every one that a kernel or a machine of the library uses can be written of a machine."""

from pllm_lang.catalog.load import shipped_library
from pllm_lang.catalog.read.fields import ISA
from pllm_lang.catalog.records import Kernel, Record
from pllm_lang.verify.hosting import words

EVERYWHERE = "scalar"


def test_what_kernels_ask_for_can_be_said_of_a_machine() -> None:
    library = shipped_library()
    kernels = [one for key in library.keys("kernel") if isinstance(one := library.get(key), Kernel)]
    asked = {word for kernel in kernels for word in kernel.variants} - {EVERYWHERE}
    assert "avx512_vnni" in asked
    assert asked <= set(ISA)


def test_machines_of_the_library_use_known_words() -> None:
    library = shipped_library()
    targets = [one for key in library.keys("target") if isinstance(one := library.get(key), Record)]
    assert targets
    assert {word for target in targets for word in words(target.fields["isa"])} <= set(ISA)
    assert len(set(ISA)) == len(ISA)
