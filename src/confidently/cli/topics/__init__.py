"""``confidently topics``: topic models on the command line; one module a command, imported only when asked for."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {
    "train": "Learn topics that tell the classes of documents apart.",
    "predict": "Predict the class of every document, and say what it is about.",
    "show": "Show the topics of a model: their words, and what each says of the classes.",
}


class TopicCommands(click.Group):
    """Commands whose modules are imported when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return getattr(import_module(f"{__name__}.{name}"), name) if name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=TopicCommands)
def topics() -> None:
    """Learn topics of documents that tell their classes apart.

    \b
    confidently topics train mails.jsonl --text body --stop-words english -o mails.topics
    confidently topics show mails.topics --picture topics.png
    confidently topics predict mails.topics new.jsonl --proba
    """
