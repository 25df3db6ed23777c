"""Files of bandits and of models of decisions: what their headers have."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..data.sources.json_schema import Count, parse
from ..estimators.archive import ArchiveKind
from ..models.file import BANDIT, DECISIONS, Checked
from .decisions import Decision, decision_of


@dataclass(kw_only=True)
class OfPolicy(Checked):
    """The name and the parameters of a policy."""

    policy: str
    parameters: dict[str, float]


@dataclass(kw_only=True)
class BanditHeader(OfPolicy):
    """Plain values of a :class:`ContextualBandit`."""

    arms: list[str | int | float | bool]
    n_features: Count
    models: str
    ones: bool
    sparse: bool
    random: dict[str, Any]
    n_decisions: Count


@dataclass(kw_only=True)
class DecisionsHeader(OfPolicy):
    """Plain values of a :class:`DecisionModel`."""

    shared: bool
    reward_range: tuple[float, float]
    min_share: float
    seed: int
    n_learned: Count
    n_restarts: Count
    noise: tuple[float, float]
    full: bool
    room: tuple[Count, Count]
    forget: bool


OF_BANDIT = ArchiveKind(BANDIT, BanditHeader)
OF_DECISIONS = ArchiveKind(DECISIONS, DecisionsHeader)


def lines_of(log: Iterable[Decision]) -> list[str]:
    """Return decisions as JSON."""
    return [json.dumps(one.record(), allow_nan=False) for one in log]


def log_of(lines: Iterable[str]) -> list[Decision]:
    """Return the decisions of :func:`lines_of`, checked."""
    return [decision_of(parse(line, Any)) for line in lines]
