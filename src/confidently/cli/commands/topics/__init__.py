"""``confidently topics``: one module per command, imported when it runs."""

from __future__ import annotations

import click

from ... import LazyGroup

COMMANDS = {
    "train": "Train a topic model that discriminates the classes of documents.",
    "predict": "Predict the class and the topics of every document.",
    "show": "Show the topics of a model: their words and their weights for the classes.",
}


@click.group(cls=LazyGroup, package=__name__, about=COMMANDS)
def topics() -> None:
    """Learn topics that discriminate classes of documents.

    \b
    confidently topics train mails.jsonl --text body --stop-words english -o mails.topics
    confidently topics show mails.topics --plot topics.png
    confidently topics predict mails.topics new.jsonl --proba
    """
