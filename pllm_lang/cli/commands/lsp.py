"""`pllm lsp`: the language server, for editors."""

from __future__ import annotations

import ipaddress
import os
import sys
from typing import TYPE_CHECKING

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING, FOUND_SOMETHING

if TYPE_CHECKING:
    from pllm_lang.lsp.snapshot import Checker

MISSING = "the language server needs pygls: install `pllm-lang[lsp]`"


@click.command(short_help="The language server, for editors.")
@click.option(
    "--tcp", metavar="HOST:PORT", help="Listen there instead of talking over standard input and output."
)
@click.option(
    "--allow-remote", is_flag=True, help="Let --tcp listen on an address that other machines reach."
)
@click.option("--stdio", is_flag=True, help="Talk over standard input and output (the default).")
def command(tcp: str | None, allow_remote: bool, stdio: bool) -> int:
    """Start the language server. Editors start it themselves; the pages on editors say how. The exit status is 1 where the
    editor did not say goodbye, as the protocol asks."""
    if tcp and stdio:
        raise click.UsageError("--tcp and --stdio exclude each other")
    place = _place(tcp, allow_remote) if tcp else None
    try:
        from pllm_lang.lsp.server import make_server
    except ModuleNotFoundError as problem:
        if (problem.name or "").split(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs"):
            raise
        click.echo(MISSING, err=True)
        return BAD_CALL
    server = make_server(_checker)
    if place is None:
        server.start_io()
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - the server has closed its own
    else:
        try:
            server.start_tcp(*place)
        except OSError as problem:
            click.echo(f"cannot listen on {tcp}: {problem.strerror}", err=True)
            return BAD_CALL
    return FOUND_NOTHING if server.was_shut_down else FOUND_SOMETHING


def _checker() -> Checker:
    from pllm_lang.cli.editing import Editing

    return Editing()


def _place(tcp: str, allow_remote: bool) -> tuple[str, int]:
    host, _, port = tcp.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdecimal() or not 0 <= int(port) <= 65_535:
        raise click.BadParameter("write HOST:PORT, such as 127.0.0.1:2087", param_hint="--tcp")
    if not allow_remote and not _is_own(host):
        message = (
            f"`{host}` is not this machine alone: who reaches it could read your files; "
            "add --allow-remote if you mean it"
        )
        raise click.BadParameter(message, param_hint="--tcp")
    return host, int(port)


def _is_own(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
