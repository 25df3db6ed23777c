"""Merging learners: the product of their Gaussians, over the features and classes of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from ..covariances.covariance import Placement
from ..covariances.settings import Settings
from ..covariances.state import Size, initial_calibration
from ..covariances.table import make_covariance
from ..learner.calibration import merged
from ..learner.learner import Learner
from ..printable import PrintableError
from ..wording import counted
from .gaussian import Gaussian

HOW = ("product", "mean")
HOW_ROUNDS = "rounds"  # for partitions whose training continues from the merged learner: see distributed/
# Precision in units of the prior's. Where the parts have gained less for a weight, their rows hardly overlap and their
# changes of its mean are added. Where they have gained more, they have learned the same and the changes are averaged.
MIN_GAIN = 0.1
# Bounds of the product of many scales, so that the type can hold it; the bounds of variances are far above.
MAX_SCALE = {"float64": 1e100, "float32": 1e12}
MAX_EXCESS = {"float64": 1e-9, "float32": 1e-4}  # of a variance over its base's, as a fraction, through rounding


class MergeError(PrintableError):
    """Models that cannot be merged; the message gives the reason."""


@dataclass(frozen=True)
class Space:
    """Sizes of the merged learner; row 0 of its weights is the intercept's, if there is one.

    ``width`` is the number of features, or of the columns that the view makes of them.
    """

    settings: Settings
    width: int
    n_classes: int

    @property
    def rows(self) -> int:
        return self.width + self.settings.fit_intercept

    @property
    def columns(self) -> int:
        return self.settings.columns(self.n_classes)

    @property
    def learners(self) -> int:
        return self.settings.learners(self.n_classes)


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
    """

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
        self.columns = np.zeros(1, dtype=np.intp) if task == "binary" else classes
        if space.settings.has_threshold:
            self.columns = np.append(0, classes + 1)
        self.learners = np.asarray(classes if space.settings.independent else [0])
        # the positive class of one binary model may be the negative class of another
        self.sign = -1.0 if task == "binary" and classes[0] == 1 else 1.0

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
        found, own = initial_calibration(self.space.settings, self.space.n_classes), self.learner.state["calibration"]
        if self.space.settings.multilabel:
            found.reshape(-1, 5)[self.classes] = own.reshape(-1, 5)
            return found
        return own * [1.0, -1.0, 1.0, -1.0, 1.0] if self.sign < 0 else own

    # --- the Gaussian without scales ---------------------------------------------------------------------------------

    def plane(self, plane: int) -> np.ndarray:
        """Return a plane of the weights, shape (columns, rows)."""
        found = np.zeros((self.space.columns, self.space.rows))
        for own, column in enumerate(self.columns):
            found[column, self.rows] = self.sign * self.learner.weights[:, plane, own]
        return found

    def last(self) -> np.ndarray:
        """Return the mean of the Gaussian, shape (columns, rows)."""
        return self.plane(0)

    def averaged(self) -> np.ndarray:
        """Return the mean of the weights over all rows seen, shape (columns, rows)."""
        return self.plane(0) - self.plane(-1) / max(self.learner.n_seen, 1)

    def sigma(self) -> np.ndarray:
        """Return the covariance, see :meth:`confidently.covariances.covariance.Covariance.placed`."""
        space = self.space
        placement = Placement(space.rows, space.columns, space.learners, self.rows, self.columns, self.learners)
        return self.learner.covariance.placed(self.learner.state, placement)

    def gaussian(self, mean: np.ndarray) -> Gaussian:
        """Return the Gaussian of a mean (columns, rows) and this covariance."""
        return Gaussian.of(self.learner.covariance.grouped(mean), self.sigma())

    def split_prior(self, base: Part) -> np.ndarray:
        """Return the precision that splitting this learner's prior between two classes added, shape (columns, rows).

        Splitting Sigma between two classes gives Sigma/2 to each, which doubles the prior precision of each.
        """
        found = np.zeros((self.space.columns, self.space.rows))
        settings = self.space.settings
        if not self.split or settings.task == "one-vs-rest" or not settings.rule.learns_precision:
            return found
        halved = np.zeros(self.space.rows, dtype=bool)
        halved[self.rows] = self.left_prior
        if base.left_prior is not None:
            halved[base.rows] &= ~base.left_prior
        found[np.ix_(self.columns, np.flatnonzero(halved))] = 1.0 / settings.prior_variance
        return found


