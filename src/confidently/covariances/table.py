"""The table of covariances: all that the rest of the package knows of their names."""

from __future__ import annotations

from ..rules.ranges import check_choice
from .covariance import Covariance
from .dense import Full, Shared
from .diagonal import Diagonal
from .kernel import Kernel
from .settings import Settings

COVARIANCES: dict[str, type[Covariance]] = {cls.name: cls for cls in (Diagonal, Full, Shared, Kernel)}


def kind_of(name: str) -> type[Covariance]:
    """The covariance of a name.

    Raises
    ------
    ValueError
        For an unknown name; the message lists the known ones.
    """
    check_choice("covariance", name, COVARIANCES)
    return COVARIANCES[name]


def make_covariance(settings: Settings) -> Covariance:
    """The covariance of a learner with these settings."""
    return kind_of(settings.covariance).of(settings)


def resolved(settings: Settings, n_features: int) -> Settings:
    """The settings with their covariance's defaults written out, checked against what it allows.

    Raises
    ------
    ValueError
        If the covariance does not allow them.
    """
    return kind_of(settings.covariance).resolved(settings, n_features)
