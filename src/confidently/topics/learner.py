"""The compiled online topic model on numbers: bags of words in, topics and classifiers out.

Needs NumPy only. :class:`confidently.OnlineMedLDA` puts scikit-learn's contract over it; `docs/topics.md` has the
mathematics.

All that is learned is one dict of arrays. L models (one, or one a class in the one-vs-rest task) with K topics each,
and T tasks that share a model's topics (one, or one a label):

=============  =================  ==================================================================================
entry          shape              meaning
=============  =================  ==================================================================================
words          (room, L, K)       expected number of times each word was drawn from each topic, without the prior
totals         (L, K)             its sums over words
shift          (L, T, K)          Gibbs: precision times mean of the classifiers' weights; averaging: the mean
precision      (L, T, K, K)       Gibbs only: the inverse of the weights' covariance
sticks         (L, 2, K)          nonparametric only: the sticks' Beta parameters u and v
counters       (2,) int64         documents and words learned
=============  =================  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import asdict, dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from .. import _core
from ..learner.calibration import vote, vote_multiclass
from ..learner.learner import check_choice
from ..rules.ranges import POSITIVE, Range, check_number
from .calibration import KEPT, fitted_sigmoid, fitted_softmax, looked_at, probabilities_of, probability_of

State = dict[str, np.ndarray]

TASKS = ("binary", "one-vs-rest", "multilabel")
CLASSIFIERS = ("gibbs", "averaging")
EXPECTATIONS = ("ratio", "digamma")
COUNTERS = ("documents", "words")
LOOKED = ("looked", "looked.scores", "looked.signs", "looked.weights")
# Documents between two looks at the keyboard and the callers' progress bar; rounded up to whole batches.
DOCUMENTS_PER_STRIDE = 512
MAX_COUNT = 2**24  # of one word in one document


@dataclass(frozen=True)
class TopicSettings:
    """What a topic model is, as opposed to what it has learned; :class:`confidently.OnlineMedLDA` explains each."""

    task: str
    classifier: str
    n_topics: int
    nonparametric: bool
    document_prior: float
    word_prior: float
    stick_prior: float
    c: float
    epsilon: float
    prior_variance: float
    step_size: float
    n_inner: int
    n_samples: int
    burn_in: int
    batch_size: int
    topic_expectation: str
    prediction_samples: int
    prediction_burn_in: int
    seed: int
    calibration: str | None = "progressive"

    def __post_init__(self) -> None:
        check_choice("task", self.task, TASKS)
        check_choice("classifier", self.classifier, CLASSIFIERS)
        check_choice("topic_expectation", self.topic_expectation, EXPECTATIONS)
        if self.calibration is not None:
            check_choice("calibration", self.calibration, ("progressive",))
        for name in ("document_prior", "word_prior", "stick_prior", "c", "epsilon", "prior_variance", "step_size"):
            check_number("topic model", name, getattr(self, name), POSITIVE)
        for name in ("n_topics", "n_inner", "n_samples", "batch_size", "prediction_samples"):
            check_whole(name, getattr(self, name), 1)
        for name in ("burn_in", "prediction_burn_in", "seed"):
            check_whole(name, getattr(self, name), 0)

    def models(self, n_classes: int) -> int:
        """Topic models of their own."""
        return n_classes if self.task == "one-vs-rest" else 1

    def tasks(self, n_classes: int) -> int:
        """Classifiers that share a topic model."""
        return n_classes if self.task == "multilabel" else 1

    def core(self, n_classes: int) -> _core.Topics:
        """The compiled model."""
        return _core.Topics(
            topics=self.n_topics, tasks=self.tasks(n_classes), nonparametric=self.nonparametric,
            digamma=self.topic_expectation == "digamma", gibbs=self.classifier == "gibbs",
            document_prior=self.document_prior, word_prior=self.word_prior, stick_prior=self.stick_prior, c=self.c,
            epsilon=self.epsilon, prior_variance=self.prior_variance, step_size=self.step_size, inner=self.n_inner,
            samples=self.n_samples, burn_in=self.burn_in, batch=self.batch_size, seed=self.seed,
        )  # fmt: skip


def check_whole(name: str, value: object, least: int) -> None:
    """Raise ``TypeError`` or ``ValueError`` unless a number is whole and large enough."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer >= {least}, got {value!r}")
    check_number("topic model", name, value, Range(least, inf, closed_low=True))


