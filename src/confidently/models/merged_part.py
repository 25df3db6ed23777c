"""A learner to merge, with its arrays at their positions among the features and classes of all."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from ..covariances.covariance import Placement
from ..covariances.settings import Settings
from ..learner.learner import Learner
from ..tasks.conformal import CONFORMAL
from ..tasks.novelty import VARIANCES
from .gaussian import Gaussian


@dataclass(frozen=True)
class Space:
    """Sizes of the merged learner; row 0 of its weights is the intercept's, if there is one.

    ``width`` is the number of features, or of the columns that the view makes of them; ``cells`` are the weights that
    any of the models stores, where these are few (:class:`~confidently.covariances.covariance.Placement`).
    """

    settings: Settings
    width: int
    n_classes: int
    cells: np.ndarray | None = None

    @property
    def rows(self) -> int:
        return self.width + self.settings.fit_intercept

    @property
    def columns(self) -> int:
        return self.settings.task.columns(self.n_classes)

    @property
    def learners(self) -> int:
        return self.settings.learners(self.n_classes)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of a mean: columns by rows, or 1 by cells."""
        return (self.columns, self.rows) if self.cells is None else (1, len(self.cells))


@dataclass(frozen=True)
class Origin:
    """What the Gaussian of a part is about, less what the merged one is about.

    Attributes
    ----------
    weight : float
        Weight of its rows.
    targets : array of shape (K,)
        What is added to its scores.
    rows : array of shape (d,), optional
        The mean of its rows, where they are centered.
    """

    weight: float
    targets: np.ndarray
    rows: np.ndarray | None = None


class Part:
    """A learner to merge, with its arrays at their positions among the features and classes of all.

    Parameters
    ----------
    name : str
        Its name in messages.
    learner : Learner
    features, classes : int array
        Numbers of its features, or of the columns that its view makes of them, and of its classes in the merged
        learner.
    space : Space
    seen : int array, optional
        The ``classes`` that it has seen; by default all.

    Attributes
    ----------
    origin : Origin, optional
        What its Gaussian is about, of a regression.
    """

    origin: Origin | None = None

    def __init__(
        self, name: str, learner: Learner, features: np.ndarray, classes: np.ndarray, space: Space,
        seen: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.name, self.space, self.features = name, space, features
        self.seen = classes if seen is None else seen
        self.counters = learner.state["counters"]
        self.split = learner.task != space.settings.task
        learner = _trimmed(learner)
        self.left_prior = learner.covariance.left_prior(learner.state) if self.split else None
        if self.split:
            learner = _split(learner, space.settings)
        self.learner, self.classes = learner, classes
        intercept = np.arange(space.settings.fit_intercept)
        rows = np.concatenate([intercept, features + len(intercept)]).astype(np.intp)
        self.rows: np.ndarray | slice = rows
        if np.array_equal(rows, np.arange(space.rows)):  # the usual case; a slice is many times as fast
            self.rows = slice(None)
        task = space.settings.task
        self.columns = np.zeros(1, dtype=np.intp) if task.binary else classes
        if space.settings.task.has_threshold:
            self.columns = np.append(0, classes + 1)
        self.learners = np.asarray(classes if space.settings.independent else [0])
        # the positive class of one binary model may be the negative class of another
        self.sign = -1.0 if task.binary and classes[0] == 1 else 1.0

    # --- one number per learner --------------------------------------------------------------------------------------

    @property
    def updates(self) -> np.ndarray:
        updates = np.zeros(self.space.learners, dtype=np.int64)
        updates[self.learners] = self.learner.state["updates"]
        return updates

    @property
    def log_scale(self) -> np.ndarray:
        """Logarithm of the product of all factors that the rule has multiplied each covariance by."""
        found = np.zeros(self.space.learners)
        found[self.learners] = np.log(self.learner.state["scale"]) + np.log(self.learner.state["folded"])
        return found

    @property
    def calibration(self) -> np.ndarray:
        """The calibration in the merged learner's shape; classes unknown to this one are uncalibrated."""
        own, space = self.learner.state["calibration"], self.space
        return space.settings.task.placed_calibration(own, self.classes, space.n_classes)

    @property
    def conformal(self) -> np.ndarray:
        """The conformal scores in the merged learner's shape; classes unknown to this one have none."""
        own, space = self.learner.state[CONFORMAL], self.space
        return space.settings.task.placed_conformal(own, self.classes, space.n_classes)

    @property
    def variances(self) -> np.ndarray:
        """How uncertain margins were."""
        return self.learner.state[VARIANCES]

    # --- the Gaussian without scales ---------------------------------------------------------------------------------

    @property
    def placement(self) -> Placement:
        space = self.space
        return Placement(space.rows, space.columns, space.learners, self.rows, self.columns, self.learners, space.cells)

    def cells(self) -> np.ndarray | None:
        """Return the cells that this learner stores; None if it stores all weights."""
        return self.learner.covariance.cells(self.learner.state, self.placement)

    def plane(self, plane: int) -> np.ndarray:
        """Return a plane of the weights, in the shape of the space."""
        found = self.learner.covariance.placed_plane(self.learner.state, plane, self.placement)
        return self.sign * found + 0.0  # not -0

    def last(self) -> np.ndarray:
        """Return the mean of the Gaussian."""
        return self.plane(0)

    def averaged(self) -> np.ndarray:
        """Return the mean of the weights over all rows seen."""
        return self.plane(0) - self.plane(-1) / max(self.learner.n_seen, 1)

    def sigma(self) -> np.ndarray:
        """Return the covariance, see :meth:`confidently.covariances.covariance.Covariance.placed`."""
        return self.learner.covariance.placed(self.learner.state, self.placement)

    def gaussian(self, mean: np.ndarray) -> Gaussian:
        """Return the Gaussian of a mean and this covariance."""
        return Gaussian.of(self.learner.covariance.grouped(mean), self.sigma())

    def split_prior(self, base: Part) -> np.ndarray:
        """Return the precision that splitting this learner's prior between two classes added, in the space's shape.

        Splitting Sigma between two classes gives Sigma/2 to each, which doubles the prior precision of each.
        """
        found = np.zeros(self.space.shape)
        settings = self.space.settings
        if not self.split or settings.task.separate or not settings.rule.learns_precision:
            return found
        halved = np.zeros(self.space.rows, dtype=bool)
        halved[self.rows] = self.left_prior
        if base.left_prior is not None:
            halved[base.rows] &= ~base.left_prior
        if self.space.cells is None:
            found[np.ix_(self.columns, np.flatnonzero(halved))] = 1.0 / settings.prior_variance
        else:
            row, column = np.divmod(self.space.cells, self.space.columns)
            found[0, halved[row] & np.isin(column, self.columns)] = 1.0 / settings.prior_variance
        return found


def _trimmed(learner: Learner) -> Learner:
    """Return the learner of the rows that the view makes, without room for more and with pending updates stored."""
    trimmed = copy(learner)
    trimmed.view, trimmed.n_features = None, learner.width
    trimmed.state = learner.covariance.flushed(learner.without_view(learner.state), learner.width)
    return trimmed


def _split(learner: Learner, settings: Settings) -> Learner:
    """Return a learner of two classes as a learner of the merged task and covariance."""
    wider, state = copy(learner), dict(learner.state)
    wider.settings = replace(learner.settings, covariance=settings.covariance, task=settings.task)
    learner.covariance.split(state, wider.covariance)
    wider.state = state
    return wider
