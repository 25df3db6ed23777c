"""``confidently topics show``: the topics of a model."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ...common import class_names, json_option, load_model, model_argument, table
from ...output.accounts import classes_called, classes_text, file_text
from ...output.class_views import check_class, class_title, of_class, write_classes
from ...output.pictures import check_picture, picture_option, save_picture

if TYPE_CHECKING:
    from ....topics.model import TopicModel
    from ....topics.views import TopicsOfClass


@click.command()
@model_argument
@click.option("--words", type=click.IntRange(1), default=8, show_default=True, help="Words shown of each topic.")
@click.option(
    "--relevance",
    type=click.FloatRange(0, 1),
    default=0.6,
    show_default=True,
    metavar="SHARE",
    help="Order of the words: 1 by their probability in the topic, 0 by how much likelier they are there than in all "
    "texts, between them by both.",
)
@click.option(
    "--top", type=click.IntRange(1), metavar="N", help="Show N topics of each class, those of the largest |weight|/std."
)
@click.option("--class", "class_name", metavar="NAME", help="The class (label) to show.")
@picture_option
@json_option
def show(
    model_path: str,
    words: int,
    relevance: float,
    top: int | None,
    class_name: str | None,
    picture: str | None,
    as_json: bool,
) -> None:
    """Show the topics of a model: their words, and what each says of the classes.

    A topic's weight is what a document gains in the class's score that is about nothing else; std is the standard
    deviation of that weight under what was learned. Topics that speak for the class come first. The share is that of
    the topic's words among all words learned.
    """
    check_picture(picture, [model_path])
    model = load_model(model_path, "topics")
    check_class(model, class_name)
    from ....topics.views import topic_views

    views = [_cut(view, top) for view in of_class(topic_views(model, words, relevance), class_name)]
    if picture:
        from ...output.topics_picture import draw_topics

        save_picture(draw_topics(model, views), picture)
    facts = _facts(model, model_path)
    if as_json:
        listed = [{"class": view.name, "topics": [asdict(topic) for topic in view.topics]} for view in views]
        click.echo(json.dumps({**facts, "weights": listed}))
        return
    write_classes(_facts_text(facts), views, lambda view: [_view_text(model, view)], picture)


def _cut(view: TopicsOfClass, top: int | None) -> TopicsOfClass:
    from ....topics.views import TopicsOfClass

    surest = sorted(view.topics, key=lambda topic: -abs(topic.mean) / topic.std)[:top]
    return TopicsOfClass(view.name, [topic for topic in view.topics if topic in surest])


def _facts(model: TopicModel, path: str) -> dict[str, Any]:
    learner = model.learner
    settings = learner.settings
    return {
        "model": path,
        "model_bytes": os.path.getsize(path),
        "classifier": settings.classifier,
        "task": settings.task,
        "topics": settings.n_topics,
        "nonparametric": settings.nonparametric,
        "epsilon": settings.epsilon,
        "classes": class_names(model),
        "vocabulary": learner.n_features,
        "documents_seen": learner.n_seen,
        "words_seen": int(learner.state["counters"][1]),
        "source": model.source,
        "estimator": model.estimator,
    }


def _facts_text(facts: dict[str, Any]) -> str:
    each = ", each class its own" if facts["task"] == "one-vs-rest" else ""
    most = " at most" if facts["nonparametric"] else ""
    rows = [
        ["model", file_text(facts)],
        ["topics", f"{facts['topics']}{most}{each}, classifier {facts['classifier']}, {facts['task']}"],
        ["trained on", f"{facts['documents_seen']:,} documents of {facts['words_seen']:,} words (all passes together)"],
        [classes_called(facts["task"]), classes_text(facts["classes"])],
        ["vocabulary", f"{facts['vocabulary']:,} words"],
    ]
    return table(rows, str.ljust)


def _view_text(model: TopicModel, view: TopicsOfClass) -> str:
    rows = [["topic", "weight", "std", "share", "words"]]
    rows += [
        [
            str(topic.number),
            f"{topic.mean:+.4g}",
            f"{topic.std:.3g}",
            f"{100 * topic.share:.1f} %",
            _listed(topic.words),
        ]
        for topic in view.topics
    ]
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    lines = ["  ".join([*map(str.rjust, row, widths), row[4]]) for row in rows]
    return "\n".join([class_title(model, view.name), *lines])


def _listed(words: list[str | int]) -> str:
    return " ".join(map(str, words)) or "(no words)"
