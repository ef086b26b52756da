"""The parse table: made from the grammar, kept as data, never stale."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lark.exceptions import GrammarError

from pllm_lang.resources import grammar_dir
from pllm_lang.syntax import actions, load_table
from pllm_lang.syntax.anchors import ANCHORS, LINES
from pllm_lang.syntax.build_table import build_table
from pllm_lang.syntax.table import BEGIN, Table, decode_table, encode_table

GRAMMAR = (grammar_dir() / "pllm.lark").read_text(encoding="utf-8")
TABLE = build_table(GRAMMAR, load_table.table_key(GRAMMAR.encode()))


def test_a_table_survives_being_written() -> None:
    assert decode_table(encode_table(TABLE)) == TABLE


def test_building_twice_gives_the_same_bytes() -> None:
    assert encode_table(build_table(GRAMMAR, TABLE.key)) == encode_table(TABLE)


def test_a_missing_damaged_or_old_table_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "_table.msgpack"
    monkeypatch.setattr(load_table, "TABLE_FILE", path)
    old = encode_table(build_table(GRAMMAR, "another grammar"))
    for data in (None, b"", b"\x93 damaged", encode_table(TABLE)[:-9], old):
        if data is not None:
            path.write_bytes(data)
        assert load_table.load_table() == TABLE
        assert decode_table(path.read_bytes()) == TABLE


def test_a_fresh_table_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "_table.msgpack"
    path.write_bytes(encode_table(TABLE))
    monkeypatch.setattr(load_table, "TABLE_FILE", path)
    monkeypatch.setattr(load_table, "_build", lambda *_: pytest.fail("the table was built"))
    assert load_table.load_table() == TABLE


def test_a_table_that_cannot_be_written_is_used_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_table, "TABLE_FILE", Path("/nowhere/_table.msgpack"))
    assert load_table.load_table() == TABLE


def test_a_conflict_in_the_grammar_is_an_error() -> None:
    with pytest.raises(GrammarError):
        build_table(GRAMMAR.replace("?unary: power", '?unary: power | NAME "." NAME -> attribute'), "k")


def test_rules_actions_and_anchors_have_the_same_names() -> None:
    lists = {"child", "list_one", "list_append", "list_concat"}
    used = {actions.find_action(rule.action) for rule in TABLE.rules if rule.action not in lists}
    helpers = {actions.word, actions.field_word, actions.words, actions.find_action}
    defined = {
        function
        for _, function in inspect.getmembers(actions, inspect.isfunction)
        if function.__module__ == actions.__name__
    }
    assert used == defined - helpers
    assert set(TABLE.nonterminals) >= ANCHORS >= LINES
    assert {rule.action for rule in TABLE.rules} >= actions.DOCUMENTED


def test_a_token_that_begins_an_anchor_begins_nothing_else() -> None:
    rules = re.findall(r"^[?!]?(\w+):", GRAMMAR, re.M)
    assert len(rules) > 50
    starts = [row for row in TABLE.actions if any(move >= BEGIN for move in row.values())]
    assert starts
    for state in TABLE.resume:
        names = {TABLE.terminals[kind] for kind, move in TABLE.actions[state].items() if 0 <= move < BEGIN}
        assert names <= {"}", "pllm", "$END"}


def test_the_table_holds_data_only() -> None:
    assert isinstance(decode_table(encode_table(TABLE)), Table)
    assert decode_table(b"cos\nsystem\n(S'true'\ntR.") is None


def test_equal_grammars_give_equal_bytes_in_every_process() -> None:
    program = (
        "import sys, hashlib\n"
        "from pllm_lang.syntax.build_table import build_table\n"
        "from pllm_lang.syntax.table import encode_table\n"
        "print(hashlib.sha256(encode_table(build_table(sys.stdin.read(), 'k'))).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=GRAMMAR,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
