"""The topic learner: bags of words in, topics and classifiers out, by the compiled sampler.

It needs NumPy only. :class:`confidently.OnlineMedLDA` puts scikit-learn's contract over it; `docs/topics.md` has the
mathematics.

The state is one dict of arrays. There are L models (one, or one per class in the one-vs-rest task) with K topics each,
and T tasks that share the topics of a model (one, or one per label):

=============  =================  ==================================================================================
entry          shape              meaning
=============  =================  ==================================================================================
words          (room, L, K)       expected number of times each word was drawn from each topic, without the prior
totals         (L, K)             its sums over words
shift          (L, T, K)          Gibbs: precision times mean of the classifiers' weights; averaging: the mean
precision      (L, T, K, K)       Gibbs only: the inverse of the covariance of the weights
sticks         (L, 2, K)          nonparametric only: the Beta parameters u and v of the sticks
counters       (2,) int64         documents and words learned
looked         (1,) int64         documents scored before they were learned
looked.scores  (512, L T)         the scores of the last of them; the oldest are overwritten
looked.signs   (512, L T) int8    their labels, -1 or 1
looked.weights (512,)             how often each counts
=============  =================  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from .. import _core
from ..arrays import row_entries
from ..covariances.state import COUNT, COUNTS, REAL, Shapes, State, check_within, out_of_range, within
from ..learner.calibration import posterior_probabilities, posterior_probability, softmax
from ..rules.ranges import POSITIVE, Range, check_choice, check_integer, check_number
from .calibration import MAX_SCORED, fitted_sigmoid, fitted_softmax, probability, scored_documents

TOPIC_TASKS = ("binary", "one-vs-rest", "multilabel")
CLASSIFIERS = ("gibbs", "averaging")
TOPIC_COUNTERS = ("documents", "words")
SCORED = ("looked", "looked.scores", "looked.signs", "looked.weights")  # entries about scores before learning
# Documents per call of the core, between two reports of progress; rounded up to whole batches.
DOCUMENTS_PER_CALL = 512
MAX_COUNT = 2**24  # of one word in one document
MAX_SEED = 2**31 - 1
MAX_SETTING, MAX_REPETITIONS = 1e30, 2**20
MAX_NUMBER = 1e60  # in a model file


def _choice(*choices: object, **default: Any) -> Any:
    return field(metadata={"choices": choices}, **default)


def _positive() -> Any:
    return field(metadata={"range": POSITIVE})


def _integer(minimum: int) -> Any:
    return field(metadata={"minimum": minimum})


@dataclass(frozen=True)
class TopicSettings:
    """Settings of a topic model, as opposed to what it has learned; :class:`confidently.OnlineMedLDA` explains each.

    The metadata of a field holds its ``choices``, the ``range`` of a number or the ``minimum`` of an integer.
    """

    task: str = _choice(*TOPIC_TASKS)
    classifier: str = _choice(*CLASSIFIERS)
    n_topics: int = _integer(1)
    nonparametric: bool = _choice(False, True)
    document_prior: float = _positive()
    word_prior: float = _positive()
    stick_prior: float = _positive()
    c: float = _positive()
    epsilon: float = _positive()
    prior_variance: float = _positive()
    step_size: float = _positive()
    n_inner: int = _integer(1)
    n_samples: int = _integer(1)
    burn_in: int = _integer(0)
    batch_size: int = _integer(1)
    topic_expectation: str = _choice("ratio", "digamma")
    prediction_samples: int = _integer(1)
    prediction_burn_in: int = _integer(0)
    seed: int = _integer(0)
    calibration: str | None = _choice("progressive", None, default="progressive")

    def __post_init__(self) -> None:
        for setting in fields(self):
            check_setting(setting.name, getattr(self, setting.name), setting.metadata)
        check_sizes(self)

    def models(self, n_classes: int) -> int:
        """Number of topic models."""
        return n_classes if self.task == "one-vs-rest" else 1

    def tasks(self, n_classes: int) -> int:
        """Number of classifiers that share a topic model."""
        return n_classes if self.task == "multilabel" else 1

    def whole_batches(self, n: int) -> int:
        """Number of documents in the fewest batches that hold ``n``."""
        return whole_batches(n, self.batch_size)

    def core(self, n_classes: int) -> _core.Topics:
        """The compiled model."""
        return _core.Topics(
            topics=self.n_topics, tasks=self.tasks(n_classes), nonparametric=self.nonparametric,
            digamma=self.topic_expectation == "digamma", gibbs=self.classifier == "gibbs",
            document_prior=self.document_prior, word_prior=self.word_prior, stick_prior=self.stick_prior, c=self.c,
            epsilon=self.epsilon, prior_variance=self.prior_variance, step_size=self.step_size, inner=self.n_inner,
            samples=self.n_samples, burn_in=self.burn_in, batch=self.batch_size, seed=self.seed,
        )  # fmt: skip


def check_setting(name: str, value: object, allowed: Mapping[str, Any]) -> None:
    """Raise ``TypeError`` or ``ValueError`` unless a setting's metadata allow the value."""
    if "choices" in allowed:
        check_choice(name, value, allowed["choices"])
    elif "minimum" in allowed:
        check_integer("topic model", name, value, allowed["minimum"])
    else:
        check_number("topic model", name, value, allowed["range"])


