"""The interface of covariances to the learner, its posterior, its model file and merging.

A covariance is an object defined by a learner's settings. It is stateless: what was learned is in the state, a dict of
arrays, which every method takes. Each kind is one file of this folder and one row of
:data:`confidently.covariances.table.COVARIANCES`; the rest of the package never compares names of covariances.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from .. import _core
from ..rules.ranges import Range
from ..tasks.task import Task
from .examples import Examples, Progressive
from .names import RANK
from .settings import Settings
from .state import Shapes, Size, State, check_within, common_entries, common_shapes, common_values

# What a model may do beyond training and predicting; a covariance lists what it does not support, with the reason. A
# stream is an endless sequence of rows with new features and classes: files of the command line, and dicts.
NEVER = 2**62  # rows
CAPABILITIES = ("export", "merge", "explain", "sample", "distribute", "forget", "stream")


class Placement(NamedTuple):
    """Positions of a learner's weights in the merged learner.

    Attributes
    ----------
    rows, columns, learners : int
        Sizes of the merged learner: features (with the intercept), columns of weights, independent Gaussians.
    at_rows, at_columns, at_learners : array or slice
        Positions of the learner's own among them.
    cells : int64 array, optional
        The weights that any of the merged models stores, as row * columns + column, ascending; by default all.
    """

    rows: int
    columns: int
    learners: int
    at_rows: np.ndarray | slice
    at_columns: np.ndarray
    at_learners: np.ndarray
    cells: np.ndarray | None = None


class NaturalParameters(Protocol):
    """A Gaussian in natural parameters: :class:`confidently.Gaussian`."""

    @property
    def precision(self) -> np.ndarray: ...
    @property
    def shift(self) -> np.ndarray: ...
    @property
    def covariance(self) -> np.ndarray: ...


class Covariance:
    """Base of all covariances; a method that a kind does not define raises ``NotImplementedError``.

    Attributes
    ----------
    name : str
        Its name in settings.
    unsupported : mapping of str to str
        The :data:`CAPABILITIES` that it lacks, each with an error message that gives the reason.
    is_diagonal : bool
        Whether Sigma is diagonal.
    couples_features : bool
        Whether an update changes the weights of features that the row does not have.
    couples_classes : bool
        Whether all classes have one covariance, so that they cannot be learned separately.
    by_products : bool
        Whether training uses matrix products, whose last digits depend on the number of rows per product.
    checks_rows : bool
        Whether rows can be checked while they are scored, which saves a pass over them.
    keeps_examples : bool
        Whether the posterior is stored as coefficients of examples instead of weights of features.
    binds_rows : bool
        Whether the compiled loop over dicts can be bound to the arrays of a state, which training then never replaces.
    finds_best : bool
        Whether :meth:`best` finds the best class of a row without the scores of all classes.
    for_classes : str, optional
        Name of the kind that replaces it with three or more classes, unless the user has chosen their task. For two
        classes, both are the same.
    multiclass : str, optional
        The task of three or more classes, unless the user has chosen it, in place of the rule's own.
    """

    name: ClassVar[str]
    unsupported: ClassVar[Mapping[str, str]] = {}
    is_diagonal: ClassVar[bool] = False
    couples_features: ClassVar[bool] = False
    couples_classes: ClassVar[bool] = False
    by_products: ClassVar[bool] = False
    checks_rows: ClassVar[bool] = False
    keeps_examples: ClassVar[bool] = False
    binds_rows: ClassVar[bool] = True
    finds_best: ClassVar[bool] = False
    for_classes: ClassVar[str | None] = None
    multiclass: ClassVar[str | None] = None

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @classmethod
    def of(cls, settings: Settings) -> Covariance:
        """Return the covariance of a learner whose settings name this kind."""
        return cls(settings)

    @property
    def kind(self) -> type[Covariance]:
        """The kind named in the settings, which the identity replaces if the rule learns no precision."""
        return type(self)

    # --- what is allowed ----------------------------------------------------------------------------------------------

    @classmethod
    def resolved(cls, settings: Settings, n_features: int) -> Settings:
        """Return the settings with this kind's defaults filled in and those of other kinds cleared.

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
                    "forget; use another rule, such as arow, or forget=0"
                )
        projection = settings.projection if cls.is_diagonal else "precision"
        return replace(settings, kernel=None, kernel_params=None, budget=None, rank=RANK, projection=projection)

    @classmethod
    def check_task(cls, task: Task) -> None:
        """Raise ``ValueError`` if this kind does not support a task."""

    @classmethod
    def require(cls, capability: str) -> None:
        """Raise ``ValueError`` with the reason if this kind lacks one of :data:`CAPABILITIES`."""
        if capability not in CAPABILITIES:
            raise KeyError(f"unknown capability {capability!r}; expected one of {', '.join(CAPABILITIES)}")
        if capability in cls.unsupported:
            raise ValueError(cls.unsupported[capability])

    # --- the state ----------------------------------------------------------------------------------------------------

    def shapes(self, size: Size, arrays: State | None = None) -> Shapes:
        """Return shape and type of every entry of a state; ``arrays`` determines the number of examples kept."""
        return common_shapes(self.settings, size.n_classes) | self.own_shapes(size, arrays)

    def own_shapes(self, size: Size, arrays: State | None) -> Shapes:
        """Return shape and type of the entries that this kind adds."""
        raise self._undefined("own_shapes")

    def new_state(self, size: Size) -> State:
        """Return an untrained state: mean 0, covariance ``prior_variance`` I, counters 0."""
        state = common_entries(self.settings, size.n_classes)
        self.add_entries(state, size)
        return state

    def add_entries(self, state: State, size: Size) -> None:
        """Add this kind's entries, at the prior, to a state that has the common ones."""
        raise self._undefined("add_entries")

    def grown(self, state: State, old: Size, new: Size, several: Covariance | None = None) -> tuple[Settings, State]:
        """Return settings and state with room for more features and classes, which start at the prior.

        The arrays of the given state stay unchanged. A binary learner that gets a third class continues with
        ``several`` and the same beliefs about the first two.
        """
        raise self._undefined("grown")

    def forgetting(self, state: State, size: Size, new: Covariance) -> State:
        """Return a copy of a state for a covariance with the same settings that forgets from now on."""
        none = Size(0, size.n_classes)
        begun, added = new.new_state(none), new.shapes(none).keys() - self.shapes(none).keys()
        return {name: array.copy() for name, array in state.items()} | {name: begun[name] for name in added}

    def bytes_per_feature(self, state: State) -> int:
        """Return a lower bound of the memory that one more feature takes."""
        raise self._undefined("bytes_per_feature")

    def changed_in_place(self, state: State, device: str | None) -> State:
        """Return the arrays that training on a device writes to; it replaces the others."""
        return state

    def flush(self, state: State) -> None:
        """Convert the state, in place, into the form that the compiled loop over rows needs."""

    def begin_rows(self, state: State, examples: Examples) -> None:
        """Convert the state, in place, for training row by row on examples."""

    def is_ready(self, state: State) -> bool:
        """Return whether :meth:`row_scorer` may train without :meth:`begin_rows`, as long as arrays stay the same."""
        return self.is_diagonal and self.binds_rows

    def packed(self, state: State, n_features: int) -> State:
        """Return the state for a model file, without what :meth:`unpacked` can restore."""
        raise self._undefined("packed")

    def unpacked(self, arrays: State, size: Size) -> State:
        """Return the state of a packed one, before its types and shapes are checked against :meth:`shapes`."""
        raise self._undefined("unpacked")

    def check_values(self, state: State, size: Size) -> None:
        """Raise ``ValueError`` unless the numbers of a state from a file could be those of a learner."""
        for name, values, allowed in (*common_values(self.settings, state), *self.own_values(state)):
            check_within(name, values, allowed)

    def own_values(self, state: State) -> Iterator[tuple[str, np.ndarray, Range]]:
        """Yield name, numbers and range of the entries that this kind adds."""
        raise self._undefined("own_values")

    # --- training -----------------------------------------------------------------------------------------------------

    def is_row_by_row(self, state: State, device: str | None) -> bool:
        """Return whether the compiled loop over rows does the training, without matrix products."""
        return True

    def compiled(self) -> _core.Learner:
        """Return the compiled learner, which trains row by row."""
        raise self._undefined("compiled")

    def row_scorer(self, state: State) -> _core.Learner:
        """Return the compiled learner that scores a single row, and trains on it where :meth:`is_ready` says so."""
        return self.compiled()

    @property
    def most_aged(self) -> float:
        """The weight of rows with which those that learn together are forgotten together."""
        return math.inf

    def most_seen(self, state: State) -> int:
        """Return after how many rows the covariance is computed again, which the compiled loop does not do."""
        return NEVER

    @property
    def logged(self) -> tuple[str, ...]:
        """Entries whose changes the core can log, so that an error is undone without copies of them."""
        return ("weights",)

    def logged_matrices(self, state: State, device: str | None) -> tuple[str, ...]:
        """Return entries of which the core logs changes in any case, since they are large and change seldom."""
        return ()

    def logged_per_entry(self, state: State) -> int:
        """Return the largest number of changes that the core logs per entry of a row."""
        raise self._undefined("logged_per_entry")

    def with_room(self, state: State, needed: int) -> State:
        """Return the state with room for so many more weights, where the core asks for it during training."""
        raise self._undefined("with_room")

    def learn(
        self, state: State, examples: Examples, size: Size, *, device: str | None, calibrate: bool,
        progressive: Progressive, progress: Callable[[int], None] | None, log: _core.UndoLog | None = None,
    ) -> State:  # fmt: skip
        """Train on checked rows where :meth:`is_row_by_row` is false; return the new state."""
        raise self._undefined("learn")

    # --- scores -------------------------------------------------------------------------------------------------------

    def scores(self, state: State, X: _core.Matrix, size: Size, largest: float = 0.0) -> np.ndarray:
        """Return scores under the mean used to predict, shape (n, columns).

        Only where the kind ``checks_rows``, ``largest`` is the largest value that they may have; by default, they are
        known to be valid.

        Raises
        ------
        InvalidRows
            For rows that are not.
        """
        raise self._undefined("scores")

    def best(self, state: State, X: _core.Matrix, size: Size, largest: float = 0.0) -> np.ndarray:
        """Return the number of the class with the best score of every row, the first of equal ones, shape (n,).

        Rows are checked as in :meth:`scores`. Only for several classes, where the kind ``finds_best``.
        """
        raise self._undefined("best")

    def moderated(
        self, state: State, X: _core.Matrix, size: Size, largest: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return :meth:`scores`, and scores shrunk by their variances or by that of the difference of the two best.

        Rows are checked as in :meth:`scores`. Only where the kind ``checks_rows``.
        """
        raise self._undefined("moderated")

    def variances(self, state: State, X: _core.Matrix, size: Size) -> np.ndarray:
        """Return the variance of every score, shape (n, columns); multilabel: of the score minus the threshold's."""
        raise self._undefined("variances")

    def top_variances(self, state: State, X: _core.Matrix, scores: np.ndarray, size: Size) -> np.ndarray:
        """Return the variance of the difference between each row's two best scores, shape (n,)."""
        raise self._undefined("top_variances")

    # --- marginals: the weights' Gaussian, the intercept last --------------------------------------------------------

    def weights(self, state: State, n_features: int) -> np.ndarray:
        """Return the entry ``weights`` without the room reserved for more features."""
        raise self._undefined("weights")

    def some_weights(self, state: State, rows: np.ndarray) -> np.ndarray:
        """Return some rows of :meth:`weights`."""
        raise self._undefined("some_weights")

    def of_columns(self, state: State, columns: np.ndarray) -> State:
        """Return the state of some columns of weights, whose numbers ascend; only where the kind ``finds_best``."""
        raise self._undefined("of_columns")

    def largest_columns(self, state: State, n: int) -> np.ndarray:
        """Return the n columns with the most stored weights, those first; only where the kind ``finds_best``."""
        raise self._undefined("largest_columns")

    def largest_means(self, state: State, n_features: int) -> np.ndarray:
        """Return the largest absolute mean of the weights of every feature, shape (n_features,)."""
        raise self._undefined("largest_means")

    def n_examples(self, state: State) -> int:
        """Return the number of examples kept."""
        return 0

    def dual(self, state: State, size: Size) -> tuple[np.ndarray, Any]:
        """Return the coefficients of the examples in each column's mean used to predict, and the examples."""
        raise AttributeError('only covariance="kernel" keeps coefficients of examples')

    def column_variances(self, state: State, size: Size) -> np.ndarray:
        """Return the variance of every weight, shape (columns, d); multilabel: the threshold's first."""
        raise self._undefined("column_variances")

    def label_variances(self, state: State, size: Size) -> np.ndarray:
        """Return the variance of each label's weights minus the threshold's, shape (labels, d); multilabel only."""
        raise self._undefined("label_variances")

    def matrix(self, state: State, size: Size) -> np.ndarray:
        """Return Sigma, shape (learners, D, D)."""
        raise self._undefined("matrix")

    def marginal(self, state: State, size: Size, column: int) -> np.ndarray:
        """Return the covariance of one row of the mean: variances (d,) or a matrix (d, d).

        Multilabel: of the label's weights minus the threshold's.
        """
        raise self._undefined("marginal")

    def noise(self, state: State, size: Size, n: int, generator: np.random.Generator) -> np.ndarray:
        """Return draws from N(0, Sigma), shape (n, columns, d)."""
        raise self._undefined("noise")

    def score_covariance(self, state: State, size: Size) -> np.ndarray:
        """Return the parameters of the variances of scores, for predictors without a learner.

        They are the variances of the weights, shape (columns, d), or one matrix, shape (1, d, d): the covariance of one
        score's weights, which is half that of the difference between any two scores.

        Raises
        ------
        ValueError
            If neither determines the variances.
        """
        raise self._undefined("score_covariance")

    # --- explanations -------------------------------------------------------------------------------------------------

    def unseen_variances(self, state: State) -> np.ndarray:
        """Return the variance of an unseen feature's weights, shape (columns,).

        It is the prior variance, except for the ellipsoid rules, which scale the whole covariance.
        """
        raise self._undefined("unseen_variances")

    def contributions(
        self, state: State, rows: np.ndarray, x: np.ndarray, plus: int | None, minus: int | None
    ) -> np.ndarray:
        """Return the contribution of each entry of a row to the variance of the margin between two columns.

        ``rows`` are the entries' rows of the weights and ``x`` their values. A column that is None is left out.
        """
        raise self._undefined("contributions")

    # --- merging ------------------------------------------------------------------------------------------------------

    def flushed(self, state: State, n_features: int) -> State:
        """Return a copy of the state without room for more features and with pending updates stored."""
        raise self._undefined("flushed")

    def left_prior(self, state: State) -> np.ndarray:
        """Return which features' weights have left the prior, shape (F,), for a binary learner."""
        raise self._undefined("left_prior")

    def split(self, state: State, multiclass: Covariance) -> None:
        """Turn the state of a binary learner, in place, into one of ``multiclass`` with the same beliefs."""
        raise self._undefined("split")

    def cells(self, state: State, placement: Placement) -> np.ndarray | None:
        """Return the ``cells`` of a placement that are stored; None if all weights are."""
        return None

    def placed(self, state: State, placement: Placement) -> np.ndarray:
        """Return Sigma without its scale at the positions of ``placement``, and the prior elsewhere.

        The result holds variances (columns, rows), those of cells (1, cells), or matrices (learners, D, D).
        """
        raise self._undefined("placed")

    def placed_plane(self, state: State, plane: int, placement: Placement) -> np.ndarray:
        """Return a plane of the weights at these positions, shape (columns, rows) or (1, cells), and 0 elsewhere."""
        raise self._undefined("placed_plane")

    def grouped(self, mean: np.ndarray) -> np.ndarray:
        """Return a mean (columns, rows) in the shape that matches :meth:`placed`."""
        raise self._undefined("grouped")

    def put_means(self, state: State, mean: np.ndarray, drift: np.ndarray | None, cells: np.ndarray | None) -> None:
        """Store the means of a merged Gaussian, and with averaging the drifts, in the shape of :meth:`placed_plane`."""
        raise self._undefined("put_means")

    def put(self, state: State, merged: NaturalParameters) -> None:
        """Store the covariance of a merged Gaussian, whose means are stored."""
        raise self._undefined("put")

    def _undefined(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__}.{method} is not defined")


def intercept_last(per_feature: np.ndarray, fit_intercept: bool) -> np.ndarray:
    """Return rows of features in the users' order, with the intercept last; the state has it first."""
    return np.roll(per_feature, -1, axis=0) if fit_intercept else per_feature


def draws(covariance: np.ndarray, n: int, generator: np.random.Generator) -> np.ndarray:
    """Return draws from N(0, covariance), shape (n, d), for variances (d,) or a matrix (d, d).

    Variances below 0, which rounding may cause, count as 0.
    """
    if covariance.ndim == 1:
        return np.sqrt(np.maximum(covariance, 0.0)) * generator.normal(size=(n, len(covariance)))
    values, vectors = np.linalg.eigh(covariance)
    return (generator.normal(size=(n, len(values))) * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
