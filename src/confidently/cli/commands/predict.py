"""``confidently predict``: a model's predictions for a stream."""

from __future__ import annotations

from typing import Any

import click

from ..inputs import load_predictor, reported
from ..options.arguments import data_argument, model_argument
from ..options.bandit import NEW_LOGS, check_given, check_no_bandit, is_bandit, log_options
from ..options.command import Command
from ..options.entities import check_prediction, is_entities
from ..options.predictions import (
    NOVELTY,
    check_calibrated,
    check_kind,
    check_predictions,
    check_promises,
    interval_option,
    novelty_option,
    prediction_options,
    promise_options,
    requested,
)
from ..options.reading import new_data_options, opening_of
from ..output.text import say

OF_BANDIT = ("model_path", "data", "output_path", "as_json", "quiet", "format", "encoding", "delimiter", *NEW_LOGS)
EXAMPLES = (
    "confidently predict spam.cw new.jsonl --proba",
    "confidently predict spam.cw new.jsonl --abstain 0.9 -o predicted.csv",
    "confidently predict spam.cw new.jsonl --set 0.9 --max-risk 0.01 -o safe.csv",
    "confidently predict clicks.cw clicks.csv --margin --std --keep device",
    "confidently predict price.cw clicks.csv --interval 0.9 -o prices.csv",
)
FIRST = "output_path proba std ranking abstain set interval keep strict quiet as_json"


@click.command(cls=Command, examples=EXAMPLES, first=FIRST)
@model_argument
@data_argument
@prediction_options
@promise_options()
@interval_option
@novelty_option
@new_data_options
@log_options
@click.pass_context
def predict(ctx: click.Context, /, model_path: str, data: tuple[str, ...], **options: Any) -> None:
    """Predict the class or, with a regression model, the number of every row.

    Writes one line per row; multiple labels are separated by commas. DATA are files, or - for standard input. Rows of
    svmlight begin with a label, which is ignored: any label will do. With several columns (in CSV: always) a header
    names them. Unseen features have weights of mean 0 and the prior variance: they leave the margins unchanged and
    make them less certain. Of a model of train --bandit, DATA are contexts with actions in any form of its logs, of
    which nothing else is read, and each line of the result has the probabilities of the actions, as JSON.
    """
    check_predictions(options)
    if is_entities(model_path):
        from ..training.entities import write_predictions as write_those_of_entities

        check_prediction(ctx)
        write_those_of_entities(model_path, data, options, **opening_of(options))
        return
    if is_bandit(model_path):
        check_given(ctx, OF_BANDIT)
        _predict_bandit(model_path, data, options)
        return
    check_no_bandit(ctx, NEW_LOGS)
    wanted = requested(options)
    from ..output.predictions import predictions_of
    from ..output.writers import write_predictions

    model = load_predictor(model_path, data)
    check_kind(options, model.learner.task)
    check_promises(wanted.coverage, wanted.by_class, wanted.max_risk, model)
    if NOVELTY in wanted.numbers:
        check_calibrated("--novelty", model)
    write_predictions(predictions_of(model, wanted), data, options, **opening_of(options))


def _predict_bandit(model_path: str, data: tuple[str, ...], options: dict[str, Any]) -> None:
    from ...bandits.decision_model import DecisionModel
    from ...data.sources.whole_files import new_file
    from ..training.bandit import predicted_probabilities

    with reported():
        model = DecisionModel.load(model_path)
        lines, output_path = predicted_probabilities(model, data, options), options["output_path"]
        if output_path is None:
            for line in lines:
                say(line)
            return
        with new_file(output_path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
