"""The covariances that tests go through: every one of the table, so that a new one is left out of none."""

from confidently.covariances.table import COVARIANCES
from confidently.rules import make_rule
from confidently.tasks.table import task_named

OVER_WEIGHTS = tuple(name for name, kind in COVARIANCES.items() if not kind.keeps_examples)
MERGED = tuple(name for name in OVER_WEIGHTS if "merge" not in COVARIANCES[name].unsupported)


def known(learner):
    """Return the state of a learner; lists of weights in order, since their places depend on when there was no room."""
    covariance = learner.covariance
    return learner.state if covariance.binds_rows else covariance.packed(learner.state, learner.width)


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
