"""`pllm check` as a user calls it: exit status, formats, folders, dependents, selection, and what never helps."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.process import pllm as process

BAD = """pllm 1

import std.formats [int8]

plan doubling {
  input x: int8[4] from client
  y = add(x, x) @ client
  output y to client
}
"""
GOOD = BAD.replace("from client\n", "from client where abs(x) <= 63\n", 1)
WARNED = GOOD.replace("[int8]", "[int8, int16]")


def pllm(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pllm_lang.cli.main", *arguments],
        cwd=folder, input=stdin, capture_output=True, text=True, check=False,
        env=os.environ | {"PLLM_CACHE_DIR": str(folder.parent / f"{folder.name}-cache"), "PLLM_DEBUG": "1"},
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.pllm").write_text(GOOD)
    (tmp_path / "bad.pllm").write_text(BAD)
    return tmp_path


def test_exit_status(folder: Path) -> None:
    assert pllm(folder, "check", "good.pllm").returncode == 0
    assert pllm(folder, "check", "bad.pllm").returncode == 1
    assert pllm(folder, "check", "absent.pllm").returncode == 2
    assert pllm(folder, "check", "--format", "poem", "good.pllm").returncode == 2
    assert pllm(folder, "chekc").returncode == 2


def test_a_typo_of_a_command_gets_a_suggestion(folder: Path) -> None:
    assert "Did you mean `check`?" in pllm(folder, "chekc").stderr


def test_folders_globs_and_excludes(folder: Path) -> None:
    (folder / "pllm.toml").write_text('exclude = ["bad.pllm"]\n')
    assert pllm(folder, "check", ".").returncode == 0
    assert pllm(folder, "check", "*.pllm").returncode == 0
    assert pllm(folder, "check", "bad.pllm").returncode == 1, "a file that is named is meant"
    assert pllm(folder, "check", "--force-exclude", "bad.pllm").returncode == 0
    assert pllm(folder, "check", "nothing*.pllm").returncode == 2


def test_standard_input(folder: Path) -> None:
    done = pllm(folder, "check", "-", "--stdin-filename", "buffer.pllm", "--format", "concise", stdin=BAD)
    assert done.returncode == 1
    assert done.stdout.startswith("buffer.pllm:7:3: error[bounds.overflow]")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (b"\xef\xbb\xbfpllm 1\r\n\r\nimport std.formats [int8]\r\n", ""),
        (b"pllm 1\n\n# caf\xe9\nimport std.formats [int8]\n", "file.not_text"),
        (b"pllm 1\n\n# \0\nimport std.formats [int8]\n", "file.not_text"),
    ],
)
def test_standard_input_is_read_as_a_file_is_and_keeps_its_bytes(
    folder: Path, given: bytes, code: str
) -> None:
    (folder / "file.pllm").write_bytes(given)
    for call, text in ((("file.pllm",), b""), (("-",), given)):
        found = json.loads(process(folder, "check", "--format", "json", *call, stdin=text).stdout)["findings"]
        assert [one["code"] for one in found] == [code or "names.unused"]
    fixed = subprocess.run(
        [sys.executable, "-m", "pllm_lang.cli.main", "check", "--fix", "-"],
        cwd=folder, input=given, capture_output=True, check=False,
    ).stdout  # fmt: skip
    assert fixed == (given if code else b"\xef\xbb\xbfpllm 1\r\n\r\n")


def test_standard_input_is_bounded(folder: Path) -> None:
    done = process(folder, "check", "-", stdin=b"#" * 2_000_001)
    assert done.returncode == 2
    assert "2,000,000 bytes" in done.stderr


def test_formats_agree(folder: Path) -> None:
    full, concise, document = (
        pllm(folder, "check", "--format", format_, "bad.pllm").stdout
        for format_ in ("full", "concise", "json")
    )
    found = json.loads(document)
    assert found["schema"] == "pllm.lang.findings.v1"
    assert found["counts"]["errors"] == len(found["findings"]) == 1
    assert full.count("error[") == concise.count("error[") == 1
    assert "1 error" in full
    assert "1 error" in concise


def test_the_report_lists_what_was_not_asked(folder: Path) -> None:
    plan = json.loads(pllm(folder, "check", "--format", "json", "good.pllm").stdout)["plans"][0]
    assert {one["family"] for one in plan["not_asked"]} == {"placement", "target", "material"}
    assert "not asked: placement" in pllm(folder, "check", "good.pllm").stdout


def test_a_text_that_no_policy_asks_for_is_listed(folder: Path) -> None:
    (folder / "shared.pllm").write_text(
        "pllm 1\n\nimport std.formats [ring64]\nimport std.holdings [additive]\nimport std.protocols [additive_add]\n\n"
        "plan p {\n  input x: ring64[4] as additive(p0, p1) where abs(x) <= 9\n"
        "  y = add(x, x) using additive_add\n  output y\n}\n"
    )
    plan = json.loads(pllm(folder, "check", "--format", "json", "shared.pllm").stdout)["plans"][0]
    assert plan["verdict"] == "accepted"
    assert {one["family"] for one in plan["not_asked"]} == {"placement", "protocol", "target", "material"}


def test_a_changed_file_checks_the_plans_that_use_it(folder: Path) -> None:
    (folder / "formats.pllm").write_text("pllm 1\n\nformat narrow = int(-10, 10)\n")
    (folder / "user.pllm").write_text(
        'pllm 1\n\nimport "formats.pllm" [narrow]\n\nplan p {\n  input x: narrow[4] from client\n'
        "  y = add(x, x) @ client\n  output y to client\n}\n"
    )
    done = pllm(folder, "check", "--format", "concise", "formats.pllm")
    assert done.returncode == 1
    assert "user.pllm:7:3: error[bounds.overflow]" in done.stdout
    assert pllm(folder, "check", "--no-dependents", "formats.pllm").returncode == 0


def test_users_are_sought_below_a_project_only(folder: Path) -> None:
    """A folder that nothing marks may have anything below it; and a file below could not import from above by itself."""
    (folder / "formats.pllm").write_text("pllm 1\n\nformat narrow = int(-10, 10)\n")
    (folder / "below").mkdir()
    (folder / "below" / "user.pllm").write_text(
        'pllm 1\n\nimport "../formats.pllm" [narrow]\n\nplan p {\n  input x: narrow[4] from client\n'
        "  y = add(x, x) @ client\n  output y to client\n}\n"
    )
    alone = pllm(folder, "check", "formats.pllm")
    assert (alone.returncode, alone.stdout) == (0, "1 file checked, 0 plans accepted\n")
    assert "modules.outside" in pllm(folder, "check", "below/user.pllm").stdout
    (folder / "pllm.toml").write_text("")
    assert "bounds.overflow" in pllm(folder, "check", "formats.pllm").stdout


def test_warnings_can_be_left_out_and_errors_cannot(folder: Path) -> None:
    (folder / "warned.pllm").write_text(WARNED)
    assert pllm(folder, "check", "warned.pllm").returncode == 1
    assert pllm(folder, "check", "--ignore", "names", "warned.pllm").returncode == 0
    assert pllm(folder, "check", "--ignore", "names.unused", "warned.pllm").returncode == 0
    assert pllm(folder, "check", "--select", "syntax", "warned.pllm").returncode == 0
    assert pllm(folder, "check", "--select", "syntax,names.unused", "warned.pllm").returncode == 1
    assert pllm(folder, "check", "--ignore", "syntax, names.unused", "warned.pllm").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "config", "comment"),
    [
        (["--ignore", "bounds"], "", ""),
        (["--ignore", "bounds.overflow"], "", ""),
        (["--select", "names"], "", ""),
        ([], 'ignore = ["bounds", "bounds.overflow"]\n', ""),
        ([], 'select = ["names"]\n', ""),
        ([], "", "  # pllm: allow[bounds.overflow] it is fine"),
        (["--exclude", "bad.pllm"], "", ""),
        ([], 'exclude = ["bad.pllm"]\n', ""),
    ],
)
def test_no_switch_makes_a_refused_plan_pass(
    arguments: list[str], config: str, comment: str, folder: Path
) -> None:
    (folder / "pllm.toml").write_text(config)
    (folder / "bad.pllm").write_text(BAD.replace("add(x, x) @ client", f"add(x, x) @ client{comment}"))
    done = pllm(folder, "check", *arguments, "bad.pllm")
    assert done.returncode == 1
    assert "bounds.overflow" in done.stdout


def test_an_unchanged_file_is_answered_again_and_a_changed_one_is_not(folder: Path) -> None:
    first = pllm(folder, "check", "bad.pllm")
    assert pllm(folder, "check", "bad.pllm").stdout == first.stdout
    (folder / "bad.pllm").write_text(GOOD)
    assert pllm(folder, "check", "bad.pllm").returncode == 0
    (folder / "pllm.toml").write_text("unknown = 1\n")
    assert pllm(folder, "check", "bad.pllm").returncode == 2


def test_a_file_that_appears_is_seen(folder: Path) -> None:
    text = 'pllm 1\n\nimport "later.pllm" [narrow]\n\nconst one = 1\n'
    (folder / "early.pllm").write_text(text)
    assert "modules" in pllm(folder, "check", "early.pllm").stdout
    (folder / "later.pllm").write_text("pllm 1\n\nformat narrow = int(-10, 10)\n")
    assert "modules" not in pllm(folder, "check", "early.pllm").stdout


LOADED = """
import sys
from pllm_lang.cli.main import main
try:
    main()
