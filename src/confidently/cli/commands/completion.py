"""``confidently completion``: completion of commands and options in a shell."""

from __future__ import annotations

import json

import click
from click.shell_completion import get_completion_class

from .. import COMPLETE, PROGRAM
from ..options.arguments import json_option
from ..options.command import Command
from ..output.text import say

FILES = {  # where each shell looks for completions
    "bash": "~/.local/share/bash-completion/completions/confidently",
    "zsh": "a folder of $fpath, as _confidently",
    "fish": "~/.config/fish/completions/confidently.fish",
}
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
    kind = get_completion_class(shell)
    assert kind is not None  # click has one for each of FILES
    text = kind(ctx.find_root().command, {}, PROGRAM, COMPLETE).source().strip("\n")
    say(json.dumps({"shell": shell, "file": FILES[shell], "script": text}) if as_json else text)
