"""Views of a topic model: the words of every topic, and its weight in every class with the weight's uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.class_order import positive_number, sorted_numbers
from ..models.inspection import Naming
from ..rules.ranges import Range, check_number

if TYPE_CHECKING:
    from .learner import TopicLearner
    from .model import TopicModel

RELEVANCE = 0.6  # the weight at which readers found topics named best (Sievert & Shirley)


@dataclass(frozen=True)
class TopicView:
    """One topic and its weight in one class.

    Attributes
    ----------
    number : int
        Its number among the topics of its model, from 0.
    share : float
        Fraction of all words learned that are of this topic.
    mean, std : float
        Its weight in the classifier, and the standard deviation of that weight.
    words : list of str or int
        Names of words, or their numbers as in the input; the most relevant first.
    """

    number: int
    share: float
    mean: float
    std: float
    words: list[str | int]


@dataclass(frozen=True)
class TopicsOfClass:
    """A class (label) and its topics by weight, largest first. Two classes have one view, of the second."""

    name: Any
    topics: list[TopicView]


def relevances(topics: np.ndarray, weight: float) -> np.ndarray:
    """Return the relevance of words to topics: w log p(word | topic) + (1 - w) log(p(word | topic) / p(word)).

    The weight w = 1 orders words by their probability in the topic, w = 0 by their lift: how much likelier they are
    in the topic than in all texts.

    Parameters
    ----------
    topics : array of shape (..., K, n_words)
        Dirichlet parameters of the topics, as from :meth:`TopicLearner.topics`.
    weight : float
        In [0, 1].

    Returns
    -------
    ndarray of the same shape

    Raises
    ------
    ValueError, TypeError
        If the weight is outside [0, 1] or not a number.

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
    return in_topic - (1.0 - weight) * np.log(overall / overall.sum(axis=-1, keepdims=True))


def topic_views(model: TopicModel, n_words: int = 10, relevance: float = RELEVANCE) -> list[TopicsOfClass]:
    """Return the topics of every class by their weights, largest first.

    Parameters
    ----------
    model : TopicModel
        As read by :meth:`confidently.topics.model.TopicModel.load`.
    n_words : int
        Words per topic, out of those learned in it.
    relevance : float
        Order of the words, see :func:`relevances`.

    Returns
    -------
    list of TopicsOfClass
        One for two classes, otherwise one per class or label, sorted by name.
    """
    learner: TopicLearner = model.learner
    means, covariances, words = learner.means(), learner.covariances(), _words(model, n_words, relevance)
    totals = learner.state["totals"]
    shares = totals / np.maximum(totals.sum(axis=1, keepdims=True), 1e-300)
    names = model.classes
    if learner.task.binary:
        positive = positive_number(names)
        names, means = [names[positive]], means if positive == 1 else -means
    views = []
    for number in sorted_numbers(names):
        m, t = (0, number) if learner.task.multilabel else (number, 0)
        deviation = np.sqrt(np.diagonal(covariances[m, t]))
        order = np.argsort(-means[m, t], kind="stable").tolist()
        topics = [
            TopicView(k, float(shares[m, k]), float(means[m, t, k]), float(deviation[k]), words[m][k]) for k in order
        ]
        views.append(TopicsOfClass(names[number], topics))
    return views


def _words(model: TopicModel, n: int, weight: float) -> list[list[list[str | int]]]:
    """The most relevant words of every topic of every model."""
    naming, topics = Naming(model), model.learner.topics()
    texts = model.source.get("text") or []
    column = f"{texts[0]}:" if len(texts) == 1 else ""

    def name_of(word: int) -> str | int:
        name = naming.given(word)
        return name.removeprefix(column) if isinstance(name, str) else name

    learned = topics > model.learner.settings.word_prior
    order = np.argsort(np.where(learned, -relevances(topics, weight), np.inf), axis=-1, kind="stable")[..., :n]

    def names_of(words: np.ndarray, seen: np.ndarray) -> list[str | int]:
        return [name_of(word) for word in words[seen[words]].tolist()]

    return [list(map(names_of, *of_model)) for of_model in zip(order, learned, strict=True)]
