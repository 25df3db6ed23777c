"""The table of covariances, the only place where their names are looked up."""

from __future__ import annotations

from ..rules.ranges import check_choice
from .covariance import Covariance
from .diagonal import Diagonal
from .full import Full
from .kernel import Kernel
from .settings import Settings
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
