"""``confidently topics show``: the topics of a model."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ...inputs import load_model
from ...options.arguments import FRACTION, POSITIVE_INTEGER, json_option, model_argument
from ...options.command import Command
from ...options.plot import check_plot, plot_option
from ...output.classes import check_class, class_title, of_class, print_classes
from ...output.model_summaries import topic_model_facts, topic_model_text
from ...output.text import say

if TYPE_CHECKING:
    from ....topics.model import TopicModel
    from ....topics.views import TopicsOfClass


EXAMPLES = ("confidently topics show topics.cw --words 5",)


@click.command(cls=Command, examples=EXAMPLES)
@model_argument
@click.option("--words", type=POSITIVE_INTEGER, default=8, help="Show this many words of each topic.")
@click.option(
    "--relevance",
    type=FRACTION,
    default=0.6,
    help="Order words by their probability in the topic (1), by how much more probable they are there than in all "
    "documents (0), or by both.",
)
@click.option(
    "--top", type=POSITIVE_INTEGER, help="Show this many topics of each class, those with the largest |weight|/std."
)
@click.option("--class", "class_name", metavar="NAME", help="Show this class (label) only.")
@plot_option
@json_option
def show(
    model_path: str,
    words: int,
    relevance: float,
    top: int | None,
    class_name: str | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Show the topics of a model: their words and their weights for the classes.

    A topic's weight is the class score of a document about that topic only; std is the posterior standard deviation of
    the weight. Topics that favor the class come first. The fraction is the proportion of the topic's words among all
    words of the training documents.
    """
    check_plot(plot)
    model = load_model(model_path, "topics")
    check_class(model, class_name)
    from ....topics.views import topic_views

    views = [_most_certain(view, top) for view in of_class(topic_views(model, words, relevance), class_name)]
    if plot:
        from ...output.plots import plot_topics, save_plot

        save_plot(plot_topics(model, views), plot)
    facts = topic_model_facts(model, model_path)
    if as_json:
        listed = [{"class": view.name, "topics": [asdict(topic) for topic in view.topics]} for view in views]
        say(json.dumps({**facts, "weights": listed}))
        return
    print_classes(topic_model_text(facts), views, lambda view: [_view_text(model, view)], plot)


def _most_certain(view: TopicsOfClass, top: int | None) -> TopicsOfClass:
    from ....topics.views import TopicsOfClass

    chosen = sorted(view.topics, key=lambda topic: -abs(topic.mean) / topic.std)[:top]
    return TopicsOfClass(view.name, [topic for topic in view.topics if topic in chosen])


def _view_text(model: TopicModel, view: TopicsOfClass) -> str:
    rows = [["topic", "weight", "std", "fraction", "words"]]
    rows += [
        [
            str(topic.number),
            f"{topic.mean:+.4g}",
            f"{topic.std:.3g}",
            f"{100 * topic.share:.1f} %",
            " ".join(map(str, topic.words)) or "(no words)",
        ]
        for topic in view.topics
    ]
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    lines = ["  ".join([*map(str.rjust, row, widths), row[4]]) for row in rows]
    return "\n".join([class_title(model, view.name), *lines])
