"""Write `syntaxes/pllm.tmLanguage.json`: the words of the grammar of `.pllm` text, with the scopes that themes colour.

In: the literal words of `grammar/pllm.lark`. Out: the TextMate grammar. Every word of the language is in exactly one
group below, and `tests/system/test_vscode.py` sees that the file is what this program writes:

    python editors/vscode/make_grammar.py [--check]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pllm_lang.syntax.load_table import load_table

TARGET = Path(__file__).with_name("syntaxes") / "pllm.tmLanguage.json"

DECLARATIONS = [
    *(
        "assurance",
        "block",
        "component",
        "deployment",
        "experiment",
        "format",
        "holding",
        "kernel",
        "model",
        "operator",
    ),
    *("pipeline", "plan", "policy", "primitive", "stock", "suite", "sweep", "target"),
]
"""A line begins with it, and the declared name follows."""

STATEMENTS = [
    *(
        "adversary",
        "bundle",
        "claim",
        "const",
        "ensures",
        "facts",
        "forbids",
        "fresh",
        "import",
        "input",
        "intermediate",
    ),
    *(
        "learns",
        "means",
        "needs",
        "offline",
        "online",
        "output",
        "params",
        "parties",
        "pllm",
        "protocol",
        "repeat",
    ),
    *("requires", "stage", "state", "weight"),
]
"""A line begins with it (`claim` follows `requires`, `fresh` follows `needs`)."""

CLAUSES = {
    "as": "E", "assume": "E", "corrupts": "E", "where": "E",
    "from": r"\s+[A-Za-z_\[]", "to": "N", "under": "N", "using": "N", "via": "N", "per": "N", "tightens": "N",
    "by": "L", "carrying": "L", "of": "L",
    "shared": r"\s+by\b", "secret": r"\s+from\b", "else": r'\s*"', "public": r"(?!\s*[=:(.\[])",
}  # fmt: skip
"""Words inside a line and what follows them: an expression, a name, a list, or as the pattern says."""

FOLLOWED = {"E": r"\s+[\w(\[{\"-]", "N": r"\s+[A-Za-z_]", "L": r"\s*\["}

OPERATORS = ["and", "in", "not", "or"]

NAME = "[A-Za-z_][A-Za-z0-9_]*"
NUMBER = r"[0-9][0-9_]*(?:\.[0-9]+)?"
NO_NAME_HERE = r"(?!\s*(?:=(?!=)|,|:|\.|\)|\]|$))"
"""What does not follow a word that is used as a keyword: such a word is a name (`state = ...`, `f(to, from)`)."""


def grammar() -> dict[str, object]:
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "pllm",
        "scopeName": "source.pllm",
        "fileTypes": ["pllm"],
        "patterns": [{"include": f"#{name}"} for name in _repository()],
        "repository": _repository(),
    }


def _repository() -> dict[str, object]:
    return {
        "comment": {
            "patterns": [
                {"name": "comment.line.number-sign.expectation.pllm", "match": r"#!.*$"},
                {"name": "comment.line.documentation.pllm", "match": "##.*$"},
                {"name": "comment.line.number-sign.pllm", "match": "#.*$"},
            ]
        },
        "string": {
            "name": "string.quoted.double.pllm",
            "begin": '"',
            "end": '"|(?=$)',
            "patterns": [{"name": "constant.character.escape.pllm", "match": r"\\."}],
        },
        "edition": {
            "match": rf"^\s*(pllm)\s+({NUMBER})",
            "captures": _captures("keyword.other.edition.pllm", "constant.numeric.pllm"),
        },
        "declaration": {
            "match": rf"^\s*({'|'.join(DECLARATIONS)})\s+({NAME})(?!\s*:)",
            "captures": _captures("storage.type.pllm", "entity.name.type.pllm"),
        },
        "const": {
            "match": rf"^\s*(const)\s+({NAME})",
            "captures": _captures("storage.type.pllm", "variable.other.constant.pllm"),
        },
        "import": {
            "match": rf"^\s*(import)\s+((?:{NAME}\.)*{NAME})",
            "captures": _captures("keyword.control.import.pllm", "entity.name.namespace.pllm"),
        },
        "claim": {
            "match": r"^\s*(requires)\s+(claim)(?=\s+\")",
            "captures": _captures("keyword.control.pllm", "keyword.control.pllm"),
        },
        "needs": {
            "match": rf"^\s*(needs)\s+(fresh)\s+({NAME})",
            "captures": _captures("keyword.control.pllm", "keyword.control.pllm", "variable.other.pllm"),
        },
        "loop": {
            "match": rf"^\s*(repeat)\s+({NAME})\s+(in)\b",
            "captures": _captures("keyword.control.pllm", "variable.parameter.pllm", "keyword.control.pllm"),
        },
        "field": {"name": "variable.other.property.pllm", "match": rf"{NAME}:"},
        "statement": {
            "match": rf"(?:^|\{{)\s*({'|'.join(STATEMENTS)})\b(?!\(){NO_NAME_HERE}",
            "captures": _captures("keyword.control.pllm"),
        },
        "clause": {
            "match": rf'(?:(?<=[\w\])}}"]\s)|^\s*)(?:{"|".join(_clause(*one) for one in CLAUSES.items())})',
            "captures": _captures(*["keyword.other.clause.pllm"] * len(CLAUSES)),
        },
        "operator_word": {
            "name": "keyword.operator.word.pllm",
            "match": rf"\b(?:{'|'.join(OPERATORS)})\b{NO_NAME_HERE}",
        },
        "party": {
            "match": rf"(@)\s*({NAME})",
            "captures": _captures("keyword.operator.party.pllm", "variable.language.party.pllm"),
        },
        "call": {"name": "entity.name.function.pllm", "match": rf"{NAME}(?=\()"},
        "number": {
            "name": "constant.numeric.pllm",
            "match": rf"\b{NUMBER}(?:[eE][+-]?[0-9]+|[A-Za-z]+)?\b",
        },
        "operator": {
            "name": "keyword.operator.pllm",
            "match": r"\|>|->|\.\.<|\.\.\.|\.\.|<=|>=|==|!=|[-+*/^<>=]",
        },
        "name": {"match": NAME},
    }


def _clause(word: str, follows: str) -> str:
    pattern = FOLLOWED.get(follows, follows)
    return rf"({word})\b" + (pattern if pattern.startswith("(?") else f"(?={pattern})")


def _captures(*scopes: str) -> dict[str, object]:
    return {str(k): {"name": scope} for k, scope in enumerate(scopes, 1)}


def grammar_text() -> str:
    return json.dumps(grammar(), indent=2, ensure_ascii=False) + "\n"


def ungrouped() -> list[str]:
    """Words of the language that no group, or more than one, holds; and words of a group that are none."""
    words = sorted(text for text in load_table().literals if text.isidentifier())
    grouped = sorted([*DECLARATIONS, *STATEMENTS, *CLAUSES, *OPERATORS])
    return sorted({*words} ^ {*grouped} | {word for word in grouped if grouped.count(word) > 1})


def main() -> int:
    wrong = ungrouped()
    if wrong:
        sys.stderr.write(f"not in exactly one group of make_grammar.py: {', '.join(wrong)}\n")
        return 1
    if "--check" in sys.argv[1:]:
        return int(TARGET.read_text(encoding="utf-8") != grammar_text())
    TARGET.write_text(grammar_text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
