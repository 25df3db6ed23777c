"""Checks of examples before a learner trains on them: labels, weights and targets, all but their rows."""

from __future__ import annotations

import numpy as np

from .. import _core
from ..covariances.examples import Examples
from ..data.memory.matrix import MAX_WEIGHT, MIN_WEIGHT
from ..rules.rule import Rule
from ..tasks.targets import MAX_TARGET
from ..tasks.task import Task
from ..wording import counted


def check_examples(examples: Examples, task: Task, n_classes: int, rule: Rule | None = None) -> None:
    """Check that labels, weights, targets and order suit the rows, and a learner of this task and rule.

    Raises
    ------
    ValueError
        With what is wrong, and where.
    """
    n, order = examples.X.shape[0], examples.order
    _check_labels(n, examples.labels, examples.label_start, task, n_classes)
    _check_weights(n, examples.weight, examples.class_weight, task, n_classes)
    _check_targets(n, examples.targets, task, n_classes)
    if rule is not None and examples.targets is not None and rule.counts:
        _refuse_targets(examples.targets, examples.targets < 0.0, f"the rule {rule.name} needs targets >= 0")
    if order is not None and len(order) and not 0 <= order.min() <= order.max() < n:
        raise ValueError(f"order must hold rows 0 to {n - 1}, got {order.min()} to {order.max()}")


def _check_labels(n: int, labels: np.ndarray, start: np.ndarray | None, task: Task, n_classes: int) -> None:
    if (start is not None) != task.multilabel:
        raise ValueError("multilabel tasks need lists of labels (label_start), and no other task takes them")
    expected = n if start is None else int(start[-1])
    if start is not None and (start[0] != 0 or (np.diff(start) < 0).any()):
        raise ValueError("label_start must start at 0 and never decrease")
    if len(labels) != expected or (start is not None and len(start) != n + 1):
        raise ValueError(f"got {counted(n, 'row')} and {counted(len(labels), 'label')}, which do not match")
    if not _core.are_within(labels, n_classes):
        raise ValueError(f"labels must be in 0 to {n_classes - 1}, got {labels.min()} to {labels.max()}")


def _check_weights(
    n: int, weight: np.ndarray | None, class_weight: np.ndarray | None, task: Task, n_classes: int
) -> None:
    smallest = largest = 1.0  # of all products; that of weights that are 0 does not count
    for name, weights, length in (("weight", weight, n), ("class_weight", class_weight, n_classes)):
        if weights is None:
            continue
        if weights.shape != (length,):
            raise ValueError(f"{name} must have shape ({length},), got {weights.shape}")
        largest *= weights.max(initial=0.0)
        smallest *= min(_core.least_positive(weights), MAX_WEIGHT)
    if class_weight is not None and task.multilabel:
        raise ValueError("class weights need one class per row; leave them out for multilabel data")
    if not largest <= MAX_WEIGHT:
        raise ValueError(f"weights of examples must be at most {MAX_WEIGHT:g}, got {largest:g}; scale them down")
    if smallest < MIN_WEIGHT:
        raise ValueError(
            f"weights of examples must be 0 or at least {MIN_WEIGHT:g}, got {smallest:g}; scale them up, or use 0 to "
            "leave rows out"
        )


def _check_targets(n: int, targets: np.ndarray | None, task: Task, n_outputs: int) -> None:
    if (targets is not None) != task.regression:
        raise ValueError("regression needs targets, and no other task takes them")
    if targets is None:
        return
    if targets.shape != (n, n_outputs):
        raise ValueError(f"targets must have shape ({n}, {n_outputs}), got {targets.shape}")
    outside = ~(np.abs(targets) <= MAX_TARGET)  # NaN too
    _refuse_targets(targets, outside, f"targets must be finite and at most {MAX_TARGET:g} in size")


def _refuse_targets(targets: np.ndarray, outside: np.ndarray, expected: str) -> None:
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise ValueError(f"{expected}, got {targets[row, column]:g} in row {row}")
