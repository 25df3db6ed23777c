"""``confidently predict``: what a model says of a stream."""

from __future__ import annotations

from typing import Any

import click

from .common import check_output, data_argument, load_model, model_argument, open_for, reported

OUTPUT_FORMATS = ("tsv", "csv", "jsonl", "parquet")  # as in .answer_formats, which is not imported only to list options


@click.command()
@model_argument
@data_argument
@click.option("--proba", is_flag=True, help="Add the probability of every class (or label).")
@click.option(
    "--margin", is_flag=True, help="Add the margin: one for two classes, positive for the second; else one a class."
)
@click.option("--std", is_flag=True, help="Add the standard deviation of every margin.")
@click.option(
    "--variance", is_flag=True, help="Add the variance of every margin under the model's Gaussian over weights."
)
@click.option("--ranking", is_flag=True, help="Add all classes (labels), the likeliest first.")
@click.option(
    "--abstain", type=click.FloatRange(0, 1), metavar="P",
    help="Predict - (JSON, Parquet: null) where the probability of the predicted class is below P.",
)  # fmt: skip
@click.option(
    "--keep", metavar="A,B,...", multiple=True,
    help="Columns of the input to write before the prediction; tag: the tag of VW text. May be repeated.",
)  # fmt: skip
@click.option(
    "--output-format", type=click.Choice(OUTPUT_FORMATS),
    help="How to write; by default what the suffix of -o FILE tells, else tsv.",
)  # fmt: skip
@click.option("-o", "--output", "output_path", metavar="FILE", help="Write to this file instead of standard output.")
@click.option("--json", "as_json", is_flag=True, help="The same as --output-format jsonl.")
def predict(
    model_path: str,
    data: tuple[str, ...],
    ranking: bool,
    abstain: float | None,
    keep: tuple[str, ...],
    output_format: str | None,
    output_path: str | None,
    as_json: bool,
    **numbers: bool,
) -> None:
    """Predict the class of every row.

    A line a row; sets of labels are separated by commas. DATA are files, or - for standard input. svmlight rows begin
    with a label even where it is not known: it is not looked at, so any will do. Where there are several columns (in
    CSV: always) a heading names them. Features the model has never met have weights of mean 0 and the prior's
    variance: they leave the margins as they are and make them less certain.
    """
    if as_json and output_format not in (None, "jsonl"):
        raise click.UsageError(f"--json writes JSON lines: leave it out, or --output-format {output_format}")
    check_output(output_path, [model_path, *data])
    model = load_model(model_path)
    from ..streaming import Answering
    from .answer_formats import format_of, writer
    from .answers import Answers, Wanted

    kept = tuple(name.strip() for names in keep for name in names.split(","))
    wanted = Wanted(frozenset(name for name, asked in numbers.items() if asked), ranking, abstain, kept)
    if "" in kept:
        raise click.UsageError(f"--keep takes names of columns separated by commas; got {','.join(keep)!r}")
    answers, answering = Answers(model, wanted), Answering(model.learner)
    kind = output_format or ("jsonl" if as_json else format_of(output_path))
    options: dict[str, Any] = {"ignore_labels": True, "keep": kept}
    with (
        reported(),
        writer(kind, output_path, answers.columns, answers.names) as file,
        open_for(model, data, **options) as stream,
    ):
        for batch in stream:
            file.write(answers.about(batch, answering.matrix(batch)))
