"""Fixing any text ends, raises nothing, adds no error, and leaves nothing for a second run."""

from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pllm_lang.cli.answer import found_in
from pllm_lang.cli.call import Call, Wanted
from pllm_lang.cli.config import Config, Settings
from pllm_lang.cli.fixing import fix_call
from pllm_lang.syntax.lexer import lex
from pllm_lang.syntax.parse import tools
from pllm_lang.text.finding import Finding, Severity
from tests.corpus_harness import corpus_files

FILES = [path for path in corpus_files() if path.stat().st_size < 3_000]


@st.composite
def slipped(draw: st.DrawFn) -> tuple[Path, str]:
    """A corpus file with a few of its words dropped, doubled, misspelt or exchanged."""
    path = draw(st.sampled_from(FILES))
    text = path.read_text(encoding="utf-8")
    for _ in range(draw(st.integers(1, 3))):
        tokens = [(end - len(word), end, word) for _, end, word in lex(tools()[0], text).tokens if word]
        if not tokens:
            break
        start, end, word = draw(st.sampled_from(tokens))
        other = draw(st.sampled_from(tokens))[2]
        how = draw(st.sampled_from(["", f"{word} {word}", word[:-1] + word[-1:] * 2, word[1:], other]))
        text = text[:start] + how + text[end:]
    return path, text


def errors(findings: tuple[Finding, ...], syntax: bool) -> Counter[str]:
    codes = (finding.code for finding in findings if finding.severity is Severity.ERROR)
    return Counter(code for code in codes if not syntax or code.startswith("syntax."))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(slipped(), st.booleans())
def test_fixing_any_text(case: tuple[Path, str], unsafe: bool) -> None:
    path, text = case
    name = str(path)
    call = Call(Settings(str(path.parent), Config(), ()), (name,), buffers={name: text}, named=(name,))
    before = found_in(call).kept
    fixed = fix_call(call, Wanted(), unsafe)
    after = found_in(fixed.call).kept
    broken = any(code.startswith("syntax.") for code in errors(before, syntax=False))
    assert not errors(after, broken) - errors(before, broken)
    assert not fix_call(fixed.call, Wanted(), unsafe).changes
