"""Replay: the claims that a policy requires of components, and what it lets nobody take for granted.

In: a plan whose bounds were walked. A claim is met by an assurance record in the lock: about this component in this version, with an
outcome that the policy accepts. Out: the obligations met, with the record that each rests on in `walked.told`; ReplayError where
one is not. That a record is right is its author's word; which records are the library's, the command says.
"""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.artifacts.replay.assuming import rests_on
from pllm_lang.artifacts.replay.kernels import words
from pllm_lang.artifacts.replay.refusal import need
from pllm_lang.artifacts.replay.walked import Found, Walked, component_at, record
from pllm_lang.catalog.expr import Apply, Expr, ListOf, Ref, Text
from pllm_lang.catalog.records import ClaimRule, Policy, Record

SORTS = {
    "bounds.overflow": "assumed_ranges",
    "bounds.contradiction": "assumed_ranges",
    "bounds.stated_range": "calibrated_ranges",
}
"""The word of `forbids [...]` for what these obligations take for granted."""
CONTRARY = "refuted"
SUFFICIENT = ("proved", "proved_in_model", "tested", "reviewed")
"""Outcomes that a policy accepts where it names none."""


def assured(walked: Walked) -> set[Found]:
    policy = walked.lock.documents.policy
    if policy is None:
        return set()
    _nothing_forbidden(walked, policy)
    return _claimed(walked, policy) | _apart(walked, policy) | _against_others(walked, policy)


def _nothing_forbidden(walked: Walked, policy: Policy) -> None:
    """No bound rests on an assumption of a forbidden sort, no protocol on a primitive where these are forbidden."""
    for code, _, text in sorted(walked.told):
        _need(SORTS.get(code) not in policy.forbids, f"the policy forbids to take for granted: {text}")
    for text in walked.lock.documents.protocols if "unproved_primitives" in policy.forbids else ():
        rests = text.component and rests_on(text.protocol)
        _need(not rests, f"`{text.protocol.name}` rests on a primitive, which the policy forbids")


def _need(holds: object, text: str) -> None:
    need(holds, "certificate.policy", text)


def _apart(walked: Walked, policy: Policy) -> set[Found]:
    """Parties on machines of their own, where the policy asks for that."""
    experiment = walked.lock.documents.experiment
    if experiment is None or experiment.deployment is None or "local_deployment" not in policy.forbids:
        return set()
    apart = experiment.deployment.kind != "local"
    _need(apart, "all parties run on one machine, which the policy forbids")
    return {("assurance.local_deployment", -1, "step")}


# ---- claims ----
def _claimed(walked: Walked, policy: Policy) -> set[Found]:
    """Of every component that a step names with `using`, about the first value that one of its steps makes."""
    first: dict[str, int] = {}
    for step, _ in walked.ran if policy.claims else ():
        if step.use is not None:
            first.setdefault(step.use.key, step.results[0])
    stated = {
        (about, one)
        for duty in walked.lock.documents.certificate.duties
        if duty.code == "assurance.missing"
        for one in duty.assumed
        for about in duty.about
    }
    found: set[Found] = set()
    for key, about in first.items():
        for rule in policy.claims:
            shown = sorted(_records_for(walked, key, rule))
            what = f"`{rule.claim}` of `{key.rpartition('.')[2]}`"
            _need(shown, f"the policy requires {what}, and no record in the lock shows it")
            named = next((one for one in shown if (about, one) in stated), shown[0])
            walked.told.add(("assurance.missing", about, named))
            found.add(("assurance.missing", about, ""))
    return found


def _records_for(walked: Walked, key: str, rule: ClaimRule) -> list[str]:
    """What is taken for granted where the claim is met by this record or that; none counts where one shows the contrary."""
    about = [one for one in _records(walked, key) if _text(one.fields.get("claim")) == rule.claim]
    if CONTRARY not in rule.outcomes and any(_word(one, "outcome") == CONTRARY for one in about):
        return []
    used = [dict(step.use.params) for step, _ in walked.ran if step.use is not None and step.use.key == key]
    accepted = [
        one
        for one in about
        if _word(one, "outcome") in (rule.outcomes or SUFFICIENT)
        and (not rule.refinements or _word(one, "refinement") in rule.refinements)
        and all(_is_about(one.fields.get("of"), key, params) for params in used)
    ]
    return [f"{rule.claim} of `{key.rpartition('.')[2]}` ({one.name})" for one in accepted]


def _records(walked: Walked, key: str) -> Iterator[Record]:
    """Assurance records about a component in its version."""
    component = component_at(walked, key)
    for one in (record(walked, own) for own in walked.lock.documents.records):
        if isinstance(one, Record) and one.kind == "assurance":
            named = {name for name, _ in _subjects(one.fields.get("of"))}
            if key in named and _text(one.fields.get("version")) in ("", component.version):
                yield one


def _word(one: Record, field: str) -> str:
    return next(words(one.fields.get(field)), "")


def _subjects(of: Expr | None) -> Iterator[tuple[str, tuple[tuple[str, Expr], ...] | None]]:
    """What a record is about: a component, and the parameters that it is about; None for a form that has no meaning."""
    for one in of.items if isinstance(of, ListOf) else (of,):
        if isinstance(one, Ref):
            yield one.name, ()
        elif isinstance(one, Apply):
            yield one.fn, None if one.args else one.named


def _is_about(of: Expr | None, key: str, params: dict[str, Expr]) -> bool:
    """Whether a record of `component(bits: 32)` is about a use with these parameters."""
    return any(
        name == key and own is not None and all(params.get(param) == value for param, value in own)
        for name, own in _subjects(of)
    )


def _text(expr: Expr | None) -> str:
    return expr.value if isinstance(expr, Text) else ""


# ---- adversaries that do not follow the text ----
def _against_others(walked: Walked, policy: Policy) -> set[Found]:
    """A proof of views is about parties that follow the text. Against others every component has to be declared secure, and
    the policy to require the claim that assurance records then meet; so has every primitive."""
    found: set[Found] = set()
    for kind in sorted({rule.kind for rule in policy.adversaries} - {"semi_honest"}):
        claimed = any(rule.claim == f"{kind}-security" and rule.outcomes for rule in policy.claims)
        _need(claimed, f"the policy requires no claim of security against {kind} parties")
        for key, about in _last_uses(walked).items():
            component = component_at(walked, key)
            _need(kind in component.adversaries, f"`{key}` is not said to be secure against {kind} parties")
            text = f"security of `{component.name}` against {kind} parties, by its assurance record"
            walked.told.add(("placement.adversary", about, text))
            found.add(("placement.adversary", about, ""))
        ideals = [one.ideal for text in walked.lock.documents.protocols for one in text.protocol.parties]
        for ideal in ideals:
            if ideal is not None:
                strong = ideal.adversary != "semi_honest"
                _need(strong, f"`{ideal.name}` is not assumed against {kind} parties")
    return found


def _last_uses(walked: Walked) -> dict[str, int]:
    """The component of each text, with the first value of the last step that runs it."""
    documents = walked.lock.documents
    return {
        documents.protocols[use.protocol].component: walked.every[use.step].results[0]
        for program in documents.programs
        for use in program.runs
        if documents.protocols[use.protocol].component and use.step >= 0
    }
