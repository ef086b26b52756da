"""`pllm check PATHS`: prove or refuse every plan of the files, and of the files that depend on them."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING, FOUND_SOMETHING
from pllm_lang.cli.call import Call, Wanted
from pllm_lang.cli.codes import codes_in, complete_code
from pllm_lang.cli.config import BadConfigError, Settings, find_settings
from pllm_lang.cli.discover import (
    BadNameError,
    NoSuchPathError,
    files_of,
    folders_under,
    searched,
    with_dependents,
)
from pllm_lang.cli.formats import formats
from pllm_lang.text.limits import MAX_FILE_BYTES

if TYPE_CHECKING:
    from pllm_lang.cli.answer import Answer
    from pllm_lang.cli.fixing import Fixed


class Switches(msgspec.Struct, frozen=True):
    """How files are found and what is done beside telling."""

    exclude: tuple[str, ...]
    force_exclude: bool
    stdin_filename: str
    no_dependents: bool
    no_cache: bool
    fix: bool
    unsafe_fixes: bool
    diff: bool
    watch: bool


@click.command(short_help="Prove plans, or refuse them with the place and the numbers.")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--format", "format_", type=click.Choice(formats()), help="How findings are written.  [default: full]"
)
@click.option(
    "--select",
    multiple=True,
    shell_complete=complete_code,
    help="Show only warnings and notes of these codes or families, with commas between.",
)
@click.option(
    "--ignore",
    multiple=True,
    shell_complete=complete_code,
    help="Leave out warnings and notes of these codes or families.",
)
@click.option("--exclude", multiple=True, help="Leave out files by a .gitignore pattern.")
@click.option(
    "--force-exclude", is_flag=True, help="Leave out excluded files even when they are named (for hooks)."
)
@click.option(
    "--stdin-filename", default="stdin.pllm", show_default=True, help="What to call the text read from `-`."
)
@click.option("--no-dependents", is_flag=True, help="Check only the files named, not those that use them.")
@click.option("--fix", is_flag=True, help="Apply safe fixes to the files of PATHS, then check them again.")
@click.option(
    "--unsafe-fixes", is_flag=True, help="With --fix or --diff: fixes that change what a plan does, too."
)
@click.option("--diff", is_flag=True, help="Print what --fix would change; write nothing.")
@click.option(
    "--baseline",
    type=click.Path(),
    default="",
    metavar="FILE",
    help="Hide the warnings and notes that FILE lists; never an error.",
)
@click.option(
    "--update-baseline", is_flag=True, help="Write the warnings and notes of now into the baseline."
)
@click.option("--statistics", is_flag=True, help="Print how many findings of each code there are.")
@click.option("--watch", is_flag=True, help="Check again whenever a file changes that the answer depends on.")
@click.option(
    "--jobs",
    type=click.IntRange(0, 256),
    default=1,
    show_default=True,
    metavar="N",
    help="Check files in N processes; 0: one a processor.",
)
@click.option("--no-cache", is_flag=True, help="Work everything out again.")
def command(
    paths: tuple[str, ...],
    format_: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    baseline: str,
    update_baseline: bool,
    statistics: bool,
    jobs: int,
    **switches: object,
) -> int:
    """Check plans in PATHS: files, folders, globs, or `-` for the standard input (default: this folder).

    The exit status is 0 where nothing is found, 1 where anything is, a warning too, and 2 where the call or the
    environment is wrong.
    """
    wanted = Wanted(format_, select, ignore, baseline, update_baseline, statistics, jobs or _processors())
    given = msgspec.convert(switches, Switches)
    _refuse_misuse(paths, wanted, given)
    if given.watch:
        return _watch(paths, wanted, given)
    code, _ = _once(paths, wanted, given)
    return code


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _refuse_misuse(paths: Sequence[str], wanted: Wanted, switches: Switches) -> None:
    """Raises BadParameter for options that do not go together, and for codes that are none."""
    from pllm_lang.cli.commands.explain import is_known, nearest

    for code in (code for given in (*wanted.select, *wanted.ignore) for code in codes_in(given)):
        if not is_known(code):
            raise click.BadParameter(f"there is no finding or family `{code}`{nearest(code)}")
    if switches.unsafe_fixes and not (switches.fix or switches.diff):
        raise click.BadParameter("`--unsafe-fixes` goes with `--fix` or `--diff`")
    if wanted.update_baseline and not wanted.baseline:
        raise click.BadParameter("`--update-baseline` needs `--baseline FILE`")
    if wanted.statistics and wanted.format not in (None, "full", "concise", "json"):
        raise click.BadParameter("`--statistics` is a table, or JSON with `--format json`")
    if switches.watch and (switches.fix or switches.diff or "-" in paths):
        raise click.BadParameter("`--watch` goes neither with `--fix` and `--diff` nor with `-`")
    if "-" in paths and len(paths) > 1:
        raise click.BadParameter("`-` stands alone: one text is read from the standard input")


def _once(paths: Sequence[str], wanted: Wanted, switches: Switches) -> tuple[int, Answer | None]:
    """Check, fix and tell once; the exit status, and the answer where there is one."""
    from pllm_lang.cli.answer import answer
    from pllm_lang.cli.baseline import BadBaselineError

    try:
        calls = list(_calls(paths or (".",), switches))
        if switches.fix or switches.diff:
            return _fix(calls, wanted, switches, "-" in paths)
        given = answer(calls, wanted)
    except (NoSuchPathError, BadConfigError, BadBaselineError, BadNameError) as problem:
        click.echo(str(problem), err=True)
        return BAD_CALL, None
    except OSError as problem:
        click.echo(_what_failed(problem), err=True)
        return BAD_CALL, None
    click.echo(given.text, nl=False)
    if not any(call.files for call in calls):
        click.echo("nothing was checked: no `.pllm` file is there, or all are excluded", err=True)
        return FOUND_NOTHING, given
    code = FOUND_SOMETHING if given.findings else FOUND_NOTHING
    if not (switches.no_cache or switches.watch or wanted.update_baseline or "-" in paths):
        from pllm_lang.cli.replay import remember

        remember(sys.argv[1:], given.read, given.text, code)
    return code, given


def _what_failed(problem: OSError) -> str:
    """Files that cannot be read are findings; what is left is a file that cannot be written, and a folder that is gone."""
    if problem.filename is None:
        return f"the working folder cannot be used: {problem.strerror}; change into another"
    return f"cannot write {problem.filename}: {problem.strerror}"


def _watch(paths: Sequence[str], wanted: Wanted, switches: Switches) -> int:
    """Until interrupted; the exit status is that of the last check."""
    from pllm_lang.cli.watching import digests, wait_for_change

    while True:
        code, given = _once(paths, wanted, switches)
        if given is None:
            return code
        sys.stdout.flush()
        depends_on = sorted({os.path.abspath(path) for path in given.read})
        try:
            before = digests(depends_on)
            click.echo("watching for changes; ctrl-c ends", err=True)
            wait_for_change(depends_on, before)
        except KeyboardInterrupt:
            return code


# ---- fixes -------------------------------------------------------------------------------------------


def _fix(
    calls: Sequence[Call], wanted: Wanted, switches: Switches, from_stdin: bool
) -> tuple[int, Answer | None]:
    """Fix, write or show the changes, and tell what is left."""
    from pllm_lang.cli.answer import answer
    from pllm_lang.cli.fixing import diff_text, fix_call

    fixed = [fix_call(call, wanted, switches.unsafe_fixes) for call in calls if call.files]
    changes = [change for one in fixed for change in one.changes]
    given = answer([one.call for one in fixed], wanted)
    code = FOUND_SOMETHING if given.findings else FOUND_NOTHING
    if switches.diff:
        for change in changes:
            click.echo(diff_text(change), nl=False)
        click.echo(f"{_count(fixed)} would be applied{_more(fixed, given, switches)}", err=True)
        return (FOUND_SOMETHING if changes else code), None
    if from_stdin:
        text = next(iter(fixed[0].call.buffers.values()))
        click.echo(fixed[0].call.mark + text.encode("utf-8", "surrogateescape"), nl=False)
        click.echo(given.text, nl=False, err=True)
        return code, None
    if not _write(fixed):
        return BAD_CALL, None
    click.echo(given.text, nl=False)
    for title in (title for one in fixed for title in one.titles):
        click.echo(f"fixed: {title}", err=True)
    click.echo(f"{_count(fixed)} applied{_more(fixed, given, switches)}", err=True)
    return code, None


def _count(fixed: Sequence[Fixed]) -> str:
    n_fixes = sum(len(one.titles) for one in fixed)
    n_files = sum(len(one.changes) for one in fixed)
    files = f" in {n_files} file{'' if n_files == 1 else 's'}" if n_files else ""
    return f"{n_fixes} fix{'' if n_fixes == 1 else 'es'}{files}"


def _more(fixed: Sequence[Fixed], given: Answer, switches: Switches) -> str:
    """What else could be fixed: by the same call, or by one that asks for more."""
    if any(one.stopped for one in fixed):
        return "; a limit was reached, so the same call may fix more"
    left = sum(1 for one in given.findings if one.fixes)
    if switches.unsafe_fixes or not left:
        return ""
    return f"; {left} finding{'' if left == 1 else 's'} more by `--unsafe-fixes`, which may change what a plan does"


def _write(fixed: Sequence[Fixed]) -> bool:
    """Whether every file still was what had been checked; those that were not stay as they are."""
    from pllm_lang.cli.writing import replace_decoded

    good = True
    for change in (change for one in fixed for change in one.changes):
        if not replace_decoded(change.path, change.old, change.new):
            click.echo(f"{change.path} changed meanwhile and was left alone", err=True)
            good = False
    return good


# ---- files -------------------------------------------------------------------------------------------


def _calls(paths: Sequence[str], switches: Switches) -> Iterator[Call]:
    """One call for each project that the paths lie in."""
    by_root: dict[str, tuple[Settings, list[str]]] = {}
    for path in paths:
        if path == "-":
            yield _stdin_call(switches.stdin_filename)
            continue
        settings = find_settings(path if os.path.isdir(path) else os.path.dirname(path) or ".")
        by_root.setdefault(settings.root, (settings, []))[1].append(path)
    for settings, inside in by_root.values():
        yield _call(settings, inside, switches)


def _call(settings: Settings, paths: Sequence[str], switches: Switches) -> Call:
    exclude = (*settings.config.exclude, *switches.exclude)
    files = tuple(files_of(paths, settings.root, exclude, switches.force_exclude))
    sought = [folder for folder in map(searched, paths) if folder]
    watched = [one for folder in sought for one in folders_under(folder, settings.root, exclude)]
    if not switches.no_dependents and not all(map(os.path.isdir, paths)):
        changed = with_dependents(files, settings.root, exclude, below=settings.marked)
        return Call(settings, tuple(changed.wanted), tuple({*watched, *changed.looked_at}), named=files)
    return Call(settings, files, tuple(watched), named=files)


def _stdin_call(name: str) -> Call:
    data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise click.BadParameter(f"the standard input has more than {MAX_FILE_BYTES:,} bytes")
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    text = data.removeprefix(mark).decode("utf-8", "surrogateescape")
    settings = find_settings(os.path.dirname(name) or ".")
    return Call(settings, (name,), buffers={name: text}, named=(name,), mark=mark)
