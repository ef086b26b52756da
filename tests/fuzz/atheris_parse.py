"""Fuzz target for reading, parsing, formatting and rendering: `python tests/fuzz/atheris_parse.py [CORPUS]`.

Needs `atheris`, which the project does not depend on; pytest does not collect this file. Any exception, and any
formatting that changes a second time, is a defect.
"""

import sys

import atheris

with atheris.instrument_imports():
    from pllm_lang.syntax.format import format_source
    from pllm_lang.syntax.parse import has_errors, parse
    from pllm_lang.text.finding import Finding
    from pllm_lang.text.read import decode_source
    from pllm_lang.text.render_full import render_full
    from pllm_lang.text.render_json import render_json
    from pllm_lang.text.source import make_source


def one_input(data: bytes) -> None:
    source = decode_source("fuzz.pllm", data)
    if isinstance(source, Finding):
        render_full([source], {})
        return
    parsed = parse(source)
    sources = {source.name: source}
    render_full(parsed.findings, sources)
    render_json(parsed.findings, sources)
    if not has_errors(parsed):
        once = format_source(parsed)
        assert format_source(parse(make_source("fuzz.pllm", once))) == once


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
