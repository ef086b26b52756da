"""The plan, the machines and the prepared material are made for different rings."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.exact.number import Exact, exact
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.carrier import carrier_modulus
from pllm_lang.verify.hosting import ExperimentView, Host, steps_at
from pllm_lang.verify.obligation import Obligation

CODE = "target.ring"


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """Every ring that a step computes in is the one that the host's runtime and the stock were made for.

    Where a component has a protocol, `material.ring` compares each stock with the bundle that it holds.
    """
    stocks = {
        stock.key.rsplit(".", 1)[-1]: exact(stock.ring_bits)
        for stock in view.experiment.stocks
        if stock.ring_bits
    }
    for host in view.hosts:
        yield from _judge(host, view, stocks)


def _judge(host: Host, view: ExperimentView, stocks: dict[str, Exact]) -> Iterator[Obligation]:
    seen: set[tuple[int, bool]] = set()
    for met, step in steps_at(host, view):
        modulus = carrier_modulus(step, view.plan)
        apart = (
            view.plan.policy is not None
            and step.component is not None
            and step.component.protocol is not None
        )
        if modulus is None or (modulus, apart) in seen:
            continue
        seen.add((modulus, apart))
        bits = (modulus - 1).bit_length()
        rings: dict[str, Exact] = {"the plan computes in": bits}
        if host.ring_bits is not None:
            rings[f"`{host.target.name}` of `{host.party}` runs"] = host.ring_bits
        rings |= {} if apart else {f"the stock `{name}` was made for": ring for name, ring in stocks.items()}
        if len(rings) == 1:
            continue
        yield _obligation(met.step.results[0], rings, bits, host)


def _obligation(subject: int, rings: dict[str, Exact], bits: int, host: Host) -> Obligation:
    told = ", ".join(f"{who} {ring} bits" for who, ring in rings.items())
    if all(ring == bits for ring in rings.values()):
        return Obligation(CODE, Verdict.PROVED, subject, evidence=(told,))
    return Obligation(
        CODE,
        Verdict.REFUTED,
        subject,
        message=f"rings differ: {told}",
        value=str(bits),
        limit=", ".join(str(ring) for ring in list(rings.values())[1:]),
        term=host.party,
        help="compile, prepare and run for one ring",
    )