@dataclass(frozen=True)
class Bags:
    """Documents as bags of words, in the layout of a CSR matrix."""

    start: np.ndarray  # (n + 1,) int64
    words: np.ndarray  # int32, ascending within a document
    counts: np.ndarray  # int32
    n_words: int

    def __len__(self) -> int:
        return len(self.start) - 1

    def part(self, first: int, last: int) -> Bags:
        """Some of the documents."""
        return Bags(self.start[first : last + 1], self.words, self.counts, self.n_words)

    def lengths(self) -> np.ndarray:
        """Words of each document, repetitions counted."""
        sums = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        lengths: np.ndarray = sums[self.start[1:]] - sums[self.start[:-1]]
        return lengths

    def rows(self, order: np.ndarray) -> Bags:
        """The documents in another order."""
        size = np.diff(self.start)[order]
        start = np.concatenate([[0], np.cumsum(size)])
        entry = np.arange(start[-1]) + np.repeat(self.start[:-1][order] - start[:-1], size)
        return Bags(start, self.words[entry], self.counts[entry], self.n_words)

    def strides(self, size: int) -> Iterator[tuple[int, int]]:
        """The documents in parts of a size."""
        for first in range(0, len(self), size):
            yield first, min(first + size, len(self))


class TopicLearner:
    """An online topic model with classifiers over its topics.

    Parameters
    ----------
    settings : TopicSettings
    n_classes : int
        Classes, or labels.
    n_features : int
        Words; may grow.
    """

    kind: ClassVar[str] = "topics"

    def __init__(self, settings: TopicSettings, n_classes: int, n_features: int = 0) -> None:
        self.settings, self.n_classes, self.n_features = settings, n_classes, n_features
        self.state = new_state(settings, n_classes, n_features)

    def grow(self, n_features: int) -> None:
        """Make room for more words, never seen so far."""
        words = self.state["words"]
        if n_features > len(words):  # doubling, so that a stream of new words is copied a few times only
            grown = np.zeros((max(n_features, 2 * len(words)), *words.shape[1:]))
            grown[: len(words)] = words
            self.state = {**self.state, "words": grown}
        self.n_features = max(n_features, self.n_features)

    def learn(
        self,
        bags: Bags,
        signs: np.ndarray,
        n_threads: int = 1,
        progress: Callable[[int], None] | None = None,
        new: bool = True,
        weights: np.ndarray | None = None,
    ) -> None:
        """Learn documents, a batch after the other.

        Parameters
        ----------
        bags : Bags
        signs : int8 array of shape (len(bags), L, T)
            1 where the document belongs to the class or has the label, else -1.
        n_threads : int
            They share the work; what is learned does not depend on their number.
        progress : callable, optional
            Called with the number of documents learned so far.
        new : bool
            Whether none of the documents was learned before: only such scores may calibrate.
        weights : float64 array of shape (len(bags),), optional
            How often each document counts, >= 0; those of weight 0 are passed over.
        """
        weights = np.ones(len(bags)) if weights is None else weights
        if not weights.all():
            there = np.flatnonzero(weights)
            bags, signs, weights = bags.rows(there), signs[there], weights[there]
        core = self.settings.core(self.n_classes)
        self.state = {name: array if array.flags.writeable else array.copy() for name, array in self.state.items()}
        lengths, seen, position = bags.lengths(), self.n_seen, 0
        for cut, looks in [*self._looks(len(bags) if new else 0), (len(bags), None)]:
            for first, last in self._strides(position, cut):
                part = bags.part(first, last)
                core.learn(
                    self.state, self.n_features, part.start, part.words, part.counts, signs[first:last],
                    weights[first:last], seen + first, n_threads,
                )  # fmt: skip
                self.state["counters"] += [last - first, lengths[first:last].sum()]
                if progress is not None:
                    progress(last)
            if looks is not None:
                self._look(bags.rows(looks), signs[looks], weights[looks], n_threads)
            position = cut

    def _strides(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Whole batches, but for the end of the last."""
        size = -(-DOCUMENTS_PER_STRIDE // self.settings.batch_size) * self.settings.batch_size
        for begin in range(first, last, size):
            yield begin, min(begin + size, last)

    def _looks(self, n: int) -> Iterator[tuple[int, np.ndarray]]:
        """Beginnings of batches of the next ``n`` documents, and which of each batch's are to be scored there."""
        if self.settings.calibration is None:
            return
        documents, batch = looked_at(self.n_seen, n), self.settings.batch_size
        for start in np.unique(documents // batch * batch).tolist():
            yield start, documents[documents // batch * batch == start]

    def _look(self, bags: Bags, signs: np.ndarray, weights: np.ndarray, n_threads: int) -> None:
        """Keep the scores of documents that were not learned yet, in place of the oldest."""
        scores, signs = self.scores(self.shares(bags, n_threads)), signs.reshape(len(bags), -1)
        place = (self.state["looked"][0] + np.arange(len(bags))) % KEPT
        self.state["looked.scores"][place], self.state["looked.signs"][place] = scores, signs
        self.state["looked.weights"][place] = weights
        self.state["looked"] += len(bags)

    def shares(self, bags: Bags, n_threads: int = 1) -> np.ndarray:
        """Shares of the topics among the words of documents: (n, L, K); zeros where no word is known."""
        core, settings = self.settings.core(self.n_classes), self.settings
        shares = np.zeros((len(bags), *self.state["totals"].shape))
        for first, last in bags.strides(DOCUMENTS_PER_STRIDE):
            part = bags.part(first, last)
            core.infer(
                self.state, self.n_features, part.start, part.words, part.counts, settings.prediction_burn_in,
                settings.prediction_samples, shares[first:last], n_threads,
            )  # fmt: skip
        return shares

    def scores(self, shares: np.ndarray) -> np.ndarray:
        """Means of the scores of documents with these shares, a column a model and task: (n, L T)."""
        scores: np.ndarray = np.einsum("dlk,ltk->dlt", shares, self.means())
        return scores.reshape(len(shares), -1)

    def score_variances(self, shares: np.ndarray) -> np.ndarray:
        """Variances of the scores under the Gaussians over the classifiers' weights: (n, L T)."""
        shape = (len(shares), *self.state["shift"].shape[:2])
        variance = np.einsum("dlk,ltkj,dlj->dlt", shares, self.covariances(), shares, optimize=True)
        return np.broadcast_to(variance, shape).reshape(len(shares), -1)

    def probabilities(self, shares: np.ndarray) -> np.ndarray:
        """Probability of the second of two classes (n, 1), of every class, or of every label (n, T).

        Calibrated by the documents scored before they were learned; with ``calibration=None`` the share of the
        classifiers drawn from their Gaussians that say so.
        """
        task, scores = self.settings.task, self.scores(shares)
        if self.settings.calibration is None:
            return (vote_multiclass if task == "one-vs-rest" else vote)(scores, self.score_variances(shares))
        known, signs, weights = self.scored_beforehand()
        known = known / self.settings.epsilon
        u = scores / self.settings.epsilon
        if task == "one-vs-rest":
            return probabilities_of(u, fitted_softmax(known, signs.argmax(axis=1), weights))
        if task == "binary":
            slope = fitted_softmax(known * (-0.5, 0.5), (signs[:, 0] > 0).astype(np.intp), weights)
            return probability_of(u, np.append(slope, 0.0))
        fitted = [fitted_sigmoid(known[:, t], signs[:, t], weights) for t in range(u.shape[1])]
        return np.column_stack([probability_of(u[:, t], ab) for t, ab in enumerate(fitted)])

    def scored_beforehand(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores (n, L T), signs and weights of the last documents that were scored before they were learned."""
        count = min(int(self.state["looked"][0]), KEPT)
        scores, signs, weights = (self.state[name][:count] for name in LOOKED[1:])
        return scores, signs, weights

    def means(self) -> np.ndarray:
        """Means of the classifiers' weights: (L, T, K)."""
        if self.settings.classifier == "averaging":
            return self.state["shift"].copy()
        return np.linalg.solve(self.state["precision"], self.state["shift"][..., None])[..., 0]

    def covariances(self) -> np.ndarray:
        """Covariances of the classifiers' weights: (L, T, K, K)."""
        if self.settings.classifier == "gibbs":
            return np.linalg.inv(self.state["precision"])
        shape = (*self.state["shift"].shape, self.settings.n_topics)
        return np.broadcast_to(self.settings.prior_variance * np.eye(self.settings.n_topics), shape)

    def topics(self) -> np.ndarray:
        """The topics' Dirichlet parameters over words: (L, K, n_features)."""
        return np.moveaxis(self.state["words"][: self.n_features], 0, 2) + self.settings.word_prior

    @property
    def n_seen(self) -> int:
        """Documents learned."""
        return int(self.state["counters"][COUNTERS.index("documents")])

    # --- as plain data -------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """All that is not an array."""
        return {
            "kind": self.kind,
            "settings": asdict(self.settings),
            "n_classes": self.n_classes,
            "n_features": self.n_features,
        }

    @classmethod
    def from_header(cls, header: dict[str, Any], arrays: State) -> TopicLearner:
        """The learner that :meth:`header` and :meth:`packed` describe; ``ValueError`` where they do not fit."""
        learner = cls(TopicSettings(**header["settings"]), header["n_classes"])
        expected = new_state(learner.settings, header["n_classes"], 0)
        words = np.zeros((header["n_features"], *expected["words"].shape[1:]))
        arrays = {name: expected[name] for name in LOOKED} | arrays  # files of before know of none
        rows = arrays["words.rows"]
        if rows.dtype != np.int64 or (len(rows) and not 0 <= rows.min() <= rows.max() < len(words)):
            raise ValueError("its words lie outside the vocabulary")
        words[rows] = arrays["words"]
        learner.state, learner.n_features = {}, len(words)
        for name, like in {**expected, "words": words}.items():
            array = words if name == "words" else arrays[name]
            if array.shape != like.shape or array.dtype != like.dtype:
                raise ValueError(f"{name} is {array.dtype}{list(array.shape)}, not {like.dtype}{list(like.shape)}")
            if not np.isfinite(array).all():
                raise ValueError(f"{name} has values that are not finite")
            learner.state[name] = np.require(array, requirements=["C", "W"])
        return learner

    def packed(self) -> State:
        """The state without words never seen."""
        words = self.state["words"][: self.n_features]
        rows = np.flatnonzero(words.any(axis=(1, 2)))
        return {**self.state, "words": words[rows], "words.rows": rows.astype(np.int64)}

    def with_settings(self, settings: TopicSettings) -> TopicLearner:
        """The same state under settings changed in what does not shape it."""
        other = copy(self)
        other.settings = settings
        return other


def new_state(settings: TopicSettings, n_classes: int, n_features: int) -> State:
    """A state that has seen nothing."""
    models, tasks, topics = settings.models(n_classes), settings.tasks(n_classes), settings.n_topics
    state: State = {
        "words": np.zeros((n_features, models, topics)),
        "totals": np.zeros((models, topics)),
        "shift": np.zeros((models, tasks, topics)),
        "counters": np.zeros(len(COUNTERS), dtype=np.int64),
        "looked": np.zeros(1, dtype=np.int64),
        "looked.scores": np.zeros((KEPT, models * tasks)),
        "looked.signs": np.zeros((KEPT, models * tasks), dtype=np.int8),
        "looked.weights": np.ones(KEPT),
    }
    if settings.classifier == "gibbs":
        state["precision"] = np.tile(np.eye(topics) / settings.prior_variance, (models, tasks, 1, 1))
    elif settings.task == "multilabel":  # no label, by just the margin asked for, unless words say so
        state["shift"] -= settings.epsilon
    if settings.nonparametric:
        state["sticks"] = np.tile(np.array([[1.0], [settings.stick_prior]]), (models, 1, topics))
    return state
