"""`pllm init`: a first plan, a configuration and the hook, in a folder that has none of them."""

from __future__ import annotations

import os

import click

from pllm_lang.cli.app import BAD_CALL

PLAN = """\
pllm 1

import std.formats [int8, int32]
import std.methods [integer_linear]

## One linear layer in integers. `pllm check first.pllm` proves that every sum fits 32 bits.
plan first {
  input  x: int8[1, 896] from client
  weight w: int8[896, 896] public

  acc = linear(x, w) using integer_linear
  y   = cast(acc, to: int32) @ client

  output y to client
}
"""
CONFIG = """\
# Settings of pllm. Patterns are those of .gitignore.
exclude = []
"""
HOOK = """\
repos:
  - repo: https://github.com/pllm-lang/pllm-lang
    rev: v0.1.0
    hooks:
      - id: pllm-fmt
      - id: pllm-check
"""
FILES = {"first.pllm": PLAN, "pllm.toml": CONFIG, ".pre-commit-config.yaml": HOOK}


@click.command(short_help="Write a first plan, settings and a pre-commit configuration.")
@click.argument("folder", default=".", type=click.Path(file_okay=False))
def command(folder: str) -> int:
    """Write a first plan, `pllm.toml` and a pre-commit configuration into FOLDER; existing files are kept."""
    try:
        os.makedirs(folder, exist_ok=True)
        for name, text in FILES.items():
            path = os.path.join(folder, name)
            if os.path.exists(path):
                click.echo(f"kept    {path}")
                continue
            with open(path, "x", encoding="utf-8") as stream:
                stream.write(text)
            click.echo(f"wrote   {path}")
    except OSError as problem:
        click.echo(f"cannot write into {folder}: {problem.strerror}", err=True)
        return BAD_CALL
    click.echo(f"next:   pllm check {os.path.join(folder, 'first.pllm')}")
    return 0