def merge_learners(parts: Sequence[Part], base: Part, how: str) -> Learner:
    """Return the learner that combines what all parts have learned since the base, without their view.

    Raises
    ------
    MergeError
        If the parts cannot have started from one prior.
    """
    space, settings = base.space, base.space.settings
    power = 1.0 / len(parts) if how == "mean" else 1.0
    covariance = make_covariance(settings)
    state = covariance.new_state(Size(space.width, space.n_classes))
    last, mean = _merged(parts, base, Part.last, how, power)
    state["weights"][:, 0] = mean.T
    covariance.put(state, last)
    state["counters"][:] = _added([part.counters for part in parts], base.counters)
    state["updates"][:] = _added([part.updates for part in parts], base.updates)
    if settings.average:
        _, averaged = _merged(parts, base, Part.averaged, how, power)
        state["weights"][:, -1] = (state["counters"][0] * (mean - averaged)).T
    log_scale = base.log_scale + power * sum(part.log_scale - base.log_scale for part in parts)
    limit = np.log(MAX_SCALE[settings.dtype])
    state["scale"][:] = np.exp(np.clip(log_scale, -limit, limit))
    state["calibration"][:] = merged([part.calibration for part in parts], settings.task)
    return Learner(settings, space.n_classes, space.width, device=parts[0].learner.device, state=state)


def _merged(
    parts: Sequence[Part], base: Part, mean: Callable[[Part], np.ndarray], how: str, power: float
) -> tuple[Gaussian, np.ndarray]:
    """Return the merged Gaussian and mean: the base times each part divided by its base, raised to ``power``."""
    start = base.gaussian(mean(base))
    splits = [_on_diagonal(part.learner.covariance.grouped(part.split_prior(base)), start) for part in parts]
    total = Gaussian(start.precision + reduce(np.maximum, splits), start.shift)
    in_round, gained = how == HOW_ROUNDS and not start.dense, list[np.ndarray]()
    for part, split in zip(parts, splits, strict=True):
        since = part.gaussian(mean(part)) - Gaussian(start.precision + split, start.shift)
        total = total + since * power
        if in_round:
            gained.append(np.maximum(since.precision, 0.0))
    if not total.is_proper():
        raise MergeError("the models did not start from one prior: merging them would give negative variances")
    if in_round:
        return total, _mean_of_round(parts, base, mean, gained)
    return total, total.mean.reshape(base.space.columns, base.space.rows)


def _mean_of_round(
    parts: Sequence[Part], base: Part, mean: Callable[[Part], np.ndarray], gained: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the mean of the product for a base with the same mean but little precision.

    If the base is certain, all parts correct it for the same reason, and the plain product corrects it too much.
    ``gained`` is the precision that each part has added to the base's.
    """
    settings, start = base.space.settings, mean(base)
    least = MIN_GAIN / settings.prior_variance if settings.rule.learns_precision else 0.0
    moved, total = np.zeros_like(start), np.full_like(start, least)
    for part, gain in zip(parts, gained, strict=True):
        move = mean(part) - start
        if not settings.rule.learns_precision:  # without gained precision, parts are weighted by their updates
            gain = (part.updates - base.updates).sum() * (move != 0.0)
        moved += (gain + least) * move
        total += gain
    merged_mean: np.ndarray = start + np.divide(moved, total, out=np.zeros_like(start), where=total > 0.0)
    return merged_mean


def _on_diagonal(extra: np.ndarray, like: Gaussian) -> np.ndarray:
    """Return a precision with these diagonals, grouped like the shift; 0 if there is nothing to add."""
    if not extra.any():
        return np.zeros((1,) * like.precision.ndim)
    if not like.dense:
        return extra
    if len(like.precision) == 1:  # one matrix for all columns
        extra = extra.max(axis=0, keepdims=True)
    found: np.ndarray = extra[..., None] * np.eye(extra.shape[-1])
    return found


def _added(counts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
    total: np.ndarray = base + sum(count - base for count in counts)
    return total


def check_continued(base: Part, parts: Sequence[Part]) -> None:
    """Raise ``MergeError`` if a part lacks something of the base, so that its training did not continue from it."""
    for part in parts:
        reason = ""
        if not np.isin(base.features, part.features).all():
            reason = f"{part.name} lacks some of its features"
        elif not np.isin(base.seen, part.seen).all():
            reason = f"{part.name} lacks some of its classes"
        elif (part.counters < base.counters).any():
            reason = f"it has seen {counted(int(base.counters[0]), 'row')} and {part.name} {part.counters[0]:,}"
        elif (part.updates < base.updates).any():
            reason = f"it has made {base.updates.sum():,} updates and {part.name} {part.updates.sum():,}"
        elif not _is_as_certain(base, part):
            reason = f"it is more certain of some weights than {part.name}"
        if reason:
            raise MergeError(f"{part.name} was not trained from {base.name}: {reason}; merge it without a base")


def _is_as_certain(base: Part, part: Part) -> bool:
    before, after = (_variances(p.sigma()) for p in (base, part))
    return bool((after <= before * (1.0 + MAX_EXCESS[base.space.settings.dtype])).all())


def _variances(sigma: np.ndarray) -> np.ndarray:
    return np.diagonal(sigma, axis1=1, axis2=2) if sigma.ndim > 2 else sigma


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
