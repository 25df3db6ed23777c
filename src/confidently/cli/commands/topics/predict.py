"""``confidently topics predict``: a topic model's predictions for documents."""

from __future__ import annotations

from typing import Any

import click

from ...inputs import load_model
from ...options.arguments import POSITIVE_INTEGER, data_argument, model_argument
from ...options.command import Command
from ...options.predictions import (
    TOPIC,
    check_predictions,
    check_promises,
    prediction_options,
    promise_options,
    requested,
)

EXAMPLES = (
    "confidently topics predict topics.cw new.jsonl --proba",
    "confidently topics predict topics.cw new.jsonl --set 0.9 --max-risk 0.05",
)
FIRST = "output_path proba ranking abstain set no_topics keep quiet as_json"


@click.command(cls=Command, examples=EXAMPLES, first=FIRST)
@model_argument
@data_argument
@prediction_options
@promise_options()
@click.option("--no-topics", is_flag=True, help="Leave out the topics' proportions.")
@click.option(
    "--jobs", type=POSITIVE_INTEGER, default=1,
    help="Threads; the predictions do not depend on them.",
)  # fmt: skip
def predict(model_path: str, data: tuple[str, ...], no_topics: bool, jobs: int, **options: Any) -> None:
    """Predict the class and the topics of every document.

    Writes one line per document: its class (multiple labels are separated by commas) and the proportion of every topic
    among its words. Topics are numbered from 0, as topics show numbers them; with three or more classes each class has
    its own topics. DATA are files, or - for standard input, read as the training data were. Unseen words are skipped.
    """
    check_predictions(options)
    wanted = requested(options, () if no_topics else (TOPIC,))
    model = load_model(model_path, "topics")
    check_promises(wanted.coverage, wanted.by_class, wanted.max_risk, model)
    from ...output.predictions import TopicPredictions
    from ...output.writers import write_predictions

    write_predictions(TopicPredictions(model, wanted, jobs), data, options)
