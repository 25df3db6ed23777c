"""``confidently topics predict``: what a topic model says of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ...common import data_argument, load_model, model_argument
from ..predict import answer_options, check_usage, write_answers

if TYPE_CHECKING:
    from ....topics.model import TopicModel
    from ...output.answers import Answers, Wanted
    from ..predict import About


@click.command()
@model_argument
@data_argument
@answer_options
@click.option("--no-topics", is_flag=True, help="Leave out the topics' shares.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Threads; answers are the same.")
def predict(model_path: str, data: tuple[str, ...], no_topics: bool, jobs: int, **options: Any) -> None:
    """Predict the class of every document, and say what it is about.

    A line a document: its class (sets of labels are separated by commas) and the share of every topic among its words,
    which are numbered from 0 as topics show numbers them; of three classes or more, each class has its own topics.
    DATA are files, or - for standard input, read as the training data were. Words never met are passed over.
    """
    check_usage(model_path, data, options)
    model = load_model(model_path, "topics")

    def asked(model: TopicModel, wanted: Wanted) -> tuple[Answers, About]:
        from ...output.topics_answers import TopicAnswers

        answers = TopicAnswers(model, wanted, jobs)
        return answers, answers.about

    write_answers(model, data, options, asked, () if no_topics else ("topic",))
