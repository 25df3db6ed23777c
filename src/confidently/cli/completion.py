"""Completion in a shell: its script runs the command with a variable that holds what to complete."""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class, shell_complete

PROGRAM, VARIABLE = "confidently", "_CONFIDENTLY_COMPLETE"
FILES = {  # where each shell looks for completions
    "bash": "~/.local/share/bash-completion/completions/confidently",
    "zsh": "a folder of $fpath, as _confidently",
    "fish": "~/.config/fish/completions/confidently.fish",
}


def script(root: click.Command, shell: str) -> str:
    """Return the script of one of the shells of :data:`FILES`."""
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(root, {}, PROGRAM, VARIABLE).source().strip("\n")


def complete(root: click.Command) -> int | None:
    """Print completions, and return the exit code, if a shell asks for them; ``None`` if none does."""
    instruction = os.environ.get(VARIABLE)
    return None if instruction is None else shell_complete(root, {}, PROGRAM, VARIABLE, instruction)
