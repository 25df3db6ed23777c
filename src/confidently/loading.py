"""Files of models of any kind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .estimators import loading
from .models.file import BANDIT, DECISIONS, ENTITIES, kind_of

if TYPE_CHECKING:
    from .bandits.bandit import ContextualBandit
    from .bandits.decision_model import DecisionModel
    from .entities.models import EntityModels

__all__ = ["load"]


def load(path: str | os.PathLike[str]) -> loading.Loaded | ContextualBandit | DecisionModel | EntityModels:
    """Read a model that ``save`` or the command line wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    OnlineClassifier, AutoClassifier, OnlineRegressor, AutoRegressor or OnlineMedLDA
        Fitted; ``partial_fit`` continues where training stopped.
    ContextualBandit, DecisionModel or EntityModels
        If the file is of one of these.

    Raises
    ------
    confidently.ModelFileError
        If the file is damaged, truncated, not a model, or written by a later version.
    OSError
        If it cannot be read.
    """
    kind = kind_of(path)
    if kind == BANDIT:
        from .bandits.bandit import ContextualBandit  # only here, to save start-up time

        return ContextualBandit.load(path)
    if kind == DECISIONS:
        from .bandits.decision_model import DecisionModel  # only here, to save start-up time

        return DecisionModel.load(path)
    if kind == ENTITIES:
        from .entities.models import EntityModels  # only here, to save start-up time

        return EntityModels.load(path)
    return loading.load(path)
