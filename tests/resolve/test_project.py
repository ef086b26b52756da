"""Loading: modules, imports, roots, buffers."""

from pathlib import Path

from pllm_lang.resolve.project import load
from pllm_lang.text.finding import Severity


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.pllm").write_text("pllm 1\n" + text)


def codes(path: Path, root: Path) -> list[str]:
    return [f.code for f in load([str(path)], str(root), {}).findings]


def test_modules_come_after_what_they_stand_on(tmp_path: Path) -> None:
    write(
        tmp_path,
        a='import "b.pllm" [B]\nconst A = B\n',
        b='import "c.pllm" [C]\nconst B = C\n',
        c="const C = 1\n",
    )
    project = load([str(tmp_path / "a.pllm")], str(tmp_path), {})
    assert list(project.modules) == ["./c", "./b", "./a"]
    assert project.main == ("./a",)
    assert project.modules["./a"].constants == {"A": 1, "B": 1}
    assert project.modules["./a"].imports == ("./b",)
    assert project.modules["./a"].scope["B"].key == "./b.B"
    assert project.findings == ()


def test_a_module_imported_twice_is_read_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        a='import "b.pllm" [B]\nimport "c.pllm" [C]\nconst A = B + C\n',
        b='import "d.pllm" [D]\nconst B = D\n',
        c='import "d.pllm" [D]\nconst C = D\n',
        d="const D = 2\n",
    )
    project = load([str(tmp_path / "a.pllm")], str(tmp_path), {})
    assert sorted(project.modules) == ["./a", "./b", "./c", "./d"]
    assert project.modules["./a"].constants["A"] == 4


def test_a_file_outside_of_the_root_has_a_name_of_its_own(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    write(tmp_path, a="const A = 1\n")
    write(inner, a="const A = 2\n")
    project = load([str(tmp_path / "a.pllm"), str(inner / "a.pllm")], str(inner), {})
    assert project.main == ("./../a", "./a")
    assert project.modules["./../a"].constants == {"A": 1}


def test_a_circle_of_modules_is_named_once(tmp_path: Path) -> None:
    write(tmp_path, a='import "b.pllm" [B]\nconst A = B\n', b='import "a.pllm" [A]\nconst B = A\n')
    findings = load([str(tmp_path / "a.pllm")], str(tmp_path), {}).findings
    circles = [f for f in findings if f.code == "modules.cycle"]
    assert len(circles) == 1
    assert "./a -> ./b -> ./a" in circles[0].message


def test_a_link_may_not_lead_out_of_the_project(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    write(outside, secret="const S = 1\n")
    (inside / "link.pllm").symlink_to(outside / "secret.pllm")
    (inside / "folder").symlink_to(outside)
    write(
        inside,
        a='import "link.pllm" [S]\n',
        b='import "folder/secret.pllm" [S]\n',
        c='import "../outside/secret.pllm" [S]\n',
    )
    for name in "abc":
        assert codes(inside / f"{name}.pllm", inside) == ["modules.outside_project"]
    assert codes(inside / "c.pllm", tmp_path) == ["names.unused"]


def test_an_unsaved_buffer_goes_before_the_file(tmp_path: Path) -> None:
    write(tmp_path, a='import "b.pllm" [B]\nconst A = B\n', b="const B = 1\n")
    buffers = {str(tmp_path / "b.pllm"): "pllm 1\nconst B = 7\n"}
    project = load([str(tmp_path / "a.pllm")], str(tmp_path), {}, buffers)
    assert project.modules["./a"].constants["A"] == 7


def test_a_folder_a_device_and_a_missing_file_are_findings(tmp_path: Path) -> None:
    (tmp_path / "folder.pllm").mkdir()
    write(tmp_path, a='import "folder.pllm" [B]\n')
    assert codes(tmp_path / "a.pllm", tmp_path) == ["file.unreadable"]
    assert codes(tmp_path / "none.pllm", tmp_path) == ["file.missing"]
    assert codes(Path("/dev/zero"), tmp_path) == ["file.unreadable"]


def test_a_file_that_is_no_text_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "latin.pllm").write_bytes("pllm 1\n# \xe9\n".encode("latin-1"))
    (tmp_path / "nul.pllm").write_bytes(b"pllm 1\n\x00")
    assert codes(tmp_path / "latin.pllm", tmp_path) == ["file.not_text"]
    assert codes(tmp_path / "nul.pllm", tmp_path) == ["file.not_text"]


def test_an_unused_import_has_a_safe_fix_that_leaves_a_clean_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pllm"
    write(
        tmp_path,
        a='import "b.pllm" [P, Q, R]\nconst A = P + R\n',
        b="const P = 1\nconst Q = 2\nconst R = 3\n",
    )
    (finding,) = load([str(path)], str(tmp_path), {}).findings
    assert finding.severity is Severity.WARNING
    (fix,) = finding.fixes
    assert fix.safe
    text = path.read_text()
    for edit in fix.edits:
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    path.write_text(text)
    assert 'import "b.pllm" [P, R]' in text
    assert load([str(path)], str(tmp_path), {}).findings == ()


def test_a_name_used_only_in_a_comment_or_a_text_is_unused(tmp_path: Path) -> None:
    write(tmp_path, a='import "b.pllm" [P]\n# P\nconst A = "P"\n', b="const P = 1\n")
    assert codes(tmp_path / "a.pllm", tmp_path) == ["names.unused"]
