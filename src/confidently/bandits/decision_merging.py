"""Merging models of decisions that were trained separately, as on the parts of a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..models.merged_learner import MergeError
from .action_models import NOISE, PRIOR_VARIANCE, DiagonalModel, FullModel
from .action_rewards import FIRST_NOISE
from .decision_model import DecisionModel
from .named_features import FeatureNames, Floats


class _Gain(NamedTuple):
    """What a model gained over the prior, in the numbers of the merged model.

    Attributes
    ----------
    arm : int
        Number of an action; 0 if one model serves all.
    columns : int array of shape (n,)
        Of its weights.
    precision : array of shape (n, n), or (n,) if only variances are known
    information : array of shape (n,)
        Precision times mean.
    """

    arm: int
    columns: NDArray[np.intp]
    precision: Floats
    information: Floats


def merge_decisions(models: Sequence[DecisionModel], base: DecisionModel | None = None) -> DecisionModel:
    """Return the model that knows what all models know.

    Gaussians are multiplied and divided by what they have in common::

        precision = sum_i precision_i - (k - 1) precision_0

    and alike for the products of precisions and means, with index 0 for the base, or the prior. With full covariances,
    the result is that of training one model on all rewards, whatever their order, as long as scales of features do not
    change. It watches for drift from scratch.

    Parameters
    ----------
    models : sequence of DecisionModel
        At least one; settings other than the policy and the seed must agree. Those of the first are kept.
    base : DecisionModel, optional
        That all of them continued.

    Raises
    ------
    MergeError
        If settings differ, or a model began again (:class:`RewardDrift`) after the base.

    Examples
    --------
    >>> from confidently.bandits import Action
    >>> parts = [DecisionModel(), DecisionModel()]
    >>> for part, reward in zip(parts, (0.0, 1.0)):
    ...     _ = part.learn({}, Action("a"), reward)
    >>> merge_decisions(parts).n_learned
    2
    """
    first, restarts = models[0], 0 if base is None else base.n_restarts
    for one in [*models, *([] if base is None else [base])]:
        if (one.actions.shared, one.low, one.width) != (first.actions.shared, first.low, first.width):
            raise MergeError("the models of decisions differ in shared or reward_range; train them with the same")
        if one.n_restarts != restarts:
            raise MergeError("a model of decisions began again after its base; use forget=False to merge")
    merged = _empty(first)
    weighted = [(one, 1) for one in models] + ([] if base is None else [(base, 1 - len(models))])
    for one, _ in weighted:
        _add_names(merged, one)
    full = all(one.model.full for one in models)
    gains = [(gain, sign) for one, sign in weighted for gain in _gains(one, merged, full)]
    shape = len(merged.names), max(len(merged.actions), 1)
    merged.model = (FullModel if full else DiagonalModel)(first.actions.shared, *shape)
    n_weights = shape[0] * shape[1] if first.actions.shared else shape[0]
    merged.model.restore(_full_parts(gains, n_weights) if full else _diagonal_parts(gains))
    merged._widen()
    for one, sign in weighted:
        merged.squares += sign * (one.squares - FIRST_NOISE * NOISE)
        merged.n_squares += sign * (one.n_squares - FIRST_NOISE)
        merged.n_learned += sign * one.n_learned
    merged.n_restarts = restarts
    return merged


def _empty(model: DecisionModel) -> DecisionModel:
    """Return an untrained model with the same settings."""
    return DecisionModel(
        model.policy,
        shared=model.actions.shared,
        reward_range=(model.low, model.low + model.width),
        min_share=model.min_share,
        forget=model.drift is not None,
        seed=model.seed,
    )


def _add_names(merged: DecisionModel, model: DecisionModel) -> None:
    """Number all names of a model, and raise scales to its own."""
    pairs = [(merged.names, model.names), (merged.actions.features, model.actions.features)]
    for into, names in pairs:
        into.add({name: names.scales[column] for name, column in names.columns.items()})
    for id in model.actions.numbers:
        merged.actions.add(id, {})
    merged.actions.version += 1


def _gains(model: DecisionModel, merged: DecisionModel, full: bool) -> list[_Gain]:
    """Return what a model gained, in the numbers and scales of the merged one, with all covariances or without."""
    model, shared = model.copy(), model.actions.shared
    contexts = _aligned(model, model.names, merged.names, of_actions=False)
    if shared:
        actions = _aligned(model, model.actions.features, merged.actions.features, of_actions=True)
    else:
        actions = np.array([merged.actions.numbers[id] for id in model.actions.numbers], dtype=np.intp)
    if isinstance(model.model, FullModel) and not full:
        model.model = model.model.diagonal()
    if isinstance(model.model, DiagonalModel):
        entries = model.model.parts()
        columns, arms = contexts[entries["feature"]], actions[entries["arm"]]
        precision = 1.0 / entries["weights"][:, 1]
        every = (columns, precision - 1.0 / PRIOR_VARIANCE, precision * entries["weights"][:, 0])
        return [_Gain(int(arm), *(part[arms == arm] for part in every)) for arm in np.unique(arms)]
    assert isinstance(model.model, FullModel)
    dense, own = model.model.arms, np.arange(len(model.names))
    if shared:
        own = (own[:, None] * model.model.n_actions + np.arange(len(model.actions))).ravel()
        contexts = (contexts[:, None] * len(merged.actions) + actions).ravel()
    found = []
    for arm in np.flatnonzero(dense.place >= 0).tolist():
        mean, covariance = (dense.state[name][dense.place[arm]] for name in ("mean", "covariance"))
        precision = np.linalg.inv(covariance[np.ix_(own, own)])
        gained = precision - np.eye(len(own)) / PRIOR_VARIANCE
        found.append(_Gain(0 if shared else int(actions[arm]), contexts, gained, precision @ mean[own]))
    return found


def _full_parts(gains: Sequence[tuple[_Gain, int]], n_weights: int) -> dict[str, np.ndarray]:
    """Return the arrays of a :class:`FullModel` with these gains."""
    precision, information = dict[int, Floats](), dict[int, Floats]()
    for gain, sign in gains:
        if gain.arm not in precision:
            precision[gain.arm], information[gain.arm] = np.eye(n_weights) / PRIOR_VARIANCE, np.zeros(n_weights)
        precision[gain.arm][np.ix_(gain.columns, gain.columns)] += sign * gain.precision
        information[gain.arm][gain.columns] += sign * gain.information
    tried = sorted(precision)
    covariance = np.array([np.linalg.inv(precision[arm]) for arm in tried]).reshape(-1, n_weights, n_weights)
    covariance = 0.5 * (covariance + covariance.transpose(0, 2, 1))
    mean = np.array([matrix @ information[arm] for arm, matrix in zip(tried, covariance, strict=True)])
    return {
        "tried": np.array(tried, dtype=np.int64), "mean": mean.reshape(-1, n_weights), "covariance": covariance
    }  # fmt: skip


def _diagonal_parts(gains: Sequence[tuple[_Gain, int]]) -> dict[str, np.ndarray]:
    """Return the arrays of a :class:`DiagonalModel` with these gains."""
    if not gains:
        gains = [(_Gain(0, np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0)), 1)]
    keys = np.concatenate([
        np.column_stack([gain.columns, np.full(len(gain.columns), gain.arm)]) for gain, _ in gains
    ])  # fmt: skip
    entries, place = np.unique(keys, axis=0, return_inverse=True)
    place = place.ravel()
    precision, information = np.full(len(entries), 1.0 / PRIOR_VARIANCE), np.zeros(len(entries))
    np.add.at(precision, place, np.concatenate([sign * gain.precision for gain, sign in gains]))
    np.add.at(information, place, np.concatenate([sign * gain.information for gain, sign in gains]))
    weights = np.column_stack([information / precision, 1.0 / precision])
    feature, arm = entries.T.astype(np.int32)
    return {"feature": np.ascontiguousarray(feature), "arm": np.ascontiguousarray(arm), "weights": weights}


def _aligned(model: DecisionModel, names: FeatureNames, into: FeatureNames, *, of_actions: bool) -> NDArray[np.intp]:
    """Rescale the weights of a model; return the numbers of its columns in another one."""
    found = np.zeros(len(names), dtype=np.intp)
    for name, column in names.columns.items():
        found[column] = into.columns[name]
        factor = into.scales[found[column]] / names.scales[column]
        if factor != 1.0:
            model.model.scale(column, factor, of_actions=of_actions)
    return found
