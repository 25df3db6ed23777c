"""Which alarms began and ended since they were last looked at."""

from __future__ import annotations

import time
from typing import Any

from ..model.alarms import Alarm
from .engine import Engine

Now = dict[tuple[str, str], Alarm]


def alarms_of(engine: Engine) -> Now:
    """Return the alarms of all models, by model and kind."""
    return {
        (hosted.name, alarm.kind): alarm
        for hosted in list(engine.hosted.values())
        for alarm in hosted.metrics.alarms.now()
    }


def changed_alarms(before: Now, now: Now) -> list[dict[str, Any]]:
    """Return a message about each alarm that began or ended."""
    ended = [one for one, alarm in before.items() if now.get(one) != alarm]
    began = [one for one, alarm in now.items() if before.get(one) != alarm]
    return [_message("ended", *one, before[one]) for one in ended] + [
        _message("raised", *one, now[one]) for one in began
    ]


def _message(status: str, model: str, kind: str, alarm: Alarm) -> dict[str, Any]:
    at = alarm.since if status == "raised" else time.time()
    return {
        "status": status, "model": model, "kind": kind, "since": alarm.since, "time": at, "detail": alarm.detail
    }  # fmt: skip
