"""``confidently completion``: completion of commands and options in a shell."""

from __future__ import annotations

import json

import click

from ..completion import FILES, script
from ..options.arguments import json_option
from ..options.command import Command
from ..output.text import say

EXAMPLES = ("confidently completion bash",)


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("shell", metavar="SHELL", type=click.Choice(list(FILES)))
@json_option
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print a script that completes commands and options in bash, zsh or fish.

    In bash, eval "$(confidently completion bash)" completes in the current session; that line in ~/.bashrc completes
    in every session.
    """
    text = script(ctx.find_root().command, shell)
    say(json.dumps({"shell": shell, "file": FILES[shell], "script": text}) if as_json else text)
