"""Inputs of the topic estimator: counts of words, and parameters with defaults that depend on the data."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_non_negative

from ..rules.ranges import check_choice, check_integer
from .bags import MAX_COUNT, Bags
from .settings import CLASSIFIERS, TopicSettings

DEFAULTS: dict[str, dict[str, Any]] = {
    "gibbs": {"c": 1.0, "step_size": 10.0, "n_inner": 1, "n_samples": 3, "batch_size": 32},
    "averaging": {"c": 25.0, "step_size": 1.0, "n_inner": 2, "n_samples": 1, "batch_size": 1, "prior_variance": 0.1},
}
DOCUMENT_PRIOR, CONCENTRATION = 0.5, 5.0  # per topic; of all topics together where their number is not fixed
# The estimator's parameter for each setting. The other settings are the task, the seed and nonparametric.
RENAMED = {"document_prior": "doc_topic_prior", "word_prior": "topic_word_prior"}
PARAMETER_OF = {
    setting.name: RENAMED.get(setting.name, setting.name)
    for setting in fields(TopicSettings)
    if setting.name not in ("task", "nonparametric", "seed")
}


def check_counts(X: Any, estimator: object) -> csr_matrix:
    """Return rows of counts without zeros, the columns of each row ascending.

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
        raise ValueError(f"X: too large a count of a word, got {X.data.max():g}; use counts up to {MAX_COUNT}")
    return X


def bags_of(X: csr_matrix) -> Bags:
    """Return checked rows as bags of words; fractional counts are rounded up."""
    counts = np.ceil(X.data).astype(np.int32)
    return Bags(X.indptr.astype(np.int64), X.indices.astype(np.int32), counts, X.shape[1])


def chosen_settings(given: dict[str, Any], task: str, bags: Bags, weights: np.ndarray | None = None) -> TopicSettings:
    """Return the settings for an estimator's parameters; those left at None are chosen by the others and the data."""
    check_choice("classifier", given["classifier"], CLASSIFIERS)
    nonparametric = given["n_topics"] is None
    topics = given["max_topics"] if nonparametric else given["n_topics"]
    check_integer("topic model", "max_topics" if nonparametric else "n_topics", topics, 1)
    lengths = bags.lengths()
    counted = (lengths > 0) if weights is None else (lengths > 0) & (weights > 0)
    defaults = {
        "prior_variance": float(topics),
        "epsilon": float(np.average(lengths[counted], weights=None if weights is None else weights[counted]))
        if counted.any()
        else 1.0,
        "doc_topic_prior": CONCENTRATION if nonparametric else DOCUMENT_PRIOR,
        **DEFAULTS[given["classifier"]],
    }
    chosen: dict[str, Any] = {
        setting: defaults.get(parameter) if given[parameter] is None else given[parameter]
        for setting, parameter in PARAMETER_OF.items()
    }
    return TopicSettings(**chosen | {"task": task, "n_topics": int(topics), "nonparametric": nonparametric, "seed": 0})
