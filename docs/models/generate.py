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
from tests.models.tiny_configs import CHANGES, TINY  # noqa: E402
from tests.models_text.test_meaning import FAMILIES as WRITTEN  # noqa: E402

HERE = Path(__file__).parent
NOTICE = "<!-- Written by docs/models/generate.py. Do not edit. -->\n"
TESTS = "tests/models/"

CHECKED: dict[str, str] = {
    ADAPTERS[model_type][0]: "in the clear (tests/models_text)" for model_type, _ in WRITTEN
}
"""Families whose text is checked, with the test that does it."""
EXECUTABLE: dict[str, str] = {}
"""Families of which a locked plan is run, with the test that does it."""


def main() -> int:
    pages = {"status.md": status(), "parameters.md": parameters(), "keys.md": keys()}
    if "--check" not in sys.argv[1:]:
        for name, text in pages.items():
            (HERE / name).write_text(text, "utf-8")
        return 0
    stale = [name for name, text in pages.items() if (HERE / name).read_text("utf-8") != text]
    print("\n".join(f"docs/models/{name} is stale: run python docs/models/generate.py" for name in stale))
    return int(bool(stale))


def status() -> str:
    """A row a family, then the refused configs with their reasons."""
    lowered: dict[str, int] = defaultdict(int)
    refused: list[tuple[str, str, str]] = []
    for file in sorted(index()):
        try:
            graph = lower_model(
                (DATA / "real" / file).read_bytes(), batch=1, max_input_tokens=16, max_new_tokens=4
            ).graph
            lowered[graph.config.family] += 1
        except LoweringError as error:
            refused.append((index()[file]["hf"], error.code, str(error)))
    rows = [row(family, lowered[family]) for family in sorted({name for name, _ in ADAPTERS.values()})]
    columns = "family | `model_type` | published configs lowered | compared with transformers"
    head = f"| {columns} | keys changed in turn | checked | executable |"
    return "\n".join(
        [
            NOTICE,
            "# Status of every model family",
            "",
            f"{sum(lowered.values())} of {len(index())} published configs are lowered"
            f" ({TESTS}test_published_configs.py).",
            "A family is *compared* where a tiny random model of it gives the same logits in transformers"
            " 5.24 and in our"
            " numpy reference of the graph, within 1e-4, for prefill and three decode steps"
            f" ({TESTS}test_against_transformers.py). A family that is not compared is lowered from its"
            " published code or"
            " description, and no run has confirmed the graph.",
            "",
            head,
            "|---|---|---|---|---|---|---|",
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


def row(family: str, configs: int) -> str:
    types = sorted(name for name, (owner, _) in ADAPTERS.items() if owner == family)
    compared = [name for name in types if name in TINY]
    changed = sum(len(CHANGES.get(name, ())) for name in types)
    cells = [
        family,
        ", ".join(f"`{name}`" for name in types),
        str(configs) if configs else "none published here",
        ", ".join(f"`{name}`" for name in compared) or "no",
        str(changed) if changed else "none",
        CHECKED.get(family, "not yet"),
        EXECUTABLE.get(family, "not yet"),
    ]
    return "| " + " | ".join(cells) + " |"


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
