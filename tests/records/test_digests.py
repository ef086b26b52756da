"""Content digests: blind to files, formatting and order, sensitive to every number."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.catalog.load import open_project, shipped_library
from pllm_lang.catalog.module_digest import module_digests

BASE = """pllm 1
operator twice {F} (x: F[...s]) -> (y: F[...s]) {
  means y = 2 * x
  ensures max_abs(y) <= 2 * max_abs(x)
}
component doubling = "test/doubling" {
  kind: method
  version: "1"
  implements: twice
  params { bits: integer in [16, 32] }
  requires max_abs(y) < 2^(bits - 1) else "signed"
}
"""
KEYS = ("twice", "doubling")


def digests(folder: Path, name: str, text: str) -> dict[str, str]:
    path = folder / f"{name}.pllm"
    path.write_text(text)
    opened = open_project([str(path)], str(folder))
    assert opened.findings == ()
    return {key: opened.library.digest_of(f"./{name}.{key}") for key in KEYS}


def test_formatting_comments_order_and_file_name_do_not_count(tmp_path: Path) -> None:
    base = digests(tmp_path, "base", BASE)
    head, operator, component = (
        BASE.partition("operator")[0],
        *BASE.partition("operator")[2].split("component"),
    )
    swapped = f"{head}\n# moved\ncomponent{component}\n\n## Doubled.\noperator{operator}".replace(
        "  ", "      "
    )
    assert digests(tmp_path, "other", swapped) == base
    assert len(set(base.values())) == 2


def test_a_part_in_a_module_of_its_own_does_not_count(tmp_path: Path) -> None:
    base = digests(tmp_path, "base", BASE)
    operator, component = BASE.split("component")
    (tmp_path / "ops.pllm").write_text(operator)
    path = tmp_path / "split.pllm"
    path.write_text(f'pllm 1\nimport "ops.pllm" [twice]\ncomponent{component}')
    opened = open_project([str(path)], str(tmp_path))
    assert opened.findings == ()
    assert opened.library.digest_of("./split.doubling") == base["doubling"]
    assert opened.library.digest_of("./ops.twice") == base["twice"]


def test_a_constant_counts_by_its_value(tmp_path: Path) -> None:
    base = digests(tmp_path, "base", BASE)
    named = BASE.replace("pllm 1\n", "pllm 1\nconst TWO = 1 + 1\n").replace("2 * x", "TWO * x")
    assert digests(tmp_path, "named", named) == base


def test_a_changed_operator_changes_what_stands_on_it(tmp_path: Path) -> None:
    base = digests(tmp_path, "base", BASE)
    changed = digests(tmp_path, "changed", BASE.replace("means y = 2 * x", "means y = 2 * x + 0"))
    assert changed["twice"] != base["twice"]
    assert changed["doubling"] != base["doubling"]


@given(st.sampled_from(["2 * x", "<= 2 *", "[16, 32]", "< 2^", "- 1", '"1"', '"test/doubling"', '"signed"']))
def test_every_number_and_text_counts(part: str) -> None:
    changed = {
        "2 * x": "3 * x", "<= 2 *": "<= 3 *", "[16, 32]": "[16, 64]", "< 2^": "< 3^", "- 1": "- 2",
        '"1"': '"2"', '"test/doubling"': '"test/other"', '"signed"': '"other"',
    }[part]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        base = digests(Path(folder), "base", BASE)
        other = digests(Path(folder), "other", BASE.replace(part, changed))
    assert other["doubling"] != base["doubling"]


def test_digests_of_the_library_are_those_compiled() -> None:
    library = shipped_library()
    fresh = library.extended({})
    for key in library.keys("format"):
        assert len(fresh.digest_of(key)) == 64


BLOCKS = (
    BASE
    + """
const N = 1/2
block both(a: exact[4], b: exact[4]) -> (c) {
  c = add(a, b)
}
"""
)


def module_digest(folder: Path, name: str, text: str) -> str:
    (folder / f"{name}.pllm").write_text(text)
    opened = open_project([str(folder / f"{name}.pllm")], str(folder))
    return module_digests(opened.project, opened.library)[f"./{name}"]


def test_a_module_digest_is_over_what_is_declared(tmp_path: Path) -> None:
    base = module_digest(tmp_path, "base", BLOCKS)
    head, rest = BLOCKS.split("const N", 1)
    _, block = rest.split("block", 1)
    moved = f"pllm 1\n# first\nblock{block}const N = 2 / 4\n{head.partition('pllm 1')[2]}"
    assert module_digest(tmp_path, "moved", moved) == base
    for old, new in (
        ("N = 1/2", "N = 1/3"),
        ("add(a, b)", "add(b, a)"),
        ("const N", "const M"),
        ("2 * x", "3 * x"),
    ):
        assert module_digest(tmp_path, "other", BLOCKS.replace(old, new)) != base


def test_modules_of_the_library_have_digests_too(tmp_path: Path) -> None:
    (tmp_path / "a.pllm").write_text("pllm 1\nimport std.formats [q7]\nformat f = fixed(8, 4)\n")
    opened = open_project([str(tmp_path / "a.pllm")], str(tmp_path))
    found = module_digests(opened.project, opened.library)
    assert sorted(found) == ["./a", "std.formats"]
    assert len(set(found.values())) == 2
