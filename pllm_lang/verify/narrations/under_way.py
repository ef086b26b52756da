"""One stage of a plan while its composition is built: values so far, instances so far, what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import msgspec

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term
from pllm_lang.catalog.expr import Expr, Origin
from pllm_lang.catalog.facts import Facts, Interval
from pllm_lang.catalog.records import Format, Policy
from pllm_lang.exact.interval import hull
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import UNKNOWN, Member, Operand, Stage, TensorType
from pllm_lang.ir.walk import family
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.narrations.gaps import Gaps
from pllm_lang.verify.narrations.held import OPAQUE, Held, local_instance
from pllm_lang.verify.narrations.using import Lowerer
from pllm_lang.verify.protocol.compose import Instance
from pllm_lang.verify.view import PlanView

MAX_INSTANCES = 20_000
"""Steps of a stage, repeats unrolled."""


IDEAL = "ideal "
"""Before the name of a primitive, which no party can have."""

RESERVED = frozenset({"results", "lengths", "stages", "stop", "indices"})
"""Words of a policy that mean other things than a value of that name."""


class TooManyInstancesError(Exception):
    """A stage has more than MAX_INSTANCES steps."""


class Made(msgspec.Struct, frozen=True):
    """What an instance stands for: the value that its step makes first, the component's key, where its lines are, and how
    many equal turns of repeats it stands for."""

    subject: int
    key: str = ""
    origins: tuple[Origin, ...] = ()
    times: int = 1


class UnderWay:
    def __init__(
        self,
        view: PlanView,
        policy: Policy,
        flow: Flow,
        stage: Stage,
        lowerer: Lowerer,
        gaps: Gaps,
        folding: bool = False,
    ) -> None:
        self.flow = flow
        self.view, self.policy, self.stage, self.lowerer, self.gaps = view, policy, stage, lowerer, gaps
        self.parties: dict[str, p.Party] = {name: p.Party(name) for name in policy.parties}
        self.values: dict[int | tuple[int, int], Held] = {}
        self.types: dict[int, TensorType] = {}
        self.inputs: dict[str, p.Input] = {}
        self.outputs: dict[tuple[str, str], p.Output] = {}
        self.instances: list[Instance] = []
        self.made: list[Made] = []
        self.names: dict[str, int] = {}
        self.taken: set[str] = set()
        self.in_pieces: set[str] = set()
        self.embedded: dict[tuple[str, p.TensorType], Held] = {}
        self.loops: dict[int, int] = {}
        self.assumed: dict[str, None] = {}
        self.folding, self.times = folding, 1
        self.folds: list[tuple[str, str]] = []
        self.again: set[str] = set()
        self.unlike = False
        self.members: dict[int, Callable[[int], Held]] = {}
        self.shared_state = -1
        self.kept: list[tuple[str, int]] = []
        self.written: list[tuple[int, str]] = []
        self.reached: dict[int, Interval | None] = {}
        self.incomplete = False
        self.called: dict[str, tuple[str, tuple[tuple[str, Expr], ...]]] = {}
        self.results = {(output.value, party) for output in stage.outputs for party in output.to}

    # ---- names ----
    def plain(self, value: int) -> str:
        return self.view.value_names.get(f"%v{value}", "") or f"v{value}"

    def name(self, value: int, member: int | None = None) -> str:
        """A name that nothing else in the composition has."""
        plain = self.plain(value) if member is None else f"{self.plain(value)}[{member}]"
        return self.unique(plain)

    def own_name(self, value: int, member: int | None = None) -> str:
        """The plan's name for what the stage begins with, which `name` gives to nothing else."""
        plain = self.plain(value) if member is None else f"{self.plain(value)}[{member}]"
        return self.unique(plain, begins=True)

    def unique(self, plain: str, *, begins: bool = False) -> str:
        """A name that is no other value's, nor a piece's of one: `q.p0` of a block `q` may be p0's piece of a value `q`. What a
        stage `begins` with keeps its name: where two of these collide, `inlined` refuses the text of the whole."""
        base = plain.split("'", maxsplit=1)[0]  # `x'2` may be the second `x` and the first `x'2`
        while True:
            count = self.names[base] = self.names.get(base, 0) + 1
            name = base if count == 1 else f"{base}'{count}"
            whole, _, piece = name.rpartition(".")
            if not begins and (name in self.in_pieces or (piece.isidentifier() and whole in self.taken)):
                continue
            self.taken.add(name)
            self.in_pieces |= {whole} if piece.isidentifier() else set()
            return name

    # ---- values ----
    def read(self, operand: Operand) -> Held:
        if not isinstance(operand, Member):
            return self.values[operand]
        index = self.index(operand.index)
        found = self.values.get((operand.family, index))
        if found is None and index >= 0 and operand.family in self.members:
            found = self.members[operand.family](index)
        if found is None:  # a member that the family does not have, which lowering reports
            self.incomplete = True
            return msgspec.structs.replace(self.values[operand.family], broken=True)
        return found

    def index(self, expr: Expr) -> int:
        found = exact_term(expr, Env(exact={f"%{depth}": i for depth, i in self.loops.items()}))
        return found if isinstance(found, int) else -1

    def type_of(self, operand: Operand) -> TensorType:
        return self.types.get(family(operand), UNKNOWN)

    def format_of(self, type_: TensorType) -> Format:
        return self.view.format_of(type_)

    def give(self, held: Held, lifetime: p.Lifetime = "execution", value: int = -1) -> Held:
        """A value that the composition begins with; the plan's `value` says in which range it lies."""
        self.inputs[held.name] = p.Input(held.name, held.type, held.holding, lifetime, self.range_bits(value))
        return held

    def range_bits(self, value: int) -> int:
        """e with |raw| < 2^e by what is known of the value; 0 where nothing is."""
        facts, type_ = self.flow.facts.get(value), self.types.get(value, UNKNOWN)
        if facts is None or facts.range is None or type_ == UNKNOWN or not self.format_of(type_).modulus:
            return 0
        largest = max(abs(Fraction(facts.range.low)), abs(Fraction(facts.range.high)))
        return int(largest * 2 ** self.format_of(type_).frac).bit_length()

    def reach(self, value: int) -> Interval | None:
        """Where its entries lie, in every turn that makes or reads it; None where nothing bounds them."""
        if not self.reached:
            for met in self.flow.met:
                for result, facts in zip(met.step.results, met.judged.results, strict=True):
                    self._reaches(result, facts)
                view = met.judged.view
                if view is not None:
                    for operand, spec in zip(met.step.operands, view.operator.operands, strict=True):
                        self._reaches(family(operand), view.env.facts[spec.name])
        return self.reached.get(value)

    def _reaches(self, value: int, facts: Facts) -> None:
        known, found = self.reached.get(value, facts.range), facts.range
        self.reached[value] = None if known is None or found is None else hull(known, found)

    def number(self, type_: TensorType) -> p.TensorType:
        """The type of a value in the clear: raw residues where its format is in a ring."""
        modulus = "" if type_ == UNKNOWN else self.format_of(type_).modulus
        return p.TensorType(p.Ring(int(modulus)) if modulus else OPAQUE, type_.shape)

    def add(self, instance: Instance, made: Made) -> None:
        if len(self.instances) >= MAX_INSTANCES:
            raise TooManyInstancesError
        self.instances.append(instance)
        self.made.append(made if self.times == 1 else msgspec.structs.replace(made, times=self.times))

    def everybody(self) -> frozenset[str]:
        return frozenset(self.policy.parties)

    def local(
        self,
        fn: str,
        operands: list[Held],
        values: tuple[int, ...],
        types: tuple[TensorType, ...],
        parties: tuple[str, ...],
    ) -> None:
        """A step that each of `parties` does by itself."""
        pairs = zip(values, types, strict=True)
        names = tuple((self.name(value), self.number(type_)) for value, type_ in pairs)
        self.add(local_instance(fn, operands, names, parties), Made(values[0] if values else -1))
        secrets = frozenset(s for held in operands for s in held.secrets)
        known = self.known_with(operands)
        for value, type_, (name, own) in zip(values, types, names, strict=True):
            self.types[value] = type_
            self.values[value] = Held(name, own, p.Clear(parties), secrets, known)

    def known_with(self, operands: list[Held]) -> frozenset[str]:
        """Who may know whatever follows from these."""
        known = frozenset(self.parties)
        for held in operands:
            if not isinstance(held.holding, p.Public):
                known &= held.known
        return known

    def broken(self, values: tuple[int, ...], types: tuple[TensorType, ...]) -> None:
        """Results about which an error was reported already; the composition is not all of the stage any more."""
        self.incomplete = True
        for value, type_ in zip(values, types, strict=True):
            self.types[value] = type_
            self.values[value] = Held(
                self.name(value), p.TensorType(OPAQUE, type_.shape), p.Public(), broken=True
            )

    # ---- who may learn what ----
    def arrive(self, value: int, held: Held, subject: int, part: str = "using") -> Held:
        """A value that lies in the clear at parties: each may know it, or learn it, or it is a finding."""
        for party in held.holding.parties if isinstance(held.holding, p.Clear) else ():
            if party in held.known or party not in self.policy.parties:
                continue
            if not self.may_learn(party, value):
                self._refuse_learning(party, value, held, subject, part)
            self.outputs[held.name, party] = p.Output(held.name, held.type, p.Clear((party,)))
            held = msgspec.structs.replace(held, known=held.known | {party})
        return held

    def may_learn(self, party: str, value: int) -> bool:
        words = self.policy.learns.get(party, ())
        named = self.plain(value) in words and self.plain(value) not in RESERVED
        return named or ("results" in words and (value, party) in self.results)

    def _refuse_learning(self, party: str, value: int, held: Held, subject: int, part: str) -> None:
        name, secrets = self.plain(value), ", ".join(f"`{s}`" for s in sorted(held.secrets)) or "secrets"
        what = "results" if (value, party) in self.results else name
        self.gaps.refuse(
            "placement.learns",
            subject,
            f"`{party}` gets `{name}`, which depends on {secrets}, and `{self.policy.name}` does not let it learn that",
            f"keep it shared or masked, or write `learns {party}: [{what}]` in the policy",
            part,
            self.policy.origin,
        )


def taking_part(roles: Mapping[str, str]) -> set[str]:
    """The parties of a step; a primitive is none."""
    return {party for party in roles.values() if not party.startswith(IDEAL)}
