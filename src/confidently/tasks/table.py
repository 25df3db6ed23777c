"""The table of tasks, the only place where their names are looked up, and which of them data and settings ask for."""

from __future__ import annotations

from ..rules.ranges import check_choice
from ..rules.rule import Rule
from .binary import Binary
from .joint import Joint
from .labels import RankedLabels, SeparateLabels
from .numbers import CenteredNumbers, Numbers, OffsetNumbers
from .one_vs_rest import OneVsRest
from .softmax import Softmax
from .task import Task

BINARY, JOINT, NUMBERS = Binary(), Joint(), Numbers()
TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        BINARY, JOINT, OneVsRest(), RankedLabels(), SeparateLabels(), Softmax(), NUMBERS, OffsetNumbers(),
        CenteredNumbers(),
    )
}  # fmt: skip
MULTICLASS = {str(task.multiclass): task for task in TASKS.values() if task.several}
MULTILABEL = {str(task.multiclass): task for task in TASKS.values() if task.multilabel}


def task_named(task: str | Task) -> Task:
    """Return the task of a name, or the task itself.

    Raises
    ------
    ValueError
        For an unknown name; the message lists the valid ones.
    """
    if isinstance(task, Task):
        return task
    check_choice("task", task, TASKS)
    return TASKS[task]


def task_of_classes(rule: Rule, multiclass: str | None) -> Task:
    """Return the task of a rule with three or more classes, by default the rule's own.

    Raises
    ------
    ValueError
        For an unknown value of ``multiclass``, or a task that the rule does not have.
    """
    if multiclass is None:
        return MULTICLASS[rule.multiclass]
    check_choice("multiclass", multiclass, MULTICLASS)
    task = MULTICLASS[multiclass]
    task.check_rule(rule)
    return task


def task_of_labels(rule: Rule, multiclass: str | None, coupled: bool) -> Task:
    """Return the task of multilabel rows; by default labels are ``coupled`` by the covariance, or separate.

    Raises
    ------
    ValueError
        As :func:`task_of_classes`, and for a task that multilabel rows cannot have.
    """
    task_of_classes(rule, multiclass)
    if multiclass is None:
        return MULTILABEL["joint" if coupled else "one-vs-rest"]
    if multiclass not in MULTILABEL:
        raise ValueError(
            f'multiclass="{multiclass}" chooses one of several classes, and multilabel rows have any number of labels; '
            'use multiclass="one-vs-rest" or "joint"'
        )
    return MULTILABEL[multiclass]


def task_of_numbers(fit_intercept: bool, centered: bool) -> Task:
    """Return the task of a regression: without an intercept, with an offset, or of rows that are centered."""
    if not fit_intercept:
        return NUMBERS
    return TASKS[CenteredNumbers.name] if centered else TASKS[OffsetNumbers.name]
