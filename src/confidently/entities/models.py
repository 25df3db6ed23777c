"""The estimator of many entities: one shared model, and a small Gaussian per entity around it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import pi, sqrt
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..data import Batch
from ..data.memory.labels import is_multilabel, training_of
from ..estimators.classifier import OnlineClassifier
from ..estimators.gaussian import GaussianEstimator
from ..estimators.rows import separated
from ..estimators.streams import batches_of, open_to_learn
from ..rules import make_rule
from . import files
from .inputs import MULTILABEL, checked, checked_variances, in_memory
from .keys import Key, checked_keys, without_key
from .shared import Block, blocks_of_array, blocks_of_stream, offsets_of, predictions, trained_apart
from .table import EntityTable

Floats = NDArray[np.float64]
Scores = tuple[Floats, Floats, Floats, Floats, Floats]
VARIANCES = (1 / 64, 1 / 16, 1 / 4, 1.0)
SETTINGS = "key", "entity_variance", "max_entities", "max_age"  # that are saved besides the shared model
LOGISTIC_VARIANCE = pi / 8  # see core/entities/entities.hpp


@dataclass(frozen=True)
class Deviation:
    """What an entity deviates from the shared model by.

    Attributes
    ----------
    rows : int
        Rows of the entity so far.
    age : int
        Rows of all entities since its last one.
    features : list
        Names of its features, or their columns where they have none; ``"intercept"`` is the first.
    mean, variance : array of shape (n_features,) or (n_features, n_classes)
        Of its weights, added to the shared model's log-odds (of ``classes_[1]``, or of each class) or numbers. Weights
        of other features have mean 0 and the prior variance.
    """

    rows: int
    age: int
    features: list[Any]
    mean: Floats
    variance: Floats


def _classifies(estimator: EntityModels) -> bool:
    return not estimator._regression


class EntityModels(BaseEstimator):
    """Models of many entities, such as users or devices: a shared Gaussian, and a small one of each entity around it.

    An entity's weights are the shared model's plus a deviation, d ~ N(0, tau^2 I), of which only the features of the
    entity's own rows are stored. The shared model s predicts every row before it is trained on it, and the entity
    learns what is left to explain. With two classes and log-odds o of the shared model::

        d -> N(mean, diag(variance)),   v = sum_j variance_j x_j^2,   v0 = tau^2 sum_j x_j^2
        P(class 1) = sigmoid((sqrt(1 + pi v0 / 8) o + mean.x) / sqrt(1 + pi v / 8))

    so an unknown entity has the shared model's probability, and its own rows pull it away from there. Several tau^2 are
    tried side by side and weighted by how well each predicted the last few thousand rows.

    Parameters
    ----------
    key : str, optional
        The column of keys, which is no feature. Without it the keys are passed as ``key=``. Keys are strings or
        integers, all of one type.
    shared : OnlineClassifier or OnlineRegressor, optional
        The shared model, with its rule, covariance, prior and view; it is cloned. By default ``OnlineClassifier()``.
        With an OnlineRegressor, targets are numbers.
    entity_variance : float or sequence of float, default=(1/64, 1/16, 1/4, 1)
        The prior variances tau^2 of the weights of entities, each > 0: how loosely entities are tied to the shared
        model. In squared log-odds; for numbers, in units of the variance of the noise. Of one number the alternative is
        the shared model alone.
    max_entities : int, optional
        Forget the eighth of the entities that was seen the longest time ago when there are more than these.
    max_age : int, optional
        Forget an entity when none of the last ``max_age`` rows was its own.

    Attributes
    ----------
    shared_ : OnlineClassifier or OnlineRegressor
        Fitted.
    classes_ : ndarray of shape (n_classes,)
        Sorted; only of classes.
    n_entities_ : int
    keys_ : list of str or int
        The keys of all entities, in the order in which they were first seen.
    n_seen_ : int
        Rows so far.
    log_loss_, error_ : float
        Progressive, of classes: mean log-loss, and fraction of mistakes, of rows before they were trained on.
    rmse_, mae_ : float
        The same of numbers.
    variance_weights_ : dict
        The weight of each prior variance in predictions; that of 0 is the weight of the shared model alone.
    n_features_in_, feature_names_in_
        As in any scikit-learn estimator.

    Notes
    -----
    Three or more classes have a deviation each, which learns whether a row is of its class; probabilities are
    normalized. For numbers the deviations are those of ridge regression on what the shared model leaves.

    The shared model is trained on all rows as if there were no entities. It predicts blocks of rows, of at most an
    eighth of the rows before and 4,096; a block ends with a call of :meth:`partial_fit`.

    Entities see rows as the shared model does, so its view, such as ``Standard()``, applies to both. Weights of classes
    (``class_weight``) are the shared model's only.

    References
    ----------
    Ramanath et al., Lambda Learner: fast incremental learning on data streams (KDD 2021); MacKay, The evidence
    framework applied to classification networks (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from confidently.entities import EntityModels
    >>> rows = [{"user": user, "genre": genre} for user in ("ann", "bob") for genre in ("crime", "space")] * 50
    >>> liked = [row["genre"] == ("crime" if row["user"] == "ann" else "space") for row in rows]
    >>> model = EntityModels(key="user").fit(rows, liked)
    >>> new = [{"user": user, "genre": "crime"} for user in ("ann", "bob", "eve")]
    >>> model.predict_proba(new)[:, 1].round(1).tolist()
    [0.9, 0.1, 0.5]
    """

    def __init__(
        self,
        key: str | None = None,
        shared: GaussianEstimator | None = None,
        *,
        entity_variance: float | Sequence[float] = VARIANCES,
        max_entities: int | None = None,
        max_age: int | None = None,
    ) -> None:
        self.key = key
        self.shared = shared
        self.entity_variance = entity_variance
        self.max_entities = max_entities
        self.max_age = max_age

    # --- training ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, key: Any = None, sample_weight: Any = None) -> Self:
        """Train from scratch, in one pass.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d); list of n dicts or of n texts
            As for :meth:`confidently.OnlineClassifier.fit`. Frames and dicts have the column of keys.
        y : array of shape (n,); str
            Classes, or numbers with an OnlineRegressor; the name of the column that has them.
        key : sequence of n strings or integers, optional
            The keys of the rows, instead of a column.
        sample_weight : array of shape (n,), optional
            As for :meth:`confidently.OnlineClassifier.fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input, and for keys that are missing or of several types; the estimator is then
            unchanged.
        MemoryError
            If there is no memory for so many entities.
        """
        with training_of(self):
            for name in ("shared_", "_table", "_rows", "feature_names_in_"):
                self.__dict__.pop(name, None)
            return self._learn(X, y, key, sample_weight, None, partial=False)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, key: Any = None, sample_weight: Any = None) -> Self:
        """Train on more rows, in the given order.

        Parameters
        ----------
        X, y, key, sample_weight
            As in :meth:`fit`.
        classes : array, optional
            All possible classes, required in the first call; later calls may add some.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError, MemoryError
            As :meth:`fit`; the estimator is then unchanged.
        """
        with training_of(self):
            return self._learn(X, y, key, sample_weight, classes, partial=True)

    def fit_stream(self, data: Any, classes: Any = None, progress: bool = False, **options: Any) -> Self:
        """Train from scratch, in one pass over files, in memory that grows with the entities only.

        Parameters
        ----------
        data : path or list of paths, data frame, or list of dicts
            As for :meth:`confidently.OnlineClassifier.fit_stream`; ``key`` is the column of keys, which are read as
            strings.
        classes, progress, options
            As there.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError, OSError
            For invalid data, with its location; the estimator is then unchanged.
        ValueError, TypeError
            For invalid parameters or options.
        """
        self._check_parameters()
        keep = self._kept(options)
        drop = options.pop("drop", options["reading"].drop if "reading" in options else ())
        shared = clone(self._template)
        shared._check_parameters(partial=False)
        stream = open_to_learn(
            data, shared.dtype, shared._scaled, targets=self._regression,
            drop=tuple(dict.fromkeys((*((drop,) if isinstance(drop, str) else drop), self.key))),
            keep=keep, **options,
        )  # fmt: skip
        table, rows = self._new_table(), 0
        with batches_of(stream, progress) as batches:
            names = shared._table_of(stream.targets, stream.multilabel, classes)
            if stream.multilabel:
                raise ValueError(MULTILABEL)
            learning, batches = shared._stream_learner(stream, names, batches)
            for block in blocks_of_stream(learning, batches, shared.calibration, 0, self.key):
                table.grow(_outputs(learning.learner))
                _learn_block(table, block, block.kept, 0)
                rows = block.rows.stop
        shared._keep(learning, stream.reading)
        return self._take(shared, table, rows)

    def partial_fit_stream(self, paths: Any, progress: bool = False, **options: Any) -> Self:
        """Train on more files, which are read as those before.

        Parameters
        ----------
        paths, options
            As for :func:`confidently.data.open_stream`, except for how rows are read, which is known.
        progress : bool
            As for :meth:`fit_stream`.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError, OSError
            For invalid data; the estimator is then unchanged.
        """
        check_is_fitted(self)
        self._check_parameters()
        shared, table, before, rows = self.shared_, self._table.copied(), self._rows, 0
        keep = self._kept(options)
        with shared._open(paths, **shared._label_options(), keep=keep, **options) as stream:
            learning = shared._continued(shared.as_model().class_table(), stream.reading)
            with batches_of(stream, progress) as batches:
                for block in blocks_of_stream(learning, batches, shared.calibration, before, self.key):
                    table.check_kind(block.kept)
                    table.grow(_outputs(learning.learner))
                    _learn_block(table, block, block.kept, before)
                    rows = block.rows.stop
        shared._keep(learning, None)
        return self._take(shared, table, before + rows)

    def _kept(self, options: dict[str, Any]) -> tuple[str, ...]:
        """Return the columns to keep of files: those of the options, and that of the keys."""
        if self.key is None:
            raise ValueError("there are no keys; name their column, as in EntityModels(key='user')")
        return tuple(dict.fromkeys((*options.pop("keep", ()), self.key)))

    def _learn(self, X: Any, y: Any, key: Any, weight: Any, classes: Any, partial: bool) -> Self:
        self._check_parameters()
        first = "shared_" not in vars(self)
        before = 0 if first else self._rows
        X, keys = without_key(X, self.key, key, y)
        shared = clone(self._template) if first else self.shared_
        table = self._new_table() if first else self._table
        table.check_kind(keys)
        rows = in_memory(X, y)
        if rows is None:
            X, y, weight, classes = checked(X, y, weight, classes, first, partial, shared)
            shared = trained_apart(shared, X.shape[0], before)
            blocks = list(blocks_of_array(shared, X, y, classes, weight, before))
        else:
            if self._regression and np.ndim(rows.y) > 1:
                raise ValueError(f"y has {np.shape(rows.y)[1]} numbers per row; EntityModels predicts one")
            if not self._regression and is_multilabel(rows.y):
                raise ValueError(MULTILABEL)
            begun = shared._begin_rows(rows, weight, classes, first, partial)
            learning, calibration = begun.learning, shared.calibration
            blocks = list(blocks_of_stream(learning, begun.batches, calibration, before, check_order=not partial))
        table.check_memory(keys, sum(matrix.stored for block in blocks for matrix in block.seen) / max(len(keys), 1))
        if rows is not None:
            shared.learner_ = learning.learner
            shared._keep(learning, begun.reading)
        table.grow(_outputs(shared.learner_))
        for block in blocks:
            _learn_block(table, block, keys[block.rows], before)
        return self._take(shared, table, before + len(keys))

    def _take(self, shared: GaussianEstimator, table: EntityTable, rows: int) -> Self:
        self.shared_, self._table, self._rows = shared, table, rows
        self.n_features_in_ = shared.n_features_in_
        if (names := vars(shared).get("feature_names_in_")) is not None:
            self.feature_names_in_ = names
        return self

    def _check_parameters(self) -> None:
        if not isinstance(self.key, str | None):
            raise TypeError(f"key must be the name of a column, got {self.key!r}; pass keys as fit(X, y, key=keys)")
        template = self._template
        if not isinstance(template, GaussianEstimator):
            raise TypeError(f"shared: expected an OnlineClassifier or an OnlineRegressor, got {template!r}")
        rule = make_rule(template.rule)
        if rule.counts or rule.name == "quantile":
            raise ValueError(f"shared: entities deviate from an expectation, which {rule.name!r} has not; use 'ridge'")
        if template.passes != 1 or template.shuffle:
            raise ValueError("shared: entities are trained in one pass and in order; use passes=1 and shuffle=False")
        checked_variances(self.entity_variance)
        for name in ("max_entities", "max_age"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
                raise ValueError(f"{name} must be None or an integer >= 1, got {value!r}")

    @property
    def _template(self) -> Any:
        return OnlineClassifier() if self.shared is None else self.shared

    @property
    def _regression(self) -> bool:
        return bool(getattr(self._template, "predicts_numbers", False))

    def _new_table(self) -> EntityTable:
        limits = (None if limit is None else int(limit) for limit in (self.max_entities, self.max_age))
        return EntityTable(checked_variances(self.entity_variance), 1, self._regression, *limits)

    # --- prediction ----------------------------------------------------------------------------------------------

    def predict(self, X: Any, key: Any = None, return_std: bool = False) -> Any:
        """Return the most probable class of each row, or the expected number, shape (n,).

        Parameters
        ----------
        X, key
            As in :meth:`fit`. Unknown keys are entities at the prior: the shared model predicts their rows.
        return_std : bool
            Of numbers only: whether to return standard deviations of the targets around them, too.
        """
        check_is_fitted(self)
        if not self._regression:
            if return_std:
                raise ValueError("return_std is for numbers; use margin_distribution")
            return self.classes_[self.predict_proba(X, key).argmax(axis=1)]
        mean, variance = self._numbers(*self._scored(X, key))
        return (mean, np.sqrt(variance)) if return_std else mean

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, key: Any = None) -> Floats:
        """Return the probabilities of ``classes_``, shape (n, n_classes); parameters as in :meth:`predict`."""
        check_is_fitted(self)
        return self._probabilities(self._scored(X, key))

    def _probabilities(self, scores: Scores) -> Floats:
        p = np.einsum("ngk,g->nk", self._level_probabilities(*scores), self._table.weights)
        by_number = np.column_stack([1.0 - p, p]) if self._table.outputs == 1 else p
        found: Floats = self.shared_._class_order.columns(by_number)
        return found

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, key: Any = None) -> Floats:
        """Return log-odds: shape (n,) of ``classes_[1]`` for two classes, otherwise (n, n_classes) of each class."""
        p = self.predict_proba(X, key)
        found: Floats = logit(p[:, 1] if p.shape[1] == 2 else p)
        return found

    def margin_distribution(self, X: Any, key: Any = None) -> tuple[Floats, Floats]:
        """Return mean and variance of the scores under the Gaussians of the shared model and of the entity.

        Returns
        -------
        mean, variance : ndarray
            Of the log-odds, in the shape of :meth:`decision_function`; of numbers, of their expectation without the
            noise, shape (n,). ``|mean|/sqrt(variance)`` is small where the label is worth asking for.
        """
        check_is_fitted(self)
        offsets, mean, variance, squares, shared_variance = self._scored(X, key)
        table = self._table
        priors, weights = np.array(table.priors), table.weights
        unit = table.noise[1:] if table.regression else np.ones(len(priors))
        if not table.regression:
            sharper = np.sqrt(1 + LOGISTIC_VARIANCE * squares[:, None] * priors)
            mean = mean + offsets[:, :, None] * sharper[:, None, :]
        else:
            mean = mean + offsets[:, :, None]
        means = np.concatenate([offsets[:, :, None], mean], axis=2)
        variances = np.concatenate([np.zeros_like(offsets)[:, :, None], variance * unit], axis=2)
        center = means @ weights
        spread = (variances + (means - center[:, :, None]) ** 2) @ weights + shared_variance
        if table.outputs == 1:
            sign = 1.0
            if not table.regression and self.shared_._class_order.numbers[1] == 0:
                sign = -1.0
            return sign * center[:, 0], spread[:, 0]
        order = self.shared_._class_order
        return order.columns(center), order.columns(spread)

    def score(self, X: Any, y: Any, key: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy of :meth:`predict`, or R2 of numbers; ``y`` as in :meth:`fit`."""
        if isinstance(y, str):
            X, key = without_key(X, self.key, key, y)
            X, y = separated(X, y)
        measure = r2_score if self._regression else accuracy_score
        return float(measure(y, self.predict(X, key), sample_weight=sample_weight))

    def predict_stream(self, paths: Any, **options: Any) -> Iterator[Floats]:
        """Predict the rows of files batch by batch, in memory that does not grow with the files.

        Parameters
        ----------
        paths, options
            As for :func:`confidently.data.open_stream`, except for how rows are read, which is known; with the column
            of keys.

        Yields
        ------
        array
            The probabilities of ``classes_``, shape (n, n_classes); or the mean and the standard deviation of numbers,
            shape (n, 2).
        """
        for _, found in self.predict_batches(paths, **options):
            yield found

    def predict_batches(self, paths: Any, **options: Any) -> Iterator[tuple[Batch, Floats]]:
        """Yield batches, with what is kept of their rows, and what :meth:`predict_stream` yields for them."""
        check_is_fitted(self)
        shared, keep = self.shared_, self._kept(options)
        with shared._open(paths, ignore_labels=True, freeze=True, keep=keep, **options) as stream:
            for batch in stream:
                scores = self._scores_of(shared._known(batch), list(batch.kept[str(self.key)]))
                if self._regression:
                    mean, variance = self._numbers(*scores)
                    yield batch, np.column_stack([mean, np.sqrt(variance)])
                else:
                    yield batch, self._probabilities(scores)

    def _scored(self, X: Any, key: Any) -> Scores:
        """Return offsets; mean and variance of deviations; |x|^2; and the variance of the shared model's scores."""
        shared = self.shared_
        X, keys = without_key(X, self.key, key)
        rows = in_memory(X)
        matrix = shared._matrix(X) if rows is None else shared._matrix_of_rows(rows)
        if matrix.shape[0] != len(keys):
            raise ValueError(f"X has {matrix.shape[0]:,} rows, key has {len(keys):,}; they must have as many")
        return self._scores_of(matrix, keys)

    def _scores_of(self, matrix: _core.Matrix, keys: Sequence[Key]) -> Scores:
        shared, table = self.shared_, self._table
        table.check_kind(keys)
        learner = shared._learner_for(matrix)
        predicted = predictions(learner, matrix, shared.calibration)
        offsets = offsets_of(predicted, table.outputs, table.regression)
        found, first = [], 0
        for seen in learner.seen_rows(matrix):
            last = first + seen.shape[0]
            found.append((*table.scores(keys[first:last], seen, self._rows), _shared_variance(learner, seen)))
            first = last
        mean, variance, squares, of_shared = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return offsets, mean, variance, squares, of_shared

    def _level_probabilities(
        self, offsets: Floats, mean: Floats, variance: Floats, squares: Floats, _: Floats
    ) -> Floats:
        """Return the probabilities of outputs at every level, shape (n, levels, outputs)."""
        priors = np.array(self._table.priors)
        sharper = np.sqrt(1 + LOGISTIC_VARIANCE * squares[:, None] * priors)
        scores = offsets[:, :, None] * sharper[:, None, :] + mean
        scores /= np.sqrt(1 + LOGISTIC_VARIANCE * variance)
        p: Floats = expit(np.concatenate([offsets[:, :, None], scores], axis=2)).swapaxes(1, 2)
        return p if self._table.outputs == 1 else p / p.sum(axis=2, keepdims=True)

    def _numbers(
        self, offsets: Floats, mean: Floats, variance: Floats, squares: Floats, _: Floats
    ) -> tuple[Floats, Floats]:
        """Return mean and variance of targets."""
        noise, weights = self._table.noise, self._table.weights
        means = np.column_stack([offsets[:, 0], offsets + mean[:, 0]])
        variances = noise * np.column_stack([np.ones(len(means)), 1.0 + variance[:, 0]])
        center = means @ weights
        return center, (variances + (means - center[:, None]) ** 2) @ weights

    # --- what is known about entities ----------------------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        check_is_fitted(self)
        found: np.ndarray = self.shared_.classes_
        return found

    @property
    def n_entities_(self) -> int:
        check_is_fitted(self)
        return len(self._table)

    @property
    def n_seen_(self) -> int:
        check_is_fitted(self)
        return int(self._rows)

    @property
    def variance_weights_(self) -> dict[float, float]:
        check_is_fitted(self)
        return dict(zip((0.0, *self._table.priors), self._table.weights.tolist(), strict=True))

    @property
    def log_loss_(self) -> float:
        return self._mean_loss(1, of_numbers=False)

    @property
    def error_(self) -> float:
        return self._mean_loss(2, of_numbers=False)

    @property
    def rmse_(self) -> float:
        return sqrt(self._mean_loss(1, of_numbers=True))

    @property
    def mae_(self) -> float:
        return self._mean_loss(2, of_numbers=True)

    def _mean_loss(self, which: int, of_numbers: bool) -> float:
        check_is_fitted(self)
        if self._table.regression is not of_numbers:
            raise AttributeError(f"the model predicts {'classes' if of_numbers else 'numbers'}")
        losses = self._table.core.state_of_levels()["losses"]
        return float(losses[which] / max(losses[0], 1.0))

    @property
    def keys_(self) -> list[Key]:
        check_is_fitted(self)
        return self._table.keys

    def deviation(self, key: Key) -> Deviation:
        """Return what an entity deviates from the shared model by.

        Raises
        ------
        KeyError
            If the key is not known.
        """
        check_is_fitted(self)
        [key] = checked_keys([key])
        table = self._table
        if key not in table.slots:
            raise KeyError(f"no entity has the key {key!r}")
        one = table.one(key)
        weights = table.weights[1:] / max(table.weights[1:].sum(), 1e-300)
        unit = table.noise[1:] if table.regression else np.ones(len(weights))
        mean = one.mean @ weights
        variance = (one.variance * unit + (one.mean - mean[:, :, None]) ** 2) @ weights
        if table.outputs > 1:
            mean, variance = map(self.shared_._class_order.columns, (mean, variance))
        else:
            is_first = not table.regression and self.shared_._class_order.numbers[1] == 0
            mean, variance = (-mean if is_first else mean)[:, 0], variance[:, 0]
        names = [self._name(column - 1) for column in one.features.tolist()]
        return Deviation(one.rows, self._rows - 1 - one.last, names, mean, variance)

    def _name(self, column: int) -> Any:
        if column < 0:
            return "intercept"
        names, learner = self.shared_._feature_names(), self.shared_.learner_
        if learner.view is None or column < learner.n_features:
            return column if names is None else names[column]
        return column

    # --- scikit-learn --------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "shared_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags, shared = super().__sklearn_tags__(), self._template.__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = shared.estimator_type, shared.classifier_tags
        tags.regressor_tags, tags.target_tags = shared.regressor_tags, shared.target_tags
        tags.input_tags.sparse = True
        return tags

    # --- files ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which :meth:`load` reads; training then continues bit for bit."""
        check_is_fitted(self)
        table = self._table
        settings = {name: getattr(self, name) for name in SETTINGS}
        header = {"rows": self._rows, "outputs": table.outputs, "regression": table.regression, **settings}
        files.write(path, files.Saved(header, table.keys, table.state(), self.shared_))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote.

        Raises
        ------
        confidently.ModelFileError
            If the file is damaged, not one of these, or written by a later version.
        OSError
            If it cannot be read.
        """
        saved = files.read(path)
        with files.damage_reported(path):
            header = saved.header
            model = cls(shared=clone(saved.shared), **{name: header[name] for name in SETTINGS})
            model._check_parameters()
            table = model._new_table()
            if header["regression"] != table.regression:
                raise ValueError("the shared model is of another kind than the entities")
            table.grow(int(header["outputs"]))
            table.restore(saved.keys, saved.arrays)
            return model._take(saved.shared, table, int(header["rows"]))


def _outputs(learner: Any) -> int:
    return 1 if learner.task.regression or learner.n_classes <= 2 else int(learner.n_classes)


def _learn_block(table: EntityTable, block: Block, keys: Sequence[Key], before: int) -> None:
    """Train entities on a block, ``before`` the first row of which there were so many before the call."""
    offsets, first = offsets_of(block.predicted, table.outputs, table.regression), 0
    for matrix in block.seen:
        rows = slice(first, first + matrix.shape[0])
        labels = None if block.labels is None else block.labels[rows]
        targets = None if block.targets is None else block.targets[rows]
        weight = None if block.weight is None else block.weight[rows]
        now = before + block.rows.start + first
        table.learn(keys[rows], matrix, offsets[rows], labels, targets, weight, now)
        first = rows.stop


def _shared_variance(learner: Any, seen: _core.Matrix) -> Floats:
    """Return the variance of the log-odds or numbers that the shared model predicts, shape (n, outputs)."""
    if learner.task.regression:
        return np.asarray(learner._score_distribution(seen)[1] * learner.variance_unit())
    found: Floats = learner.logit_deviations_of(seen) ** 2
    return found
