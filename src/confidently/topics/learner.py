"""The topic learner: bags of words in, topics and classifiers out, by the compiled sampler.

It needs NumPy only. :class:`confidently.OnlineMedLDA` puts scikit-learn's contract over it; `docs/topics.md` has the
mathematics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np

from ..arrays import row_starts
from ..covariances.state import State, out_of_range
from ..tasks import conformal
from ..tasks.calibration import both_classes, posterior_probabilities, posterior_probability, softmax
from ..tasks.conformal import CONFORMAL, ConformalSets
from ..tasks.task import Task
from .bags import Bags
from .calibration import (
    MAX_SCORED,
    SCORED_PER_PERIOD,
    fitted_sigmoid,
    fitted_softmax,
    probability,
    scored_documents,
)
from .settings import TopicSettings
from .state import SCORED, TOPIC_COUNTERS, check_values, new_state

# Documents per call of the core, between two reports of progress; rounded up to whole batches.
DOCUMENTS_PER_CALL = 512
MAX_THREADS = 1024
MIN_PREDICTIONS = 100  # fewer may all be of one class by chance


class CollapseWarning(UserWarning):
    """A warning that all documents are predicted to be of one class, whatever their topics."""


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

    @property
    def task(self) -> Task:
        """What is predicted of a document."""
        return self.settings.predicts

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
            Maximum number of threads, of which at most 1024 are used; what is learned does not depend on it.
        progress : callable, optional
            Called with the number of documents learned so far.
        new : bool
            Whether none of the documents was learned before: only the scores of such documents may calibrate.
        weights : float64 array of shape (len(bags),), optional
            How often each document counts, >= 0; those of weight 0 are skipped.

        Raises
        ------
        ValueError
            If a number would leave its range. This or another error leaves the state as it was.
        """
        signs = np.ascontiguousarray(signs)
        weights = np.ones(len(bags)) if weights is None else np.asarray(weights, dtype=np.float64)
        if not weights.all():
            counted = np.flatnonzero(weights)
            bags, signs, weights = bags.rows(counted), signs[counted], weights[counted]
        touched = np.unique(bags.words[bags.start[0] : bags.start[-1]])
        self.state = {name: array if array.flags.writeable else array.copy() for name, array in self.state.items()}
        before = {name: array.copy() for name, array in self._changed(touched).items()}
        try:
            self._learn(bags, signs, n_threads, progress, new, weights)
            check_values(self._changed(touched))
        except BaseException as error:
            self._restore(touched, before)
            if isinstance(error, ValueError):
                raise out_of_range("float64") from None
            raise

    def _changed(self, touched: np.ndarray) -> State:
        """Return the arrays that documents of these words change; copying all words would take longer than training."""
        return {**self.state, "words": self.state["words"][touched]}

    def _restore(self, touched: np.ndarray, before: State) -> None:
        self.state["words"][touched] = before["words"]
        for name in before.keys() - {"words"}:
            self.state[name][...] = before[name]

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
                    weights[first:last], seen + first, min(n_threads, MAX_THREADS),
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
        state, done = self.state, 0
        while done < len(bags):
            first = int(state["looked"][0]) % MAX_SCORED
            n = min(SCORED_PER_PERIOD - first % SCORED_PER_PERIOD, len(bags) - done)
            kept, part = slice(first, first + n), slice(done, done + n)
            state["looked.scores"][kept], state["looked.signs"][kept] = scores[part], signs[part]
            state["looked.weights"][kept] = weights[part]
            state["looked"] += n
            done += n
            if kept.stop % SCORED_PER_PERIOD == 0:
                self._learn_probabilities(np.arange(kept.stop - SCORED_PER_PERIOD, kept.stop))

    def _learn_probabilities(self, last: np.ndarray) -> None:
        """Learn how probable the classes of the last documents scored were, calibrated by those before them."""
        known = self.progressive_scores()
        scores, signs, _ = (array[last] for array in known)
        p = self._calibrated(scores, *(np.delete(array, last, axis=0) for array in known))
        if self.task.multilabel:
            labels, start = (signs > 0).nonzero()[1], row_starts((signs > 0).sum(axis=1))
        else:
            labels, start = self._true_classes(signs), None
        self.state[CONFORMAL][...] = conformal.learned_late(
            self.state[CONFORMAL], p, labels.astype(np.int32), start, None
        )

    def proportions(self, bags: Bags, n_threads: int = 1) -> np.ndarray:
        """Proportions of the topics among the words of documents: (n, L, K); zeros where no word is known."""
        core, settings = self.settings.core(self.n_classes), self.settings
        proportions = np.zeros((len(bags), *self.state["totals"].shape))
        for first, last in _blocks(0, len(bags), DOCUMENTS_PER_CALL):
            part = bags.part(first, last)
            core.infer(
                self.state, self.n_features, part.start, part.words, part.counts, settings.prediction_burn_in,
                settings.prediction_samples, proportions[first:last], min(n_threads, MAX_THREADS),
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
        """Probability of every class, or of every label, (n, classes).

        They are calibrated by the progressive scores. With ``calibration=None`` they are the uncalibrated posterior
        probabilities: the fraction of the classifiers drawn from their Gaussians that choose the class.
        """
        task, scores = self.task, self.scores(proportions)
        if self.settings.calibration is None:
            variances = self.score_variances(proportions)
            if task.several:
                return posterior_probabilities(scores, variances)
            p = posterior_probability(scores, variances)
            return both_classes(p) if task.binary else p
        return self._calibrated(scores, *self.progressive_scores())

    def _calibrated(self, scores: np.ndarray, known: np.ndarray, signs: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Probabilities of scores, calibrated by known scores, their signs and weights: (n, classes)."""
        known, u = known / self.settings.epsilon, scores / self.settings.epsilon
        if self.task.several:
            return softmax(fitted_softmax(known, self._true_classes(signs), weights) * u)
        if self.task.binary:
            slope = fitted_softmax(known * (-0.5, 0.5), self._true_classes(signs), weights)
            return both_classes(probability(u, np.append(slope, 0.0)))
        fitted = [fitted_sigmoid(known[:, t], signs[:, t], weights) for t in range(u.shape[1])]
        return np.column_stack([probability(u[:, t], ab) for t, ab in enumerate(fitted)])

    def _true_classes(self, signs: np.ndarray) -> np.ndarray:
        """Numbers of the classes of documents, by their signs."""
        return (signs[:, 0] > 0).astype(np.intp) if self.task.binary else signs.argmax(axis=1)

    @property
    def conformal(self) -> ConformalSets:
        """What was learned of the probabilities of documents that were scored before they were learned."""
        return ConformalSets(self.state[CONFORMAL])

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


def _blocks(first: int, last: int, size: int) -> Iterator[tuple[int, int]]:
    """Consecutive blocks of a size, the last of which may be smaller."""
    for start in range(first, last, size):
        yield start, min(start + size, last)


def collapse_message(scores: np.ndarray, multilabel: bool) -> str | None:
    """Return a message if the scores predict the same for all documents, which are too many for chance."""
    predicted = scores > 0 if multilabel or scores.ndim == 1 else scores.argmax(axis=1)
    if len(predicted) < MIN_PREDICTIONS or (predicted != predicted[0]).any():
        return None
    return (
        f"all {len(predicted)} documents are predicted to be of one class; if that is wrong, use a larger step_size, "
        "fewer topics or, with averaging, n_inner of 2 or more"
    )
