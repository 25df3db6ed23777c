"""What the Gaussians to merge are about: those of regressions are about different means of rows and targets.

A regression without a constant feature, "centered-regression", learns rows less their mean m from targets less their
mean t. With W the weight of its rows, S their scatter matrix around m, and r the variance of the noise that the rule
assumes, its precision is P_0 + S/r. Around the means of all rows, the same rows have the scatter matrix
S + W (m_i - m)(m_i - m)', and their products with the targets change alike. With these terms, least squares is merged
exactly: sums around one point add up.

With a constant feature, targets less t_i + b are targets less t + (b + t_i - t): the weight of the constant moves by
t_i - t, and so does its prior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..covariances.settings import Settings
from ..tasks.targets import Targets
from .gaussian import Gaussian
from .merged_part import Origin, Part


def set_origins(parts: Sequence[Part], base: Part, rows: Sequence[np.ndarray] | None) -> None:
    """Tell the parts of a regression what their Gaussians are about; those of classifiers are about nothing else.

    ``rows`` are the means of the rows of each part, and of the base at last, less those of the merged rows.
    """
    settings = base.space.settings
    if not settings.task.regression:
        return
    whole = settings.task.offset(settings.rule, Targets.of(_calibration(parts, base)))
    for k, part in enumerate((*parts, base)):
        known = Targets.of(part.calibration)
        moved = settings.task.offset(settings.rule, known) - whole if known.weight.any() else np.zeros_like(whole)
        part.origin = Origin(float(known.weight.max(initial=0.0)), moved, None if rows is None else rows[k])


def posterior(part: Part, mean: Callable[[Part], np.ndarray]) -> Gaussian:
    """Return a part's Gaussian, about what the merged one is about."""
    found, origin = part.gaussian(moved(part, mean)), part.origin
    if origin is None or origin.rows is None:
        return found
    d, factor = origin.rows, origin.weight / part.space.settings.rule.noise_variance()
    return Gaussian(found.precision + factor * np.outer(d, d), found.shift + factor * np.outer(origin.targets, d))


def started(part: Part, base: Part, start: Gaussian, mean: Callable[[Part], np.ndarray]) -> Gaussian:
    """Return what a part started from, the Gaussian ``start`` of the base; a prior is about the part's own offset."""
    if part.origin is None or not _has_constant(part) or base.learner.n_seen:
        return start
    own = mean(base)
    own[:, 0] += part.origin.targets
    return Gaussian.with_precision(base.learner.covariance.grouped(own), start.precision)


def moved(part: Part, mean: Callable[[Part], np.ndarray]) -> np.ndarray:
    """Return a part's mean, shape (columns, rows), with the weight of the constant feature about the merged offset."""
    found = mean(part)
    if part.origin is not None and _has_constant(part):
        found[:, 0] += part.origin.targets
    return found


def merged_calibration(parts: Sequence[Part], base: Part, total: Gaussian) -> np.ndarray:
    """Return the calibration by all rows; ``total`` is the merged Gaussian.

    In ridge regression the sum of error^2/spread over one pass is M/r - mean' P mean, where M is the sum of the
    targets' squared deviations (Plackett 1950). What this gains by merging is what the parts have not known of each
    other.
    """
    settings, calibration = base.space.settings, _calibration(parts, base)
    if not _is_exact(base, settings):
        return calibration
    found = Targets.of(calibration)
    own, start = [_unexplained(part) for part in parts], _unexplained(base)
    together = found.squares / settings.rule.noise_variance() - (total.shift * total.mean).sum(axis=1)
    gained = together - start - sum(one - start for one in own)
    began = sum(part.origin is not None and part.origin.weight > 0 for part in parts)
    first = max(began - 1, 0) if settings.task.has_offset and not base.learner.n_seen else 0
    more = np.where(found.predicted > 0, 1.0 + first / np.maximum(found.predicted, 1.0), 1.0)
    return found._replace(
        predicted=found.predicted + first, noise=np.maximum(found.noise + gained, 0.0),
        squared_errors=found.squared_errors * more, absolute_errors=found.absolute_errors * more,
    ).packed()  # fmt: skip


def _unexplained(part: Part) -> np.ndarray:
    """Return the sum of error^2/spread of one pass over the rows of a part, shape (K,)."""
    found = part.gaussian(part.last())
    squares = Targets.of(part.calibration).squares / part.space.settings.rule.noise_variance()
    return squares - (found.shift * found.mean).sum(axis=1)


def _is_exact(base: Part, settings: Settings) -> bool:
    centered, dense = settings.task.centered, base.learner.covariance.couples_features
    about_means = base.origin is not None and (base.origin.rows is not None) == centered
    return settings.rule.squared_loss and dense and about_means and (centered or not settings.task.has_offset)


def _has_constant(part: Part) -> bool:
    return bool(part.space.settings.fit_intercept)


def _calibration(parts: Sequence[Part], base: Part) -> np.ndarray:
    return base.space.settings.task.merged_calibration([part.calibration for part in parts], base.calibration)
