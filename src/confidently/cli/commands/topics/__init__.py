"""``confidently topics``: topic models on the command line; one module a command, imported only when asked for."""

from __future__ import annotations

import click

from ...lazy import LazyGroup

COMMANDS = {
    "train": "Learn topics that tell the classes of documents apart.",
    "predict": "Predict the class of every document, and say what it is about.",
    "show": "Show the topics of a model: their words, and what each says of the classes.",
}


@click.group(cls=LazyGroup, package=__name__, about=COMMANDS)
def topics() -> None:
    """Learn topics of documents that tell their classes apart.

    \b
    confidently topics train mails.jsonl --text body --stop-words english -o mails.topics
    confidently topics show mails.topics --picture topics.png
    confidently topics predict mails.topics new.jsonl --proba
    """
