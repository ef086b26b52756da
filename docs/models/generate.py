"""Writes the generated pages of this folder: the status of every family, parameter counts, and the keys of a
config.

python docs/models/generate.py            writes the pages
python docs/models/generate.py --check    fails where a page is not what it would write

In: the published configs of `tests/data/configs` and the tests' own tables. Out: `status.md`,
`parameters.md`, `keys.md`.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pllm_lang.models import LoweringError, lower_model  # noqa: E402
from pllm_lang.models.families import ADAPTERS  # noqa: E402
from pllm_lang.models.irrelevant_keys import IRRELEVANT_KEYS  # noqa: E402
from pllm_lang.models.wrappers import DEFAULT_TEXT_TYPES  # noqa: E402
from tests.models.published import DATA, index  # noqa: E402
from tests.models.test_parameter_counts import EXCEPTIONS, STATED, counts, unit  # noqa: E402
from tests.models.test_protected import PROTECTED  # noqa: E402
from tests.models.tiny_configs import CHANGES, TINY  # noqa: E402
from tests.models_text.test_meaning import FAMILIES as MEANT  # noqa: E402
from tests.models_text.test_published import lowered_configs  # noqa: E402

HERE = Path(__file__).parent
NOTICE = "<!-- Written by docs/models/generate.py. Do not edit. -->\n"
TESTS = "tests/models/"

EXECUTED: dict[str, str] = {}
"""Types of models of which a locked plan is run between parties, with the test that does it."""


def main() -> int:
    pages = {"status.md": status(), "parameters.md": parameters(), "keys.md": keys()}
    if "--check" not in sys.argv[1:]:
        for name, text in pages.items():
            (HERE / name).write_text(text, "utf-8")
        return 0
    stale = [name for name, text in pages.items() if (HERE / name).read_text("utf-8") != text]
    print("\n".join(f"docs/models/{name} is stale: run python docs/models/generate.py" for name in stale))
    return int(bool(stale))


COLUMNS = {
    "family": "",
    "`model_type`": "",
    "lowered": "published configs lowered, of those there are: `tests/models/test_published_configs.py`",
    "written as text": "published configs printed by `pllm lower`, checked without a finding, and lowered to the same digest"
    " again: `tests/models_text/test_published.py`",
    "text means the graph": "types whose text and graph give the same logits: `tests/models_text/test_meaning.py`",
    "protected": "types whose tiny model is accepted behind masked linear layers: `tests/models/test_protected.py`",
    "executable": "types of which a locked plan is run between parties; no test does that yet",
    "compared": "types whose graph gives the logits of transformers 5.24 within 1e-4, for prefill and three decode steps:"
    " `tests/models/test_against_transformers.py`",
    "keys changed": "keys of a config whose change changes both alike, in the same test",
}
"""Columns of the matrix, with what a cell says and the test that shows it."""


def status() -> str:
    """What each column says, a row a family, then the refused configs with their reasons."""
    lowered: dict[str, int] = defaultdict(int)
    written: dict[str, int] = defaultdict(int)
    refused: list[tuple[str, str, str]] = []
    printed = set(lowered_configs())
    for file in sorted(index()):
        try:
            graph = lower_model(
                (DATA / "real" / file).read_bytes(), batch=1, max_input_tokens=16, max_new_tokens=4
            ).graph
        except LoweringError as error:
            refused.append((index()[file]["hf"], error.code, str(error)))
            continue
        lowered[graph.config.family] += 1
        written[graph.config.family] += file in printed
    families = sorted({name for name, _ in ADAPTERS.values()})
    rows = [row(family, lowered[family], written[family]) for family in families]
    legend = [f"- *{name}*: {said}" for name, said in COLUMNS.items() if said]
    return "\n".join(
        [
            NOTICE,
            "# Status of every model family",
            "",
            f"{sum(lowered.values())} of {len(index())} published configs are lowered, {sum(written.values())} of them"
            " are written as text. Every cell comes from a test's own table, and a test holds this page against them:",
            "",
            *legend,
            "",
            "A family that is not compared is lowered from its published code or description, and no run has confirmed"
            " the graph.",
            "",
            "| " + " | ".join(COLUMNS) + " |",
            "|" + "---|" * len(COLUMNS),
            *rows,
            "",
            "Text decoders in a section of their own are lowered for these wrappers: "
            + ", ".join(f"`{name}`" for name in sorted(DEFAULT_TEXT_TYPES))
            + ".",
            "",
            "## Refused configs",
            "",
            "| config | code | reason |",
            "|---|---|---|",
            *(f"| {name} | `{code}` | {reason} |" for name, code, reason in refused),
            "",
        ]
    )


def row(family: str, lowered: int, written: int) -> str:
    types = sorted(name for name, (owner, _) in ADAPTERS.items() if owner == family)
    meant = {name for name, _ in MEANT}
    changed = sum(len(CHANGES.get(name, ())) for name in types)
    cells = [
        family,
        named(types),
        str(lowered) if lowered else "none published here",
        str(written) if lowered else "none published here",
        named([name for name in types if name in meant]),
        named([name for name in types if name in PROTECTED]),
        named([name for name in types if name in EXECUTED]),
        named([name for name in types if name in TINY]),
        str(changed) if changed else "none",
    ]
    return "| " + " | ".join(cells) + " |"


def named(types: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in types) or "no"


def parameters() -> str:
    """Counts of the graph beside the names' counts."""
    lines = [
        NOTICE,
        "# Parameter counts",
        "",
        "The count of a graph's weights, beside the count in the model's name (in billions). They agree"
        " where they differ by"
        " less than one unit of the name's last digit, with the embedding table or without it; names"
        " follow both customs."
        f" Test: {TESTS}test_parameter_counts.py.",
        "",
        "| config | in the name | all weights | without the embedding table | agrees |",
        "|---|---|---|---|---|",
    ]
    for file in sorted(set(STATED) - set(EXCEPTIONS)):
        total, rest = counts(file)
        with_table = abs(total - STATED[file]) < unit(STATED[file])
        which = "yes" if with_table else "without the table"
        stated = f"{float(STATED[file]):g}"
        lines.append(
            f"| {index()[file]['hf']} | {stated} | {float(total):.3f} | {float(rest):.3f} | {which} |"
        )
    lines += ["", "## Exceptions", "", "| config | in the name | cause |", "|---|---|---|"]
    lines += [
        f"| {index()[file]['hf']} | {float(STATED[file]):g} | {cause} |" for file, cause in EXCEPTIONS.items()
    ]
    return "\n".join([*lines, ""])


def keys() -> str:
    """What happens to a key of a config, and the keys known not to matter."""
    groups: dict[str, list[str]] = defaultdict(list)
    for key, reason in IRRELEVANT_KEYS.items():
        groups[reason].append(key)
    lines = [
        NOTICE,
        "# Keys of a config",
        "",
        "Every key is read by the family's adapter, or stands in a list below, or gets a warning that"
        " names it"
        " (`config.unknown_key`). A key that the family does not look at, though others do, gets a warning"
        " too"
        " (`config.no_effect`). A value that the graph cannot represent is refused by name.",
        "",
    ]
    for reason, names in groups.items():
        lines += [
            f"## {reason[0].upper()}{reason[1:]}",
            "",
            ", ".join(f"`{name}`" for name in sorted(names)),
            "",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
