"""The steps of `docs/how-to/third-party.md`: a package adds an operator and a component by text alone."""

import os
import re
import subprocess
import venv
from pathlib import Path

import pytest

from pllm_lang.cli.checking import check_files

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "third-party.md"
FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def write_steps(folder: Path) -> dict[str, str]:
    """Write every file that the page shows; gives their texts by path."""
    files = dict(FILE.findall(PAGE.read_text()))
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return files


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's package as an installer leaves it; its Python module must never be run."""
    site, project = tmp_path / "site", tmp_path / "project"
    project.mkdir()
    site.mkdir()
    files = write_steps(project)
    (project / "acme_pllm").rename(site / "acme_pllm")
    (site / "acme_pllm" / "__init__.py").write_text("raise RuntimeError('executed')\n")
    points = files["pyproject.toml"].partition('[project.entry-points."pllm_lang.modules"]')[2]
    info = site / "acme_pllm-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-pllm\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pllm_lang.modules]" + points.replace(chr(34), ""))
    monkeypatch.syspath_prepend(str(site))
    return project


def codes(path: Path) -> list[str]:
    return [f.code for f in check_files([str(path)], str(path.parent)).findings]


def test_the_plan_of_the_page_is_accepted(installed: Path) -> None:
    done = check_files([str(installed / "accepted.pllm")], str(installed))
    assert done.findings == ()
    assert len(done.reports) == 1
    opened = done.opened
    assert opened.project.modules["acme.operators"].path.endswith(os.path.join("acme_pllm", "operators.pllm"))
    operator = opened.library.operator("acme.operators.double_square")
    assert operator is not None
    (component,) = opened.library.implementing("acme.operators.double_square")
    assert opened.library.by_id("acme/ring-double-square") == component


def test_the_wider_plan_is_refused_for_the_component_s_reason(installed: Path) -> None:
    findings = check_files([str(installed / "refused.pllm")], str(installed)).findings
    assert any("does not fit into 31 bits" in f.message + " ".join(f.notes) + f.help for f in findings)


def test_a_module_that_the_package_lacks_is_a_finding(installed: Path) -> None:
    path = installed / "lacks.pllm"
    path.write_text("pllm 1\nimport acme.kernels [a]\n")
    assert codes(path) == ["modules.unknown"]


def test_a_package_may_not_import_from_outside_its_folder(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "site" / "outside.pllm").write_text("pllm 1\nconst A = 1\n")
    (tmp_path / "site" / "acme_pllm" / "sly.pllm").write_text(
        'pllm 1\nimport "../outside.pllm" [A]\nconst B = A\n'
    )
    path = installed / "sly.pllm"
    path.write_text("pllm 1\nimport acme.sly [B]\nconst C = B\n")
    assert "modules.outside_project" in codes(path)


def test_a_package_that_is_not_installed_is_named(tmp_path: Path) -> None:
    write_steps(tmp_path)
    assert codes(tmp_path / "accepted.pllm").count("modules.unknown") == 2


@pytest.mark.system
def test_the_steps_in_a_fresh_environment(tmp_path: Path) -> None:
    project, environment = tmp_path / "project", tmp_path / "env"
    project.mkdir()
    write_steps(project)
    (project / "acme_pllm" / "__init__.py").write_text("")
    venv.create(environment, with_pip=True)
    python = str(environment / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", str(ROOT), str(project)], check=True, timeout=600)
    for name, status in (("accepted.pllm", 0), ("refused.pllm", 1)):
        done = subprocess.run(
            [str(environment / "bin" / "pllm"), "check", name],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
