"""The table of covariances, the only place where their names are looked up."""

from __future__ import annotations

from dataclasses import replace

from ..rules.ranges import check_choice
from ..rules.rule import Rule
from ..tasks.table import BINARY, task_of_classes, task_of_labels
from ..tasks.task import Task
from .covariance import Covariance
from .diagonal import Diagonal
from .full import Full
from .kernel import Kernel
from .low_rank import LowRank
from .settings import Settings
from .shared import Shared
from .sparse import Sparse

COVARIANCE = "_covariance"  # of settings
COVARIANCES: dict[str, type[Covariance]] = {cls.name: cls for cls in (Diagonal, Full, Shared, LowRank, Sparse, Kernel)}


def kind_of(name: str) -> type[Covariance]:
    """Return the covariance class of a name.

    Raises
    ------
    ValueError
        For an unknown name; the message lists the valid ones.
    """
    check_choice("covariance", name, COVARIANCES)
    return COVARIANCES[name]


def of_classes(rule: Rule, covariance: str, multiclass: str | None) -> tuple[str, Task]:
    """Return covariance and task of a learner of three or more classes.

    Parameters
    ----------
    rule : Rule
    covariance : str
        The choice of the user, or the covariance of a learner of two classes.
    multiclass : {"joint", "one-vs-rest", "softmax"}, optional
        What the user has chosen. Without a choice, the task is the rule's own, or the only one of the covariance, and
        a covariance of all weights is replaced by one that the classes share.

    Raises
    ------
    ValueError
        For a task that the rule or the covariance cannot have.

    Examples
    --------
    >>> from confidently import AROW
    >>> of_classes(AROW(), "full", None), of_classes(AROW(), "full", "joint")
    (('shared', Joint()), ('full', Joint()))
    """
    kind = kind_of(covariance)
    if multiclass is None and kind.for_classes is not None:
        kind = kind_of(kind.for_classes)
    task = task_of_classes(rule, kind.multiclass if multiclass is None else multiclass)
    kind.check_task(task)
    return kind.name, task


def of_labels(rule: Rule, covariance: str, multiclass: str | None) -> Task:
    """Return the task of a learner of multilabel rows: by default one-vs-rest, unless the covariance couples labels.

    Raises
    ------
    ValueError
        For a task that the rule, the covariance or multilabel rows cannot have.
    """
    kind = kind_of(covariance)
    task = task_of_labels(rule, multiclass, kind.couples_classes)
    kind.check_task(task)
    return task


def with_classes(settings: Settings, multiclass: str | None, n_classes: int, multilabel: bool = False) -> Settings:
    """Return the settings of a learner with the task and the covariance that its classes, or labels, need.

    Raises
    ------
    ValueError
        As :func:`of_classes`, with two classes too, since more may follow, or :func:`of_labels`.
    """
    if multilabel:
        return replace(settings, task=of_labels(settings.rule, settings.covariance, multiclass))
    covariance, task = of_classes(settings.rule, settings.covariance, multiclass)
    return replace(settings, covariance=covariance, task=task) if n_classes > 2 else replace(settings, task=BINARY)


def saved_multiclass(rule: Rule, covariance: str, multiclass: str | None) -> str | None:
    """Return what model files keep of the choice of a task.

    None if there was none and the covariance depends on that; otherwise the task.
    """
    kind = kind_of(covariance)
    if multiclass is None and kind.for_classes is not None:
        return None
    return task_of_classes(rule, kind.multiclass if multiclass is None else multiclass).multiclass


def make_covariance(settings: Settings) -> Covariance:
    """Return the covariance of a learner with these settings, which keep it: learners ask for it all the time."""
    kept = vars(settings)
    if COVARIANCE not in kept:
        kept[COVARIANCE] = kind_of(settings.covariance).of(settings)
    return kept[COVARIANCE]


def resolved(settings: Settings, n_features: int) -> Settings:
    """Return the settings with their covariance's defaults filled in, checked against what it allows.

    Raises
    ------
    ValueError
        If the covariance does not allow them.
    """
    return kind_of(settings.covariance).resolved(settings, n_features)
