"""The estimator of many entities: one shared model, and a small Gaussian per entity around it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..data.memory.labels import is_multilabel, training_of
from ..estimators.archive import content_of
from ..estimators.gaussian import GaussianEstimator
from ..estimators.rows import OF_ARRAYS, check_first
from ..models.file import damage_reported
from ..rules import make_rule
from ..similar import hinting
from ..views.table import AUTO
from . import files
from .inputs import MULTILABEL, check_rule, checked, checked_variances, in_memory, without_key_in_schema
from .keys import without_key
from .shared import blocks_of_array, blocks_of_stream, outputs_of, trained_apart
from .streams import EntityStreams
from .table import EntityTable

VARIANCES = (1 / 64, 1 / 16, 1 / 4, 1.0)
SETTINGS = "key", "entity_variance", "max_entities", "max_age"  # that are saved besides the shared model


class EntityModels(EntityStreams):
    """Models of many entities, such as users or devices: a shared Gaussian, and a small one of each entity around it.

    An entity's weights are the shared model's plus a deviation, d ~ N(0, tau^2 I), of which only the features of the
    entity's own rows are stored. The shared model s predicts every row before it is trained on it, and the entity
    learns what is left to explain. With two classes and log-odds o of the shared model::

        d -> N(mean, diag(variance)),   v = sum_j variance_j x_j^2,   v0 = tau^2 sum_j x_j^2
        P(class 1) = sigmoid((sqrt(1 + pi v0 / 8) o + mean.x) / sqrt(1 + pi v / 8))

    so an unknown entity has the shared model's probability, and its own rows pull it away from there. Several tau^2 are
    tried side by side and weighted by how well each predicted the last few thousand rows.

    Numbers y of up to 15 columns have the exact posterior of the hierarchical model::

        y = (w + d).x + noise,   d ~ N(0, diag(T)),   noise ~ N(0, s)

    in which the shared weights w follow from all entities, and T and s are learned by restricted maximum likelihood.

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
        model. In squared log-odds; for numbers of more than 15 columns, in units of the variance of the noise. Of one
        number the alternative is the shared model alone. The exact posterior learns the variances instead.
    max_entities : int, optional
        Forget the eighth of the entities that was seen the longest time ago when there are more than these.
    max_age : int, optional
        Forget an entity when none of the last ``max_age`` rows was its own: its rows are predicted as those of an
        unknown one. ``keys_`` may list it for as many rows more.

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
        The weight of each prior variance in predictions; that of 0 is the weight of the shared model alone. Not of the
        exact posterior.
    entity_variance_ : dict
        Of the exact posterior: the learned variance T of the deviations, by feature; ``"intercept"`` is that of a row
        at the means of the columns.
    noise_variance_ : float
        Of the exact posterior: the learned variance s of the noise.
    n_features_in_, feature_names_in_
        As in any scikit-learn estimator.

    Notes
    -----
    Three or more classes have a deviation each, which learns whether a row is of its class; probabilities are
    normalized.

    The exact posterior is that of rows as they are given, around the means of their columns, or as the shared model's
    view makes them. The shared model is trained besides, for the names of features and in case that a row has more
    columns; from then on, and with another rule than "ridge" or with ``forget``, numbers have a mean and a variance of
    each weight, as classes have, of what the shared model leaves.

    The shared model is trained on all rows as if there were no entities. It predicts blocks of rows, of at most an
    eighth of the rows before and 4,096; a block ends with a call of :meth:`partial_fit`.

    Entities see rows as the shared model does, so its view, such as ``Standard()``, applies to both. Weights of classes
    (``class_weight``) are the shared model's only.

    References
    ----------
    Ramanath et al., Lambda Learner: fast incremental learning on data streams (KDD 2021); MacKay, The evidence
    framework applied to classification networks (1992); Patterson & Thompson, Recovery of inter-block information when
    block sizes are unequal (Biometrika 1971); Laird & Ware, Random-effects models for longitudinal data (1982).

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

    @hinting
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

    def fit(self, X: Any, y: Any, key: Any = None, sample_weight: Any = None, **reading: Any) -> Self:
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
        **reading
            As for :meth:`confidently.OnlineClassifier.fit`; a ``schema`` may have the column of keys.

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
            return self._learn(X, y, key, sample_weight, None, partial=False, reading=reading)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, key: Any = None, sample_weight: Any = None, **reading: Any
    ) -> Self:
        """Train on more rows, in the given order.

        Parameters
        ----------
        X, y, key, sample_weight, **reading
            As in :meth:`fit`.
        classes : array, optional
            All possible classes. Without them, classes are added as they appear, the first two in the first call.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError, MemoryError
            As :meth:`fit`; the estimator is then unchanged.
        """
        with training_of(self):
            return self._learn(X, y, key, sample_weight, classes, partial=True, reading=reading)

    def _learn(
        self, X: Any, y: Any, key: Any, weight: Any, classes: Any, partial: bool, reading: Mapping[str, Any]
    ) -> Self:
        self._check_parameters()
        first = "shared_" not in vars(self)
        check_first(reading, first)
        before = 0 if first else self._rows
        X, keys = without_key(X, self.key, key, y)
        shared = clone(self._template) if first else self.shared_
        table = self._new_table() if first else self._table
        table.check_kind(keys)
        rows = in_memory(X, y)
        if rows is None and reading:
            raise ValueError(OF_ARRAYS)
        if rows is None:
            X, y, weight, classes = checked(X, y, weight, classes, partial, shared)
            shared = trained_apart(shared, X.shape[0], before)
            blocks = list(blocks_of_array(shared, X, y, classes, weight, before))
        else:
            if self._regression and np.ndim(rows.y) > 1:
                raise ValueError(f"y has {np.shape(rows.y)[1]} numbers per row; EntityModels predicts one")
            if not self._regression and is_multilabel(rows.y):
                raise ValueError(MULTILABEL)
            options = reading if self.key is None else without_key_in_schema(reading, self.key)
            begun = shared._begin_rows(rows, weight, classes, first, partial, reading=options)
            learning, calibration = begun.learning, shared.calibration
            blocks = list(blocks_of_stream(learning, begun.batches, calibration, before, check_order=not partial))
        table.check_memory(keys, sum(matrix.stored for block in blocks for matrix in block.seen) / max(len(keys), 1))
        if rows is not None:
            shared.learner_ = learning.learner
            shared._keep(learning, begun.reading)
        table.grow(outputs_of(shared.learner_))
        for block in blocks:
            table.learn_block(block, keys[block.rows], before)
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
        check_rule(make_rule(template.rule))
        if template.passes != 1 or template.shuffle not in (False, AUTO):
            raise ValueError("shared: entities are trained in one pass and in order; use passes=1 and shuffle=False")
        if template.coverage_by is not None:
            raise ValueError("shared: entities have one set of errors for all; use coverage_by=None")
        checked_variances(self.entity_variance)
        for name in ("max_entities", "max_age"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
                raise ValueError(f"{name} must be None or an integer >= 1, got {value!r}")

    def _new_table(self) -> EntityTable:
        limits = (None if limit is None else int(limit) for limit in (self.max_entities, self.max_age))
        return EntityTable(checked_variances(self.entity_variance), 1, self._regression, *limits)

    # --- scikit-learn --------------------------------------------------------------------------------------------

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
        files.write(path, files.Saved(header, table.keys, table.state(), content_of(self.shared_.as_model())))

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
        with damage_reported(path):
            header = saved.header
            model = cls(shared=clone(saved.shared), **{name: getattr(header, name) for name in SETTINGS})
            model._check_parameters()
            table = model._new_table()
            saved.restore(table)
            return model._take(saved.shared, table, header.rows)
