"""Requests of people who look through the rows of a model: pages of rows, counts of their values, one row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from ..engine.requests import Request
from ..log.browse import Facets, Filters, Found, Moment, Page, Viewed
from ..log.event_log import EventLog, reason_in
from ..log.events import Event
from ..model.hosted import Hosted
from ..model.logged_decisions import whole_note
from ..problems import Problem
from .listing import shown

MAX_LOOK = 500_000  # events that one request looks at, for a page
MAX_COUNT = 200_000  # for counts
MOST_VALUES = 200  # of which the counts are told


def page(hosted: Hosted, filters: Filters, before: int, limit: int) -> Request:
    """Return a request for a page of rows, the newest first, answered with what is shown of it."""
    return _in_steps(
        hosted, lambda log: map(_page, log.rows.page(viewed(log, hosted), filters, before, limit, MAX_LOOK))
    )


def facets(hosted: Hosted, filters: Filters) -> Request:
    """Return a request for the number of rows with each value, answered with what is shown of it."""

    def steps(log: EventLog) -> Iterator[dict[str, Any]]:
        return map(_facets, log.rows.facets(viewed(log, hosted), filters, MAX_COUNT))

    return _in_steps(hosted, steps)


def row(hosted: Hosted, id: str) -> Request:
    """Return a request for a row with its history, answered with what is shown of it."""

    def work(log: EventLog, request: Request) -> dict[str, Any]:
        hosted.check_living()
        found = log.rows.row(viewed(log, hosted), id)
        if found is None:
            raise Problem("unknown-id", f"no row has the id {id!r}")
        history = [_moment(one, found) for one in log.rows.history(found.seq)]
        prediction = whole_note(found.prediction, log.decisions.choice_of(found.seq))
        return _row(found) | {"prediction": shown(prediction), "history": history}

    return Request(work)


def viewed(log: EventLog, hosted: Hosted) -> Viewed:
    """Return the model as the version that answers sees it."""
    live = hosted.live.stored
    return Viewed(hosted.number, live.number, log.edits.basis(live).edits, not hosted.model.task.regression)


def _in_steps(hosted: Hosted, steps: Callable[[EventLog], Iterator[Any]]) -> Request:
    """Return a request whose work is done between commits; the last of its steps is the answer."""

    def work(log: EventLog, request: Request) -> Iterator[Any]:
        hosted.check_living()
        return (one for one in steps(log))

    return Request(work)


def _page(found: Page) -> dict[str, Any]:
    return {"rows": [_row(one) for one in found.rows], "before": found.before}


def _facets(found: Facets) -> dict[str, Any]:
    counts = {name: dict(count.most_common(MOST_VALUES)) for name, count in found.counts.items()}
    return {"rows": found.rows, "since": found.since} | counts


def _row(found: Found) -> dict[str, Any]:
    told: dict[str, Any] = {} if found.prediction is None else msgspec.json.decode(found.prediction)
    return {
        "seq": found.seq, "id": found.id, "time": found.time / 1000.0, "weight": found.weight,
        "features": shown(found.features), "state": found.state, "label": shown(found.label),
        "logged": shown(found.logged), "predicted": shown(found.predicted), "probability": _probability(told),
        "outcome": found.outcome, "by": found.by,
        "reason": reason_in(found.reason) if found.state == "set-aside" else None,
    }  # fmt: skip


def _probability(told: dict[str, Any]) -> float | None:
    """Return the probability of a predicted class, or of the action that was chosen."""
    if (decided := told.get("decision")) is not None:
        of_one: float | None = decided.get("probability")
        return float(decided["probabilities"][decided["chosen"]]) if of_one is None else of_one
    label = told.get("label")
    return None if isinstance(label, list) else told.get("probability", {}).get(str(label))


def _moment(one: Moment, found: Found) -> dict[str, Any]:
    """Return an event of a row's history; what was erased has neither label nor note."""
    gone = found.state == "erased"
    note = None if one.note is None or gone else msgspec.json.decode(one.note)
    told = note if isinstance(note, dict) else {}
    return {
        "seq": one.seq, "time": one.time / 1000.0, "kind": one.kind.name.lower().replace("_", "-"),
        "label": None if gone else shown(one.label), "by": told.get("by"),
        "reason": note if one.kind == Event.SET_ASIDE else told.get("reason"),
    }  # fmt: skip
