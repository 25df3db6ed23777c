"""Merging stacks: their members one by one, and the weights of these by how sure each stack is of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace

import numpy as np

from .. import _core
from ..covariances.state import State
from ..data.warning import DataWarning
from ..learner.streams import prune_names
from ..stack import logs
from ..stack.class_means import DIRECTIONS, MEANS, PRECISION, RARITIES, SINCE, SQUARES, ClassMeans
from ..stack.class_means import ROWS as ROWS_OF_GROUPS
from ..stack.following import SHARE
from ..stack.generative import CALIBRATION, Generative
from ..stack.label_stack import LABEL_COUNTS, OF_MIXTURES, LabelStack
from ..stack.members import COUNTERS, ROWS, WEIGHTS, Members
from ..stack.naive_bayes import ENTRIES, FREQUENCY, KNOWN
from ..stack.naive_bayes import ROWS as ROWS_OF_CLASSES
from ..stack.number_stack import CALIBRATION as NUMBER_CALIBRATION
from ..stack.number_stack import LOGS, PRODUCTS, NumberStack, joined, mixtures, number_weights
from ..stack.plan import Member
from ..stack.stack import HESSIAN, OWN
from ..tasks import conformal, intervals, novelty
from ..tasks.calibration import MIN_CURVATURE, merged_lines
from ..tasks.conformal import CONFORMAL
from ..tasks.targets import INITIAL_TARGET
from ..tasks.targets import merged as merged_targets
from .alignment import all_classes, all_features, class_numbers
from .merged_groups import check_columns, merged_groups
from .merged_learner import MergeError, NoCommonBase
from .merging import merge_models, merge_round
from .model import Model


def merge_all(
    models: Sequence[Model], names: Sequence[str], base: Model | None, base_name: str, how: str = "product"
) -> Model:
    """Return the merged model of single learners or of stacks, which must have the same members.

    The weights of each window of the merged mixture are the mean of the stacks', weighted by the curvature of their
    log-losses; its curvature is that of the stack with the most evidence, since old rows do not count. Those of
    regressions follow from the sum of the products of errors, of as many rows as the stack with the most has. Windows
    have the mean of their shares. Members that one of the stacks has dropped, or has not chosen by its first rows, are
    dropped, and with a warning those on quantiles of the first rows where these differ.

    Raises
    ------
    MergeError
        As for single learners; if there are both, or members differ.
    """
    check_columns(models if base is None else [*models, base], names if base is None else [*names, base_name])
    merged = _merged_without_groups(models, names, base, base_name, how)
    if merged.learner.groups is None:  # otherwise it is a copy of one model
        merged.learner.groups = merged_groups(models, base, merged)
    return merged


def _merged_without_groups(
    models: Sequence[Model], names: Sequence[str], base: Model | None, base_name: str, how: str
) -> Model:
    together = [*models, *([] if base is None else [base])]
    if not any(isinstance(model.learner, Members) for model in together):
        return merge_models(models, names, base, base_name, how)
    if all(isinstance(model.learner, Members) for model in together):
        together = _of_common_members(together)
        models, base = together[: len(models)], None if base is None else together[-1]
    all_names = [*names, *([] if base is None else [base_name])]
    members = [_members(model) for model in together]
    for name, model, own in zip(all_names, together, members, strict=True):
        if own is None or own != members[0] or model.learner.dtype != models[0].learner.dtype:
            raise MergeError(
                f"{name} has {_text(own)}, {all_names[0]} {_text(members[0])}; merge stacks of the same members"
            )
    columns, _ = all_features(together)

    def merge(members: list[Model], start: Model | None) -> Model:
        return merge_models(members, names, start, base_name, how)

    return _merged(models, base, columns, how, merge)


def merge_all_in_round(base: Model, models: Sequence[Model], columns: Sequence[np.ndarray]) -> Model:
    """Merge single learners or stacks whose training continued from a base in one round, without names of features.

    The arguments are those of :func:`confidently.models.merging.merge_round`.

    Raises
    ------
    MergeError
        If what a view has learned cannot be merged.
    """
    if not isinstance(base.learner, Members):
        return merge_round(base, models, columns)
    of_base = np.arange(base.learner.n_features)

    def merge(members: list[Model], start: Model | None) -> Model:
        assert start is not None
        return merge_round(start, members, columns)

    return _merged(models, base, [*columns, of_base], "product", merge)


@contextmanager
def _named(member: str) -> Iterator[None]:
    """Say which member of the stacks it is that cannot be merged."""
    try:
        yield
    except MergeError as error:
        raise type(error)(f"{member}: {error}") from None


def _of_common_members(models: Sequence[Model]) -> list[Model]:
    """Return stacks without the members that others have dropped or not chosen, whose part those that stay take over.

    If one of them follows what moves, all do.
    """
    stacks = [copy(model.learner) for model in models]
    if any(stack.later is None for stack in stacks):
        for stack in stacks:
            stack.follow()
    dropped: dict[str, int] = {}
    for stack in stacks:
        dropped |= stack.dropped or {}
    if all(stack.dropped is not None for stack in stacks):  # members that first rows have chosen
        common = set.intersection(*(set(stack.names) for stack in stacks))
        for stack in stacks:
            dropped |= {name: stack.n_seen for name in stack.names if name not in {*common, *dropped}}
    for stack in stacks:
        while gone := [k for k, name in enumerate(stack.names) if name in dropped]:
            if len(gone) == len(stack.names):
                raise MergeError("every member has been dropped by one of the stacks; train one on all rows")
            stack.drop(gone[0])
        if stack.dropped is not None:
            stack.dropped = dropped
    return [replace(model, learner=stack) for model, stack in zip(models, stacks, strict=True)]


def _without(models: Sequence[Model], members: Sequence[int]) -> list[Model]:
    """Return stacks without some members, whose part the others take over."""
    found = [replace(model, learner=copy(model.learner)) for model in models]
    for model in found:
        for k in reversed(members):
            model.learner.drop(k)
    return found


def _members(model: Model) -> list[tuple[str, str | None]] | None:
    """Return name and multiclass task of a stack's members, whose settings are compared when each is merged."""
    stack = model.learner
    return list(zip(stack.names, stack.multiclass, strict=True)) if isinstance(stack, Members) else None


