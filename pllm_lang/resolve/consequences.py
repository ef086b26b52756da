"""What follows from a name that is misspelt elsewhere: told there, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from pllm_lang.resolve.suggest import meant
from pllm_lang.text.finding import Finding

NOT_DECLARED = "declares no `"
"""How an import of a name is refused that its module does not have (`scope.py`)."""


def without_misspelt_uses(findings: Iterable[Finding]) -> list[Finding]:
    """The findings but for `names.unused` of a name that a `names.unknown` of the same file probably means, and for
    `names.unknown` of a name that a misspelt import of the same file probably means: that error stays."""
    found = list(findings)
    wanted: set[tuple[str, str]] = set()
    imported: set[tuple[str, str]] = set()
    for one in found:
        name = meant(one.help) if one.code == "names.unknown" else None
        if name is not None:
            wanted.add((one.span.file, name.name))
            if NOT_DECLARED in one.message:
                imported.add((one.span.file, name.name))
    return [one for one in found if not _follows(one, wanted, imported)]


def _follows(one: Finding, wanted: set[tuple[str, str]], imported: set[tuple[str, str]]) -> bool:
    if one.code == "names.unused":
        return (one.span.file, _unused(one)) in wanted
    return one.code == "names.unknown" and (one.span.file, one.data.get("name", "")) in imported


def _unused(finding: Finding) -> str:
    """The name that the message of `names.unused` quotes."""
    _, _, rest = finding.message.partition("`")
    return rest.partition("`")[0]
