"""The table of covariances, the only place where their names are looked up."""

from __future__ import annotations

from ..rules.ranges import check_choice
from ..rules.rule import Rule
from .covariance import Covariance
from .diagonal import Diagonal
from .full import Full
from .kernel import Kernel
from .settings import MULTILABEL, Settings, check_multiclass
from .shared import Shared

COVARIANCES: dict[str, type[Covariance]] = {cls.name: cls for cls in (Diagonal, Full, Shared, Kernel)}


def kind_of(name: str) -> type[Covariance]:
    """Return the covariance class of a name.

    Raises
    ------
    ValueError
        For an unknown name; the message lists the valid ones.
    """
    check_choice("covariance", name, COVARIANCES)
    return COVARIANCES[name]


def task_of(rule: Rule, covariance: str, multiclass: str | None, n_classes: int, multilabel: bool) -> str:
    """Return the task of a learner.

    Parameters
    ----------
    rule : Rule
    covariance : str
    multiclass : {"joint", "one-vs-rest", "softmax"}, optional
        What the user has chosen. By default the rule's own with several classes; with labels "one-vs-rest", unless the
        covariance couples all of them.
    n_classes : int
    multilabel : bool
        Whether a row has any number of labels instead of one class.

    Raises
    ------
    ValueError
        For a task that the rule, the covariance or multilabel data cannot have.
    """
    several = check_multiclass(rule, multiclass)
    if not multilabel:
        return several if n_classes > 2 else "binary"
    if multiclass == "softmax":
        raise ValueError(
            'multiclass="softmax" chooses one of several classes, and multilabel rows have any number of labels; use '
            'multiclass="one-vs-rest" or "joint"'
        )
    if multiclass is None:
        multiclass = "joint" if kind_of(covariance).couples_classes else "one-vs-rest"
    return next(task for task, name in MULTILABEL.items() if name == multiclass)


def make_covariance(settings: Settings) -> Covariance:
    """Return the covariance of a learner with these settings."""
    return kind_of(settings.covariance).of(settings)


def resolved(settings: Settings, n_features: int) -> Settings:
    """Return the settings with their covariance's defaults filled in, checked against what it allows.

    Raises
    ------
    ValueError
        If the covariance does not allow them.
    """
    return kind_of(settings.covariance).resolved(settings, n_features)