def _text(members: list[tuple[str, str | None]] | None) -> str:
    return "a single learner" if members is None else ", ".join(name for name, _ in members)


def _of_member(model: Model, k: int) -> Model:
    member = model.learner.members[k]
    estimator = {"multiclass": model.learner.multiclass[k], "calibration": "progressive"}
    return Model(member, model.classes, model.features, estimator, model.source)


def _merged_generative(
    models: Sequence[Model], columns: Sequence[np.ndarray], k: int, has_base: bool, how: str
) -> Generative:
    """Return the sum of what members have counted, or its mean; that of a common base, the last model, counts once.

    ``columns`` holds the columns of each model's features in the merged model.
    """
    kind: type[Generative] = type(models[0].learner.members[k])
    table = all_classes(models)
    n_features = max(int(own.max(initial=-1)) + 1 for own in columns)
    merged = kind(len(table), n_features)
    parts = len(models) - has_base
    factors = [1.0 if how == "product" else 1.0 / parts] * parts
    if has_base:
        factors.append(1.0 - sum(factors))
    classes = [class_numbers(model, table) for model in models]
    states = [model.learner.members[k].state for model in models]
    calibrations = [
        _calibration(state[CALIBRATION], own, merged.n_classes)
        for state, own in zip(states[:parts], classes, strict=False)
    ]
    counted = list(zip(states, columns, classes, factors, strict=True))
    if isinstance(merged, ClassMeans):
        _sum_moments(merged, counted)
        base = states[-1][RARITIES] if has_base else novelty.untrained()
        merged.state[RARITIES] = novelty.merged([state[RARITIES] for state in states[:parts]], base)
    else:
        _sum_counts(merged, counted)
    merged.state[CALIBRATION] = merged_lines(np.array(calibrations), merged.n_classes > 2)
    return merged


Counted = Sequence[tuple[State, np.ndarray, np.ndarray, float]]  # a state, its columns, its classes, and its factor


def _sum_counts(merged: Generative, counted: Counted) -> None:
    """Make the counts of naive Bayes from those of several."""
    state = merged.state
    for own, columns, classes, factor in counted:
        state[FREQUENCY][np.ix_(columns, classes)] += factor * own[FREQUENCY][: len(columns)]
        state[ROWS_OF_CLASSES][classes] += factor * own[ROWS_OF_CLASSES]
    _check_counted(state[FREQUENCY], state[ROWS_OF_CLASSES])
    state[ENTRIES][:] = state[FREQUENCY].sum(axis=0)
    state[KNOWN][0] = np.count_nonzero(state[FREQUENCY].any(axis=1))


