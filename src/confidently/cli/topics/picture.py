"""Pictures of ``confidently topics show``: topics' weights with their uncertainty, beside the topics' words."""

from __future__ import annotations

from matplotlib.figure import Figure

from ...model_file import Model
from ...topic_views import TopicsOfClass, TopicView
from ..inspect_picture import draw_bars

MOST_CLASSES = 6
WIDEST_LABEL = 56  # letters
WORDS_SHOWN = 6


def draw_topics(model: Model, views: list[TopicsOfClass]) -> Figure:
    """A bar a topic, with two standard deviations to either side; a panel a class."""
    shown = views[:MOST_CLASSES]
    columns = min(2, len(shown))
    rows = -(-len(shown) // columns)
    bars = max(len(view.topics) for view in shown)
    figure = Figure(figsize=(9.5 * columns, 1.1 + rows * (0.7 + 0.24 * bars)), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, view in zip(panels, shown, strict=False):
        draw_bars(
            axes,
            [_label(topic) for topic in view.topics],
            [topic.mean for topic in view.topics],
            [2.0 * topic.std for topic in view.topics],
        )
        axes.set_title(_title(model, view), loc="left", fontsize=10)
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    more = f" ({len(views) - len(shown)} classes more)" if len(shown) < len(views) else ""
    figure.suptitle(f"Weights of topics: mean, and two standard deviations to either side{more}", fontsize=12)
    return figure


def _label(topic: TopicView) -> str:
    """A topic's number and as many of its words as there is room for."""
    text = f"{topic.number}:"
    for word in map(str, topic.words[:WORDS_SHOWN]):
        if len(text) + len(word) >= WIDEST_LABEL:
            break
        text += f" {word}"
    return text.replace("$", r"\$")


def _title(model: Model, view: TopicsOfClass) -> str:
    if model.learner.settings.task == "binary":
        return f"{view.name} (right) against {model.classes[0]} (left)"
    return str(view.name)
