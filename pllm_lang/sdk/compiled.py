"""`compile`: a canonical request to an immutable plan, or every reason why not.

In: a `pllm.compile_request.v2`. Out: a `CompiledPlan`, which nothing else can make.
"""

from __future__ import annotations

from typing import NoReturn

from pllm_lang.interchange.compilation.compile import compile_request
from pllm_lang.interchange.compilation.documents import CompiledRegion
from pllm_lang.interchange.compilation.reading import RequestSource
from pllm_lang.sdk.view import Immutable, fill


def compile(request: RequestSource, *, strict: bool = True) -> CompiledPlan:
    """Compile a request: a mapping, or its canonical bytes or text.

    `strict=False` also accepts what the pllm.run SDK lets through by mistake. Raises `CompilationError`,
    whose `diagnostics` have `code`, `subject_id` and `message`.
    """
    plan = object.__new__(CompiledPlan)
    fill(plan, _region=compile_request(request, strict=strict))
    return plan


class CompiledPlan(Immutable):
    """A compiled region: its shapes, four documents as canonical bytes, and their digests (64 hexadecimal
    digits). It cannot be constructed, changed, subclassed or unpickled.
    """

    __slots__ = ("_region",)
    _region: CompiledRegion

    def __new__(cls, *_: object, **__: object) -> NoReturn:
        raise TypeError("a CompiledPlan is made by compile() only")

    def __init_subclass__(cls, **_: object) -> NoReturn:
        raise TypeError("CompiledPlan cannot be subclassed: a plan is what compile() made")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a CompiledPlan cannot be pickled: keep the request, and compile it again")

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self._region.input_shape

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self._region.output_shape

    @property
    def logical_plan(self) -> bytes:
        """What runs: model, graphs, roles, privacy contract, required claims."""
        return self._region.logical_plan

    @property
    def execution_plan(self) -> bytes:
        """How it runs: components, conversions, role programs, material, evidence."""
        return self._region.execution_plan

    @property
    def plan_lock(self) -> bytes:
        """The lock, which binds the other documents by their digests."""
        return self._region.plan_lock

    @property
    def region_program(self) -> bytes:
        """The program of the executing role."""
        return self._region.region_program

    @property
    def configuration_digest(self) -> str:
        return self._region.configuration_digest

    @property
    def logical_plan_digest(self) -> str:
        return self._region.logical_plan_digest

    @property
    def execution_plan_digest(self) -> str:
        return self._region.execution_plan_digest

    @property
    def plan_lock_digest(self) -> str:
        """What parties compare before they start."""
        return self._region.plan_lock_digest

    @property
    def region_program_digest(self) -> str:
        return self._region.region_program_digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CompiledPlan) and self.plan_lock == other.plan_lock

    def __hash__(self) -> int:
        return hash(self.plan_lock_digest)

    def __repr__(self) -> str:
        return f"<CompiledPlan {self.input_shape} -> {self.output_shape}, lock {self.plan_lock_digest[:12]}>"
