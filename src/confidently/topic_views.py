"""What a topic model has learned: topics by their words, and what each says of the classes, and how surely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .inspection import Naming

if TYPE_CHECKING:
    from .model_file import Model
    from .topic_learner import TopicLearner


@dataclass(frozen=True)
class TopicView:
    """One topic, as one class sees it.

    Attributes
    ----------
    number : int
        Among the topics of its model, from 0.
    share : float
        Of all words learned, those of this topic.
    mean, std : float
        Its weight in the classifier, and the weight's standard deviation.
    words : list of str or int
        The likeliest first: names, or numbers as the input has them.
    """

    number: int
    share: float
    mean: float
    std: float
    words: list[str | int]


@dataclass(frozen=True)
class TopicsOfClass:
    """A class (label) and its topics, those that speak for it first. Of two classes there is one, the second."""

    name: Any
    topics: list[TopicView]


def topic_views(model: Model, n_words: int = 10) -> list[TopicsOfClass]:
    """The topics of every class by their weights, largest first.

    Parameters
    ----------
    model : Model
        Of ``confidently.model_file.load(path, "topics")``.
    n_words : int
        Words a topic; only words met in it count.

    Returns
    -------
    list of TopicsOfClass
        One for two classes, else one a class or label.
    """
    learner: TopicLearner = model.learner
    means, covariances, words = learner.means(), learner.covariances(), _words(model, n_words)
    totals = learner.state["totals"]
    shares = totals / np.maximum(totals.sum(axis=1, keepdims=True), 1e-300)
    names = model.classes[1:2] if learner.settings.task == "binary" else model.classes
    found = []
    for number, name in enumerate(names):
        m, t = (0, number) if learner.settings.task == "multilabel" else (number, 0)
        deviation = np.sqrt(np.diagonal(covariances[m, t]))
        order = np.argsort(-means[m, t], kind="stable").tolist()
        found.append(
            TopicsOfClass(
                name,
                [
                    TopicView(k, float(shares[m, k]), float(means[m, t, k]), float(deviation[k]), words[m][k])
                    for k in order
                ],
            )
        )
    return found


def _words(model: Model, n: int) -> list[list[list[str | int]]]:
    """The likeliest words of every topic of every model."""
    counts, naming = model.learner.state["words"][: model.learner.n_features], Naming(model)
    texts = model.source.get("text") or []
    column = f"{texts[0]}:" if len(texts) == 1 else ""

    def called(word: int) -> str | int:
        name = naming.given(word)
        return name.removeprefix(column) if isinstance(name, str) else name

    def likeliest(column: np.ndarray) -> list[str | int]:
        order = np.argsort(-column, kind="stable")[:n]
        return [called(word) for word in order[column[order] > 0].tolist()]

    return [[likeliest(counts[:, m, k]) for k in range(counts.shape[2])] for m in range(counts.shape[1])]
