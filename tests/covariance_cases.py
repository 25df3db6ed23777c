"""The covariances that tests go through: every one of the table, so that a new one is left out of none."""

from confidently.covariances.table import COVARIANCES
from confidently.rules import make_rule
from confidently.tasks.table import task_named

OVER_WEIGHTS = tuple(name for name, kind in COVARIANCES.items() if not kind.keeps_examples)


def has_task(rule, task):
    """Whether a rule, of this name or any other, has a task."""
    return task != "softmax" or make_rule(rule).multiclass == "softmax"


def serves(covariance, task):
    """Whether a covariance serves a task; otherwise it says why not."""
    try:
        COVARIANCES[covariance].check_task(task_named(task))
    except ValueError as reason:
        assert str(reason), covariance
        return False
    return True
