"""The arrays of a learner or a stack as a model file has them, and the learner of a file's header and arrays."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..covariances.settings import DTYPES
from ..covariances.state import PLACES, REAL, State, check_within, put_places, within, without_base
from ..learner.learner import Learner
from ..rules.ranges import check_choice
from ..stack.averaging import Mean
from ..stack.choosing import Choosing
from ..stack.class_means import ClassMeans
from ..stack.early import EARLY
from ..stack.following import Later
from ..stack.generative import Generative
from ..stack.label_stack import LabelStack
from ..stack.members import LOG, REST, Members, parts_of
from ..stack.moves import Moves
from ..stack.naive_bayes import NaiveBayes
from ..stack.number_stack import NumberStack, check_order
from ..stack.plan import Member
from ..stack.stack import Stack
from ..tasks import conformal, intervals, novelty
from ..tasks.conformal import CONFORMAL
from ..tasks.groups import GROUPS, Groups
from ..tasks.moved_columns import MOVED, MovedColumns
from ..tasks.novelty import VARIANCES
from ..views.center import Center
from ..views.view import View
from . import file
from .file import REGRESSION, checked_arrays

MAX_CENTERED = 100.0
GENERATIVE: dict[str, type[Generative]] = {member.kind: member for member in (NaiveBayes, ClassMeans)}


def packed(learner: Learner | Choosing) -> State:
    """Return the state as its covariance and its view pack it, and that of a stack's members with their numbers."""
    if isinstance(learner, Learner):
        return _packed(learner) | _packed_groups(learner) | _packed_moved(learner)
    members = (member.packed() if isinstance(member, Generative) else _packed(member) for member in learner.members)
    own = {f"{k}.{name}": array for k, packed in enumerate(members) for name, array in packed.items()}
    prior = {CONFORMAL: learner.task.initial_conformal(learner.n_classes)}
    early = {} if learner.early is None else learner.early.arrays(learner.columns)
    return _without_prior(learner.state, prior) | own | early | _packed_groups(learner) | _packed_moved(learner)


def unpacked(header: file.Header, arrays: State) -> Learner | Stack | NumberStack:
    """Return the learner of a header and packed arrays; an error if they do not fit."""
    regression = header.kind == REGRESSION
    of_groups = {name: arrays.pop(name) for name in list(arrays) if name.startswith(GROUPS)}
    of_columns = {name: arrays.pop(name) for name in list(arrays) if name.startswith(MOVED)}
    learner = _stack_of(header, arrays, regression) if header.members else _learner_of(vars(header), arrays, regression)
    if header.coverage_by is not None:
        learner.groups = _groups_of(header.coverage_by, of_groups, learner)
    if of_columns:
        learner.moved = MovedColumns.of(of_columns)
    check_within("what centers probabilities", np.array(header.centered), within(MAX_CENTERED))
    learner.centered = header.centered
    if header.settled:
        learner.settle(shuffled=True)
    return learner


def check_values(learner: Learner | Members) -> None:
    """Raise ``ValueError`` unless all numbers are those that a file may hold."""
    for part in parts_of(learner):
        if isinstance(part, Learner):
            _check_values(part)
        else:
            part.check_values()
    _check_groups(learner.groups)


def _stack_of(header: file.Header, arrays: State, regression: bool) -> Stack | NumberStack:
    kind = NumberStack if regression else LabelStack if header.settings.get("multilabel") is True else Stack
    n_classes, n_features, dtype = header.n_classes, header.n_features, header.settings.get("dtype")
    check_choice("dtype", dtype, DTYPES)
    of_early = {name: arrays.pop(name) for name in list(arrays) if name.startswith(EARLY)}
    members: list[Member] = []
    for k, saved in enumerate(header.members):
        prefix = f"{k}."
        own = {name.removeprefix(prefix): arrays.pop(name) for name in list(arrays) if name.startswith(prefix)}
        generative = GENERATIVE.get(saved["kind"])
        if generative is not None and kind is Stack:
            unpacked = generative.unpacked(own, n_features, n_classes)
            found = checked_arrays(unpacked, generative.shapes(n_features, n_classes))
            members.append(generative(n_classes, n_features, found))
        elif "settings" not in saved:
            raise ValueError(f"member {k} has no settings")
        else:
            members.append(_learner_of({**saved, "n_classes": n_classes, "n_features": n_features}, own, regression))
    kinds = [(saved["kind"] == LOG, saved["kind"] == REST) for saved in header.members]
    if regression:
        check_order(kinds)
    elif any(map(any, kinds)):
        raise ValueError("members that learn logarithms or what others leave are of numbers, not of classes")
    logs, rests = (sum(kind) for kind in zip(*kinds, strict=True))
    shapes = kind.shapes(len(members), n_classes, rests, logs)
    if CONFORMAL in shapes:
        arrays = _with_prior(arrays, {CONFORMAL: (intervals if regression else conformal).untrained(n_classes)})
    mixture = checked_arrays(kind.upgraded(arrays), shapes)
    names, multiclass = zip(*((saved["name"], saved["multiclass"]) for saved in header.members), strict=True)
    if any(member.task.multilabel != (kind is LabelStack) for member in members if isinstance(member, Learner)):
        raise ValueError("members of label sets and of classes in one stack")
    stack = kind.of(
        members, list(names), list(multiclass), n_classes, n_features, str(dtype), mixture, rests, header.dropped, logs
    )
    if stack.moves is not None and header.moves is not None:
        stack.moves = Moves(tuple(header.moves["rows"]), header.moves["pending"])
    if header.mean is not None:
        weights, slopes = tuple(header.mean["weights"]), tuple(header.mean["slopes"])
        stack.mean = Mean(header.mean["rows"], header.mean["looked"], header.mean["total"], weights, slopes)
    if header.later is not None:
        stack.later = [Later(**one) for one in header.later]
    if header.early is not None:
        from ..stack.choice import new_stack  # imported here since most models choose no members any more
        from ..stack.number_choice import new_number_stack

        untrained = new_number_stack if regression else partial(new_stack, multilabel=kind is LabelStack)
        stack.continue_early(
            header.early, of_early, untrained(dtype=str(dtype), trees=header.estimator.get("trees", True))
        )
    for member in members:
        if isinstance(member, Generative):
            member.check_values()
    stack.check_values()
    return stack


