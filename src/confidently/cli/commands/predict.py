"""``confidently predict``: what a model says of a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ...data.formats.table import FOR_PREDICTIONS
from ..common import check_output, data_argument, load_model, model_argument, open_for, reported

if TYPE_CHECKING:
    from ...data import Batch
    from ...models.model import Model
    from ...topics.model import TopicModel
    from ..output.answers import Answers, Wanted

    About = Callable[[Batch], list[Any]]  # the values of the columns
    AnyModel = TypeVar("AnyModel", Model, TopicModel)

JSON_FORMAT = "jsonl"  # what --json stands for

OPTIONS = [
    click.option("--proba", is_flag=True, help="Add the probability of every class (or label)."),
    click.option(
        "--margin", is_flag=True, help="Add the margin: one for two classes, positive for the second; else one a class."
    ),
    click.option("--std", is_flag=True, help="Add the standard deviation of every margin."),
    click.option(
        "--variance", is_flag=True, help="Add the variance of every margin under the model's Gaussian over weights."
    ),
    click.option("--ranking", is_flag=True, help="Add all classes (labels), the likeliest first."),
    click.option(
        "--abstain",
        type=click.FloatRange(0, 1),
        metavar="P",
        help="Predict - (JSON, Parquet: null) where the probability of the predicted class is below P.",
    ),
    click.option(
        "--keep",
        metavar="A,B,...",
        multiple=True,
        help="Columns of the input to write before the prediction; tag: the tag of VW text. May be repeated.",
    ),
    click.option(
        "--output-format",
        type=click.Choice(FOR_PREDICTIONS),
        help="How to write; by default what the suffix of -o FILE tells, else tsv.",
    ),
    click.option(
        "-o", "--output", "output_path", metavar="FILE", help="Write to this file instead of standard output."
    ),
    click.option("--json", "as_json", is_flag=True, help="The same as --output-format jsonl."),
]


def answer_options(command: Any) -> Any:
    """Add the options of :func:`write_answers`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@model_argument
@data_argument
@answer_options
def predict(model_path: str, data: tuple[str, ...], **options: Any) -> None:
    """Predict the class of every row.

    A line a row; sets of labels are separated by commas. DATA are files, or - for standard input. svmlight rows begin
    with a label even where it is not known: it is not looked at, so any will do. Where there are several columns (in
    CSV: always) a heading names them. Features the model has never met have weights of mean 0 and the prior's
    variance: they leave the margins as they are and make them less certain.
    """
    check_usage(model_path, data, options)
    write_answers(load_model(model_path), data, options, _asked)


def _asked(model: Model, wanted: Wanted) -> tuple[Answers, About]:
    from ...learner.streams import Answering
    from ..output.answers import ClassifierAnswers

    answers, answering = ClassifierAnswers(model, wanted), Answering(model.learner)
    return answers, lambda batch: answers.about(batch, answering.matrix(batch))


def check_usage(model_path: str, data: tuple[str, ...], options: dict[str, Any]) -> None:
    """Refuse, before any work, options that do not fit together and outputs that cannot be written."""
    if options["as_json"] and options["output_format"] not in (None, JSON_FORMAT):
        raise click.UsageError(f"--json writes JSON lines: leave it out, or --output-format {options['output_format']}")
    check_output(options["output_path"], [model_path, *data])


def write_answers(
    model: AnyModel,
    data: tuple[str, ...],
    options: dict[str, Any],
    asked: Callable[[AnyModel, Wanted], tuple[Answers, About]],
    numbers: tuple[str, ...] = (),
) -> None:
    """Write what a model answers about data; ``numbers`` are answered besides those that options ask for."""
    from ..output.answer_formats import format_of, writer
    from ..output.answers import NUMBERS, Wanted

    keep = tuple(name.strip() for names in options["keep"] for name in names.split(","))
    if "" in keep:
        raise click.UsageError(f"--keep takes names of columns separated by commas; got {','.join(keep)!r}")
    if twice := [name for name in keep if keep.count(name) > 1]:
        raise click.UsageError(f"--keep names {twice[0]!r} twice")
    chosen = frozenset([*numbers, *(name for name in NUMBERS if options[name])])
    answers, about = asked(model, Wanted(chosen, options["ranking"], options["abstain"], keep))
    path = options["output_path"]
    kind = options["output_format"] or (JSON_FORMAT if options["as_json"] else format_of(path))
    with (
        reported(),
        writer(kind, path, answers.columns, answers.names) as file,
        open_for(model, data, ignore_labels=True, keep=keep) as stream,
    ):
        for batch in stream:
            file.write(about(batch))
