"""Random repeats over shared values: turns that hand on, delay, swap and drop what they were handed, and use it once or more.

`needs fresh` of `padded_add` is what a wrong proof would rest on: two uses of one sharing there tell `p2` a difference.
"""

from __future__ import annotations

from random import Random

HEAD = """pllm 1
import std.formats [ring64]
import std.holdings [additive]
import std.protocols [additive_share, additive_add, beaver_multiply]

policy four {
  parties [client, p0, p1, p2, dealer]
  adversary semi_honest corrupts 1 of [p0, p1, p2, dealer]
  learns client: [results, lengths]
  learns p0: [lengths]
  learns p1: [lengths]
  learns p2: [lengths]
  learns dealer: [lengths]
}

component padded_add = "test/padded-add" {
  kind: method
  version: "1"
  implements: add
  roles: [p0, p1, p2]
  adversaries: [semi_honest]
  protocol (x: F[...s] as additive(p0, p1), y: F[...s] from p0) -> (z: F[...s] as additive(p2, p1)) {
    online {
      needs fresh x
      p0: u = y + x.p0
      p0 -> p2: u
      p2: z.p2 = u
      p1: z.p1 = x.p1
    }
  }
}

block same (x: ring64[2]) -> (x) {}
"""


def random_plan(seed: int) -> str:
    """A plan `turns` with one repeat of TURNS turns, in which one may write more after `HEAD`."""
    rng = Random(seed)
    carried = [f"x{i}" for i in range(rng.randint(1, 4))]
    lines = ["plan turns under four {", "  input m: ring64[2] from p0 where abs(m) <= 1"]
    lines.append("  input n: ring64[2] from p0 where abs(n) <= 1")
    lines += [f"  input a{i}: ring64[2] from client where abs(a{i}) <= 1" for i in range(len(carried) + 1)]
    lines += [f"  {name} = share(a{i}) using additive_share" for i, name in enumerate(carried)]
    outer = "s"
    lines.append(f"  {outer} = share(a{len(carried)}) using additive_share")
    lines.append(f"  repeat i in 0..<TURNS carrying [{', '.join([*carried, 'm', 'n'])}] {{")
    lines += [f"    t{i} = same({name})" for i, name in enumerate(carried)]
    lines += ["    k = same(m)", "    m = same(n)", "    n = same(k)"]
    pool = [f"t{i}" for i in range(len(carried))]
    for number in range(rng.randint(1, 3)):
        lines += _line(rng, f"v{number}", pool, outer)
    lines += [f"    {name} = same({rng.choice(pool)})" for name in carried]
    lines.append("  }")
    if rng.random() < 0.3:
        lines.append(f"  after = add({rng.choice(carried)}, m) using padded_add")
    lines += ["  output m to p0", "}"]
    return "\n".join(lines) + "\n"


def _line(rng: Random, name: str, pool: list[str], outer: str) -> list[str]:
    """A step of a turn; what it makes is handed to later ones where it lies at `p0` and `p1`."""
    x, y = rng.choice(pool), rng.choice([*pool, outer] if rng.random() < 0.2 else pool)
    kind = rng.choice(["pad", "pad", "add", "mul", "share"])
    if kind == "pad":
        return [f"    {name} = add({x}, k) using padded_add"]
    pool.append(name)
    if kind == "share":
        return [f"    {name} = share(a0) using additive_share"]
    use = "additive_add" if kind == "add" else "beaver_multiply"
    return [f"    {name} = {'add' if kind == 'add' else 'mul'}({x}, {y}) using {use}"]