def _groups_of(saved: file.SavedGroups, packed: State, learner: Learner | Stack | NumberStack) -> Groups:
    """Return the groups of a header's entry and their packed array."""
    none = Groups(saved["column"], of_numbers=learner.task.regression)
    prior = none.untrained(len(saved["values"]), learner.n_classes)
    arrays = checked_arrays(_with_prior(packed, {GROUPS: prior}), {GROUPS: (prior.shape, REAL)})
    found = none.of(saved["values"], saved["others"], arrays[GROUPS])
    _check_groups(found)
    return found


def _packed_groups(learner: Learner | Members) -> State:
    """Return the packed array of groups, if there are any."""
    if learner.groups is None:
        return {}
    found = learner.groups.array(learner.n_classes)
    return _without_prior({GROUPS: found}, {GROUPS: learner.groups.untrained(len(found) - 1, learner.n_classes)})


def _packed_moved(learner: Learner | Members) -> State:
    """Return the arrays of what is known of columns, if there are any."""
    return {} if learner.moved is None else learner.moved.arrays()


def _check_groups(known: Groups | None) -> None:
    if known is None:
        return
    for own in known.all_states:
        for name, numbers, allowed in known.kind.values(own):
            check_within(name, numbers, allowed)


def _packed(learner: Learner) -> State:
    packed, view = learner.covariance.packed(learner.without_view(learner.state), learner.width), learner.view
    packed = _without_prior(packed, _untrained(learner))
    return packed if view is None else packed | view.packed(learner.state, learner.n_features)


def _untrained(learner: Learner) -> State:
    """Return what a learner has counted before the first row, and earlier files lack."""
    return {CONFORMAL: learner.task.initial_conformal(learner.n_classes), VARIANCES: novelty.untrained()}


def _without_prior(arrays: State, prior: State) -> State:
    """Return arrays of which some lack the numbers that they begin with, if that saves space."""
    for name in (name for name in prior if name in arrays):
        arrays = arrays | without_base(name, arrays[name], prior[name])
    return arrays


def _with_prior(arrays: State, prior: State) -> State:
    """Return arrays with all of these numbers."""
    for name in prior:
        if name + PLACES in arrays:
            put_places(prior[name], arrays, name)
    return prior | arrays


def _check_values(learner: Learner) -> None:
    learner.covariance.check_values(learner.state, learner.size)
    if learner.view is not None:
        _check_view(learner.view, learner.view.packed(learner.state, learner.n_features))


def _learner_of(header: dict[str, Any], arrays: State, regression: bool) -> Learner:
    """Return the learner of a header's entries and its packed arrays."""
    learner = Learner.from_header(header, {})
    if learner.task.regression != regression:
        predicted = "numbers" if regression else "classes"
        raise ValueError(f"the task {learner.task.name!r} in a model that predicts {predicted}")
    view = learner.view
    if learner.task.centered and not (view is not None and any(isinstance(one, Center) for one in view.views)):
        raise ValueError(f"the task {learner.task.name!r} without the view 'center'")
    if view is not None:
        of_view = {name: arrays.pop(name) for name in list(arrays) if name.startswith(view.prefixes)}
        shapes = view.shapes(of_view, learner.n_features, learner.n_classes)
        of_view = checked_arrays(of_view, shapes)
        _check_view(view, of_view)
        learner.state = view.unpacked(of_view, learner.n_features)
    covariance, size = learner.covariance, learner.size
    if "calibration" in arrays:
        before = arrays["calibration"]
        arrays = arrays | {"calibration": learner.task.upgraded_calibration(before, size.n_classes)}
    arrays = _with_prior(arrays, _untrained(learner))
    file.require_memory_for(covariance.shapes(size, arrays))
    state = covariance.unpacked(arrays, size)
    own = checked_arrays(state, covariance.shapes(size, state))
    covariance.check_values(own, size)
    learner.state = own | learner.state
    return learner


def _check_view(view: View, packed: State) -> None:
    """Raise ``ValueError`` unless the packed arrays of a view could be what it has learned."""
    for name, values, allowed in view.values(packed):
        check_within(name, values, allowed)
