"""What a lock and its certificate hold, as data: shared by those that write them and the one that replays them.

Numbers that may be large or broken are exact text. Instances, protocols and steps are told by their places in the lists
of the lock. Nothing here decides anything.
"""

from __future__ import annotations

from typing import TypeAlias, final

import msgspec

from pllm_lang.catalog.records import Component, Holding, Kernel, Operator, Policy, Record
from pllm_lang.ir import protocol as p
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import Plan

LOCK = "pllm.lang.lock.v1"
CERTIFICATE = "pllm.lang.certificate.v1"


class Filed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A record under the word for its kind: one of these."""

    operator: Operator | None = None
    component: Component | None = None
    holding: Holding | None = None
    kernel: Kernel | None = None
    record: Record | None = None


# ---- what each party runs ----
@final
class Use(msgspec.Struct, frozen=True, array_like=True, tag_field="form", tag="use"):
    """One use of a protocol. `step` counts the plan's steps in the order written (-1: it moves or changes a value that a
    step takes, without being one); `inputs` and `outputs` pair a name of the protocol with a value of the stage; `times` is
    how many equal turns of repeats it stands for."""

    protocol: int
    step: int
    roles: tuple[tuple[str, str], ...]
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    times: int = 1


class Alone(msgspec.Struct, frozen=True, array_like=True, tag_field="form", tag="alone"):
    """A step that each of `parties` does by itself, of operands that it has: the step's operator, and no text beside it.
    `inputs` and `results` are values of the stage, in the step's order."""

    parties: tuple[str, ...]
    step: int
    inputs: tuple[str, ...]
    results: tuple[str, ...]
    times: int = 1


class Embed(msgspec.Struct, frozen=True, array_like=True, tag_field="form", tag="embed"):
    """A value in the clear taken as numbers of another kind, under another name, by everybody that has it."""

    parties: tuple[str, ...]
    value: str
    name: str
    number: p.Number
    times: int = 1


AnyUse: TypeAlias = Use | Alone | Embed


class Program(msgspec.Struct, frozen=True):
    """A stage as its parties run it, repeats unrolled, or `folded`: then the second turn of a repeat stands for all later ones.
    `outputs` are what parties may get in the clear, and what is kept."""

    stage: str
    parties: tuple[p.Party, ...]
    inputs: tuple[p.Input, ...]
    outputs: tuple[p.Output, ...]
    uses: tuple[AnyUse, ...]
    folded: bool = False

    @property
    def runs(self) -> list[Use]:
        """Those of its uses that run a text. Most are others, of which `isinstance` is slow to say so."""
        return [use for use in self.uses if type(use) is Use]


class Text(msgspec.Struct, frozen=True, array_like=True):
    """A protocol with its component's key, "" for one that moves a value: shares it, shows it, takes entries of its pieces."""

    component: str
    protocol: p.Protocol


# ---- the certificate ----
class Row(msgspec.Struct, frozen=True, array_like=True):
    """What is known of one result: exact text, "" where nothing is. Norms of rows and columns; the L2 ones squared.

    `unit`: every entry is a whole multiple of it. `rule` is what gave the range.
    """

    low: str = ""
    high: str = ""
    row2: str = ""
    row1: str = ""
    col2: str = ""
    col1: str = ""
    unit: str = ""
    rule: str = ""


class Met(msgspec.Struct, frozen=True, array_like=True):
    """What is known of the results of a step in some turn of its repeats; equal turns are written once."""

    step: int
    results: tuple[Row, ...]


class Duty(msgspec.Struct, frozen=True, array_like=True):
    """An obligation that is proved: `code`, about each of the values `about` of the plan (-1: about all of it, told apart by
    `part`), and what it takes for granted of each."""

    code: str
    about: tuple[int, ...]
    part: str = ""
    assumed: tuple[str, ...] = ()


class Move(msgspec.Struct, frozen=True, array_like=True):
    """One use of the view rule: message `term` reads `divided * (coefficient * draw + rest)` modulo `modulus`; with a
    `distance` above 0 it is an integer mask that hides up to 2^-distance an entry."""

    term: int
    draw: str
    coefficient: str
    divided: str
    modulus: str
    distance: int = 0


class Seen(msgspec.Struct, frozen=True, array_like=True):
    """What a coalition sees of a protocol (`where` counts protocols, members are roles) or, `whole`, of a stage (`where`
    counts stages, members are parties): the moves that take every secret out."""

    whole: bool
    where: int
    members: tuple[str, ...]
    moves: tuple[Move, ...]


class Certificate(msgspec.Struct, frozen=True):
    """`about` are the digests of what was checked. `parts` are the coalitions of a stage whose view is proved by parts."""

    schema: str
    about: dict[str, str]
    met: tuple[Met, ...]
    duties: tuple[Duty, ...]
    seen: tuple[Seen, ...]
    parts: tuple[tuple[int, tuple[str, ...]], ...]
    assumed: tuple[str, ...]


# ---- the lock ----
class Compiler(msgspec.Struct, frozen=True):
    id: str
    version: str


class Documents(msgspec.Struct, frozen=True):
    """`names` are what the plan calls its values, which a policy speaks of; `policy` is the one in force."""

    ir: Plan
    names: dict[str, str]
    policy: Policy | None
    experiment: Experiment | None
    records: dict[str, Filed]
    protocols: tuple[Text, ...]
    programs: tuple[Program, ...]
    certificate: Certificate


class Digests(msgspec.Struct, frozen=True):
    """Hex SHA-256. `plan` is the digest of the plan's meaning, whatever its values are called."""

    plan: str
    ir: str
    names: str
    policy: str
    experiment: str
    certificate: str
    records: dict[str, str]
    protocols: tuple[str, ...]
    programs: dict[str, dict[str, str]]
    modules: dict[str, str]
    files: dict[str, str]


class Lock(msgspec.Struct, frozen=True):
    """`plan_lock_digest` is over everything else: what parties compare before they start. `output_errors` bound how far an
    output is from its real-valued meaning ("" unknown), `failure` how likely one run is wrong: said by the verifier, and not
    part of what a certificate shows."""

    schema: str
    name: str
    kind: str
    compiler: Compiler
    input_shapes: dict[str, tuple[int, ...]]
    output_shapes: dict[str, tuple[int, ...]]
    output_errors: dict[str, str]
    failure: str
    components: dict[str, tuple[str, str]]
    digests: Digests
    documents: Documents
    plan_lock_digest: str
