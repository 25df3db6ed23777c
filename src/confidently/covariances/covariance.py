"""The contract: what a learner, its posterior, its model file and merging ask of a covariance.

A covariance is an object over a learner's settings. It keeps nothing: what was learned is in the state, a dict of
arrays, which every method takes. Each kind is one file of this folder and one row of
:data:`confidently.covariances.table.COVARIANCES`; nothing else in the package compares names of covariances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from .. import _core
from .examples import Examples
from .settings import Settings
from .state import Shapes, Size, State, common_entries, common_shapes

# What users may ask of a model beyond training and predictions; a covariance names what it cannot do, and why. A stream
# is rows whose features and classes appear as they come, without end: the command line's files and dicts.
CAPABILITIES = ("export", "merge", "explain", "sample", "distribute", "forget", "stream")


@dataclass(frozen=True)
class Placement:
    """Where a learner's weights stand among those of several learners together.

    Attributes
    ----------
    rows, columns, learners : int
        Sizes of the whole: features (the intercept's row included), columns of weights, independent Gaussians.
    at_rows, at_columns, at_learners : array or slice
        Which of these are the learner's own, in its order.
    """

    rows: int
    columns: int
    learners: int
    at_rows: np.ndarray | slice
    at_columns: np.ndarray
    at_learners: np.ndarray


class NaturalParameters(Protocol):
    """A Gaussian in natural parameters: :class:`confidently.models.gaussian.Gaussian`."""

    @property
    def precision(self) -> np.ndarray: ...
    @property
    def covariance(self) -> np.ndarray: ...


class Covariance:
    """Base of all covariances: the state before any example, and an error for whatever a kind does not define.

    Attributes
    ----------
    name : str
        What users call it.
    unsupported : mapping of str to str
        Of :data:`CAPABILITIES` those it lacks, each with the reason, which completes an error message.
    is_diagonal : bool
        Whether Sigma has no entries off its diagonal.
    couples_features : bool
        Whether an update changes weights of features that the row does not have.
    by_products : bool
        Whether rows are learned by products of matrices, whose last digits depend on how many are multiplied together.
    keeps_examples : bool
        Whether beliefs are coefficients of examples instead of weights of features.
    """

    name: ClassVar[str]
    unsupported: ClassVar[Mapping[str, str]] = {}
    is_diagonal: ClassVar[bool] = False
    couples_features: ClassVar[bool] = False
    by_products: ClassVar[bool] = False
    keeps_examples: ClassVar[bool] = False

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @classmethod
    def of(cls, settings: Settings) -> Covariance:
        """The covariance of a learner that asked for this kind."""
        return cls(settings)

    @property
    def kind(self) -> type[Covariance]:
        """The kind that was asked for: the identity stands in for others under rules that gain no precision."""
        return type(self)

    # --- what is allowed ----------------------------------------------------------------------------------------------

    @classmethod
    def resolved(cls, settings: Settings, n_features: int) -> Settings:
        """The settings with this kind's defaults written out; what only other kinds have is cleared.

        Raises
        ------
        ValueError
            If this kind does not allow them.
        """
        cls.check_task(settings.task)
        if settings.forget:
            cls.require("forget")
            if not settings.rule.learns_precision:
                raise ValueError(
                    f"the rule {settings.rule.name} keeps its covariance at the prior, so it has no certainty to "
                    "forget: use another rule, such as arow, or forget=0"
                )
        return replace(settings, kernel=None, kernel_params=None, budget=None)

    @classmethod
    def check_task(cls, task: str) -> None:
        """Raise ``ValueError`` if this kind does not serve a task."""

    @classmethod
    def require(cls, capability: str) -> None:
        """Raise ``ValueError`` with the reason if this kind lacks one of :data:`CAPABILITIES`."""
        if capability not in CAPABILITIES:
            raise KeyError(f"unknown capability {capability!r}; expected one of {', '.join(CAPABILITIES)}")
        if capability in cls.unsupported:
            raise ValueError(cls.unsupported[capability])

    # --- the state ----------------------------------------------------------------------------------------------------

    def shapes(self, size: Size, arrays: State | None = None) -> Shapes:
        """Shape and type of every entry of a state; kinds that keep examples read their number off the arrays."""
        return common_shapes(self.settings, size.n_classes) | self.own_shapes(size, arrays)

    def own_shapes(self, size: Size, arrays: State | None) -> Shapes:
        """Shape and type of the entries that this kind adds."""
        raise self._undefined("own_shapes")

    def new_state(self, size: Size) -> State:
        """The prior: mean 0, covariance ``prior_variance`` I, nothing seen."""
        state = common_entries(self.settings, size.n_classes)
        self.add_entries(state, size)
        return state

    def add_entries(self, state: State, size: Size) -> None:
        """Add this kind's entries, at the prior, to a state that has the common ones."""
        raise self._undefined("add_entries")

    def grown(self, state: State, old: Size, new: Size, multiclass: str = "joint") -> tuple[Settings, State]:
        """Settings and state with room for more features and classes, which start at the prior.

        The arrays of the given state are not written to. A binary learner that gets a third class becomes a
        ``multiclass`` one with the same beliefs about the first two.
        """
        raise self._undefined("grown")

    def bytes_per_feature(self, state: State) -> int:
        """Memory that one more feature takes, at least."""
        raise self._undefined("bytes_per_feature")

    def flush(self, state: State) -> None:
        """Bring the state, in place, into the form that the compiled loop over rows needs."""

    def packed(self, state: State, n_features: int) -> State:
        """The state for a model file, without what :meth:`unpacked` can restore."""
        raise self._undefined("packed")

    def unpacked(self, arrays: State, size: Size) -> State:
        """The state of a packed one, with the types and shapes that :meth:`shapes` calls for not yet checked."""
        raise self._undefined("unpacked")

    # --- learning -----------------------------------------------------------------------------------------------------

    def is_row_by_row(self, state: State, device: str | None) -> bool:
        """Whether rows are learned by the compiled loop alone, without products of matrices."""
        return True

    def compiled(self) -> _core.Learner:
        """The compiled learner over a state, row by row."""
        raise self._undefined("compiled")

    def learn(
        self, state: State, examples: Examples, size: Size, *, device: str | None, calibrate: bool,
        log_loss: np.ndarray | None, progress: Callable[[int], None] | None,
    ) -> State:  # fmt: skip
        """Learn checked rows where :meth:`is_row_by_row` does not hold; return the new state."""
        raise self._undefined("learn")

    # --- scores -------------------------------------------------------------------------------------------------------

    def scores(self, state: State, X: _core.Matrix, size: Size) -> np.ndarray:
        """Scores of the predicting mean, shape (n, columns)."""
        raise self._undefined("scores")

    def variances(self, state: State, X: _core.Matrix, size: Size) -> np.ndarray:
        """Variance of every column's score, shape (n, columns); multilabel: of the score minus the threshold's."""
        raise self._undefined("variances")

    def top_variances(self, state: State, X: _core.Matrix, scores: np.ndarray, size: Size) -> np.ndarray:
        """Variance of the difference between each row's two best scores, shape (n,)."""
        raise self._undefined("top_variances")

    # --- marginals: the weights' Gaussian, the intercept last --------------------------------------------------------

    def weights(self, state: State, n_features: int) -> np.ndarray:
        """The entry ``weights`` without the room kept for more features."""
        raise self._undefined("weights")

    def n_examples(self, state: State) -> int:
        """How many examples are kept."""
        return 0

    def dual(self, state: State, size: Size) -> tuple[np.ndarray, Any]:
        """Coefficients of the examples kept in each column's predicting mean, and those examples."""
        raise AttributeError('only covariance="kernel" keeps coefficients of examples')

    def column_variances(self, state: State, size: Size) -> np.ndarray:
        """Variance of every weight, shape (columns, d); multilabel: the threshold's first."""
        raise self._undefined("column_variances")

    def label_variances(self, state: State, size: Size) -> np.ndarray:
        """Multilabel: variance of each label's weights minus the threshold's, shape (labels, d)."""
        raise self._undefined("label_variances")

    def matrix(self, state: State, size: Size) -> np.ndarray:
        """Sigma, shape (learners, D, D)."""
        raise self._undefined("matrix")

    def marginal(self, state: State, size: Size, column: int) -> np.ndarray:
        """Covariance of one row of the mean: variances (d,) or a matrix (d, d); multilabel: minus the threshold's."""
        raise self._undefined("marginal")

    def noise(self, state: State, size: Size, n: int, generator: np.random.Generator) -> np.ndarray:
        """Draws from N(0, Sigma), shape (n, columns, d)."""
        raise self._undefined("noise")

    def score_covariance(self, state: State, size: Size) -> np.ndarray:
        """What the variances of scores are made of, for predictors without a learner.

        Variances of the weights, shape (columns, d); or one matrix, shape (1, d, d), the covariance of one score's
        weights, which is half that of any two scores' difference.

        Raises
        ------
        ValueError
            If neither is enough.
        """
        raise self._undefined("score_covariance")

    # --- explanations -------------------------------------------------------------------------------------------------

    def unseen_variances(self, state: State) -> np.ndarray:
        """Variance of the weights of a feature no example has had, shape (columns,).

        It is the prior's, except for the ellipsoid rules, which scale the whole covariance.
        """
        raise self._undefined("unseen_variances")

    def contributions(
        self, state: State, rows: np.ndarray, x: np.ndarray, plus: int | None, minus: int | None
    ) -> np.ndarray:
        """What each entry of a row adds to the variance of the margin between two columns.

        ``rows`` are the entries' rows of the weights, ``x`` their values; without a column its side is absent.
        """
        raise self._undefined("contributions")

    # --- merging ------------------------------------------------------------------------------------------------------

    def flushed(self, state: State, n_features: int) -> State:
        """A copy of the state without room for more features and with everything pending taken into its store."""
        raise self._undefined("flushed")

    def left_prior(self, state: State) -> np.ndarray:
        """Which features' weights have left the prior, for a binary learner; shape (F,)."""
        raise self._undefined("left_prior")

    def split(self, state: State, multiclass: Covariance) -> None:
        """Turn the state of a binary learner, in place, into one of ``multiclass`` with the same beliefs."""
        raise self._undefined("split")

    def placed(self, state: State, placement: Placement) -> np.ndarray:
        """Sigma without its scale, where ``placement`` says; the rest at the prior.

        Variances (columns, rows) or matrices (learners, D, D).
        """
        raise self._undefined("placed")

    def grouped(self, mean: np.ndarray) -> np.ndarray:
        """A mean (columns, rows) in the shape of the Gaussians that :meth:`placed` describes."""
        raise self._undefined("grouped")

    def put(self, state: State, merged: NaturalParameters) -> None:
        """Store a merged Gaussian's covariance."""
        raise self._undefined("put")

    def _undefined(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__}.{method} is not defined")


def intercept_last(per_feature: np.ndarray, fit_intercept: bool) -> np.ndarray:
    """Rows of features in the users' order: the intercept, which comes first in the state, goes last."""
    return np.roll(per_feature, -1, axis=0) if fit_intercept else per_feature


def draws(covariance: np.ndarray, n: int, generator: np.random.Generator) -> np.ndarray:
    """Draws from N(0, covariance), shape (n, d), for variances (d,) or a matrix (d, d); rounded below 0 counts as 0."""
    if covariance.ndim == 1:
        drawn: np.ndarray = np.sqrt(np.maximum(covariance, 0.0)) * generator.normal(size=(n, len(covariance)))
        return drawn
    values, vectors = np.linalg.eigh(covariance)
    drawn = (generator.normal(size=(n, len(values))) * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return drawn
