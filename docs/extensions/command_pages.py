"""A Sphinx extension: the page of the command line, and the man page `pllm.1` beside the built pages, from the commands."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

from pllm_lang.cli.manual import man_page, markdown


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Sphinx) -> None:
    page = Path(app.srcdir) / "reference" / "commands.md"
    text = markdown()
    # An unchanged page keeps its time, so that Sphinx does not read it again.
    if not page.is_file() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")
    out = Path(app.outdir)
    out.mkdir(parents=True, exist_ok=True)
    (out / "pllm.1").write_text(man_page(), encoding="utf-8")
