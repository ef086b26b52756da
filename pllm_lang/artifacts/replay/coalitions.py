"""Replay: for each coalition and stage the view is proved, by its parts or of the whole stage as one text."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

from pllm_lang.artifacts.lock_data import Lock, Move, Program, Use
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay.holdings import placed_at
from pllm_lang.artifacts.replay.one_text import one_text
from pllm_lang.artifacts.replay.refusal import ReplayError, told
from pllm_lang.artifacts.replay.run import Run, run
from pllm_lang.artifacts.replay.view_rule import proves_view
from pllm_lang.catalog.records import Policy
from pllm_lang.ir import protocol as p

STATISTICAL = 40
MAX_USES_AS_ONE_TEXT = 120
MAX_COALITIONS = 4096


# ---- views ----
def coalitions(policy: Policy) -> list[tuple[str, ...]]:
    """Every set of parties that an adversary of the policy may corrupt."""
    found: dict[tuple[str, ...], None] = {}
    for rule in policy.adversaries:
        most = min(rule.count, len(rule.among))
        if sum(comb(len(rule.among), count) for count in range(1, most + 1)) > MAX_COALITIONS:
            raise ReplayError("certificate.beyond", f"more than {MAX_COALITIONS} coalitions may be corrupted")
        for count in range(1, most + 1):
            found |= dict.fromkeys(tuple(sorted(one)) for one in combinations(rule.among, count))
    if not found:
        raise ReplayError(
            "certificate.view", "the policy names nobody that may be corrupted, so nothing is proved of views"
        )
    return list(found)


def views_of_stages(
    lock: Lock, policy: Policy, runs: list[Run], folds: list[list[tuple[str, str]]]
) -> dict[str, Fraction]:
    documents, evidence = lock.documents, lock.documents.certificate
    own = {(one.whole, one.where, one.members): one.moves for one in evidence.seen}
    used: set[tuple[bool, int, tuple[str, ...]]] = set()
    if len(own) < len(evidence.seen) or len(set(evidence.parts)) < len(evidence.parts):
        raise ReplayError("certificate.view", "it has two proofs of one view")
    distances: dict[str, Fraction] = {}
    parts: set[tuple[int, tuple[str, ...]]] = set()
    for members in coalitions(policy):
        total = Fraction(0)
        for place, program in enumerate(documents.programs):
            if (place, members) in evidence.parts:
                parts.add((place, members))
                total += _by_parts(program, members, runs, own, used, folds[place])
            else:
                total += _as_one_text(lock, program, place, members, own, used)
        distances[told(members)] = total
    if used != set(own) or parts != set(evidence.parts):
        raise ReplayError("certificate.view", "it has proofs of views that the policy does not ask for")
    _distances(lock, policy, distances)
    return distances


Views = dict[tuple[bool, int, tuple[str, ...]], tuple[Move, ...]]


def _by_parts(
    program: Program,
    members: tuple[str, ...],
    runs: list[Run],
    own: Views,
    used: set[tuple[bool, int, tuple[str, ...]]],
    folds: list[tuple[str, str]],
) -> Fraction:
    """Every protocol by its own proof, each result exact, and nothing in the clear on the way but what is known or allowed."""
    coalition, distance = set(members), Fraction(0)
    known = {one.name for one in program.inputs if _gets(one.holding, coalition)}
    final = {one.name for one in program.outputs if _gets(one.holding, coalition)}
    done: dict[tuple[int, tuple[str, ...]], Fraction] = {}
    results: dict[tuple[int, Roles], tuple[Fraction, list[tuple[str, bool]]]] = {}
    for use in program.uses:
        run = runs[use.protocol]
        if (use.protocol, use.roles) not in results:
            each = _sees(use, run, coalition, own, used, done)
            results[use.protocol, use.roles] = each, _results(use, run, coalition)
        each, outputs = results[use.protocol, use.roles]
        distance += each * use.times if each else 0
        from_known, names = all(name in known for _, name in use.inputs), dict(use.outputs)
        for output, gets in outputs:
            name = names[output]
            if from_known or (gets and name in final):
                known.add(name)
            elif gets:
                raise ReplayError(
                    "certificate.beyond",
                    f"{told(members)} gets `{name}` on the way, and replay does not see why it may",
                )
    if any(before in known and after not in known for before, after in folds):
        raise ReplayError(
            "certificate.beyond",
            "later turns of a repeat begin with less known than the turn that stands for them",
        )
    return distance


Roles = tuple[tuple[str, str], ...]


def _sees(
    use: Use,
    run: Run,
    coalition: set[str],
    own: Views,
    used: set[tuple[bool, int, tuple[str, ...]]],
    done: dict[tuple[int, tuple[str, ...]], Fraction],
) -> Fraction:
    """The distance of what the coalition sees of one use, by the proof of its roles; uses in the same roles see the same."""
    roles = tuple(sorted(role for role, party in use.roles if party in coalition))
    key = (False, use.protocol, roles)
    if roles and (use.protocol, roles) not in done:
        if key not in own:
            raise ReplayError(
                "certificate.view", f"it has no proof of what {told(roles)} sees", run.protocol.name
            )
        used.add(key)
        done[use.protocol, roles] = proves_view(run, roles, own[key])
    return done.get((use.protocol, roles), Fraction(0))


def _results(use: Use, run: Run, coalition: set[str]) -> list[tuple[str, bool]]:
    """The results, all exact, and whether the coalition gets each."""
    if any(one.meaning is None or one.scale_bits or one.error for one in run.protocol.outputs):
        text = "a result that rounds is handed on in a proof by parts"
        raise ReplayError("certificate.view", text, run.protocol.name)
    roles = dict(use.roles)
    return [(one.name, _gets(placed_at(one.holding, roles), coalition)) for one in run.protocol.outputs]


def _gets(holding: p.Holding, coalition: set[str]) -> bool:
    match holding:
        case p.Public():
            return True
        case p.Clear():
            return bool(coalition & set(holding.parties))
        case p.Shared():
            return all(coalition & set(piece.holders) for piece in holding.pieces)


def _as_one_text(
    lock: Lock,
    program: Program,
    place: int,
    members: tuple[str, ...],
    own: Views,
    used: set[tuple[bool, int, tuple[str, ...]]],
) -> Fraction:
    key = (True, place, members)
    if key not in own:
        raise ReplayError(
            "certificate.view", f"it has no proof of what {told(members)} sees of stage `{program.stage}`"
        )
    if len(program.uses) > MAX_USES_AS_ONE_TEXT or program.folded:
        raise ReplayError("certificate.beyond", "the stage is too long to be followed as one text")
    used.add(key)
    return proves_view(run(one_text(lock, program)), members, own[key])


def _distances(lock: Lock, policy: Policy, distances: dict[str, Fraction]) -> None:
    """Statistical distances, over the budget where there is one, within what the policy asks."""
    asked = int(policy.security.get("statistical", STATISTICAL))
    experiment = lock.documents.experiment
    runs = 1
    for what in ("requests", "max_new_tokens") if experiment is not None else ():
        runs *= max(1, int(dict(experiment.budget).get(what, "1"))) if experiment is not None else 1
    for who, distance in distances.items():
        if not 0 <= asked <= n.MAX_BITS or distance * runs > Fraction(1, 1 << asked):
            raise ReplayError("certificate.view", f"what {who} sees is hidden by less than 2^-{asked}")
