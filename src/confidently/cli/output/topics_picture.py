"""Pictures of ``confidently topics show``: topics' weights with their uncertainty, beside the topics' words."""

from __future__ import annotations

from matplotlib.figure import Figure

from ...topics.model import TopicModel
from ...topics.views import TopicsOfClass, TopicView
from .bars import Panel, draw_panels

MAX_CLASSES = 6
WIDEST_LABEL = 56  # letters
WORDS_SHOWN = 6


def draw_topics(model: TopicModel, views: list[TopicsOfClass]) -> Figure:
    """A bar a topic, with two standard deviations to either side; a panel a class."""
    shown = views[:MAX_CLASSES]
    panels = [
        Panel(
            view.name,
            [_label(topic) for topic in view.topics],
            [topic.mean for topic in view.topics],
            [topic.std for topic in view.topics],
        )
        for view in shown
    ]
    return draw_panels(model, panels, len(views) - len(shown), "Weights of topics", most_columns=2, width=9.5)


def _label(topic: TopicView) -> str:
    """A topic's number and as many of its words as there is room for."""
    text = f"{topic.number}:"
    for word in map(str, topic.words[:WORDS_SHOWN]):
        if len(text) + len(word) >= WIDEST_LABEL:
            break
        text += f" {word}"
    return text.replace("$", r"\$")
