"""Names that nothing uses because their use is misspelt: told by the unknown name, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from pllm_lang.resolve.suggest import meant
from pllm_lang.text.finding import Finding


def without_misspelt_uses(findings: Iterable[Finding]) -> list[Finding]:
    """The findings but for `names.unused` of a name that a `names.unknown` of the same file probably means."""
    found = list(findings)
    wanted = {
        (one.span.file, name.name)
        for one in found
        if one.code == "names.unknown" and (name := meant(one.help)) is not None
    }
    return [one for one in found if one.code != "names.unused" or (one.span.file, _unused(one)) not in wanted]


def _unused(finding: Finding) -> str:
    """The name that the message of `names.unused` quotes."""
    _, _, rest = finding.message.partition("`")
    return rest.partition("`")[0]
