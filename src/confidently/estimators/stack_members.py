"""The members of a stack as estimators: which ones it takes, and those that it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .estimator import OnlineEstimator

OF_COLUMNS = ("n_features_in_", "feature_names_in_", "features_", "source_")


def check_members(members: Any, kind: type[OnlineEstimator[Any]]) -> None:
    """Raise an error unless these may be the members of a stack, which takes estimators of one kind."""
    name = kind.__name__
    if isinstance(members, str) or not isinstance(members, Sequence):
        raise TypeError(f'members: expected "auto" or a list of {name}s, got {members!r}')
    if not members:
        raise ValueError(f'members: expected "auto" or at least one {name}, got an empty list')
    for member in members:
        if not isinstance(member, kind):
            raise TypeError(f"members: expected {name}s, got {type(member).__name__}")


def take_columns(member: OnlineEstimator[Any], stack: OnlineEstimator[Any]) -> None:
    """Give a member what the stack knows about the columns of the rows."""
    known = vars(stack)
    for name in OF_COLUMNS:
        if name in known:
            setattr(member, name, known[name])