def _sum_moments(merged: ClassMeans, counted: Counted) -> None:
    """Make means and scatter within classes from the sums and second moments of several."""
    state, prior = merged.state, np.linalg.inv(merged.state[PRECISION])
    sums, moments = state[MEANS], np.zeros_like(prior)
    for own, columns, classes, factor in counted:
        groups, d = np.concatenate([[0], classes + 1]), len(columns)
        rows, means = own[ROWS_OF_GROUPS], own[MEANS][:d]
        state[ROWS_OF_GROUPS][groups] += factor * rows
        sums[np.ix_(columns, groups)] += factor * rows * means
        moment = prior.copy()
        within = np.linalg.inv(own[PRECISION])[:d, :d]
        moment[np.ix_(columns, columns)] = within + (rows[1:] * means[:, 1:]) @ means[:, 1:].T
        moments += factor * moment
    rows = state[ROWS_OF_GROUPS]
    _check_counted(rows)
    since = np.full(merged.n_classes, np.inf)
    for own, _, classes, _ in counted:
        np.minimum.at(since, classes, np.where(own[ROWS_OF_GROUPS][1:] > 0.0, own[SINCE], np.inf))
    state[SINCE][:] = np.where(np.isfinite(since), since, 0.0)
    means = sums / np.where(rows > 0.0, rows, 1.0)
    precision = np.linalg.inv(moments - (rows[1:] * means[:, 1:]) @ means[:, 1:].T)
    weights = precision @ means
    state |= {MEANS: means, PRECISION: 0.5 * (precision + precision.T), DIRECTIONS: weights}
    state[SQUARES] = (means * weights).sum(axis=0)


def _check_counted(*counts: np.ndarray) -> None:
    if min(count.min(initial=0.0) for count in counts) < 0:
        raise MergeError("a stack has counted less than the base; merge stacks that continued from it")


