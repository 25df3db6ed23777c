"""What other policies would have earned on the logged decisions."""

from __future__ import annotations

import asyncio
import math
import re

from msgspec import Struct

from ...model.settings import MAX_REWARD
from ...problems import Problem
from ...work.decisions import check_decides
from ...work.evaluating import evaluate as evaluate_policies
from ..calls import Call
from ..replies import Reply, Sendable, answered

MAX_POLICIES, MAX_TEXT = 10, 200


class Gain(Struct):
    """By how much more reward per decision, with the 95 % interval."""

    value: float
    low: float
    high: float


class PeriodValue(Struct):
    """Mean reward per decision in a period, with the 95 % interval; ``warning``: why that cannot be trusted."""

    value: float
    low: float
    high: float
    warning: str | None


class PolicyEvaluation(Struct):
    """What a policy would have earned per decision.

    ``value`` is by doubly robust estimation, and ``estimates`` has all estimators; ``low`` and ``high`` are the 95 %
    interval. ``effective_rows``: the number of decisions of equal weight that would say as much; ``overlap``: the
    fraction of its choices that the log's policy could make; ``gain``: over the baseline; ``warning``: why the value
    cannot be trusted, null if it can. Without a value, the log says nothing about the policy.
    """

    policy: str
    value: float | None
    low: float | None
    high: float | None
    warning: str | None
    estimator: str | None
    estimates: dict[str, float]
    effective_rows: float
    largest_weight: float
    overlap: float
    gain: Gain | None
    periods: list[PeriodValue]


class Period(Struct):
    """Decisions between two times, and how often each of the most frequent actions was chosen."""

    since: float
    until: float
    decisions: int
    actions: dict[str, int]
    others: int


class Evaluation(Struct):
    """Policies, evaluated on the decisions that have a reward.

    ``left_out`` counts the others by the reason; ``logged`` is what was decided.
    """

    evaluated: int
    left_out: dict[str, int]
    reward_range: list[float] | None
    logged: PolicyEvaluation
    policies: list[PolicyEvaluation]
    periods: list[Period]


async def evaluate(call: Call) -> Sendable:
    """Return what policies would have earned on the logged decisions that have a reward."""
    hosted, names = call.hosted, call.query.getlist("policy") or ["baseline"]
    check_decides(hosted)
    if (replica := call.engine.replica) is not None:  # which has no log
        asked = call.query.multi_items()
        status, kind, content = await asyncio.to_thread(replica.passed_on, f"{hosted.name}/evaluate", asked)
        return Reply(content, status, kind)
    if len(names) > MAX_POLICIES or any(not 0 < len(name) <= MAX_TEXT for name in names):
        raise Problem("invalid-parameter", f"policy: expected at most {MAX_POLICIES} of 1 to {MAX_TEXT} characters")
    periods = call.query.get("periods")
    if periods is not None and not re.fullmatch("day|[1-9][0-9]?", periods):
        raise Problem("invalid-parameter", f'periods: expected "day" or an integer from 1 to 99, got {periods[:40]!r}')
    by_day = periods == "day"
    parts = None if periods is None or by_day else int(periods)
    limits = _range_in(call.query.get("reward_range"))
    return answered(await asyncio.to_thread(evaluate_policies, call.engine, hosted, names, parts, by_day, limits))


def _range_in(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low = high = math.nan
    if not -MAX_REWARD <= low < high <= MAX_REWARD:
        raise Problem("invalid-parameter", f'reward_range: expected two numbers such as "0,1", got {text[:40]!r}')
    return low, high
