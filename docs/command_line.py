"""Writes command-line.md from the commands' own help: python docs/command_line.py."""

from pathlib import Path

import click

from confidently.cli import cli
from confidently.data.formats.table import FORMATS, WRITABLE

PAGE = Path(__file__).with_name("command-line.md")
WIDTH = 100
HEAD = """# Command line

Written by `docs/command_line.py` from what `--help` says. The [tutorial](tutorial.md) shows the commands at work.

Exit codes: 0; 2 for bad usage or input, with one line on standard error; 130 or 143 when interrupted, after what was
begun is saved; 141 when whoever read the output has gone. Results go to standard output, progress and errors to
standard error. `--json` gives machine output on every command. `FORMAT` is a name of a
[format](reading-data.md); `--help` lists them.
"""
LISTED = [f"[{'|'.join(names)}]" for names in (FORMATS, WRITABLE)]  # said once, in the table of formats


def page() -> str:
    """The whole page."""
    shown = {"terminal_width": WIDTH, "max_content_width": WIDTH}
    top = click.Context(cli, info_name="confidently", **{**cli.context_settings, **shown})
    parts = [HEAD, _section("confidently", cli, top)]
    for name in cli.list_commands(top):
        command = cli.get_command(top, name)
        context = click.Context(command, info_name=name, parent=top, **shown)
        parts.append(_section(f"confidently {name}", command, context))
        for part in command.list_commands(context) if isinstance(command, click.Group) else ():
            under = command.get_command(context, part)
            inner = click.Context(under, info_name=part, parent=context, **shown)
            parts.append(_section(f"confidently {name} {part}", under, inner))
    return "\n".join(parts)


def _section(title: str, command: click.Command, context: click.Context) -> str:
    text = command.get_help(context)
    for listed in LISTED:
        text = text.replace(listed, "FORMAT")
    lines = (line.rstrip() for line in text.splitlines())
    return f"## {title}\n\n```text\n" + "\n".join(lines) + "\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page())
