"""`compile_plan`: a plan or an experiment of a file as an immutable, locked plan.

In: a path, and the name of a plan or experiment in it. Out: a `LockedPlan`, which nothing else can make, or `PlanRefused` with
every finding. The bytes of its lock are those that `pllm compile` writes.
"""

from __future__ import annotations

import os
from typing import Any, NoReturn

import msgspec

from pllm_lang.artifacts.lock import Compiled, compile_report
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.load import Opened, open_project
from pllm_lang.catalog.records import Record
from pllm_lang.ir.experiment import Experiment
from pllm_lang.resolve.modules import Module
from pllm_lang.sdk.view import Immutable, fill
from pllm_lang.syntax.nodes import Plan
from pllm_lang.syntax.parse import parse
from pllm_lang.text.finding import Finding
from pllm_lang.verify.check import PlanReport, no_errors
from pllm_lang.verify.experiments import check_declared, check_record


class PlanRefused(ValueError):
    """A plan that is not accepted, or is not there. `findings` have `code`, `message`, `help`, a place and a verdict."""

    def __init__(self, message: str, findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings


def compile_plan(path: str | os.PathLike[str], name: str = "", *, root: str | None = None) -> LockedPlan:
    """Lock the plan or experiment `name` of the file (which may be left out where the file has one).

    `root` is the folder of the project, by default the nearest one with a `pllm.toml` or `.git`, else the file's. Raises
    `PlanRefused` where there is no such plan, or anything about it is not proved.
    """
    file = os.fspath(path)
    opened = open_project([file], root or _root(file), None, parse)
    if not no_errors(opened.findings):
        raise PlanRefused(f"{file} has errors", tuple(opened.findings))
    (module,) = (opened.project.modules[one] for one in opened.project.main)
    report, experiment = _checked(opened, module, name, file)
    if not report.accepted:
        raise PlanRefused(f"`{report.name}` is not accepted", report.findings)
    plan = object.__new__(LockedPlan)
    fill(plan, _compiled=compile_report(report, opened.project, opened.library, experiment))
    return plan


def _root(file: str) -> str:
    folder = own = os.path.dirname(os.path.abspath(file))
    while True:
        if any(os.path.exists(os.path.join(folder, mark)) for mark in ("pllm.toml", ".git")):
            return folder
        if os.path.dirname(folder) == folder:
            return own
        folder = os.path.dirname(folder)


def _checked(opened: Opened, module: Module, name: str, file: str) -> tuple[PlanReport, Experiment | None]:
    plans = {decl.name.id: decl for decl in module.file.decls if isinstance(decl, Plan)}
    experiments = dict(_experiments(opened.library, module))
    known = [*plans, *experiments]
    wanted = name or (known[0] if len(known) == 1 else "")
    if wanted in plans:
        return check_declared(opened.project, opened.library, module, plans[wanted]), None
    if wanted in experiments:
        done = check_record(opened.project, opened.library, experiments[wanted])
        return done.report, done.experiment
    asked = f"no plan or experiment `{name}`" if name else "several plans, or none" if len(known) != 1 else ""
    raise PlanRefused(f"{file} holds {asked}; it holds: {', '.join(known) or 'none'}")


def _experiments(library: Library, module: Module) -> list[tuple[str, Record]]:
    records = (library.get(key) for key in library.keys("experiment"))
    return [(r.name, r) for r in records if isinstance(r, Record) and r.module == module.name]


class LockedPlan(Immutable):
    """An accepted plan or experiment with its lock. It cannot be constructed, changed, subclassed or unpickled."""

    __slots__ = ("_compiled",)
    _compiled: Compiled

    def __new__(cls, *_: object, **__: object) -> NoReturn:
        raise TypeError("a LockedPlan is made by compile_plan() only")

    def __init_subclass__(cls, **_: object) -> NoReturn:
        raise TypeError("LockedPlan cannot be subclassed: a plan is what compile_plan() made")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a LockedPlan cannot be pickled: keep the lock, and compile the plan again")

    @property
    def name(self) -> str:
        return self._compiled.lock.name

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of the one input; where there are several, see `input_shapes`."""
        return _only(self.input_shapes, "inputs")

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of the one output; where there are several, see `output_shapes`."""
        return _only(self.output_shapes, "outputs")

    @property
    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        return dict(self._compiled.lock.input_shapes)

    @property
    def output_shapes(self) -> dict[str, tuple[int, ...]]:
        return dict(self._compiled.lock.output_shapes)

    @property
    def plan_lock(self) -> bytes:
        """The lock, `pllm.lang.lock.v1`: what `pllm compile` writes."""
        return self._compiled.content

    @property
    def plan_lock_digest(self) -> str:
        """What parties compare before they start (64 hexadecimal digits)."""
        return self._compiled.lock.plan_lock_digest

    @property
    def digests(self) -> dict[str, Any]:
        """Digests of the documents in the lock, and of modules and files that it was made from."""
        return msgspec.to_builtins(self._compiled.lock.digests)

    @property
    def documents(self) -> dict[str, Any]:
        """The documents of the lock as JSON values of its own: changing them changes nothing else."""
        return msgspec.json.decode(self.plan_lock)["documents"]

    @property
    def role_programs(self) -> dict[str, dict[str, list[Any]]]:
        """Stage to party to what it runs, in order: uses of protocols in which it has a role, and steps that it does alone."""
        found: dict[str, dict[str, list[Any]]] = {}
        for program in self.documents["programs"]:
            for party in program["parties"]:
                own = [use for use in program["uses"] if party[0] in _players(use)]
                found.setdefault(program["stage"], {})[party[0]] = own
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LockedPlan) and self.plan_lock == other.plan_lock

    def __hash__(self) -> int:
        return hash(self.plan_lock_digest)

    def __repr__(self) -> str:
        return f"<LockedPlan {self.name}, lock {self.plan_lock_digest[:12]}>"


def _players(use: list[Any]) -> set[str]:
    return {who for _, who in use[3]} if use[0] == "use" else set(use[1])


def _only(shapes: dict[str, tuple[int, ...]], what: str) -> tuple[int, ...]:
    if len(shapes) != 1:
        raise ValueError(f"the plan has {len(shapes)} {what}: {', '.join(shapes)}")
    return next(iter(shapes.values()))
