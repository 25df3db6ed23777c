"""Training of topic models on arrays: counts, classes and weights of scikit-learn's interface.

`documents.py` does the same for streams.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import csr_matrix
from sklearn.utils import check_random_state, column_or_1d

from ..data.class_order import ClassOrder
from ..data.memory.labels import (
    check_class_weight,
    class_numbers,
    class_weights,
    example_weights,
    is_multilabel,
    known_classes,
    known_labels,
)
from ..rules.ranges import check_integer
from .bags import Bags
from .inputs import bags_of, chosen_settings
from .learner import TopicLearner
from .settings import MAX_SEED, TopicSettings

# Settings that shape the state and cannot change once something was learned.
FIXED_SETTINGS = ("classifier", "n_topics", "nonparametric", "word_prior", "prior_variance")


class ArrayTraining:
    """One call of the estimator's ``fit`` or ``partial_fit``.

    Parameters
    ----------
    parameters : dict
        The estimator's parameters.
    before : tuple of TopicLearner and ClassOrder, optional
        What was learned before; by default nothing.
    partial : bool
        Whether the documents are some of many, learned once in their order.

    Attributes
    ----------
    learner : TopicLearner
        What is learned, once :meth:`run` has returned.
    order : ClassOrder
        Its classes.
    """

    def __init__(
        self, parameters: dict[str, Any], before: tuple[TopicLearner, ClassOrder] | None, partial: bool
    ) -> None:
        self.parameters, self.before, self.partial = parameters, before, partial

    def run(
        self,
        X: csr_matrix,
        y: Any,
        classes: Any,
        sample_weight: Any,
        progress: Callable[[int], None] | None,
    ) -> tuple[Bags, np.ndarray]:
        """Learn checked rows of counts; return them and their signs, without rows of weight 0, as last ordered.

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input; what was learned before stays as it was.
        """
        known, signs = self._targets(y, classes)
        self.order = ClassOrder(known)
        bags, weights = bags_of(X), self._weights(sample_weight, y, len(signs), known)
        seen = np.flatnonzero(weights)
        bags, signs, weights = bags.rows(seen), signs[seen], weights[seen]
        task = "multilabel" if is_multilabel(y) else "binary" if len(known) == 2 else "one-vs-rest"
        settings = self._settings(bags, weights, task)
        if self.before is None:
            self.learner = TopicLearner(settings, len(known), bags.n_words)
        else:
            self.learner = self.before[0].with_settings(settings)
            self.learner.grow(bags.n_words)
        threads = effective_n_jobs(self.parameters["n_jobs"])
        if self.partial:
            self.learner.learn(bags, signs, threads, progress, weights=weights)
            return bags, signs
        random = check_random_state(self.parameters["random_state"])
        for number in range(self.parameters["passes"]):
            order = random.permutation(len(bags))
            shuffled = bags.rows(order), signs[order]
            report = _counting_from(number * len(bags), progress)
            self.learner.learn(*shuffled, threads, report, new=number == 0, weights=weights[order])
        return shuffled

    def _targets(self, y: Any, classes: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes or labels, and a sign per document, model and classifier."""
        multilabel = is_multilabel(y)
        before = None if self.before is None else self.before[1].by_number
        if self.before is not None and multilabel != self.before[0].task.multilabel:
            raise ValueError("y changed between one class per row and an indicator matrix of labels")
        if multilabel:
            y = y if self.before is None else self.before[1].labels_by_number(y)
            chosen = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
            return known_labels(y, before), np.where(chosen != 0, 1, -1).astype(np.int8)[:, None, :]
        y = column_or_1d(y, warn=True)
        known = known_classes(y, classes, before, self.partial)
        if before is not None and len(known) > len(before):
            raise ValueError(
                f"y: a topic model cannot add classes, got the new {known[len(before) :].tolist()}; pass all classes "
                "in the first partial_fit(..., classes=...)"
            )
        numbers = class_numbers(y, known)
        wanted = np.array([1]) if len(known) == 2 else np.arange(len(known))
        return known, np.where(numbers[:, None] == wanted, 1, -1).astype(np.int8)[:, :, None]

    def _weights(self, sample_weight: Any, y: Any, n: int, known: np.ndarray) -> np.ndarray:
        """Return how often each document counts."""
        given = self.parameters["class_weight"]
        weights = np.ones(n) if sample_weight is None else example_weights(sample_weight, n, self.partial)
        check_class_weight(given, self.partial)
        of_class = class_weights(given, known, y, is_multilabel(y))
        return weights if of_class is None else weights * of_class[class_numbers(y, known)]

    def _settings(self, bags: Bags, weights: np.ndarray, task: str) -> TopicSettings:
        """Return the settings for the parameters; what the data of the first call decided stays."""
        check_integer("topic model", "passes", self.parameters["passes"], 1)
        settings = chosen_settings(self.parameters, task, bags, weights)
        if self.before is None:
            random = check_random_state(self.parameters["random_state"])
            return replace(settings, seed=int(random.randint(MAX_SEED)))
        before = self.before[0].settings
        settings = replace(settings, seed=before.seed, epsilon=self.parameters["epsilon"] or before.epsilon)
        changed = [name for name in FIXED_SETTINGS if getattr(settings, name) != getattr(before, name)]
        if changed:
            raise ValueError(f"{', '.join(changed)} cannot change after training began; restore, or fit from scratch")
        return settings


def _counting_from(before: int, progress: Callable[[int], None] | None) -> Callable[[int], None] | None:
    """Return a report of progress that counts the documents of earlier passes as well."""
    return None if progress is None else lambda n: progress(before + n)
