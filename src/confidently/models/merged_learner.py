"""Merging learners: the product of their Gaussians, over the features and classes of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from ..covariances.state import Size
from ..covariances.table import make_covariance
from ..learner.learner import Learner
from ..printable import PrintableError
from ..tasks import novelty
from ..tasks.conformal import CONFORMAL
from ..tasks.novelty import VARIANCES
from ..wording import counted
from .gaussian import Gaussian, nonnegative
from .merged_origins import merged_calibration, moved, posterior, started
from .merged_part import Part

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


class NoCommonBase(MergeError):
    """Models whose views have learned different first values."""


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
    state["counters"][:] = _added([part.counters for part in parts], base.counters)
    state["updates"][:] = _added([part.updates for part in parts], base.updates)
    drift = None
    if settings.average:
        _, averaged = _merged(parts, base, Part.averaged, how, power)
        drift = state["counters"][0] * (mean - averaged)
    covariance.put_means(state, mean, drift, space.cells)
    covariance.put(state, last)
    log_scale = base.log_scale + power * sum(part.log_scale - base.log_scale for part in parts)
    limit = np.log(MAX_SCALE[settings.dtype])
    state["scale"][:] = np.exp(np.clip(log_scale, -limit, limit))
    state["calibration"][:] = merged_calibration(parts, base, last)
    state[CONFORMAL][:] = settings.task.merged_conformal([part.conformal for part in parts], base.conformal)
    state[VARIANCES][:] = novelty.merged([part.variances for part in parts], base.variances)
    return Learner(settings, space.n_classes, space.width, device=parts[0].learner.device, state=state)


def _merged(
    parts: Sequence[Part], base: Part, mean: Callable[[Part], np.ndarray], how: str, power: float
) -> tuple[Gaussian, np.ndarray]:
    """Return the merged Gaussian and mean: the base times each part divided by its base, raised to ``power``.

    With forgetting, a part has begun with what its rows have left of the base, and all rows leave less of it.
    """
    start = posterior(base, mean)
    splits = [_on_diagonal(part.learner.covariance.grouped(part.split_prior(base)), start) for part in parts]
    left = _forgotten(start, base, sum(_rows_since(base, part) for part in parts))
    total = Gaussian(left.precision + reduce(np.maximum, splits), left.shift)
    in_round, gained = how == HOW_ROUNDS and not start.dense, list[np.ndarray]()
    for part, split in zip(parts, splits, strict=True):
        before = _forgotten(started(part, base, start, mean), base, _rows_since(base, part))
        own = posterior(part, mean)
        since = own - Gaussian(before.precision + split, before.shift)
        if base.space.settings.forget:  # rows of more weight than 1 have left less of the base
            since = _gained(since, own)
        total = total + since * power
        if in_round:
            gained.append(np.maximum(since.precision, 0.0))
    if not total.is_proper():
        raise MergeError("the models did not start from one prior: merging them would give negative variances")
    if in_round:
        return total, _mean_of_round(parts, base, mean, gained)
    return total, total.mean.reshape(base.space.shape)


def _forgotten(gaussian: Gaussian, base: Part, rows: int) -> Gaussian:
    """Return what so many rows have left of a Gaussian: its precision on the way to the prior's, and its mean."""
    settings = base.space.settings
    if not settings.forget:
        return gaussian
    keep, precision = (1.0 - settings.forget) ** rows, np.broadcast_to(_prior_precision(base), base.space.shape)
    prior = _on_diagonal(base.learner.covariance.grouped(precision), gaussian)
    return Gaussian.with_precision(gaussian.mean, keep * gaussian.precision + (1.0 - keep) * prior)


def _gained(since: Gaussian, own: Gaussian) -> Gaussian:
    """Return what a part has gained, with the same move of its mean where its precision would have fallen."""
    precision = nonnegative(since.precision, since.dense)
    return since + Gaussian.with_precision(own.mean, precision - since.precision)


def _prior_precision(base: Part) -> np.ndarray:
    """Return the precision of a weight that has not been learned, by column."""
    space = base.space
    found: np.ndarray = np.exp(-base.log_scale) / space.settings.prior_variance
    return found[:, None] if space.settings.independent else found[:1, None]


def _rows_since(base: Part, part: Part) -> int:
    return int(part.counters[0] - base.counters[0])


def _mean_of_round(
    parts: Sequence[Part], base: Part, mean: Callable[[Part], np.ndarray], gained: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the mean of the product for a base with the same mean but little precision.

    If the base is certain, all parts correct it for the same reason, and the plain product corrects it too much.
    ``gained`` is the precision that each part has added to the base's.
    """
    settings, start = base.space.settings, moved(base, mean)
    least = MIN_GAIN / settings.prior_variance if settings.rule.learns_precision else 0.0
    gained_mean, total = np.zeros_like(start), np.full_like(start, least)
    for part, gain in zip(parts, gained, strict=True):
        move = moved(part, mean) - start
        if not settings.rule.learns_precision:  # without gained precision, parts are weighted by their updates
            gain = (part.updates - base.updates).sum() * (move != 0.0)
        gained_mean += (gain + least) * move
        total += gain
    return start + np.divide(gained_mean, total, out=np.zeros_like(start), where=total > 0.0)


def _on_diagonal(extra: np.ndarray, like: Gaussian) -> np.ndarray:
    """Return a precision with these diagonals, grouped like the shift; 0 if there is nothing to add."""
    if not extra.any():
        return np.zeros((1,) * like.precision.ndim)
    if not like.dense:
        return extra
    if len(like.precision) == 1:  # one matrix for all columns
        extra = extra.max(axis=0, keepdims=True)
    return extra[..., None] * np.eye(extra.shape[-1])


def _added(counts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
    return base + sum(count - base for count in counts)


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
    return bool((after <= before * (1.0 + MAX_EXCESS[base.space.settings.dtype])).all() or base.space.settings.forget)


def _variances(sigma: np.ndarray) -> np.ndarray:
    return np.diagonal(sigma, axis1=1, axis2=2) if sigma.ndim > 2 else sigma