def _calibration(own: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return a calibration for the numbers that the classes have in the merged model."""
    if n_classes > 2 and len(own) > 2:  # that of two of the classes
        return own[[0, 2]]
    if n_classes == 2 and classes[0] == 1:
        return own * [1.0, -1.0, 1.0, -1.0, 1.0]
    return own.copy()


def _merged(
    models: Sequence[Model], base: Model | None, columns: Sequence[np.ndarray], how: str,
    merge: Callable[[list[Model], Model | None], Model],
) -> Model:  # fmt: skip
    """Return the merged stack; ``merge`` merges members with a Gaussian, given that of the base.

    ``columns`` holds the columns of each model's features in the merged model, those of the base at last.
    """
    first, members, left_out = models[0].learner, list[Member](), dict[int, str]()
    together = [*models, *([] if base is None else [base])]
    for k, (name, member) in enumerate(zip(first.names, first.members, strict=True)):
        if isinstance(member, Generative):
            members.append(_merged_generative(together, columns, k, base is not None, how))
            continue
        try:
            with _named(name):
                merged = merge([_of_member(one, k) for one in models], None if base is None else _of_member(base, k))
        except NoCommonBase as error:
            if not first.may_drop:
                raise
            left_out[k] = str(error)
            continue
        members.append(merged.learner)
    if left_out:
        reasons = "; ".join(left_out.values())
        warnings.warn(
            f"the merged stack has no members on quantiles of first rows: {reasons}", DataWarning, stacklevel=3
        )
    together = _without(together, list(left_out))
    models, first = together[: len(models)], together[0].learner
    known = [model.learner.dropped for model in together if model.learner.dropped is not None]
    dropped = known[-1] if known else None
    states = _states(together)
    mixture = _number_mixture if isinstance(first, NumberStack) else _mixture
    state = mixture(states[: len(models)], None if base is None else states[-1])
    n_classes, n_features = (max(getattr(one, name) for one in members) for name in ("n_classes", "n_features"))
    stack = type(first).of(
        members,
        first.names,
        first.multiclass,
        n_classes,
        n_features,
        first.dtype,
        state,
        first.rests,
        dropped,
        first.logs,
    )
    stack.later = first.later
    if merged.features is not None:
        prune_names(stack, merged.features)
    return Model(stack, merged.classes, merged.features, models[0].estimator, merged.source)


def _states(models: Sequence[Model]) -> list[State]:
    """Return the mixtures of stacks; what is of a class or label by its number in the merged model."""
    states = [model.learner.state for model in models]
    if isinstance(models[0].learner, NumberStack):
        return states
    table, found = all_classes(models), []
    for model, own in zip(models, states, strict=True):
        numbers, placed = class_numbers(model, table), dict(own)
        if isinstance(model.learner, LabelStack):
            placed = model.learner.untrained(len(table)) | {COUNTERS: own[COUNTERS]}
            for name in OF_MIXTURES:
                placed[name][numbers] = own[name]
        found.append(placed | {CONFORMAL: conformal.placed(own[CONFORMAL], numbers, len(table))})
    return found


def _mixture(states: Sequence[State], base: State | None) -> State:
    """Return the mixture of stacks of classifiers, whose rows are added."""
    hessians = np.array([state[HESSIAN] for state in states])
    precision = hessians + _core.weight_precision * np.eye(hessians.shape[-1])
    known = sum(p @ state[OWN][..., None] for p, state in zip(precision, states, strict=True))
    evidence = np.trace(hessians, axis1=-2, axis2=-1)
    total = evidence.sum(axis=0)
    part = np.divide(evidence.max(axis=0), total, out=np.zeros_like(total), where=total > 0)
    own = np.linalg.solve(precision.sum(axis=0), known)[..., 0]
    merged = {OWN: own, HESSIAN: part[..., None, None] * hessians.sum(axis=0)} | _added(states, base, (ROWS, COUNTERS))
    merged[SHARE] = np.mean([state[SHARE] for state in states], axis=0)
    scores = [state[CONFORMAL] for state in states]
    start = conformal.none_of(scores[0]) if base is None else base[CONFORMAL]
    merged[CONFORMAL] = conformal.merged(scores, start)
    if LABEL_COUNTS in states[0]:
        counts = np.array([state[LABEL_COUNTS] for state in states])
        most = counts.max(axis=0)[:, 1] / np.maximum(counts.sum(axis=0)[:, 1], MIN_CURVATURE)
        merged[LABEL_COUNTS] = most[:, None] * counts.sum(axis=0)
    return merged | {WEIGHTS: (merged[SHARE][..., None, :] @ own)[..., 0, :]}


def _number_mixture(states: Sequence[State], base: State | None) -> State:
    """Return the mixtures of stacks of regressions, one per number, whose rows are added."""
    of_numbers = zip(*map(mixtures, states), strict=True)
    before = [None for _ in mixtures(states[0])] if base is None else mixtures(base)
    found = [_mixture_of_number(own, start) for own, start in zip(of_numbers, before, strict=True)]
    return joined(found) | _added(states, base, (COUNTERS,))


def _mixture_of_number(states: Sequence[State], base: State | None) -> State:
    """Return the mixture for a number."""
    merged = _added(states, base, (ROWS,))
    rows = np.array([state[ROWS][1:] for state in states])  # in the sums of each window
    total = rows.sum(axis=0)
    part = np.divide(rows.max(axis=0), total, out=np.zeros_like(total), where=total > 0)
    merged[ROWS][1:] = part * total
    merged[PRODUCTS] = part[:, None, None] * np.sum([state[PRODUCTS] for state in states], axis=0)
    merged[SHARE] = np.mean([state[SHARE] for state in states], axis=0)
    before = np.array(INITIAL_TARGET) if base is None else base[NUMBER_CALIBRATION]
    merged[NUMBER_CALIBRATION] = merged_targets([state[NUMBER_CALIBRATION] for state in states], before)
    start = intervals.untrained(1) if base is None else base[CONFORMAL]
    merged[CONFORMAL] = intervals.merged([state[CONFORMAL] for state in states], start)
    if LOGS in states[0]:
        merged[LOGS] = logs.merged([state[LOGS] for state in states], None if base is None else base[LOGS])
    return merged | {WEIGHTS: number_weights(merged)}


def _added(states: Sequence[State], base: State | None, names: Sequence[str]) -> State:
    """Return sums over stacks, in which those of a common base count once."""
    merged = {name: np.sum([state[name] for state in states], axis=0) for name in names}
    if base is not None:
        for name in names:
            merged[name] -= (len(states) - 1) * base[name]
    return merged
