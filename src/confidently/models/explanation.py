"""Explanations of a prediction: the contribution of each feature to the mean and variance of a margin or a number.

The margin z.w of a row is Gaussian with mean z.mu and variance z'Sigma z. Both are sums over the row's features:
x_j (mu_plus,j - mu_minus,j), and x_j times the j-th entry of Sigma z. With a diagonal covariance the latter is the
contribution of the feature's own uncertainty. With a full covariance it is negative where the weights' errors cancel.
The score of a number has the same sums, with the weights of one column.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import Batch
from ..data.class_order import positive_number, sorted_numbers
from ..learner.learner import Learner
from ..learner.streams import StreamPredictor
from ..tasks.task import Task
from .inspection import INTERCEPT, Naming
from .model import Model


@dataclass(frozen=True)
class Contribution:
    """The contribution of one feature of the row.

    Attributes
    ----------
    feature : str or int
        Its name, or its number in the input.
    value : float
        Its value in the row, after scaling if the model scales rows.
    weight : float
        Mean of the weight, minus the rival's.
    mean, variance : float
        Its contributions to the margin's mean and variance.
    known : bool
        Whether the model has the feature.
    """

    feature: str | int
    value: float
    weight: float
    mean: float
    variance: float
    known: bool


@dataclass(frozen=True)
class Explanation:
    """A model's prediction for a row, and the contributions of its features.

    Attributes
    ----------
    predicted : object
        The class; multilabel: the list of labels.
    supported, rival : object
        A positive margin favors ``supported`` over ``rival`` (``None``: over the label's absence).
    mean, variance : float
        Mean and variance of the margin, the sums of the contributions' ``mean`` and ``variance``.
    classes : list of dict
        Name, mean and standard deviation of the score, and probability of every class or label. With two classes, the
        score is the margin.
    contributions : list of Contribution
        Sorted by absolute mean, the largest first.
    """

    predicted: Any
    supported: Any
    rival: Any
    mean: float
    variance: float
    classes: list[dict[str, Any]]
    contributions: list[Contribution]


@dataclass(frozen=True)
class NumberExplanation:
    """A predicted number, and the contributions of the features.

    Attributes
    ----------
    predicted, std : float
        The prediction, and the standard deviation of the target around it.
    offset, mean : float
        The prediction is ``offset + mean``, where ``mean`` is the sum of the contributions; with the rule "poisson", it
        is exp(offset + mean + variance/2).
    variance : float
        Of ``mean``, the sum of the contributions' variances, in squared units of the targets; without the noise of the
        target.
    contributions : list of Contribution
        Sorted by absolute mean, the largest first. Where the model centers its rows, values are less their means.
    """

    predicted: float
    std: float
    offset: float
    mean: float
    variance: float
    contributions: list[Contribution]


def explain(model: Model, batch: Batch, about: Any = None) -> Explanation:
    """Return the contribution of each feature of a row to the margin.

    Parameters
    ----------
    model : Model
        See :class:`confidently.models.model.Model`.
    batch : Batch
        One row, as :func:`confidently.data.open_stream` yields it.
    about : object, optional
        The class or label whose margin is explained. By default, the second of two classes in sorted order, the
        predicted one of more, or the most probable label. Its rival is the strongest other class.

    Raises
    ------
    ValueError
        If there is not exactly one row, the class is unknown, or the model has no weights of features (kernels).

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from confidently.covariances.settings import Settings
    >>> from confidently.data import open_stream
    >>> from confidently.data.memory.matrix import as_matrix
    >>> learner = Learner(Settings("arow", fit_intercept=False), n_features=2)
    >>> learner.learn(as_matrix(np.array([[1.0, 0.0], [0.0, 1.0]])), np.array([1, 0], dtype=np.int32))
    >>> model = Model(learner, ["ham", "spam"], source={"format": "svmlight"})
    >>> with tempfile.NamedTemporaryFile("w", suffix=".svm") as file:
    ...     _ = file.write("1:2 2:0.5\\n")
    ...     file.flush()
    ...     found = explain(model, next(open_stream(file.name, ignore_labels=True)))
    >>> found.predicted, round(found.mean, 3), [(c.feature, round(c.mean, 3)) for c in found.contributions]
    ('spam', 1.364, [(1, 1.818), (2, -0.455)])
    """
    row = SeenRow(model, batch)
    mean, variance = (array[0] for array in row.learner.margin_distribution(row.matrix))
    probability = row.learner.probabilities(row.matrix, model.calibration)[0]
    plus, minus, supported, rival = _pair(model, mean, about)
    return Explanation(
        predicted=_predicted(model, row.learner.predict(row.matrix, model.calibration)[0]),
        supported=supported,
        rival=rival,
        classes=explained_classes(model, mean, variance, probability),
        **row.contributions(plus, minus),
    )


def explain_number(model: Model, batch: Batch, about: Any = None) -> NumberExplanation:
    """Return the contribution of each feature of a row to the number that is predicted.

    Parameters
    ----------
    model : Model
        Of numbers.
    batch : Batch
        One row, as :func:`confidently.data.open_stream` yields it.
    about : object, optional
        The number of the output that is explained, if the model predicts several numbers per row.

    Raises
    ------
    ValueError
        If there is not exactly one row, the output is unknown or one of several is not given, or the model has no
        weights of features (kernels).
    """
    output, row, calibrated = output_number(model, about), SeenRow(model, batch), model.calibration is not None
    learner = row.learner
    found, units = learner.number_distribution(row.matrix), learner.variance_unit(calibrated)
    return NumberExplanation(
        predicted=float(found.mean[0, output]),
        std=float(learner.number_deviations(found, calibrated)[0, output]),
        offset=float(learner.task.offset(learner.settings.rule, learner.targets)[output]),
        **row.contributions(output, None, float(np.broadcast_to(units, learner.n_classes)[output])),
    )


def output_number(model: Model, about: Any) -> int:
    """Return the number of the output to explain; ``ValueError``: there is none, or one of several is not given."""
    n, chosen = model.learner.n_classes, class_number(model, about)
    if chosen is None and n > 1:
        raise ValueError(f"the model predicts {n} numbers per row; pass about, the number of one from 0 to {n - 1}")
    return chosen or 0


def require_one(batch: Batch) -> None:
    """Raise ``ValueError`` unless there is exactly one row."""
    if len(batch) != 1:
        raise ValueError(f"explain takes one row at a time, got {len(batch)}")


class SeenRow:
    """A row as a model sees it.

    Parameters
    ----------
    model : Model
    batch : Batch
        One row.

    Attributes
    ----------
    learner : Learner
        One that may get features that the model has not seen.
    matrix : Matrix
        The row, as the learner takes it.

    Raises
    ------
    ValueError
        If there is not exactly one row, or the model has no weights of features.
    """

    def __init__(self, model: Model, batch: Batch) -> None:
        require_one(batch)
        model.learner.require("explain")
        self.learner = learner = copy(model.learner)
        learner.state = dict(learner.state)
        if learner.view is None:
            self._entries = Entries(model.learner, batch.columns, batch.values)
            self.matrix = StreamPredictor(learner).matrix(batch)
        else:
            learner.grow(n_features=batch.n_columns)
            self.matrix = batch.matrix
            seen = learner.view.see(learner.state, self.matrix, 0, 1)
            self._entries = Entries(model.learner, seen.columns, seen.values)
        self._naming = Naming(model)
        self._naming.state = learner.state  # which has the features that the model has not seen
        if model.features is not None and batch.new_features is not None:
            self._naming.names |= dict(enumerate(batch.new_features.names, len(model.features)))

    def contributions(self, plus: int | None, minus: int | None, unit: float = 1.0) -> dict[str, Any]:
        """Return what each feature adds to the margin of the weights ``plus`` minus those of ``minus``, and the sums.

        ``unit`` is a factor of variances.
        """
        entries = self._entries
        weight, added = entries.weights(plus, minus), unit * entries.variances(plus, minus)
        order = np.argsort(-np.abs(weight * entries.values), kind="stable")
        found = [_contribution(entries, self._naming, weight, added, int(j)) for j in order]
        return {"mean": sum(c.mean for c in found), "variance": sum(c.variance for c in found), "contributions": found}


def _contribution(entries: Entries, naming: Naming, weight: np.ndarray, added: np.ndarray, j: int) -> Contribution:
    column, value = int(entries.columns[j]), float(entries.values[j])
    return Contribution(
        feature=INTERCEPT if column < 0 else naming.seen(column),
        value=value,
        weight=float(weight[j]),
        mean=float(weight[j]) * value,
        variance=float(added[j]),
        known=bool(entries.known[j]),
    )


def _predicted(model: Model, number: np.ndarray) -> Any:
    if model.learner.task.multilabel:
        return [name for name, relevant in zip(model.classes, number.tolist(), strict=True) if relevant]
    return class_name(model, int(number))


def class_name(model: Model, k: int) -> Any:
    """Return the name of a class, if it has been seen."""
    return model.classes[k] if k < len(model.classes) else None


def explained_classes(
    model: Model, mean: np.ndarray, variance: np.ndarray, probability: np.ndarray
) -> list[dict[str, Any]]:
    """Return name, score, standard deviation and probability of every class or label, sorted by name."""
    if mean.ndim == 0:
        mean, variance = mean * np.array([-1, 1]), variance.repeat(2)
    return [
        {
            "name": class_name(model, k),
            "mean": float(mean[k]),
            "std": math.sqrt(variance[k]),
            "probability": float(probability[k]),
        }
        for k in sorted_numbers([class_name(model, k) for k in range(len(mean))])
    ]


def _pair(model: Model, mean: np.ndarray, about: Any) -> tuple[int | None, int | None, Any, Any]:
    """Return the columns of weights whose difference is the margin to explain, and their classes."""
    task, chosen = model.learner.task, class_number(model, about)
    if task.binary:
        positive = (positive_number(model.classes) if chosen is None else chosen) == 1
        return (
            (0, None, class_name(model, 1), class_name(model, 0))
            if positive
            else (None, 0, class_name(model, 0), class_name(model, 1))
        )
    k = int(mean.argmax()) if chosen is None else chosen
    if model.learner.task.multilabel:
        return *columns_of_label(task, k), model.classes[k], None
    rival = int(np.where(np.arange(len(mean)) == k, -np.inf, mean).argmax())
    return k, rival, model.classes[k], model.classes[rival]


def columns_of_label(task: Task, label: int) -> tuple[int, int | None]:
    """Return the columns of weights whose difference is the score of a label."""
    return (label + 1, 0) if task.has_threshold else (label, None)


def class_number(model: Model, about: Any) -> int | None:
    """Return the number of a class of this name; ``ValueError``: there is none."""
    if about is None:
        return None
    known = {str(name): k for k, name in enumerate(model.classes) if name is not None}
    if str(about) in known:
        return known[str(about)]
    raise ValueError(f"unknown class {str(about)!r}; expected one of {', '.join(known)}")


class Entries:
    """The entries of a row as the learner sees it, the intercept's first, and the Gaussian over their weights.

    Attributes
    ----------
    columns, values : arrays
        Column -1 is the intercept.
    known : bool array
        Whether the learner has the feature; the weight of any other is at the prior.
    """

    def __init__(self, learner: Learner, columns: np.ndarray, values: np.ndarray) -> None:
        self.learner, settings = learner, learner.settings
        intercept = np.full(int(settings.fit_intercept), -1)
        self.columns = np.concatenate([intercept, columns.astype(np.int64)])
        self.values = np.concatenate([np.ones(len(intercept)), values])
        self.known = self.columns < learner.width
        self.rows = self.columns[self.known] + settings.fit_intercept  # of the state
        self.x = self.values[self.known]

    def weights(self, plus: int | None, minus: int | None) -> np.ndarray:
        """Return the mean of every entry's weight in the column ``plus`` minus that in ``minus``."""
        learner, found = self.learner, np.zeros(len(self.values))
        stored = learner.covariance.some_weights(learner.state, self.rows).astype(np.float64)
        mean = stored[:, 0]
        if learner.settings.average and learner.n_seen:
            mean = mean - stored[:, -1] / learner.n_seen
        for column, sign in ((plus, 1.0), (minus, -1.0)):
            if column is not None:
                found[self.known] += sign * mean[:, column]
        return found

    def variances(self, plus: int | None, minus: int | None) -> np.ndarray:
        """Return every entry's contribution to the variance of the margin between two columns."""
        covariance, state = self.learner.covariance, self.learner.state
        unseen, sides = covariance.unseen_variances(state), [c for c in (plus, minus) if c is not None]
        found: np.ndarray = sum(unseen[column] for column in sides) * self.values**2
        found[self.known] = covariance.contributions(state, self.rows, self.x, plus, minus)
        return found
