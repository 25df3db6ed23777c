"""What users give a topic model: counts of words, and parameters that may be left to the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_non_negative

from ..learner.learner import check_choice
from .learner import CLASSIFIERS, MAX_COUNT, Bags, TopicSettings, check_whole

DEFAULTS: dict[str, dict[str, Any]] = {
    "gibbs": {"c": 1.0, "step_size": 10.0, "n_inner": 1, "n_samples": 3, "batch_size": 32},
    "averaging": {"c": 25.0, "step_size": 1.0, "n_inner": 2, "n_samples": 1, "batch_size": 1, "prior_variance": 0.1},
}
DOCUMENT_PRIOR, CONCENTRATION = 0.5, 5.0  # of a topic; of all topics together, with their number left open


def check_counts(X: Any, estimator: object) -> csr_matrix:
    """Rows of counts, zeros left out, each row's columns ascending.

    Raises
    ------
    ValueError
        For counts that are negative or too large.
    """
    check_non_negative(X, type(estimator).__name__)
    X = csr_matrix(X)
    if not X.has_canonical_format or (X.data == 0).any():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    if X.nnz and X.data.max() > MAX_COUNT:
        raise ValueError(f"X has a count of {X.data.max():g}, at most {MAX_COUNT} of a word in a document are possible")
    return X


def bags_of(X: csr_matrix) -> Bags:
    """Checked rows as bags of words; counts that are not whole are rounded up."""
    counts = np.ceil(X.data).astype(np.int32)
    return Bags(X.indptr.astype(np.int64), X.indices.astype(np.int32), counts, X.shape[1])


def chosen_settings(given: dict[str, Any], task: str, bags: Bags, weights: np.ndarray | None = None) -> TopicSettings:
    """The settings that an estimator's parameters mean; those not given as they suit the others and the documents."""
    check_choice("classifier", given["classifier"], CLASSIFIERS)
    nonparametric = given["n_topics"] is None
    topics = given["max_topics"] if nonparametric else given["n_topics"]
    check_whole("max_topics" if nonparametric else "n_topics", topics, 1)
    lengths = bags.lengths()
    some = (lengths > 0) if weights is None else (lengths > 0) & (weights > 0)
    defaults = {
        "prior_variance": float(topics),
        "epsilon": float(np.average(lengths[some], weights=None if weights is None else weights[some]))
        if some.any()
        else 1.0,
        "doc_topic_prior": CONCENTRATION if nonparametric else DOCUMENT_PRIOR,
        **DEFAULTS[given["classifier"]],
    }
    chosen = {name: default if given[name] is None else given[name] for name, default in defaults.items()}
    as_given = (
        "classifier", "stick_prior", "burn_in", "topic_expectation", "prediction_samples", "prediction_burn_in",
        "calibration",
    )  # fmt: skip
    return TopicSettings(
        task=task, n_topics=int(topics), nonparametric=nonparametric, document_prior=chosen.pop("doc_topic_prior"),
        word_prior=given["topic_word_prior"], seed=0, **{name: given[name] for name in as_given}, **chosen,
    )  # fmt: skip
