"""One learner of several: their Gaussians multiplied, in one space of features and classes."""

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
from .gaussian import Gaussian

HOW = ("product", "mean")
ROUNDS = "rounds"  # of parts that go on from what was merged: see distributed/
# Of precision, in units of the prior's: parts that have gained less of a weight's hardly know of each other's rows, and
# their moves are added; where they have gained more they have learned the same, and their moves are averaged.
LITTLE_GAIN = 0.1
# Products of many scales stay within what the type can hold; variances have floors far above the least of these.
MAX_SCALE = {"float64": 1e100, "float32": 1e12}
NOISE = {"float64": 1e-9, "float32": 1e-4}  # by which a variance may exceed its base's, through rounding


class MergeError(ValueError):
    """Models that do not fit together; the message says why."""


@dataclass(frozen=True)
class Space:
    """Features and classes of the merged learner; row 0 of the weights is the intercept's, if there is one."""

    settings: Settings
    n_features: int
    n_classes: int

    @property
    def rows(self) -> int:
        return self.n_features + self.settings.fit_intercept

    @property
    def columns(self) -> int:
        return self.settings.columns(self.n_classes)

    @property
    def learners(self) -> int:
        return self.settings.learners(self.n_classes)


class Part:
    """A learner as it looks from the space of all.

    Parameters
    ----------
    name : str
        What it is called in messages.
    learner : Learner
    features, classes : int array
        Where its features and its classes stand among those of all.
    space : Space
    appeared : int array, optional
        Those of ``classes`` that have a name by now; by default all.
    """

    def __init__(
        self, name: str, learner: Learner, features: np.ndarray, classes: np.ndarray, space: Space,
        appeared: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.name, self.space, self.features = name, space, features
        self.appeared = classes if appeared is None else appeared
        self.counters = learner.state["counters"]
        self.split = learner.settings.task != space.settings.task
        learner = _trimmed(learner)
        self.left_prior = learner.covariance.left_prior(learner.state) if self.split else None
        if self.split:
            learner = _split(learner, space.settings)
        self.learner, self.classes = learner, classes
        intercept = np.arange(space.settings.fit_intercept)
        places = np.concatenate([intercept, features + len(intercept)]).astype(np.intp)
        self.places: np.ndarray | slice = places
        if np.array_equal(places, np.arange(space.rows)):  # as nearly always: many times as fast
            self.places = slice(None)
        task = space.settings.task
        columns = {"binary": np.zeros(1, dtype=np.intp), "multilabel": np.append(0, classes + 1)}
        self.columns = columns.get(task, classes)
        self.learners = np.asarray(classes if task == "one-vs-rest" else [0])
        # the positive class of one model of two classes may be another's negative one
        self.sign = -1.0 if task == "binary" and classes[0] == 1 else 1.0

    # --- one number a learner ----------------------------------------------------------------------------------------

    @property
    def updates(self) -> np.ndarray:
        updates = np.zeros(self.space.learners, dtype=np.int64)
        updates[self.learners] = self.learner.state["updates"]
        return updates

    @property
    def log_scale(self) -> np.ndarray:
        """Of all factors that the rule has multiplied each covariance by."""
        found = np.zeros(self.space.learners)
        found[self.learners] = np.log(self.learner.state["scale"]) + np.log(self.learner.state["folded"])
        return found

    @property
    def calibration(self) -> np.ndarray:
        """As the merged learner has it; classes this one does not know are not calibrated."""
        found, own = initial_calibration(self.space.settings, self.space.n_classes), self.learner.state["calibration"]
        if self.space.settings.task == "multilabel":
            found.reshape(-1, 5)[self.classes] = own.reshape(-1, 5)
            return found
        return own * [1.0, -1.0, 1.0, -1.0, 1.0] if self.sign < 0 else own

    # --- the Gaussian, scales aside ----------------------------------------------------------------------------------

    def plane(self, plane: int) -> np.ndarray:
        """A plane of the weights, (columns, rows)."""
        found = np.zeros((self.space.columns, self.space.rows))
        for own, column in enumerate(self.columns):
            found[column, self.places] = self.sign * self.learner.weights[:, plane, own]
        return found

    def last(self) -> np.ndarray:
        """Mean of the Gaussian, (columns, rows)."""
        return self.plane(0)

    def averaged(self) -> np.ndarray:
        """Mean of the weights over all rows seen, (columns, rows)."""
        return self.plane(0) - self.plane(-1) / max(self.learner.n_seen, 1)

    def sigma(self) -> np.ndarray:
        """The covariance as :meth:`confidently.covariances.covariance.Covariance.placed` has it."""
        space = self.space
        placement = Placement(space.rows, space.columns, space.learners, self.places, self.columns, self.learners)
        return self.learner.covariance.placed(self.learner.state, placement)

    def gaussian(self, mean: np.ndarray) -> Gaussian:
        """Of a mean (columns, rows) and this covariance."""
        return Gaussian.of(self.learner.covariance.grouped(mean), self.sigma())

    def split_prior(self, base: Part) -> np.ndarray:
        """What splitting this learner's prior among two classes added to the base's precision, (columns, rows).

        Two classes that share Sigma have Sigma/2 each, so that a prior which has been split is twice as precise.
        """
        found = np.zeros((self.space.columns, self.space.rows))
        if not self.split or self.space.settings.task != "joint" or not self.space.settings.rule.learns_precision:
            return found
        halved = np.zeros(self.space.rows, dtype=bool)
        halved[self.places] = self.left_prior
        if base.left_prior is not None:
            halved[base.places] &= ~base.left_prior
        found[np.ix_(self.columns, np.flatnonzero(halved))] = 1.0 / self.space.settings.prior_variance
        return found


def merge_learners(parts: Sequence[Part], base: Part, how: str) -> Learner:
    """The learner that knows what all parts have learned since the base.

    Raises
    ------
    CannotMerge
        If the parts cannot have come from one prior.
    """
    space, settings = base.space, base.space.settings
    share = 1.0 / len(parts) if how == "mean" else 1.0
    covariance = make_covariance(settings)
    state = covariance.new_state(Size(space.n_features, space.n_classes))
    last, mean = _merged(parts, base, Part.last, how, share)
    state["weights"][:, 0] = mean.T
    covariance.put(state, last)
    state["counters"][:] = _counted([part.counters for part in parts], base.counters)
    state["updates"][:] = _counted([part.updates for part in parts], base.updates)
    if settings.average:
        _, averaged = _merged(parts, base, Part.averaged, how, share)
        state["weights"][:, -1] = (state["counters"][0] * (mean - averaged)).T
    log_scale = base.log_scale + share * sum(part.log_scale - base.log_scale for part in parts)
    limit = np.log(MAX_SCALE[settings.dtype])
    state["scale"][:] = np.exp(np.clip(log_scale, -limit, limit))
    state["calibration"][:] = merged([part.calibration for part in parts], settings.task)
    learner = copy(parts[0].learner)
    learner.settings, learner.state = settings, state
    learner.n_features, learner.n_classes = space.n_features, space.n_classes
    return learner


def _merged(
    parts: Sequence[Part], base: Part, mean: Callable[[Part], np.ndarray], how: str, share: float
) -> tuple[Gaussian, np.ndarray]:
    """The base times each part's quotient by the base it saw, to the power ``share``; and the merged mean."""
    start = base.gaussian(mean(base))
    splits = [_on_diagonal(part.learner.covariance.grouped(part.split_prior(base)), start) for part in parts]
    total = Gaussian(start.precision + reduce(np.maximum, splits), start.shift)
    in_round, gained = how == ROUNDS and not start.dense, list[np.ndarray]()
    for part, split in zip(parts, splits, strict=True):
        since = part.gaussian(mean(part)) - Gaussian(start.precision + split, start.shift)
        total = total + since * share
        if in_round:
            gained.append(np.maximum(since.precision, 0.0))
    if not total.is_proper():
        raise MergeError("the models do not come from one prior: together they would have negative variances")
    if in_round:
        return total, _mean_of_round(parts, base, mean, gained)
    return total, total.mean.reshape(base.space.columns, base.space.rows)


def _mean_of_round(
    parts: Sequence[Part], base: Part, mean: Callable[[Part], np.ndarray], gained: Sequence[np.ndarray]
) -> np.ndarray:
    """The product's mean for another base, at the base's mean but with little precision: sure of a base, all parts
    would correct it for the same reason, and their product too far. ``gained`` is each part's precision since.
    """
    settings, start = base.space.settings, mean(base)
    least = LITTLE_GAIN / settings.prior_variance if settings.rule.learns_precision else 0.0
    moved, total = np.zeros_like(start), np.full_like(start, least)
    for part, gain in zip(parts, gained, strict=True):
        move = mean(part) - start
        if not settings.rule.learns_precision:  # no precision is gained: what counts is how often a part has moved
            gain = (part.updates - base.updates).sum() * (move != 0.0)
        moved += (gain + least) * move
        total += gain
    merged_mean: np.ndarray = start + np.divide(moved, total, out=np.zeros_like(start), where=total > 0.0)
    return merged_mean


def _on_diagonal(extra: np.ndarray, like: Gaussian) -> np.ndarray:
    """Numbers for every weight, grouped like the shift, on the diagonal of a precision; 0 where there are none."""
    if not extra.any():
        return np.zeros((1,) * like.precision.ndim)
    if not like.dense:
        return extra
    if len(like.precision) == 1:  # one matrix for all columns
        extra = extra.max(axis=0, keepdims=True)
    found: np.ndarray = extra[..., None] * np.eye(extra.shape[-1])
    return found


def _counted(counts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
    total: np.ndarray = base + sum(count - base for count in counts)
    return total


def check_begun(base: Part, parts: Sequence[Part]) -> None:
    """Raise ``MergeError`` if a part knows less than the base, from which it can then not have gone on."""
    for part in parts:
        reason = ""
        if not np.isin(base.features, part.features).all():
            reason = f"{part.name} has not all of its features"
        elif not np.isin(base.appeared, part.appeared).all():
            reason = f"{part.name} has not all of its classes"
        elif (part.counters < base.counters).any():
            reason = f"it has seen {base.counters[0]:,} rows and {part.name} {part.counters[0]:,}"
        elif (part.updates < base.updates).any():
            reason = f"it has made {base.updates.sum():,} updates and {part.name} {part.updates.sum():,}"
        elif not _is_as_sure(base, part):
            reason = f"it is surer of some weights than {part.name}"
        if reason:
            raise MergeError(f"{part.name} was not trained from {base.name}: {reason}; merge it without a base")


def _is_as_sure(base: Part, part: Part) -> bool:
    before, after = (_variances(p.sigma()) for p in (base, part))
    return bool((after <= before * (1.0 + NOISE[base.space.settings.dtype])).all())


def _variances(sigma: np.ndarray) -> np.ndarray:
    return np.diagonal(sigma, axis1=1, axis2=2) if sigma.ndim > 2 else sigma


def _trimmed(learner: Learner) -> Learner:
    """Without the room it keeps for more features, everything pending taken into its store."""
    trimmed = copy(learner)
    trimmed.state = learner.covariance.flushed(learner.state, learner.n_features)
    return trimmed


def _split(learner: Learner, settings: Settings) -> Learner:
    """A learner of two classes as one of the merged task."""
    wider, state = copy(learner), dict(learner.state)
    wider.settings = replace(learner.settings, task=settings.task)
    learner.covariance.split(state, wider.covariance)
    wider.state = state
    return wider
