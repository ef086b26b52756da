"""The VS Code extension: built, tested and packaged with npm; its grammar against the parser on every file that we have."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pllm_lang.syntax.lexer import lex
from pllm_lang.syntax.machine import Stack, run
from pllm_lang.syntax.parse import tools
from pllm_lang.syntax.table import BEGIN

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "editors" / "vscode"
pytestmark = pytest.mark.system


def done(command: list[str], cwd: Path, given: str | None = None) -> str:
    ran = subprocess.run(
        command, cwd=cwd, input=given, capture_output=True, text=True, check=False, timeout=600
    )
    assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the extension's folder with its dependencies, so that the checkout stays clean."""
    folder = tmp_path_factory.mktemp("editor") / "vscode"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    done(["npm", "ci", "--no-audit", "--no-fund"], folder)
    return folder


def test_grammar_is_the_generated_one_and_groups_every_word() -> None:
    done([sys.executable, str(SOURCE / "make_grammar.py"), "--check"], ROOT)


def test_types_and_own_tests(extension: Path) -> None:
    done(["npm", "run", "-s", "typecheck"], extension)
    report = done(["npm", "test", "-s"], extension)
    assert re.search(r"^# pass [1-9]", report, re.M)


def test_package_holds_what_runs_and_nothing_else(extension: Path) -> None:
    done(["npm", "run", "-s", "package"], extension)
    with zipfile.ZipFile(extension / "dist" / "pllm-lang.vsix") as packed:
        names = {
            name.removeprefix("extension/") for name in packed.namelist() if name.startswith("extension/")
        }
        manifest = json.loads(packed.read("extension/package.json"))
    assert {name.lower() for name in names} == {
        "package.json", "language-configuration.json", "dist/extension.js", "snippets/pllm.json",
        "syntaxes/pllm.tmlanguage.json", "syntaxes/markdown.tmlanguage.json", "readme.md", "changelog.md", "license.txt",
    }  # fmt: skip
    assert manifest["main"] == "./dist/extension.js"
    assert manifest["version"] == _version()


def test_snippets_are_plans_that_parse() -> None:
    lexer, machine = tools()
    for name, snippet in json.loads((SOURCE / "snippets" / "pllm.json").read_text()).items():
        body = snippet["body"] if isinstance(snippet["body"], str) else "\n".join(snippet["body"])
        text = _filled(body)
        if re.match(r"(input|weight|repeat)\b", text):
            text = f"plan p {{\n{text}\n}}"
        tokens = lex(lexer, text).tokens
        assert run(machine, Stack(machine.table.start), tokens, 0, {}) == len(tokens), f"{name}: {text}"


def test_words_have_the_scope_that_the_parser_gives_them(extension: Path) -> None:
    """A word that the parser reads as a keyword is coloured as one; one that it reads as a name is not."""
    files = [
        path
        for part in ("stdlib", "examples", "tests/corpus")
        for path in sorted((ROOT / part).rglob("*.pllm"))
    ]
    texts = [text for path in files if (text := _text(path)) is not None and words(text)]
    coloured = json.loads(done(["node", "test/tokens.mjs"], extension, json.dumps(texts)))
    wrong: list[str] = []
    seen = 0
    for text, lines in zip(texts, coloured, strict=True):
        starts = [0]
        for line in text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        scope_at = {(starts[k] + at): scope for k, line in enumerate(lines) for at, _, scope in line}
        for at, word, is_keyword in words(text):
            seen += 1
            scope = scope_at.get(at, "")
            if is_keyword != scope.startswith(("keyword.", "storage.")):
                line = text[:at].count("\n")
                wrong.append(
                    f"{word} is {'a keyword' if is_keyword else 'a name'}, {scope}: {text.split(chr(10))[line]}"
                )
    assert seen > 5_000
    assert not wrong, "\n".join(sorted(set(wrong))[:40])


def words(text: str) -> list[tuple[int, str, bool]]:
    """(start, word, whether the parser read it as a keyword) of each word that can be a keyword; [] where the text does not parse."""
    lexer, machine = tools()
    table = machine.table
    keywords = {kind for word, kind in table.literals.items() if word.isidentifier()}
    # In an LR automaton every way into a state reads the same symbol, so the state says what was read.
    read_by = {move % BEGIN: kind for row in table.actions for kind, move in row.items() if move >= 0}
    stack = Stack(table.start)
    found: list[tuple[int, str, bool]] = []
    for lexeme in lex(lexer, text).tokens:
        if run(machine, stack, [lexeme], 0, {}) != 1:
            return []
        kind, end, word = lexeme
        if kind in keywords:
            found.append((end - len(word), word, read_by[stack.states[-1]] == kind))
    return found


def _text(path: Path) -> str | None:
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None
    # Columns are counted in UTF-16 there and in characters here.
    return text if "\r" not in text and all(ord(c) < 0x10000 for c in text) else None


def _filled(body: str) -> str:
    body = re.sub(r"\$\{\d+\|([^,|]*)[^|]*\|\}", r"\1", body)
    body = re.sub(r"\$\{\d+:([^}]*)\}", r"\1", body)
    return re.sub(r"\$\d+", "", body)


def _version() -> str:
    found = re.search(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text(), re.M)
    assert found is not None
    return found[1]
