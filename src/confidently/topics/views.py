"""What a topic model has learned: topics by their words, and what each says of the classes, and how surely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..models.inspection import Naming
from ..rules.ranges import Range, check_number

if TYPE_CHECKING:
    from .learner import TopicLearner
    from .model import TopicModel

RELEVANCE = 0.6  # the weight at which readers found topics named best (Sievert & Shirley)


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
        The most relevant first: names, or numbers as the input has them.
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


def relevances(topics: np.ndarray, weight: float) -> np.ndarray:
    """How well words stand for topics: weight log p(word | topic) + (1 - weight) log(p(word | topic) / p(word)).

    With weight 1 words are in the order of their probability, with 0 in that of their lift, how much likelier they
    are in the topic than in all texts.

    Parameters
    ----------
    topics : array of shape (..., K, n_words)
        The topics' Dirichlet parameters, as :meth:`TopicLearner.topics` gives them.
    weight : float
        In [0, 1].

    Returns
    -------
    ndarray of the same shape

    Raises
    ------
    ValueError, TypeError
        If the weight is outside [0, 1], or no number.

    References
    ----------
    Sievert & Shirley, LDAvis: a method for visualizing and interpreting topics, 2014.

    Examples
    --------
    >>> topics = np.array([[50.0, 10.0, 1.0], [50.0, 1.0, 10.0]])
    >>> relevances(topics, 1.0).argmax(axis=1).tolist(), relevances(topics, 0.0).argmax(axis=1).tolist()
    ([0, 0], [1, 2])
    """
    check_number("words", "relevance", weight, Range(0.0, 1.0, closed_low=True, closed_high=True))
    in_topic = np.log(topics / topics.sum(axis=-1, keepdims=True))
    overall = topics.sum(axis=-2, keepdims=True)
    relevant: np.ndarray = in_topic - (1.0 - weight) * np.log(overall / overall.sum(axis=-1, keepdims=True))
    return relevant


def topic_views(model: TopicModel, n_words: int = 10, relevance: float = RELEVANCE) -> list[TopicsOfClass]:
    """The topics of every class by their weights, largest first.

    Parameters
    ----------
    model : TopicModel
        See :class:`confidently.topics.model.TopicModel`.
    n_words : int
        Words a topic; only words met in it count.
    relevance : float
        How the words are ordered, see :func:`relevances`.

    Returns
    -------
    list of TopicsOfClass
        One for two classes, else one a class or label.
    """
    learner: TopicLearner = model.learner
    means, covariances, words = learner.means(), learner.covariances(), _words(model, n_words, relevance)
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


def _words(model: TopicModel, n: int, weight: float) -> list[list[list[str | int]]]:
    """The most relevant words of every topic of every model."""
    naming, topics = Naming(model), model.learner.topics()
    texts = model.source.get("text") or []
    column = f"{texts[0]}:" if len(texts) == 1 else ""

    def called(word: int) -> str | int:
        name = naming.given(word)
        return name.removeprefix(column) if isinstance(name, str) else name

    met = topics > model.learner.settings.word_prior
    order = np.argsort(np.where(met, -relevances(topics, weight), np.inf), axis=-1, kind="stable")[..., :n]
    return [
        [[called(word) for word in words[there[words]].tolist()] for words, there in zip(ours, theirs, strict=True)]
        for ours, theirs in zip(order, met, strict=True)
    ]