def whole_batches(n: int, batch_size: int) -> int:
    """Return the number of documents in the fewest batches that hold ``n``."""
    return -(-n // batch_size) * batch_size


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
        """The documents ``first`` to ``last - 1``."""
        return Bags(self.start[first : last + 1], self.words, self.counts, self.n_words)

    def lengths(self) -> np.ndarray:
        """Number of words of each document, repetitions counted."""
        sums = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        lengths: np.ndarray = sums[self.start[1:]] - sums[self.start[:-1]]
        return lengths

    def rows(self, order: np.ndarray) -> Bags:
        """The documents of these numbers, in this order."""
        entries, start = row_entries(self.start, order)
        return Bags(start, self.words[entries], self.counts[entries], self.n_words)


class TopicLearner:
    """An online topic model with classifiers over its topics.

    Parameters
    ----------
    settings : TopicSettings
    n_classes : int
        Number of classes, or labels.
    n_features : int
        Number of words; it may grow.
    state : dict of arrays, optional
        What was learned before; by default nothing.
    """

    kind: ClassVar[str] = "topics"

    def __init__(
        self, settings: TopicSettings, n_classes: int, n_features: int = 0, state: State | None = None
    ) -> None:
        self.settings, self.n_classes, self.n_features = settings, n_classes, n_features
        self.state = new_state(settings, n_classes, n_features) if state is None else state

    def grow(self, n_features: int) -> None:
        """Make room for more words, which are new to the model."""
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
        """Learn documents, batch by batch.

        Parameters
        ----------
        bags : Bags
        signs : int8 array of shape (len(bags), L, T)
            1 where the document belongs to the class or has the label, otherwise -1.
        n_threads : int
            Number of threads; what is learned does not depend on it.
        progress : callable, optional
            Called with the number of documents learned so far.
        new : bool
            Whether none of the documents was learned before: only the scores of such documents may calibrate.
        weights : float64 array of shape (len(bags),), optional
            How often each document counts, >= 0; those of weight 0 are skipped.
        """
        signs = np.ascontiguousarray(signs)
        weights = np.ones(len(bags)) if weights is None else np.asarray(weights, dtype=np.float64)
        if not weights.all():
            counted = np.flatnonzero(weights)
            bags, signs, weights = bags.rows(counted), signs[counted], weights[counted]
        before = self.state
        self.state = {name: array.copy() for name, array in before.items()}  # an error must leave the state as it was
        try:
            self._learn(bags, signs, n_threads, progress, new, weights)
            check_values(self.state)
        except ValueError:
            self.state = before
            raise out_of_range("float64") from None

    def _learn(
        self, bags: Bags, signs: np.ndarray, n_threads: int, progress: Callable[[int], None] | None, new: bool,
        weights: np.ndarray,
    ) -> None:  # fmt: skip
        core = self.settings.core(self.n_classes)
        lengths, seen, position = bags.lengths(), self.n_seen, 0
        for cut, scored in [*self._scorings(len(bags) if new else 0), (len(bags), None)]:
            for first, last in _blocks(position, cut, self.settings.whole_batches(DOCUMENTS_PER_CALL)):
                part = bags.part(first, last)
                core.learn(
                    self.state, self.n_features, part.start, part.words, part.counts, signs[first:last],
                    weights[first:last], seen + first, n_threads,
                )  # fmt: skip
                self.state["counters"] += [last - first, lengths[first:last].sum()]
                if progress is not None:
                    progress(last)
            if scored is not None:
                self._keep_scores(bags.rows(scored), signs[scored], weights[scored], n_threads)
            position = cut

    def _scorings(self, n: int) -> Iterator[tuple[int, np.ndarray]]:
        """Starts of batches among the next ``n`` documents, each with the documents of the batch to score there."""
        if self.settings.calibration is None:
            return
        documents, batch = scored_documents(self.n_seen, n), self.settings.batch_size
        for start in np.unique(documents // batch * batch).tolist():
            yield start, documents[documents // batch * batch == start]

    def _keep_scores(self, bags: Bags, signs: np.ndarray, weights: np.ndarray, n_threads: int) -> None:
        """Keep the scores of documents that are not learned yet, in place of the oldest."""
        scores, signs = self.scores(self.proportions(bags, n_threads)), signs.reshape(len(bags), -1)
        position = (self.state["looked"][0] + np.arange(len(bags))) % MAX_SCORED
        self.state["looked.scores"][position], self.state["looked.signs"][position] = scores, signs
        self.state["looked.weights"][position] = weights
        self.state["looked"] += len(bags)

    def proportions(self, bags: Bags, n_threads: int = 1) -> np.ndarray:
        """Proportions of the topics among the words of documents: (n, L, K); zeros where no word is known."""
        core, settings = self.settings.core(self.n_classes), self.settings
        proportions = np.zeros((len(bags), *self.state["totals"].shape))
        for first, last in _blocks(0, len(bags), DOCUMENTS_PER_CALL):
            part = bags.part(first, last)
            core.infer(
                self.state, self.n_features, part.start, part.words, part.counts, settings.prediction_burn_in,
                settings.prediction_samples, proportions[first:last], n_threads,
            )  # fmt: skip
        return proportions

    def scores(self, proportions: np.ndarray) -> np.ndarray:
        """Means of the scores of documents with these proportions, one column per model and task: (n, L T)."""
        scores: np.ndarray = np.einsum("dlk,ltk->dlt", proportions, self.means())
        return scores.reshape(len(proportions), -1)

    def score_variances(self, proportions: np.ndarray) -> np.ndarray:
        """Variances of the scores under the Gaussians over the classifiers' weights: (n, L T)."""
        shape = (len(proportions), *self.state["shift"].shape[:2])
        variance = np.einsum("dlk,ltkj,dlj->dlt", proportions, self.covariances(), proportions, optimize=True)
        return np.broadcast_to(variance, shape).reshape(len(proportions), -1)

    def probabilities(self, proportions: np.ndarray) -> np.ndarray:
        """Probability of the second of two classes (n, 1), of every class, or of every label (n, T).

        They are calibrated by the progressive scores. With ``calibration=None`` they are the uncalibrated posterior
        probabilities: the fraction of the classifiers drawn from their Gaussians that choose the class.
        """
        task, scores = self.settings.task, self.scores(proportions)
        if self.settings.calibration is None:
            return (posterior_probabilities if task == "one-vs-rest" else posterior_probability)(
                scores, self.score_variances(proportions)
            )
        known, signs, weights = self.progressive_scores()
        known = known / self.settings.epsilon
        u = scores / self.settings.epsilon
        if task == "one-vs-rest":
            return softmax(u, fitted_softmax(known, signs.argmax(axis=1), weights))
        if task == "binary":
            slope = fitted_softmax(known * (-0.5, 0.5), (signs[:, 0] > 0).astype(np.intp), weights)
            return probability(u, np.append(slope, 0.0))
        fitted = [fitted_sigmoid(known[:, t], signs[:, t], weights) for t in range(u.shape[1])]
        return np.column_stack([probability(u[:, t], ab) for t, ab in enumerate(fitted)])

    def progressive_scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores (n, L T), signs and weights of the last documents that were scored before they were learned."""
        count = min(int(self.state["looked"][0]), MAX_SCORED)
        scores, signs, weights = (self.state[name][:count] for name in SCORED[1:])
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
        """Dirichlet parameters of the topics over words: (L, K, n_features)."""
        return np.moveaxis(self.state["words"][: self.n_features], 0, 2) + self.settings.word_prior

    @property
    def n_seen(self) -> int:
        """Number of documents learned, all passes together."""
        return int(self.state["counters"][TOPIC_COUNTERS.index("documents")])

    def header(self) -> dict[str, Any]:
        """Everything that is not an array, as plain data."""
        return {
            "kind": self.kind,
            "settings": asdict(self.settings),
            "n_classes": self.n_classes,
            "n_features": self.n_features,
        }

    def with_settings(self, settings: TopicSettings) -> TopicLearner:
        """A learner with the same state and other settings, none of which may change the arrays' shapes."""
        other = copy(self)
        other.settings = settings
        return other


def new_state(settings: TopicSettings, n_classes: int, n_features: int) -> State:
    """Return the state before the first document."""
    state = {name: np.zeros(*form) for name, form in state_shapes(settings, n_classes, n_features).items()}
    state["looked.weights"] += 1.0
    if settings.classifier == "gibbs":
        state["precision"] += np.eye(settings.n_topics) / settings.prior_variance
    elif settings.task == "multilabel":  # no label, by just the required margin, until words change that
        state["shift"] -= settings.epsilon
    if settings.nonparametric:
        state["sticks"] += np.array([[1.0], [settings.stick_prior]])
    return state


def state_shapes(settings: TopicSettings, n_classes: int, n_features: int) -> Shapes:
    """Return shape and type of every entry of a state."""
    models, tasks, topics = settings.models(n_classes), settings.tasks(n_classes), settings.n_topics
    shapes: Shapes = {
        "words": ((n_features, models, topics), REAL),
        "totals": ((models, topics), REAL),
        "shift": ((models, tasks, topics), REAL),
        "counters": ((len(TOPIC_COUNTERS),), COUNT),
        "looked": ((1,), COUNT),
        "looked.scores": ((MAX_SCORED, models * tasks), REAL),
        "looked.signs": ((MAX_SCORED, models * tasks), np.dtype(np.int8)),
        "looked.weights": ((MAX_SCORED,), REAL),
    }
    if settings.classifier == "gibbs":
        shapes["precision"] = (models, tasks, topics, topics), REAL
    if settings.nonparametric:
        shapes["sticks"] = (models, 2, topics), REAL
    return shapes


def check_sizes(settings: TopicSettings) -> None:
    """Raise ``ValueError`` for settings with which predictions would not end or not be finite."""
    for setting in fields(settings):
        if "choices" not in setting.metadata:
            most = MAX_SEED if setting.name == "seed" else MAX_REPETITIONS
            size = most if "minimum" in setting.metadata else MAX_SETTING
            low = 0 if "minimum" in setting.metadata else 1 / size
            value = getattr(settings, setting.name)
            if not low <= value <= size:
                raise ValueError(f"{setting.name} must be in {low:g} to {size:g}, got {value:g}")


def check_values(state: State) -> None:
    """Raise ``ValueError`` unless the numbers of a state from a file could be those of a learner."""
    positive, counted = Range(0.0, MAX_NUMBER), Range(0.0, MAX_NUMBER, closed_low=True)
    ranges = {
        "words": counted, "totals": counted, "shift": within(MAX_NUMBER), "counters": COUNTS, "looked": COUNTS,
        "looked.scores": within(MAX_NUMBER), "looked.signs": within(1), "looked.weights": counted,
        "precision": within(MAX_NUMBER), "sticks": positive,
    }  # fmt: skip
    for name, values in state.items():
        check_within(name, values, ranges[name])
    if "precision" in state:
        _check_precision(state["precision"])


def _check_precision(precision: np.ndarray) -> None:
    """Raise ``ValueError`` unless the matrices are symmetric, up to rounding, and have variances above 0."""
    if not np.allclose(precision, np.swapaxes(precision, -1, -2), rtol=1e-6, atol=0.0):
        raise ValueError("precision is not symmetric")
    np.linalg.cholesky(precision)  # LinAlgError, a ValueError, unless it is positive definite
    variances = np.diagonal(np.linalg.inv(precision), axis1=-2, axis2=-1)
    check_within("the variances of topics", variances, Range(0.0, MAX_NUMBER))


def _blocks(first: int, last: int, size: int) -> Iterator[tuple[int, int]]:
    """Consecutive blocks of a size, the last of which may be smaller."""
    for start in range(first, last, size):
        yield start, min(start + size, last)
