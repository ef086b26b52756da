"""Only warnings and notes can be suppressed, with a reason, and a suppression without effect is a finding."""

from pllm_lang.syntax.parse import parse
from pllm_lang.text.finding import Finding, Severity, Span
from pllm_lang.text.source import make_source
from pllm_lang.text.suppress import Suppressed, suppress

LINE = "const n = 1"


def run(text: str, *severities: Severity, code: str = "names.unused") -> Suppressed:
    """Suppress findings of these severities that lie on the line of `const n = 1`."""
    source = make_source("t", text)
    at = text.index(LINE)
    findings = [Finding(code, "m", Span("t", at, at + 5), severity) for severity in severities]
    return suppress(findings, source, parse(source).comments)


def codes(found: tuple[Finding, ...]) -> list[str]:
    return [finding.code for finding in found]


def test_a_warning_and_a_note_are_hidden_on_the_same_line() -> None:
    found = run(f"{LINE}  # pllm: allow[names.unused] kept for readers\n", Severity.WARNING, Severity.NOTE)
    assert codes(found.kept) == []
    assert codes(found.hidden) == ["names.unused", "names.unused"]


def test_a_comment_of_its_own_covers_the_next_line_of_text() -> None:
    text = f"# pllm: allow[names.unused] kept\n# more\n\n{LINE}\nconst m = 2\n"
    assert codes(run(text, Severity.WARNING).hidden) == ["names.unused"]
    text = f"# pllm: allow[names.unused] kept\nconst m = 2\n{LINE}\n"
    assert codes(run(text, Severity.WARNING).kept) == ["names.unused", "suppression.unused"]


def test_several_codes() -> None:
    text = f"{LINE}  # pllm: allow[names.unused, names.shadows] kept\n"
    found = run(text, Severity.WARNING)
    assert codes(found.hidden) == ["names.unused"]
    assert codes(found.kept) == ["suppression.unused"]
    assert found.kept[0].message == "nothing here is a `names.shadows`"


def test_an_error_stays_and_the_suppression_is_refused() -> None:
    found = run(
        f"{LINE}  # pllm: allow[bounds.overflow] it never happens\n", Severity.ERROR, code="bounds.overflow"
    )
    assert codes(found.kept) == ["bounds.overflow", "suppression.not_allowed"]
    assert found.kept[1].severity is Severity.ERROR
    assert found.hidden == ()


def test_a_reason_is_asked_for() -> None:
    found = run(f"{LINE}  # pllm: allow[names.unused]\n", Severity.WARNING)
    assert codes(found.hidden) == ["names.unused"]
    assert codes(found.kept) == ["suppression.no_reason"]


def test_an_unused_suppression_lies_on_its_comment() -> None:
    text = f"{LINE}  # pllm: allow[names.unused] kept\n"
    (found,) = run(text).kept
    assert found.code == "suppression.unused"
    assert text[found.span.start : found.span.end] == "# pllm: allow[names.unused] kept"


def test_no_code_and_no_pattern() -> None:
    assert codes(run(f"{LINE}  # pllm: allow[] all of it\n", Severity.WARNING).kept) == [
        "names.unused",
        "suppression.unused",
    ]
    assert codes(run(f"{LINE}  # pllm: allow[names.*] all\n", Severity.WARNING).kept) == [
        "names.unused",
        "suppression.unused",
    ]


def test_text_in_a_string_is_no_suppression() -> None:
    text = f'const s = "# pllm: allow[names.unused] x"\n{LINE}\n'
    assert codes(run(text, Severity.WARNING).kept) == ["names.unused"]


def test_findings_of_other_files_pass_through() -> None:
    source = make_source("t", f"{LINE}  # pllm: allow[names.unused] kept\n")
    other = Finding("names.unused", "m", Span("u", 0, 5), Severity.WARNING)
    assert codes(suppress([other], source, parse(source).comments).kept) == [
        "names.unused",
        "suppression.unused",
    ]
