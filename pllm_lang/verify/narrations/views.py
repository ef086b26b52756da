"""What every coalition sees of a stage: proved by the parts or as one text, at the step whose message tells.

In: a composed stage and a coalition. Out: the view, and an obligation about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pllm_lang.catalog.expr import NOWHERE, Origin
from pllm_lang.ir import protocol as p
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.narrations.composing import Composed
from pllm_lang.verify.narrations.gaps import Gaps
from pllm_lang.verify.narrations.told import leak_data, leak_message, leak_notes, line_of
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.protocol.compose import prove_by_parts, prove_composed_view
from pllm_lang.verify.protocol.prove import prove_protocol
from pllm_lang.verify.protocol.report import View

MAX_INLINED = 120
"""Instances of a composition that is looked at as one text; a longer one has to be proved by its parts."""

LEAK_HELP = (
    "bind the roles to parties that do not collude, use material once, or let the policy say what is learnt"
)


def judge_view(stage: Composed, view: View, whole: bool, gaps: Gaps) -> None:
    """`whole` says that the composition is all of the plan; a proof about less proves nothing."""
    coalition = frozenset(view.coalition)
    who = " and ".join(f"`{party}`" for party in sorted(coalition))
    if view.verdict is Verdict.PROVED:
        if whole:
            evidence = (f"{who}: {view.reason or 'the stage as one text'}",)
            gaps.add(
                Obligation(
                    "placement.leak", Verdict.PROVED, -1, part=f"{stage.stage} {who}", evidence=evidence
                )
            )
        return
    out_of_reach = view.verdict is Verdict.UNPROVED and not view.stuck
    if len(stage.whole.instances) > MAX_INLINED or (out_of_reach and whole):
        _at_fault(stage, coalition, who, gaps)
    elif view.verdict is Verdict.REFUTED or whole:
        gaps.add(_leak(stage, view))


def _at_fault(stage: Composed, coalition: frozenset[str], who: str, gaps: Gaps) -> None:
    """Where a stage is too long to be looked at as one text: the protocols without a proof of their own for the roles."""
    seen: set[tuple[p.Protocol, tuple[str, ...]]] = set()
    found = False
    for instance, made in zip(stage.whole.instances, stage.made, strict=True):
        roles = tuple(sorted(role for role, party in instance.roles if party in coalition))
        if not made.key or (instance.protocol, roles) in seen:
            continue
        seen.add((instance.protocol, roles))
        view = prove_protocol(instance.protocol, (roles,)).views[0]
        if view.verdict is not Verdict.PROVED or not _exact(instance.protocol):
            found = True
            why = leak_message(view) if view.verdict is not Verdict.PROVED else "its result rounds"
            gaps.leave(
                "placement.leak",
                made.subject,
                f"what {who} sees is not proved here: {why}",
                LEAK_HELP,
                "using",
            )
    if not found:
        where = f"the stage `{stage.stage}`" if stage.stage else "the plan"
        text = f"what {who} sees over {where} is not proved: shares that are opened may not be fresh"
        gaps.leave("placement.leak", -1, text, LEAK_HELP, f"{stage.stage} {who}")


def view_of(stage: Composed, coalition: frozenset[str]) -> View:
    """How the view of a coalition over a stage ended."""
    members = tuple(sorted(coalition))
    if stage.shared_state >= 0 and not all(map(_exact, {i.protocol for i in stage.whole.instances})):
        text = "a shared state is read and written beside results that round, which no proof covers"
        return View(members, Verdict.UNPROVED, reason=text)
    if stage.folds:
        return prove_by_parts(stage.whole, coalition, folds=stage.folds, again=stage.again)
    short = len(stage.whole.instances) <= MAX_INLINED
    return (prove_composed_view if short else prove_by_parts)(stage.whole, coalition)


def as_one_text(stage: Composed, coalition: frozenset[str]) -> View | None:
    """The view of the whole stage written out, where it is short enough, without folded turns, and proved like this."""
    if stage.folds or len(stage.whole.instances) > MAX_INLINED:
        return None
    view = prove_composed_view(stage.whole, coalition, look_for_leaks=False, by_parts=False)
    return view if view.verdict is Verdict.PROVED else None


def _exact(protocol: p.Protocol) -> bool:
    return not any(o.scale_bits or o.error for o in protocol.outputs)


def _leak(stage: Composed, view: View) -> Obligation:
    """At the step whose message comes last; messages are named by their steps."""
    leak = view.leak
    text = leak.combination if leak is not None else " ".join(view.stuck[:1])
    numbers = [int(n) for n, _ in _MESSAGE.findall(text)]
    last = max((n for n in numbers if n < len(stage.made)), default=-1)
    made = stage.made[last] if last >= 0 else None
    names = {name for n, name in _MESSAGE.findall(text) if int(n) == last}
    notes = tuple(_named(note, stage) for note in leak_notes(view))
    data = leak_data(view)
    return Obligation(
        "placement.leak",
        view.verdict,
        made.subject if made is not None else -1,
        _named(leak_message(view), stage),
        "using",
        term=_named(data.get("term", ""), stage),
        clause=_line(stage, last, names) if made is not None else NOWHERE,
        reason="sent by this line",
        witness=(_named(data["witness"], stage),) if "witness" in data else (),
        notes=(*notes, *_others(stage, numbers, last)),
        help=LEAK_HELP,
    )


_MESSAGE = re.compile(r"\b(\d+):(\w+(?:\.\w+)?)")
_PREFIX = re.compile(r"\b(\d+):")


def _named(text: str, stage: Composed) -> str:
    """Names of the inlined text (`3:u`) as those of the plan (`gate.u`)."""

    def of_step(found: re.Match[str]) -> str:
        number = int(found[1])
        outputs = stage.whole.instances[number].outputs if number < len(stage.whole.instances) else ()
        return f"{outputs[0][1]}." if outputs else found[0]

    return _PREFIX.sub(of_step, text)


def _line(stage: Composed, number: int, names: set[str]) -> Origin:
    """Where one of these messages of an instance is written."""
    body = stage.whole.instances[number].protocol.body
    sends = tuple(st.origin for st in body if isinstance(st, p.Send) and st.name in names)
    return line_of(sends[-1:], stage.made[number].origins)


def _others(stage: Composed, numbers: list[int], last: int) -> Iterator[str]:
    for number in sorted(set(numbers) - {last}):
        if number < len(stage.whole.instances):
            instance = stage.whole.instances[number]
            yield f"with messages of `{instance.protocol.name}` at `{instance.outputs[0][1]}`"
