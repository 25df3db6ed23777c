"""``confidently topics train``: learn a topic model from documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ...common import check_output, data_argument, json_option, reported
from ...options.reading import counting_options, on_error_option
from ...options.sections import Sectioned, in_section
from ...training.saving import HOW, check_saving, checkpoints_of, run_to_end, saving_options

POSITIVE = click.FloatRange(0, min_open=True)
WHOLE, NOT_NEGATIVE = click.IntRange(1), click.IntRange(0)


def _number(name: str, kind: click.ParamType[Any], help: str, **how: Any) -> Any:
    return click.option(name, type=kind, help=help, **how)


MODEL = [
    click.option(
        "--topics", "n_topics", metavar="K|any", default="20", show_default=True,
        callback=lambda ctx, parameter, value: _topics(value),
        help="Topics (of each class, if there are three or more); any: as many as the documents ask for.",
    ),
    click.option(
        "--classifier", type=click.Choice(["gibbs", "averaging"]), default="gibbs", show_default=True,
        help="The expected loss of the classifiers drawn from the posterior, or the loss of their mean.",
    ),
    _number("--step-size", POSITIVE, "Every document counts so many times. [default: 10; averaging: 1]"),
    _number("--batch-size", WHOLE, "Documents learned together. [default: 32; averaging: 1]"),
    _number("--inner", WHOLE, "Rounds between topics and classifiers in a batch. [default: 1; averaging: 2]"),
    _number("--samples", WHOLE, "Sweeps over a batch's words that are averaged. [default: 3; averaging: 1]"),
    _number("--burn-in", NOT_NEGATIVE, "Sweeps before those.", default=0, show_default=True),
    _number("--c", POSITIVE, "Weight of the loss. [default: 1; averaging: 25]"),
    _number("--epsilon", POSITIVE, "Margin asked for. [default: the documents' mean number of words]"),
    _number("--prior-variance", POSITIVE, "Variance of a topic's weight at the start. [default: K; averaging: 0.1]"),
    _number("--doc-topic-prior", POSITIVE, "alpha of a document's topics. [default: 0.5; any: 5 for all together]"),
    _number("--topic-word-prior", POSITIVE, "gamma of a topic's words.", default=0.1, show_default=True),
    _number("--stick-prior", POSITIVE, "With --topics any: the larger, the more.", default=1.0, show_default=True),
    _number("--max-topics", WHOLE, "With --topics any: at most so many.", default=50, show_default=True),
    click.option(
        "--topic-expectation", type=click.Choice(["ratio", "digamma"]), default="ratio", show_default=True,
        help="A word's weight in a topic: its expected probability, or exp of the expected logarithm.",
    ),
    click.option(
        "--calibration", type=click.Choice(["progressive", "none"]), default="progressive", show_default=True,
        callback=lambda ctx, parameter, value: None if value == "none" else value,
        help="Whether documents scored before they are learned calibrate the probabilities, or these are the "
        "posterior's vote.",
    ),
]  # fmt: skip
WORK = [
    on_error_option,
    click.option(
        "--stop-words", metavar="english|FILE",
        help="Leave out these words: scikit-learn's English ones and single letters, or those of a file.",
    ),
    click.option(
        "--classes", metavar="A,B,...",
        help="All classes there are, in this order; of two the second is the positive one.",
    ),
    click.option(
        "--multilabel", is_flag=True,
        help="Rows have sets of labels, separated by commas; by default the first 1,000 rows show whether they have.",
    ),
    click.option(
        "--stream", is_flag=True,
        help="Learn documents as they come, in memory that does not grow with their number; needs --classes. By "
        "default all are read before the first is learned, in random order.",
    ),
    click.option(
        "--passes", type=WHOLE, default=1, show_default=True,
        help="How many times to learn the documents; more count each more often.",
    ),
    click.option("--seed", type=NOT_NEGATIVE, default=0, show_default=True, help="All that is random follows from it."),
    click.option("--jobs", type=WHOLE, default=1, show_default=True, help="Threads; what is learned is the same."),
    *saving_options(
        "documents",
        "Go on training this finished model, with its words, classes and settings, as partial_fit of Python does.",
    ),
]  # fmt: skip
# Options that may go with --start; a model has all the others already.
WITH_START = (*HOW, "passes", "start", "on_error", "stream", "seed")


def _topics(value: str) -> int | None:
    if value == "any":
        return None
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f"{value!r} is neither a number of topics, 1 or more, nor the word any")
    return int(value)


def _options(command: Any) -> Any:
    for option in reversed([*in_section("The topic model", MODEL), *WORK]):
        command = option(command)
    return command


@click.command(cls=Sectioned)
@data_argument
@counting_options
@_options
@json_option
@click.pass_context
def train(ctx: click.Context, /, data: tuple[str, ...], **options: Any) -> None:
    """Learn topics that tell the classes of documents apart.

    DATA are files, or - for standard input: text (--format text, or columns of text named with --text), or counts of
    words. Topics and classifiers over them are learned together, in one pass. Rows are never scaled: what is counted
    are words. Ctrl-C finishes the documents begun and leaves a checkpoint beside the model.
    """
    check_output(options["output_path"], data)
    _check_usage(ctx, options)
    from ...output.accounts import saved
    from ...output.topics_progress import topic_reporter
    from ...training.topics import TopicTraining

    report = topic_reporter(options["quiet"], options["as_json"])
    with reported():
        checkpoints = checkpoints_of(ctx, data, options, report)
        training = TopicTraining(data, options, checkpoints, report)
        run_to_end(training)
    result = training.result() | saved(training.model(), options["output_path"])
    if checkpoints is not None:
        checkpoints.remove()
    click.echo(json.dumps(result) if options["as_json"] else _summary(result))


def _check_usage(ctx: click.Context, options: dict[str, Any]) -> None:
    check_saving(ctx, options, WITH_START)
    if options["stream"] and not (options["classes"] or options["start"]):
        raise click.UsageError(
            "--stream learns from the first document on, so all classes must be named with --classes"
        )
    words = options["stop_words"]
    if words not in (None, "english") and not Path(words).is_file():
        raise click.UsageError(f"--stop-words takes english or the name of a file; there is no file {words!r}")


def _summary(result: dict[str, Any]) -> str:
    from ...output.accounts import classes_called, classes_text, file_text, rows_text, skipped_lines

    rate = result["words"] / max(result["seconds"], 1e-9)
    each = " a class" if result["task"] == "one-vs-rest" else ""
    lines = [
        f"documents  {rows_text(result['documents'], result['passes'])}",
        f"words      {result['words']:,} of {result['vocabulary']:,} different ones",
        f"{classes_called(result['task']):10} {classes_text(result['classes'])}",
        f"topics     {result['topics']:,}{each}{' at most' if result['nonparametric'] else ''}, {result['classifier']}",
        f"margin     {result['epsilon']:.4g} asked for",
        *_beforehand_lines(result["beforehand"]),
        f"seconds    {result['seconds']:.2f} ({rate:,.0f} words/s)",
        *skipped_lines(result),
    ]
    return "\n".join([*lines, f"model      {file_text(result)}"])


def _beforehand_lines(found: dict[str, Any] | None) -> list[str]:
    """How well documents were told apart before they were learned."""
    if found is None:
        return []
    measure = f"accuracy {found['accuracy']:.3f}" if "accuracy" in found else f"micro-F1 {found['micro_f1']:.3f}"
    told = [f"warning    {found['told']}"] if found["told"] else []
    return [f"foretold   {measure} of {found['documents']} documents, scored before they were learned", *told]
