"""The state of a topic learner: one dict of arrays.

There are L models (one, or one per class in the one-vs-rest task) with K topics each, and T tasks that share the topics
of a model (one, or one per label):

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
conformal      (size,)            what was learned of the probabilities of their classes (core/tasks/conformal.hpp)
=============  =================  ==================================================================================
"""

from __future__ import annotations

import numpy as np

from ..covariances.state import COUNT, COUNTS, REAL, Shapes, State, check_within, within
from ..rules.ranges import Range
from ..tasks import conformal
from ..tasks.conformal import CONFORMAL
from .calibration import MAX_SCORED
from .settings import TopicSettings

TOPIC_COUNTERS = ("documents", "words")
SCORED = ("looked", "looked.scores", "looked.signs", "looked.weights")  # entries about scores before learning
MAX_NUMBER = 1e60  # of a state


def new_state(settings: TopicSettings, n_classes: int, n_features: int) -> State:
    """Return the state before the first document."""
    state = {name: np.zeros(*form) for name, form in state_shapes(settings, n_classes, n_features).items()}
    state["looked.weights"] += 1.0
    state[CONFORMAL] = conformal.untrained(n_classes)
    if settings.classifier == "gibbs":
        state["precision"] += np.eye(settings.n_topics) / settings.prior_variance
    elif settings.predicts.multilabel:  # no label, by just the required margin, until words change that
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
        "looked.signs": ((MAX_SCORED, models * tasks), "int8"),
        "looked.weights": ((MAX_SCORED,), REAL),
        CONFORMAL: ((conformal.size(n_classes),), REAL),
    }
    if settings.classifier == "gibbs":
        shapes["precision"] = (models, tasks, topics, topics), REAL
    if settings.nonparametric:
        shapes["sticks"] = (models, 2, topics), REAL
    return shapes


def check_values(state: State) -> None:
    """Raise ``ValueError`` unless the numbers of a state are in their ranges."""
    positive, counted = Range(0.0, MAX_NUMBER), Range(0.0, MAX_NUMBER, closed_low=True)
    ranges = {
        "words": counted, "totals": counted, "shift": within(MAX_NUMBER), "counters": COUNTS, "looked": COUNTS,
        "looked.scores": within(MAX_NUMBER), "looked.signs": within(1), "looked.weights": counted,
        "precision": within(MAX_NUMBER), "sticks": positive,
    }  # fmt: skip
    for name in state.keys() - {CONFORMAL}:
        check_within(name, state[name], ranges[name])
    for part in conformal.values(state[CONFORMAL]):
        check_within(*part)
    if "precision" in state:
        _check_precision(state["precision"])


def _check_precision(precision: np.ndarray) -> None:
    """Raise ``ValueError`` unless the matrices are symmetric, up to rounding, and have variances above 0."""
    if not np.allclose(precision, np.swapaxes(precision, -1, -2), rtol=1e-6, atol=0.0):
        raise ValueError("precision is not symmetric")
    np.linalg.cholesky(precision)  # LinAlgError, a ValueError, unless it is positive definite
    variances = np.diagonal(np.linalg.inv(precision), axis1=-2, axis2=-1)
    check_within("the variances of topics", variances, Range(0.0, MAX_NUMBER))
