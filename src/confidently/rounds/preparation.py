"""What an estimator needs before it trains in rounds: its checks, its untrained model, and the cells."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from ..covariances.names import AUTO
from ..covariances.table import kind_of
from ..data.classes import check_classes
from ..data.features import Features
from ..estimators.auto import AutoClassifier, AutoRegressor
from ..estimators.classifier import OnlineClassifier
from ..estimators.mixture import MixtureEstimator
from ..estimators.regressor import OnlineRegressor
from ..models.model import Model
from ..rules.ranges import check_choice
from .cells import Cell, cells_of
from .survey import FirstRows

DEFAULT_ROUNDS = 16
SHUFFLE = (None, "within", "between")
TRAINED = (OnlineClassifier, AutoClassifier, OnlineRegressor, AutoRegressor)
AnyEstimator = OnlineClassifier | AutoClassifier | OnlineRegressor | AutoRegressor
Estimator = TypeVar("Estimator", OnlineClassifier, AutoClassifier, OnlineRegressor, AutoRegressor)


def check_estimator(estimator: Any, shuffle: str | None = None, **counts: int | None) -> None:
    """Raise unless an estimator can train in rounds; ``counts`` are numbers that must be at least 1, if given.

    Raises
    ------
    ValueError, TypeError
    """
    if not isinstance(estimator, TRAINED):
        raise TypeError(
            "training on a cluster needs an OnlineClassifier, AutoClassifier, OnlineRegressor or AutoRegressor, "
            f"got {type(estimator).__name__}"
        )
    estimator._check_parameters(partial=True)
    if estimator.encoder is not None:
        told = "pass an array of its vectors, or use confidently train --encoder"
        raise ValueError(f"encoder: not supported on a cluster, whose workers would each need it; {told}")
    if estimator.coverage_by is not None:
        raise ValueError("coverage_by is not supported on a cluster; train without one, or use coverage_by=None")
    for one in single_learners(estimator):
        if one.covariance != AUTO:
            kind_of(one.covariance).require("distribute")
        if one.forget:
            raise ValueError(
                "partitions are trained on in parallel, so no rows come last for forget to keep; use forget=0"
            )
    check_counts(**counts)
    check_choice("shuffle", shuffle, SHUFFLE)


def check_counts(**counts: int | None) -> None:
    """Raise ``ValueError`` unless these are integers of at least 1, or ``None``."""
    for name, number in counts.items():
        if number is not None and (not isinstance(number, numbers.Integral) or number < 1):
            raise ValueError(f"{name} must be an integer >= 1, got {number!r}")


def shuffling_of(estimator: AnyEstimator, shuffle: str | None) -> str | None:
    """Return how rows are shuffled, by an argument or else by the estimator."""
    return shuffle or ("within" if estimator.shuffle not in (False, AUTO) else None)


def seed_of(estimator: AnyEstimator) -> int:
    """Draw the seed of a training."""
    return int(check_random_state(estimator.random_state).randint(2**31))


def initial_model(estimator: AnyEstimator, found: FirstRows, classes: Any) -> Model:
    """Return an untrained model for rows that are read as those of files are."""
    reading = found.reading
    table = estimator._table_of(estimator.predicts_numbers, found.multilabel, classes)
    features = Features(bounded=not reading.vocabulary) if reading.named else None
    source = {**reading.as_dict(), "closed": classes is not None}
    learner = estimator._new_learner(0, len(table), found.multilabel, found.default, found.n_columns)
    return Model(learner, table.names, features, estimator._saved_parameters(), source)


def take_trained(estimator: AnyEstimator, model: Model) -> None:
    """Make an estimator that of a trained model, which must know two classes or more."""
    table = model.class_table()
    check_classes(table.names, table.multilabel)
    estimator._take_model(model)


def grid_of(
    sizes: Sequence[int], divisible: Sequence[bool], partitions: int, rounds: int, shuffle: str | None, seed: int
) -> list[list[Cell]]:
    """Return the cells of each partition in each round, in order or dealt out at random."""
    deal = np.random.default_rng(seed) if shuffle == "between" else None
    return cells_of(sizes, divisible, partitions, rounds, deal)


def skipping(on_error: str | int) -> str:
    """Return what single tasks do on an invalid row; the rounds count the rows they skip."""
    return "stop" if on_error == "stop" else "skip"


def single_learners(estimator: AnyEstimator) -> Sequence[OnlineClassifier | OnlineRegressor]:
    """Return the estimator itself, or the members that a stack was given."""
    if not isinstance(estimator, MixtureEstimator):
        return [estimator]
    members: Any = estimator.members
    return [] if isinstance(members, str) else list(members)
