"""Files that are no locks: a named error each, soon."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.reading import MAX_LOCK_BYTES
from pllm_lang.artifacts.replay.refusal import ReplayError
from tests.artifacts.locks import MASKED, ROOT, data, of_text, spelled


def code_of(content: bytes) -> str:
    with pytest.raises(ReplayError) as refused:
        replay(content)
    return refused.value.code


def with_digest(lock: object) -> bytes:
    return spelled(lock)


@pytest.mark.parametrize("cut", [0, 1, 100, 7000, -1, -2])
def test_truncated(cut: int) -> None:
    assert code_of(of_text(MASKED)[:cut]) in ("lock.not_json", "lock.form")


def test_a_name_twice() -> None:
    content = of_text(MASKED).replace(b'"kind":"plan"', b'"kind":"plan","kind":"plan"')
    assert code_of(content) == "lock.duplicate_key"


@pytest.mark.parametrize("schema", ["pllm.lang.lock.v2", "pllm.lang.lock.v", "", "pllm.lang.certificate.v1"])
def test_another_schema(schema: str) -> None:
    lock = data(of_text(MASKED)) | {"schema": schema}
    assert code_of(spelled(lock)) == "lock.schema"


@pytest.mark.parametrize(
    "number", ["9007199254740992", "-9007199254740992", "1e400", "0.5", "NaN", "1" * 5000]
)
def test_numbers_that_readers_round(number: str) -> None:
    content = of_text(MASKED).replace(b'"kind":"plan"', b'"kind":' + number.encode())
    assert code_of(content) == "lock.number"


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_deep_nesting(opening: bytes) -> None:
    content = of_text(MASKED).replace(b'"kind":"plan"', b'"kind":' + opening * 500_000)
    assert code_of(content) in ("lock.nesting", "lock.not_json")


@pytest.mark.parametrize("depth", [100, 300, 900])
def test_nesting_that_json_readers_stand(depth: int) -> None:
    nested = '["apply","+",[' * depth + '["num","1"]' + "],[]]" * depth
    content = of_text(MASKED).replace(b'"kind":"plan"', f'"kind":{nested}'.encode())
    assert code_of(content) in ("lock.form", "lock.nesting")


def test_too_large() -> None:
    start = time.process_time()
    assert code_of(b" " * (MAX_LOCK_BYTES + 1)) == "lock.too_large"
    assert time.process_time() - start < 2


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as stream:
        stream.truncate(100_000_000)
    code = "import sys; from pllm_lang.cli.main import main; sys.argv = ['pllm', 'replay', sys.argv[1]]; sys.exit(main())"
    call = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "[lock.too_large]" in done.stdout


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"{}", b'"x"', b"\xff\xfe", b"\x00" * 100])
def test_no_lock_at_all(content: bytes) -> None:
    assert code_of(content).startswith("lock.")


def test_spaces_and_other_spellings() -> None:
    content = of_text(MASKED)
    assert code_of(content[:-1]) == "lock.form"
    assert code_of(content.replace(b'"kind":"plan"', b'"kind": "plan"')) == "lock.form"
    assert code_of(content.replace(b'"kind":"plan"', b'"kind":"pl\\u0061n"')) == "lock.form"


@pytest.mark.parametrize("part", ["ir", "programs", "protocols", "certificate", "policy"])
def test_a_document_of_another_form(part: str) -> None:
    for wrong in ({}, [], "x", 1, None):
        lock = data(of_text(MASKED))
        lock["documents"][part] = wrong
        assert code_of(spelled(lock)).startswith(("lock.", "certificate."))
