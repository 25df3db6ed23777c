"""Write command-line.md from the help of the commands: python docs/command_line.py."""

from pathlib import Path

import click

from confidently.cli import cli
from confidently.cli.options.rules import PREFIX
from confidently.data.formats.table import FORMATS, WRITABLE

PAGE = Path(__file__).with_name("command-line.md")
REFRESH = "python docs/command_line.py"
WIDTH = 100
LISTS_OF_FORMATS = [f"[{'|'.join(names)}]" for names in (FORMATS, WRITABLE)]  # the table of formats has them
HEAD = f"""# Command line

Written by `{REFRESH}` from the output of `--help`. The [tutorial](tutorial.md) shows the commands at work.

Exit codes: 0 for success; 2 for bad usage, bad input or too little memory, with one line on standard error; 130, 143 or
129 after an interruption (Ctrl-C, SIGTERM, SIGHUP), when training has completed the current batch and saved a
checkpoint; 141 when the reader of the output has gone. Results go to standard output, progress and errors to standard
error. Every command has `--json` for machine-readable output.

Before any work, a command checks the files that it will write: each must be in a folder where files can be created, and
neither an input nor written by another option, under any name. So must the files that training writes beside a model:
`MODEL.checkpoint`, `MODEL.checkpoint.best`, `MODEL.training-cache` and `MODEL.training-holdout`.

`FORMAT` is the name of a [format](data-formats.md); `--help` lists the names.

Every parameter of a rule is an option too, such as `--r 0.5` for `arow`: see [the rules](mathematics.md#the-rules).
`--covariance` takes one of [these](full-covariance.md) except kernels.
"""


def page() -> str:
    """Return the whole page."""
    shown = {"terminal_width": WIDTH, "max_content_width": WIDTH}
    top = click.Context(cli, info_name="confidently", **{**cli.context_settings, **shown})
    return "\n".join([HEAD, *_sections(cli, top, shown)])


def _sections(command: click.Command, context: click.Context, shown: dict[str, int]) -> list[str]:
    """Return the help of a command and of all commands below it."""
    of_rules = [parameter for parameter in command.params if (parameter.name or "").startswith(PREFIX)]
    covariances = [parameter for parameter in command.params if parameter.name == "covariance"]
    for option in of_rules:  # the tables of rules have them: no rule is listed twice
        option.hidden = True  # type: ignore[attr-defined]
    for option in covariances:  # nor is any covariance, which full-covariance.md lists
        option.metavar = "NAME"
    try:
        text = command.get_help(context)
    finally:
        for option in of_rules:
            option.hidden = False  # type: ignore[attr-defined]
        for option in covariances:
            option.metavar = None
    for names in LISTS_OF_FORMATS:
        text = text.replace(names, "FORMAT")
    lines = [line.rstrip() for line in text.splitlines()]
    sections = [f"## {context.command_path}\n\n```text\n" + "\n".join(lines) + "\n```\n"]
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        below = command.get_command(context, name)
        sections += _sections(below, click.Context(below, info_name=name, parent=context, **shown), shown)
    return sections


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
