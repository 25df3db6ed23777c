"""What learning rows would do, without learning them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from msgspec import Struct

from ..engine.requests import Request
from ..model.guards import Finding
from ..model.hosted import Hosted
from ..model.rows import label_names, label_of
from ..model.settings import ModelSettings
from ..problems import Problem
from ..work import checking, models
from . import messages as m
from .calls import Call, decoded, decoded_lines
from .replies import Sendable, answered

ROWS_PER_CHUNK = 512
SHOWN_PROBLEMS, SHOWN_LABELS, SHOWN_NAMES = 20, 20, 1000
MAX_CLASSES = 100_000  # that are told apart


class DryRun(Struct):
    """What learning rows would do: rows in all and acceptable ones, and the first 20 problems, by their lines.

    ``labels`` has the 20 most frequent classes of acceptable rows. ``new_classes`` and ``unknown_fields`` are those
    that the model does not know; ``guards`` counts odd rows by kind, once the model has learned 100 rows.
    """

    rows: int
    good: int
    bad: list[dict[str, Any]]
    labels: dict[str, int]
    n_classes: int
    new_classes: list[str]
    unknown_fields: list[str]
    guards: dict[str, int]


async def tried_out(call: Call, settings: str | None) -> Sendable:
    """Return what learning the rows of a body would do.

    They are tried on the model that the address names, or, if there are settings, on a new one with these.
    """
    trial = Trial(call.hosted if settings is None else await _new(call, settings))
    if not call.is_ndjson:
        body = await call.message(m.LearnBody)
        await trial.take(call, [(1, body)])
    else:
        number, rows = 0, list[tuple[int, bytes]]()
        async with aclosing(call.lines(with_empty=True)) as arriving:
            async for lines in arriving:
                rows += [(number + k, line) for k, line in enumerate(lines, 1) if line]
                number += len(lines)
                while len(rows) >= ROWS_PER_CHUNK:
                    await trial.take_lines(call, rows[:ROWS_PER_CHUNK])
                    del rows[:ROWS_PER_CHUNK]
        await trial.take_lines(call, rows)
    return answered(trial.result())


async def _new(call: Call, settings: str) -> Hosted:
    call.check_allowed("admin")  # as making it is
    return await asyncio.to_thread(models.unmade, call.names["m"], decoded(settings.encode(), ModelSettings))


class Trial:
    """Counts of rows that are only looked at.

    Parameters
    ----------
    hosted : Hosted
    """

    def __init__(self, hosted: Hosted) -> None:
        self._hosted = hosted
        self._rows = self._good = 0
        self._bad = list[dict[str, Any]]()
        self._labels, self._guards = Counter[str](), Counter[str]()
        self._fields: dict[str, None] = {}

    async def take_lines(self, call: Call, rows: list[tuple[int, bytes]]) -> None:
        """Look at some lines, by their numbers."""
        bodies = decoded_lines([line for _, line in rows], m.LearnBody)
        await self.take(call, [(number, body) for (number, _), body in zip(rows, bodies, strict=True)])

    async def take(self, call: Call, rows: Sequence[tuple[int, m.LearnBody | Problem]]) -> None:
        """Look at some rows, by the numbers of their lines."""
        self._rows += len(rows)
        bodies = [body for _, body in rows if not isinstance(body, Problem)]
        given = [(None, bytes(body.features), label_of(body.label), body.weight) for body in bodies]
        taught = iter(await call.checked(checking.all_taught, self._hosted, given))
        checked = [(number, body if isinstance(body, Problem) else next(taught)) for number, body in rows]
        good = [row for _, row in checked if isinstance(row, checking.Taught)]
        odd = iter(await call.ask(Request(lambda log, request: self._odd(good), len(good))) if good else ())
        strict = self._hosted.model.settings.strict
        for number, row in checked:
            problem = row if isinstance(row, Problem) else None
            if isinstance(row, checking.Taught):
                findings = next(odd)
                self._guards.update({one.kind for one in findings})
                problem = next((one.problem() for one in findings if one.kind in strict), None)
                if problem is None:
                    self._accept(row)
            if problem is not None and len(self._bad) < SHOWN_PROBLEMS:
                self._bad.append({"line": number} | problem.as_json())

    def _odd(self, rows: Sequence[checking.Taught]) -> list[list[Finding]]:
        """Return what is odd about each row; called by the learner thread."""
        self._hosted.check_working()
        model, found = self._hosted.model, list[list[Finding]]()
        for row, findings in zip(rows, model.findings([row.features for row in rows]), strict=True):
            if len(self._fields) < SHOWN_NAMES:
                self._fields |= dict.fromkeys(model.guards.unknown_fields(row.features))
            new = model.odd_class(row.label)
            found.append([*findings, *([] if new is None else [new])])
        return found

    def _accept(self, row: checking.Taught) -> None:
        self._good += 1
        if self._hosted.model.task.regression:
            return
        for name in label_names(row.label):
            if name in self._labels or len(self._labels) < MAX_CLASSES:
                self._labels[name] += 1

    def result(self) -> DryRun:
        """Return what was counted."""
        known = {str(name) for name in self._hosted.model.classes}
        new = [name for name, _ in self._labels.most_common() if name not in known]
        return DryRun(
            self._rows, self._good, self._bad, dict(self._labels.most_common(SHOWN_LABELS)), len(self._labels),
            new[:SHOWN_NAMES], list(self._fields)[:SHOWN_NAMES], dict(self._guards),
        )  # fmt: skip
