"""Write command-line.md from the options of the commands: python docs/command_line.py."""

import re
from inspect import cleandoc
from pathlib import Path

import click

from confidently.cli import cli
from confidently.cli.options.rules import PREFIX
from confidently.cli.options.sections import options_by_section
from confidently.data.formats.table import FORMATS, WRITABLE

PAGE = Path(__file__).with_name("command-line.md")
REFRESH = "python docs/command_line.py"
LISTS_OF_FORMATS = [f"[{'|'.join(names)}]" for names in (FORMATS, WRITABLE)]  # the table of formats has them
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
HEAD = """# Command line

`confidently COMMAND --help` prints the options used most; `--help-all`, of commands with more options, prints the same
as this page. The [tutorial](tutorial.md) shows the commands at work. Click an option to link to it.

Exit codes: 0 for success; 2 for bad usage, bad input or too little memory, with one line on standard error; 130, 143 or
129 after an interruption (Ctrl-C, SIGTERM, SIGHUP), when training has completed the current batch and saved a
checkpoint; 141 when the reader of the output has gone. Results go to standard output, progress and errors to standard
error. Every command has `--json` for machine-readable output.

Outputs must be writable and must not overwrite an input or another output; a command checks this before any work. The
same goes for the files that training writes beside a model:
`MODEL.checkpoint`, `MODEL.checkpoint.best`, `MODEL.training-cache` and `MODEL.training-holdout`.

`FORMAT` is the name of a [format](data-formats.md); `--help` lists the names.

Every parameter of a rule is an option too, such as `--r 0.5` for `arow`: see [the rules](mathematics.md#the-rules).
`--covariance` takes one of [these](full-covariance.md) except kernels.
"""


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *_commands(cli, click.Context(cli, info_name="confidently", **cli.context_settings))])


def _commands(command: click.Command, context: click.Context) -> list[str]:
    """Return the sections of a command and of all commands below it."""
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [
        f"## {context.command_path}\n",
        f"```text\n{context.command_path} {usage}\n```\n",
        _text(command.help or ""),
    ]
    below = {}
    if isinstance(command, click.Group):
        below = {name: command.get_command(context, name) for name in command.list_commands(context)}
        rows = [
            f"| [`{context.command_path} {name}`](#{context.command_path.replace(' ', '-')}-{name}) "
            f"| {_prose(_summary(command))} |\n"
            for name, command in below.items()
        ]
        parts += ["| command | effect |\n| --- | --- |\n" + "".join(rows)]
    parts += [f"**{title}**\n\n{table}" for title, table in _tables(command, context).items()]
    if command.epilog:
        parts.append(_text(command.epilog))
    if examples := getattr(command, "examples", ()):
        parts.append("**Examples**\n\n```text\n" + "".join(f"{line}\n" for line in examples) + "```\n")
    for name, other in below.items():
        parts += _commands(other, click.Context(other, info_name=name, parent=context, **other.context_settings))
    return parts


def _summary(command: click.Command) -> str:
    return (command.help or "").split("\n\n")[0].replace("\n", " ")


def _text(text: str) -> str:
    """Return help in Markdown: paragraphs that click must not wrap are code."""
    return "".join(map(_paragraph, cleandoc(text).split("\n\n")))


def _paragraph(text: str) -> str:
    if not text.startswith("\b"):
        return f"{_prose(' '.join(text.split()))}\n\n"
    lines = cleandoc(text[1:]).splitlines()
    return "```text\n" + "".join(f"{line}\n" for line in lines) + "```\n\n"


def _tables(command: click.Command, context: click.Context) -> dict[str, str]:
    """Return the tables of options by the title of their section."""
    tables: dict[str, str] = {}
    by_section = options_by_section(command, context)
    for title, option in ((title, option) for title, options in by_section.items() for option in options):
        if (option.name or "").startswith(PREFIX):
            continue  # the tables of rules have their parameters
        names, text = option.get_help_record(context) or ("", "")
        if option.name == "covariance":  # full-covariance.md lists them
            names = "--covariance NAME"
        for formats in LISTS_OF_FORMATS:
            names = names.replace(formats, "FORMAT")
        effect, _, default = text.removesuffix("]").partition("  [")
        long = max(option.opts, key=lambda name: name.startswith("--"))
        anchor = f"{context.command_path} {long.lstrip('-')}".replace(" ", "-")
        name = f'<a id="{anchor}" href="#{anchor}"><code>{_html(names)}</code></a>'
        tables[title] = (tables.get(title) or "| option | effect | default |\n| --- | --- | --- |\n") + (
            f"| {name} | {_prose(effect)} | {_prose(default.removeprefix('default: '))} |\n"
        )
    return {title: table for title, table in tables.items() if table}


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")


def _prose(text: str) -> str:
    """Return text in Markdown, with options as code."""
    text = re.sub(r"([\\*_<|$`\[\]])", r"\\\1", " ".join(text.split()))
    return OPTION.sub(lambda found: f"`{found[0]}`", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
