"""What policies would have earned on the decisions of the log, which is read some decisions at a time."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from ..engine.engine import MAX_EVALUATIONS, Engine
from ..engine.requests import Request
from ..log.browse import LoggedDecision
from ..log.event_log import EventLog
from ..model.evaluating import BASELINE, LOGGED, Collected, policy_named
from ..model.hosted import Hosted
from ..model.logged_decisions import Decided, decided_in
from ..problems import Problem
from .browse import viewed

DECISIONS_PER_STEP = 64  # whose statement takes some milliseconds of the log thread


def evaluate(
    engine: Engine, hosted: Hosted, names: list[str], periods: int | None, by_day: bool,
    reward_range: tuple[float, float] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return what policies would have earned; called in a thread that may wait.

    Raises
    ------
    Problem
        If there is no such policy, a reward is out of range, as many evaluations run as may, or the model or the
        server ends meanwhile.
    """
    policies = {name: policy_named(name) for name in dict.fromkeys((LOGGED, BASELINE, *names))}
    collected = Collected(policies, reward_range)
    if not engine.evaluations.acquire(blocking=False):
        told = f"{MAX_EVALUATIONS} evaluations read the log now; ask again when one has ended"
        raise Problem("overloaded", told)
    try:
        after = 0
        while read := engine.submit(_decided(hosted, after).blocking()).answer():
            collected.add(list(_rewarded(read, collected)))
            after = read[-1][0]
    finally:
        engine.evaluations.release()
    found = collected.result(periods, by_day)
    found["policies"] = [one for one in found["policies"] if one["policy"] in names]
    return found


def _decided(hosted: Hosted, after: int) -> Request:
    def work(log: EventLog, request: Request) -> list[LoggedDecision]:
        hosted.check_living()
        return log.rows.decided(viewed(log, hosted), after, DECISIONS_PER_STEP)

    return Request(work)


def _rewarded(read: list[LoggedDecision], collected: Collected) -> list[tuple[int, float, Decided]]:
    """Return time, reward and decision of those that have a reward; count the others."""
    found = list[tuple[int, float, Decided]]()
    for _, time, note, reward, state, choice in read:
        if state in ("erased", "expired"):
            collected.left_out[state] += 1
            continue
        try:
            if (decided := decided_in(note, choice)) is None:
                continue
        except msgspec.ValidationError:  # a number of it is not finite
            collected.left_out["unreadable"] += 1
            continue
        if state == "labelled" and reward is not None and math.isfinite(number := float(reward)):
            found.append((time, number, decided))
        else:
            collected.left_out["waiting" if state == "unlabelled" else state] += 1
    return found
