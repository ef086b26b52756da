"""The shipped library: clean, compiled, never stale, quick to open."""

import shutil
import time
from pathlib import Path

import msgspec
import pytest

from pllm_lang import resources
from pllm_lang.catalog import compile as compiling
from pllm_lang.catalog import load as loading
from pllm_lang.catalog.library import STRUCTS, Compiled
from pllm_lang.catalog.load import shipped_library
from pllm_lang.catalog.read.fields import FIELDS, ITEMS
from pllm_lang.catalog.records import Component, Operator, Record
from pllm_lang.resources import grammar_dir, stdlib_dir


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped texts that the package takes for its own, with caches of its own."""
    shutil.copytree(stdlib_dir(), tmp_path / "stdlib")
    shutil.copytree(grammar_dir(), tmp_path / "grammar")
    monkeypatch.setattr(resources, "_ROOT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(loading, "__file__", str(tmp_path / "load.py"))
    shipped_library.cache_clear()
    yield tmp_path
    shipped_library.cache_clear()


def test_the_library_has_no_findings() -> None:
    assert compiling.compile_library().findings == ()


def test_a_compiled_library_is_what_its_texts_say(edited: Path) -> None:
    path = compiling.build(edited)
    read = msgspec.msgpack.decode(path.read_bytes(), type=Compiled)
    fresh = compiling.compile_library()
    assert read.key == fresh.key
    assert read.digest == fresh.digest
    assert {k: bytes(v) for k, v in read.raw.items()} == {k: bytes(v) for k, v in fresh.raw.items()}


def test_building_twice_gives_the_same_bytes(edited: Path) -> None:
    first = compiling.build(edited).read_bytes()
    assert compiling.build(edited).read_bytes() == first


def test_an_edited_library_is_resolved_afresh(edited: Path) -> None:
    compiling.build(edited)
    before = shipped_library().format("std.formats.q7")
    assert before is not None
    assert before.high == "128"
    text = edited / "stdlib" / "formats.pllm"
    text.write_text(text.read_text().replace("low: -128, high: 128", "low: -128, high: 127"))
    shipped_library.cache_clear()
    after = shipped_library().format("std.formats.q7")
    assert after is not None
    assert after.high == "127"


def test_a_damaged_compiled_library_is_not_believed(edited: Path) -> None:
    path = compiling.build(edited)
    path.write_bytes(path.read_bytes()[:1000])
    assert shipped_library().format("std.formats.q7") is not None


def test_the_cache_keeps_the_last_few_libraries(edited: Path) -> None:
    text = edited / "stdlib" / "formats.pllm"
    for number in range(loading.MAX_CACHED + 2):
        text.write_text(text.read_text() + f"const C{number} = {number}\n")
        shipped_library.cache_clear()
        assert shipped_library().exports["std.formats"].constants[f"C{number}"] == number
    assert len(list((edited / "cache" / "pllm-lang").glob("stdlib-*.msgpack"))) == loading.MAX_CACHED


def test_a_library_with_an_error_does_not_build(edited: Path) -> None:
    (edited / "stdlib" / "broken.pllm").write_text("pllm 1\nformat a = int(3, 1)\n")
    with pytest.raises(compiling.BrokenLibrary, match=r"records\.wrong_value"):
        compiling.build(edited)


def test_opening_the_compiled_library_takes_less_than_10_ms(edited: Path) -> None:
    compiling.build(edited)
    times: list[float] = []
    for _ in range(7):
        shipped_library.cache_clear()
        start = time.process_time()
        shipped_library().operator("std.operators.linear")
        times.append(time.process_time() - start)
    assert min(times) < 0.010


def test_every_record_decodes_and_is_found_again() -> None:
    library = shipped_library()
    for key in library.keys(""):
        record = library.get(key)
        assert isinstance(record, STRUCTS.get(library.kind(key), Record)), key
        if isinstance(record, Component):
            assert library.by_id(record.id) == record
            for operator in record.implements:
                assert operator == "any" or isinstance(library.get(operator), Operator)
                assert operator == "any" or record in library.implementing(operator)


def test_operators_of_the_library_have_one_name_each() -> None:
    names = [key.rsplit(".", 1)[1] for key in shipped_library().keys("operator")]
    assert len(names) == len(set(names))


def test_every_kind_of_record_has_its_table() -> None:
    assert set(FIELDS) == set(ITEMS)
    for kind, specs in FIELDS.items():
        names = [spec.name for spec in specs]
        assert len(names) == len(set(names)), kind
        assert all(spec.doc for spec in specs), kind
