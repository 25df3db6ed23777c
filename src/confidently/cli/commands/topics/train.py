"""``confidently topics train``: train a topic model on documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ...inputs import reported
from ...options.arguments import (
    NONNEGATIVE_INTEGER,
    POSITIVE_FLOAT,
    POSITIVE_INTEGER,
    data_argument,
    json_option,
)
from ...options.command import Command
from ...options.files import INPUT
from ...options.learner import calibration_option, classes_option
from ...options.reading import counting_options, multilabel_option, on_error_option
from ...options.sections import TOPICS as TOPIC_MODEL
from ...options.sections import adding
from ...options.training import NOT_IN_MODEL, check_saving, saving_options
from ...output.progress import TOPICS
from ...output.reporter import reporter
from ...output.text import say

TOPICS_WITH_INIT_MODEL = (*NOT_IN_MODEL, "passes", "init_model", "on_error", "stream", "seed")


def _number(name: str, kind: click.ParamType[Any], help: str, default: Any = None) -> Any:
    return click.option(name, type=kind, default=default, help=help)


_MODEL = [
    click.option(
        "--topics", "n_topics", metavar="INTEGER|any", default="20",
        callback=lambda ctx, parameter, value: _topics(value),
        help="Learn this many topics, per class if there are three or more; any infers the number from the documents.",
    ),
    click.option(
        "--classifier", type=click.Choice(["gibbs", "averaging"]), default="gibbs",
        help="Minimize the expected loss of classifiers drawn from the posterior, or the loss of their mean.",
    ),
    _number("--step-size", POSITIVE_FLOAT, "Count every document this many times.  [default: 10; averaging: 1]"),
    _number("--batch-size", POSITIVE_INTEGER, "Train on this many documents together.  [default: 32; averaging: 1]"),
    _number(
        "--inner", POSITIVE_INTEGER,
        "Alternate this many times between topics and classifiers in a batch.  [default: 1; averaging: 2]",
    ),
    _number(
        "--samples", POSITIVE_INTEGER, "Average this many sweeps over a batch's words.  [default: 3; averaging: 1]"
    ),
    _number("--burn-in", NONNEGATIVE_INTEGER, "Discard this many sweeps before those.", 0),
    _number("--c", POSITIVE_FLOAT, "Set the weight of the loss.  [default: 1; averaging: 25]"),
    _number("--epsilon", POSITIVE_FLOAT, "Set the margin.  [default: the documents' mean number of words]"),
    _number(
        "--prior-variance", POSITIVE_FLOAT,
        "Set the prior variance of a topic's weight.  [default: the number of topics; averaging: 0.1]",
    ),
    _number(
        "--doc-topic-prior", POSITIVE_FLOAT,
        "Set the Dirichlet prior alpha of a document's topics.  [default: 0.5; with --topics any: 5 in total]",
    ),
    _number("--topic-word-prior", POSITIVE_FLOAT, "Set the Dirichlet prior gamma of a topic's words.", 0.1),
    _number("--stick-prior", POSITIVE_FLOAT, "With --topics any: larger values give more topics.", 1.0),
    _number("--max-topics", POSITIVE_INTEGER, "With --topics any: learn at most this many topics.", 50),
    click.option(
        "--topic-expectation", type=click.Choice(["ratio", "digamma"]), default="ratio",
        help="Weight a word in a topic by its expected probability, or by exp of its expected log-probability.",
    ),
    calibration_option,
]  # fmt: skip
_WORK = [
    on_error_option,
    click.option(
        "--stop-words", metavar="english|FILE", type=INPUT,
        help="Ignore these words: scikit-learn's English stop words and single letters, or the words in FILE.",
    ),
    classes_option,
    multilabel_option,
    click.option(
        "--stream", is_flag=True,
        help="Train on documents as they arrive, in constant memory; needs --classes.  [default: read all documents, "
        "then train in random order]",
    ),
    _number("--passes", POSITIVE_INTEGER, "Train on the documents this many times.", 1),
    _number("--seed", NONNEGATIVE_INTEGER, "Set the random seed.", 0),
    _number("--jobs", POSITIVE_INTEGER, "Use this many threads; the model does not depend on them.", 1),
    *saving_options(
        "documents",
        "Continue training this model, with its words, classes and settings, as partial_fit does in Python.",
    ),
]  # fmt: skip


def _topics(value: str) -> int | None:
    if value == "any":
        return None
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f"expected a positive integer or any, got {value!r}")
    return int(value)


EXAMPLES = ("confidently topics train messages.jsonl --topics 5 -o topics.cw",)
FIRST = "output_path n_topics label text drop format stop_words passes init_model quiet as_json"


@click.command(cls=Command, examples=EXAMPLES, first=FIRST)
@data_argument
@counting_options
@adding(_MODEL, TOPIC_MODEL)
@adding(_WORK)
@json_option
@click.pass_context
def train(ctx: click.Context, /, data: tuple[str, ...], **options: Any) -> None:
    """Train a topic model that discriminates the classes of documents.

    DATA are files, or - for standard input: text (--format text, or text columns named with --text), or word counts.
    Training fits topics and classifiers over them together, in one pass. Rows are word counts and never scaled. Ctrl-C
    completes the current batch and saves a checkpoint beside the model.
    """
    _check_usage(ctx, options)
    from ...output.training_summaries import saved, topic_training_text
    from ...training.saving import open_checkpoints, run_to_end
    from ...training.topics import TopicTraining

    report = reporter(TOPICS, options["quiet"], options["as_json"])
    with reported():
        checkpoints = open_checkpoints(ctx, data, options, report)
        training = TopicTraining(data, options, checkpoints, report)
        run_to_end(training)
    result = training.result() | saved(training.model(), options["output_path"])
    if checkpoints is not None:
        checkpoints.remove()
    say(json.dumps(result) if options["as_json"] else topic_training_text(result))


def _check_usage(ctx: click.Context, options: dict[str, Any]) -> None:
    check_saving(ctx, options, TOPICS_WITH_INIT_MODEL)
    if options["stream"] and not (options["classes"] or options["init_model"]):
        raise click.UsageError("--stream trains on the first document before it has seen all classes; use --classes")
    words = options["stop_words"]
    if words not in (None, "english") and not Path(words).is_file():
        raise click.UsageError(f"--stop-words: file not found, got {words!r}; use english or a file of words")
