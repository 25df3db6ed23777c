"""The compiled learner on numbers: a rule, a covariance, a task, and a state.

Needs NumPy only, so that the command line starts in a blink. :class:`confidently.OnlineClassifier` puts
scikit-learn's contract over it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from .. import _core
from ..covariances import table as geometry
from ..covariances.state import (
    COVARIANCES,
    TASKS,
    Settings,
    State,
    grow_classes,
    grow_features,
    new_state,
    split_binary,
)
from ..data.memory.matrix import check_rows, is_checked, largest_value, refuse
from ..rules import make_rule
from ..rules.ranges import Range, check_number
from ..rules.rule import Rule
from . import calibration
from .posterior import Posterior

# Rows learned between two looks at the clock and the keyboard.
ROWS_PER_STRIDE = 8192
# Rows are checked while they are learned if the state, which must then be copied, is this much smaller than they are.
STATE_TO_ROWS = 4
BYTES_PER_ENTRY = 12  # of a matrix: a value and its column
# With these, and the largest values of confidently.matrix, no number of the state can leave its type's range.
PRIOR_VARIANCE = Range(1e-15, 1e9, closed_low=True, closed_high=True)
MAX_WEIGHT = 1e9
FORGET = Range(0.0, 1.0, closed_low=True)


class Learner(Posterior):
    """An online learner over numbered features and numbered classes.

    Parameters
    ----------
    rule : str or Rule
        How an example moves the Gaussian; see :mod:`confidently.rules.table`.
    covariance : {"diag", "full", "shared"}
        How Sigma is stored: a variance a weight; all covariances of a learner's weights; one matrix of the features'
        covariances for all classes.
    task : {"binary", "joint", "one-vs-rest", "multilabel"}
        Two classes; more classes, the true one against its strongest rival; a binary learner a class; sets of labels.
    n_classes, n_features : int
        May grow later.
    prior_variance : float
        Variance of every weight before anything is seen, > 0.
    fit_intercept : bool
        Whether every row has a constant feature 1, with the prior of any other.
    average : bool
        Predict with the mean of the weights over all rows seen instead of the last ones.
    min_variance : float
        No variance counts as smaller than this share of the prior's, in [0, 1).
    dtype : {"float64", "float32"}
        Type of the state; arithmetic is in float64 in either case, but for the products of dense covariances.
    block_size : int, optional
        Rows that a full or shared covariance learns at a time. It changes the speed, not the result; the default is
        good.
    kernel : str or callable, default="rbf"
        With covariance="kernel": a name of :func:`sklearn.metrics.pairwise.pairwise_kernels`, or a function of two
        matrices that returns the kernel of their rows.
    kernel_params : dict, optional
        The kernel's parameters. Where it has a gamma, the default is 1/n_features.
    budget : int, optional
        With covariance="kernel": most rows kept.
    forget : float
        Share of the precision gained that every row takes away, in [0, 1); a diagonal covariance only.
    device : str, optional
        Where a full or shared covariance does its products of matrices: a device of PyTorch ("cpu", "cuda"), "cupy", or
        by default the BLAS of NumPy and SciPy. Not saved with a model.

    Attributes
    ----------
    state : dict of arrays
        All that was learned (:mod:`confidently.covariances.state`).

    Examples
    --------
    >>> import numpy as np
    >>> from confidently.data.memory.matrix import as_matrix
    >>> learner = Learner("arow", n_features=2)
    >>> X = as_matrix(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> learner.learn(X, np.array([1, 0], dtype=np.int32))
    >>> learner.predict(X)
    array([1, 0])
    """

    def __init__(
        self,
        rule: str | Rule = "arow",
        covariance: str = "diag",
        task: str = "binary",
        n_classes: int = 2,
        n_features: int = 0,
        *,
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        average: bool = False,
        min_variance: float = 1e-12,
        dtype: str = "float64",
        block_size: int | None = None,
        device: str | None = None,
        kernel: Any = None,
        kernel_params: dict[str, Any] | None = None,
        budget: int | None = None,
        forget: float = 0.0,
    ) -> None:
        check_choice("covariance", covariance, COVARIANCES)
        check_choice("task", task, TASKS)
        check_choice(
            "dtype", np.dtype(dtype).name if dtype in ("float32", "float64") else dtype, ("float64", "float32")
        )
        check_number("learner", "prior_variance", prior_variance, PRIOR_VARIANCE)
        check_number("learner", "min_variance", min_variance, Range(0.0, 1.0, closed_low=True))
        check_number("learner", "forget", forget, FORGET)
        if block_size is not None:
            check_number("learner", "block_size", block_size, Range(1, 2**20, closed_low=True, closed_high=True))
        if budget is not None:
            check_number("learner", "budget", budget, Range(1, 2**31, closed_low=True, closed_high=True))
        if covariance == "kernel":
            from ..covariances.kernel_functions import check_kernel, resolved_parameters

            kernel = kernel or "rbf"
            check_kernel(kernel)
            kernel_params = resolved_parameters(kernel, kernel_params, n_features)
        else:
            kernel = kernel_params = budget = None
        _check_sharing(covariance, task)
        if n_classes < 2 and task in ("joint", "one-vs-rest"):
            raise ValueError(f"{task} needs at least 2 classes to tell apart, got {n_classes}")
        self.settings = Settings(
            make_rule(rule), covariance, task, float(prior_variance), bool(fit_intercept), bool(average),
            float(min_variance), str(dtype), block_size and int(block_size), kernel, kernel_params,
            budget and int(budget), float(forget),
        )  # fmt: skip
        _check_forgetting(self.settings)
        self.device = device
        self.n_classes, self.n_features = n_classes, n_features
        self.state = new_state(self.settings, n_features, n_classes)

    # --- growing -------------------------------------------------------------------------------------------------

    def grow(self, n_features: int = 0, n_classes: int = 0, multiclass: str = "joint") -> None:
        """Make room for more features or classes, which start at the prior; less than there is changes nothing.

        A binary learner that gets a third class becomes a ``multiclass`` one that believes the same of the first two.
        """
        _check_sharing(self.settings.covariance, multiclass if n_classes > 2 else "binary")
        state, settings = dict(self.state), self.settings  # the arrays are replaced, never written to
        if settings.geometry == "kernel":
            return self._grow_kernel(n_features, n_classes)
        room = len(state["weights"]) - settings.fit_intercept
        if n_features > room:
            # doubling, so that a stream that brings new features in every batch is copied a few times only
            grow_features(settings, state, n_features if settings.dense else max(n_features, 2 * room))
        if n_classes > self.n_classes:
            if settings.task == "binary":
                wider = replace(settings, task=multiclass)
                split_binary(settings, wider, state)
                settings = wider
            grow_classes(settings, state, n_classes)
        self.state, self.settings = state, settings
        self.n_features, self.n_classes = max(n_features, self.n_features), max(n_classes, self.n_classes)

    def _grow_kernel(self, n_features: int, n_classes: int) -> None:
        """A support row has the value 0 in features it never had; pairs of classes are pairs of two or of more."""
        if n_classes > self.n_classes and self.settings.task == "binary":
            raise ValueError(
                "a kernel learner of two classes cannot take in a third: name all classes before the first row"
            )
        if n_classes > self.n_classes:
            state = dict(self.state)
            grow_classes(self.settings, state, n_classes)
            self.state = state
        self.n_features, self.n_classes = max(n_features, self.n_features), max(n_classes, self.n_classes)

    # --- learning ------------------------------------------------------------------------------------------------

    def learn(
        self,
        X: _core.Matrix,
        labels: np.ndarray,
        label_start: np.ndarray | None = None,
        *,
        weight: np.ndarray | None = None,
        class_weight: np.ndarray | None = None,
        order: np.ndarray | None = None,
        calibrate: bool = True,
        log_loss: np.ndarray | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Learn rows one after the other.

        Parameters
        ----------
        X : matrix of :func:`confidently.data.memory.matrix.as_matrix`
            n rows; at most ``n_features`` columns.
        labels : int32 array
            Class numbers from 0, one a row; multilabel: the labels of all rows, one row after the other.
        label_start : int64 array of shape (n + 1,), optional
            Multilabel: where each row's labels begin.
        weight : float64 array of shape (n,), optional
            Weights of the rows, >= 0; 0 is the same as not seen.
        class_weight : float64 array of shape (n_classes,), optional
            Factor to the weight by class.
        order : int64 array, optional
            The order in which to visit rows.
        calibrate : bool
            Whether the margins, taken before their labels are used, calibrate the probabilities.
        log_loss : float64 array of shape (1,), optional
            Gets, added to what it holds, -log of the probability that each row's label had before it was used (sets of
            labels: the sum over all labels known so far), every row counting alike; needs ``calibrate``.
        progress : callable, optional
            Called with the number of rows learned so far.

        Raises
        ------
        ValueError
            If labels are out of range, lengths do not fit or rows have values that are not finite or too large; the
            state is then as it was.
        """
        self._check_labels(X.shape[0], labels, label_start)
        self._check_weights(X.shape[0], weight, class_weight)
        if order is not None and len(order) and not 0 <= order.min() <= order.max() < X.shape[0]:
            raise ValueError(f"order must name rows 0 to {X.shape[0] - 1}, got {order.min()} to {order.max()}")
        self._check_width(X)
        if not geometry.is_row_by_row(self):
            if not is_checked(X, self.settings.dtype):  # all at once, for a product of matrices mixes rows
                check_rows(X, self.settings.dtype)
            self.make_writable()
            geometry.learn_blocks(
                self, X, labels, label_start, weight, class_weight, order, calibrate=calibrate, log_loss=log_loss,
                progress=progress,
            )  # fmt: skip
            return
        before, cost = self._writable_state(X, order), None if log_loss is None else log_loss.copy()
        core, n = self.settings.core(dense=True), X.shape[0] if order is None else len(order)
        limit = largest_value(self.settings.dtype)
        largest = 0.0 if is_checked(X, self.settings.dtype) else limit
        for first in range(0, n, ROWS_PER_STRIDE):
            last = min(first + ROWS_PER_STRIDE, n)
            fault = core.learn(
                self.state, X, labels, label_start, weight, class_weight, order, first, last, calibrate, largest,
                log_loss,
            )  # fmt: skip
            if fault is not None:
                self.state = before
                if log_loss is not None:
                    log_loss[:] = cost
                refuse(fault, X.shape[1], self.settings.dtype)
            if progress is not None:
                progress(last)
        if largest and order is None:
            X.checked = limit

    def make_writable(self) -> None:
        """Replace arrays of the state that cannot be written to."""
        for name, array in self.state.items():
            if not array.flags.writeable:  # memory-mapped by joblib, say
                self.state[name] = array.copy()

    def _writable_state(self, X: _core.Matrix, order: np.ndarray | None) -> State:
        """Make sure that the state can be written to; return what it was, if that is needed to undo faulty rows.

        Rows are best checked just before they are learned, when they are in the cache, and a copy of the state put
        back if one is bad; where the state is large beside the rows they are checked beforehand instead.
        """
        size = sum(array.nbytes for array in self.state.values())
        if not is_checked(X, self.settings.dtype) and (
            order is not None or size * STATE_TO_ROWS > X.stored * BYTES_PER_ENTRY
        ):
            check_rows(X, self.settings.dtype)
        self.make_writable()
        geometry.flush(self)
        unchecked = not is_checked(X, self.settings.dtype)
        return {name: array.copy() for name, array in self.state.items()} if unchecked else {}

    def _check_width(self, X: _core.Matrix) -> None:
        if X.shape[1] > self.n_features:
            raise ValueError(f"X has {X.shape[1]} columns, the learner {self.n_features} features: grow it first")

    def _check_weights(self, n: int, weight: np.ndarray | None, class_weight: np.ndarray | None) -> None:
        largest = 1.0
        for name, weights, length in (("weight", weight, n), ("class_weight", class_weight, self.n_classes)):
            if weights is None:
                continue
            if weights.shape != (length,):
                raise ValueError(f"{name} must have shape ({length},), got {weights.shape}")
            largest *= weights.max(initial=0.0)
        if class_weight is not None and self.settings.task == "multilabel":
            raise ValueError("class weights are for one class a row, not for sets of labels")
        if not largest <= MAX_WEIGHT:
            raise ValueError(f"weights of examples may be at most {MAX_WEIGHT:g}, got {largest:g}: scale them down")

    def _check_labels(self, n: int, labels: np.ndarray, start: np.ndarray | None) -> None:
        if (start is not None) != (self.settings.task == "multilabel"):
            raise ValueError("lists of labels (label_start) belong to the multilabel task, and to that only")
        counted = n if start is None else int(start[-1])
        if start is not None and (start[0] != 0 or (np.diff(start) < 0).any()):
            raise ValueError("label_start must begin with 0 and never decrease")
        if len(labels) != counted or (start is not None and len(start) != n + 1):
            raise ValueError(f"{n} rows and {len(labels)} labels do not fit together")
        if len(labels) and not 0 <= labels.min() <= labels.max() < self.n_classes:
            raise ValueError(f"labels must be in 0 to {self.n_classes - 1}, got {labels.min()} to {labels.max()}")

    # --- answering -----------------------------------------------------------------------------------------------

    def decision(self, X: _core.Matrix) -> np.ndarray:
        """Scores: shape (n,) for two classes, positive meaning class 1; else (n, n_classes).

        Multilabel: scores minus the calibration label's, so that positive means relevant.
        """
        return self._presented(self._scores(X))

    def margin_distribution(self, X: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the scores under the Gaussian over weights, both of the shape of :meth:`decision`."""
        self._check_rows(X)
        variance = geometry.variances(self, X)
        if self.settings.task == "binary":
            variance = variance[:, 0]
        elif self.settings.task == "multilabel":
            variance = variance[:, 1:]
        return self.decision(X), variance

    def probabilities(self, X: _core.Matrix, method: str | None = "progressive") -> np.ndarray:
        """Probabilities of class 1, shape (n,), for two classes; else of each class or label, (n, n_classes)."""
        if method is None:
            mean, variance = self.margin_distribution(X)
            multiclass = self.settings.task in ("joint", "one-vs-rest")
            return calibration.vote_multiclass(mean, variance) if multiclass else calibration.vote(mean, variance)
        state = self.state["calibration"]
        if self.settings.task == "multilabel":
            return calibration.sigmoid(self.decision(X), state)
        prior = self.settings.prior_variance
        if self.settings.task == "binary":
            return calibration.sigmoid(calibration.moderated(*self.margin_distribution(X), prior), state)
        scores = self._scores(X)
        variance = geometry.top_variances(self, X, scores)
        return calibration.softmax(calibration.moderated(scores, variance, prior), state)

    def predict(self, X: _core.Matrix) -> np.ndarray:
        """Class numbers, shape (n,); multilabel: booleans, (n, n_classes)."""
        decision = self.decision(X)
        if self.settings.task == "multilabel":
            return decision > 0
        return (decision > 0).astype(np.intp) if self.settings.task == "binary" else decision.argmax(axis=1)

    def _scores(self, X: _core.Matrix) -> np.ndarray:
        self._check_rows(X)
        return geometry.scores(self, X)

    def _check_rows(self, X: _core.Matrix) -> None:
        """Nothing is read off rows that were not checked."""
        self._check_width(X)
        if not is_checked(X, self.settings.dtype):
            check_rows(X, self.settings.dtype)

    def _presented(self, columns: np.ndarray) -> np.ndarray:
        """One entry a class from one a column, on the last axis."""
        if self.settings.task == "binary":
            return columns[..., 0]
        return columns[..., 1:] - columns[..., :1] if self.settings.task == "multilabel" else columns

    # --- as plain data -------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """All that is not an array, as plain data; with :attr:`state` it is the whole learner."""
        if self.settings.covariance == "kernel" and not isinstance(self.settings.kernel, str):
            raise TypeError("a kernel that is a function cannot be saved in a model file; name one of scikit-learn's")
        rule = {"name": self.settings.rule.name, "parameters": self.settings.rule.get_params()}
        settings = asdict(self.settings) | {"rule": rule}
        return {"settings": settings, "n_classes": self.n_classes, "n_features": self.n_features}

    @classmethod
    def from_header(cls, header: dict[str, Any], state: dict[str, np.ndarray]) -> Learner:
        """The learner that :meth:`header` and its state describe."""
        settings = dict(header["settings"])
        rule = settings.pop("rule")
        rule = make_rule(rule["name"]).with_params(**{k: v for k, v in rule["parameters"].items() if v is not None})
        learner = cls(rule, settings.pop("covariance"), settings.pop("task"), header["n_classes"], 0, **settings)
        learner.n_features = header["n_features"]
        learner.state = state
        return learner


def _check_sharing(covariance: str, task: str) -> None:
    if covariance == "shared" and task == "one-vs-rest":
        raise ValueError('covariance="shared" couples the classes, one-vs-rest keeps them apart; use "joint"')


def _check_forgetting(settings: Settings) -> None:
    if not settings.forget:
        return
    if settings.covariance != "diag":
        raise ValueError(
            f'forget is for covariance="diag"; with "{settings.covariance}" every row would cost a pass over the whole '
            'covariance: choose "diag", or forget=0'
        )
    if not settings.rule.learns_precision:
        raise ValueError(
            f"the rule {settings.rule.name} keeps its covariance at the prior, so it has no certainty to forget: "
            "choose another, such as arow, or forget=0"
        )


def check_choice(name: str, value: object, allowed: Collection[object]) -> None:
    """Raise ``ValueError`` listing what is allowed unless ``value`` is among it."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(repr(a) for a in allowed)}; got {value!r}")