except SystemExit:
    pass
print(" ".join(sorted(set(name.split(".")[0] for name in sys.modules))))
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        cwd=folder, capture_output=True, text=True, check=True,
        env=os.environ | {"PLLM_CACHE_DIR": str(folder.parent / f"{folder.name}-cache")},
    )  # fmt: skip
    return set(done.stdout.splitlines()[-1].split())


def test_check_loads_nothing_heavy(folder: Path) -> None:
    assert not loaded(folder, "check", "--no-cache", "good.pllm") & {
        "numpy",
        "cppyy",
        "pygls",
        "asyncio",
        "rich",
        "yaml",
    }
    pllm(folder, "check", "good.pllm")
    assert not loaded(folder, "check", "good.pllm") & {"lark", "rich", "click", "msgspec", "numpy"}


def test_a_plan_beside_a_broken_policy_is_not_called_accepted(folder: Path) -> None:
    (folder / "loose.pllm").write_text(
        GOOD.replace(
            "import std.formats [int8]\n", "import std.formats [int8]\nimport std.policies [client_server]\n"
        )
        + "\npolicy loose tightens client_server {\n  security: { computational: 80 }\n}\n"
    )
    done = pllm(folder, "check", "--format", "json", "loose.pllm")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert "policies.loosened" in {finding["code"] for finding in document["findings"]}
    assert [plan["verdict"] for plan in document["plans"]] == ["refused"]
