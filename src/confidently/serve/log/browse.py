"""Looking through the rows of a model, the newest first: filters, and how many rows have which values.

A model may have millions of rows, and the thread that reads them here also writes those that arrive. So each query
looks at a range of events that takes some milliseconds.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import apsw

from .decisions import Choice, DecisionLog
from .edits import Edits
from .events import LABELS, Event
from .vectors import KEY

STEP_SECONDS = 0.005  # of one query, about
FIRST_RANGE, MAX_RANGE = 256, 1 << 18  # events of the model that a query looks at
MAX_BYTES = 1 << 20  # of features or notes, in one answer
STATES = ("labelled", "unlabelled", "set-aside", "taken-out", "erased", "expired")
GONE = STATES[4:]  # without features; shown only to who asks for them
OUTCOMES = ("right", "wrong")
ROWS = f"({Event.PREDICTION}, {Event.LEARN})"  # events that are rows

OF_ROW = "FROM events x WHERE x.example = e.seq AND x.kind"
LOGGED = f"coalesce((SELECT x.label {OF_ROW} IN {LABELS} ORDER BY x.seq DESC LIMIT 1), e.label)"
REASON = (
    f"(SELECT s.note FROM events s WHERE s.kind = {Event.SET_ASIDE} AND s.version = :version "
    f"AND s.example IN (SELECT e.seq UNION ALL SELECT x.seq {OF_ROW} IN {LABELS}) LIMIT 1)"
)
ERASED = f"EXISTS (SELECT 1 {OF_ROW} = {Event.ERASURE})"
PREDICTED = f"CASE WHEN e.kind = {Event.PREDICTION} THEN CAST(e.note AS TEXT) -> '$.label' END"
EDITED_PREDICTION = (
    f"coalesce(CAST(edited(:edits, e.seq, nullif({PREDICTED}, 'null')) AS TEXT), {PREDICTED})"  # unless it was removed
)
BY = (
    f"(SELECT CAST(x.note AS TEXT) ->> '$.by' {OF_ROW} IN ({Event.LABEL}, {Event.CORRECTION}, {Event.ANSWER}) "
    f"AND x.note IS NOT NULL AND NOT EXISTS (SELECT 1 FROM events u WHERE u.example = e.seq AND u.kind = {Event.UNDO} "
    "AND u.seq > x.seq) ORDER BY x.seq DESC LIMIT 1)"
)

BATCH = "(SELECT number FROM batches WHERE model = :model AND name = :batch)"


def _names(label: str) -> str:
    """Return SQL for the names of the classes of a label, sorted."""
    each = f"SELECT CAST(j.value AS TEXT) AS name FROM json_each({label}) j ORDER BY 1"
    return f"(SELECT coalesce(group_concat(name, char(10)), '') FROM ({each}))"


def _has(label: str, name: str) -> str:
    """Return SQL for whether a label is a class, or has it among others."""
    return f"EXISTS (SELECT 1 FROM json_each({label}) j WHERE CAST(j.value AS TEXT) = {name})"


class Viewed(NamedTuple):
    """Whose rows are looked at.

    Attributes
    ----------
    model, version : int
    edits : Edits
        Those that are of consequence for the version.
    classes : bool
        Whether labels are classes; numbers are neither right nor wrong, and each is another one.
    """

    model: int
    version: int
    edits: Edits
    classes: bool

    @property
    def values(self) -> dict[str, Any]:
        """What statements about it need."""
        return {"model": self.model, "version": self.version, "edits": apsw.pyobject(self.edits)}


class Terms:
    """SQL of what is told of a row, with classes as edits leave them.

    Parameters
    ----------
    of : Viewed

    Attributes
    ----------
    given, predicted : str
        The label that the row has, and the one predicted before, as JSON. A prediction of a class that was removed
        keeps its name.
    state, outcome : str
    columns : str
        Of a ``Found``.
    """

    def __init__(self, of: Viewed) -> None:
        label = _label(of.edits) if of.edits.edits else LOGGED
        self.given = given = f"CAST({label} AS TEXT)"
        self.predicted = predicted = EDITED_PREDICTION if of.edits else PREDICTED
        self.state = (
            f"CASE WHEN {ERASED} THEN 'erased' WHEN e.features IS NULL THEN 'expired' "
            f"WHEN {REASON} IS NOT NULL THEN 'set-aside' WHEN {label} IS NOT NULL THEN 'labelled' "
            f"WHEN {LOGGED} IS NOT NULL THEN 'taken-out' ELSE 'unlabelled' END"
        )
        self.outcome = (
            f"CASE WHEN {given} IS NULL OR coalesce({predicted}, 'null') = 'null' THEN NULL "
            f"WHEN {given} = {predicted} OR {_names(given)} = {_names(predicted)} THEN 'right' ELSE 'wrong' END"
            if of.classes
            else "NULL"
        )
        self.columns = (
            f"e.seq, e.id, e.time, coalesce(e.weight, 1.0), e.features, {label}, {LOGGED}, "
            f"CAST({predicted} AS BLOB), CASE WHEN e.kind = {Event.PREDICTION} THEN e.note END, {self.state}, "
            f"{self.outcome}, {BY}, {REASON}"
        )


def _label(edits: Edits) -> str:
    """Return SQL for the last label of a row that was not taken out, as edited."""
    label = "edited(:edits, l.seq, l.label)" if edits else "l.label"
    return (
        f"(SELECT {label} FROM events l WHERE (l.seq = e.seq OR l.example = e.seq AND l.kind IN {LABELS}) "
        f"AND l.label IS NOT NULL{edits.left('l')} ORDER BY l.seq DESC LIMIT 1)"
    )


class Filters(NamedTuple):
    """Which rows are looked for; None: any.

    Attributes
    ----------
    text : str
        Words; each occurs in the id or in a value, whatever the case.
    label, predicted : str
        The name of a class: the one that the row has, and the one that was predicted before.
    outcome : str
        Whether these are the same; one of :data:`OUTCOMES`.
    state : str
        One of :data:`STATES`; by default all but those whose features are gone.
    by : str
        Who gave the label.
    batch : str
        The name of the batch in which the row or a label of it came.
    since, until : int
        When the row came, in milliseconds since 1970; ``until`` is excluded.
    """

    text: str | None = None
    label: str | None = None
    predicted: str | None = None
    outcome: str | None = None
    state: str | None = None
    by: str | None = None
    batch: str | None = None
    since: int | None = None
    until: int | None = None


class Found(NamedTuple):
    """A row that was looked for. ``label`` and ``predicted`` are as edited, ``logged`` and ``prediction`` as logged."""

    seq: int
    id: str
    time: int
    weight: float
    features: bytes | None
    label: bytes | None
    logged: bytes | None
    predicted: bytes | None
    prediction: bytes | None
    state: str
    outcome: str | None
    by: str | None
    reason: bytes | None


class Page(NamedTuple):
    """Some of the rows looked for, and the event before which to look for more; None if these are the last."""

    rows: list[Found]
    before: int | None


class Facets(NamedTuple):
    """How many of the rows looked for have which values, among those since an event; None: among all."""

    rows: int
    since: int | None
    counts: dict[str, Counter[str]]


class Moment(NamedTuple):
    """An event of a row's history."""

    seq: int
    kind: Event
    label: bytes | None
    note: bytes | None
    time: int


class LoggedDecision(NamedTuple):
    """A prediction that may be a decision, with the label that the row has and with its state."""

    seq: int
    time: int
    note: bytes | None
    label: str | None
    state: str
    choice: Choice | None


class RowLog:
    """The rows of models, as people look at them; of the thread that has the connection.

    What is set aside, and what was edited, is so for a version.

    Parameters
    ----------
    db : apsw.Connection
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db, self._decisions = db, DecisionLog(db)
        db.create_scalar_function("edited", cast(Any, Edits.label), 3)

    def page(self, of: Viewed, filters: Filters, before: int, limit: int, most: int) -> Iterator[Page]:
        """Yield the rows found so far, until there are enough or ``most`` events of the model were looked at."""
        terms = Terms(of)
        where, values = _conditions(of, terms, filters)
        where += "" if filters.state else f" AND e.features IS NOT NULL AND NOT {ERASED}"
        statement = f"SELECT {terms.columns} FROM events e INDEXED BY of_models WHERE {where} ORDER BY e.seq DESC"
        found, size = list[Found](), 0
        yield Page(found, None)
        for low, high in self._ranges(of.model, before, most):
            for row in self._db.execute(statement, values | {"low": low, "high": high}):
                found.append(one := _found(row))
                size += len(one.features or b"")
                if len(found) == limit or size >= MAX_BYTES:
                    yield Page(found, one.seq)
                    return
            yield Page(found, low if low > 1 else None)

    def facets(self, of: Viewed, filters: Filters, most: int) -> Iterator[Facets]:
        """Yield the counts so far, until all events were looked at, or ``most`` of them; numbers are not counted."""
        terms = Terms(of)
        where, values = _conditions(of, terms, filters)
        labels = f"{terms.given}, {terms.predicted}" if of.classes else "NULL, NULL"
        columns = f"{terms.state}, {labels}, {BY}"
        statement = f"SELECT {columns}, count(*) FROM events e INDEXED BY of_models WHERE {where} GROUP BY 1, 2, 3, 4"
        counts = {name: Counter[str]() for name in ("state", "label", "predicted", "outcome", "by")}
        rows = 0
        yield Facets(rows, None, counts)
        for low, high in self._ranges(of.model, self.last() + 1, most):
            for state, label, predicted, by, n in self._db.execute(statement, values | {"low": low, "high": high}):
                counts["state"][state] += n
                if state in GONE:
                    rows += n if filters.state else 0
                    continue
                rows += n
                given, guessed = _classes(label), _classes(predicted)
                for name, found in (("label", given), ("predicted", guessed), ("by", [by])):
                    counts[name].update({one: n for one in found or [] if one is not None})
                if given is not None and guessed is not None:
                    counts["outcome"]["right" if sorted(given) == sorted(guessed) else "wrong"] += n
            yield Facets(rows, low if low > 1 else None, counts)

    def decided(self, of: Viewed, after: int, limit: int) -> list[LoggedDecision]:
        """Return the next predictions in order, with what decisions have beside their notes."""
        terms, found, size, lists = Terms(of), list[LoggedDecision](), 0, dict[int, bytes]()
        rows = self._db.execute(
            f"SELECT c.list, c.numbers, e.seq, e.time, e.note, {terms.given}, {terms.state} FROM events e "
            "INDEXED BY of_models LEFT JOIN choices c ON c.event = e.seq WHERE e.model = :model AND e.seq > :after "
            f"AND e.kind = {Event.PREDICTION} ORDER BY e.seq LIMIT :limit",
            of.values | {"after": after, "limit": limit},
        )
        for number, numbers, seq, made, note, label, state in rows:
            choice = None
            if number is not None:
                if number not in lists:
                    lists[number] = self._decisions.actions(number)
                    size += len(lists[number])
                choice = Choice(lists[number], numbers)
                size += len(numbers)
            found.append(LoggedDecision(seq, made, note, label, state, choice))
            size += len(note or b"")
            if size >= MAX_BYTES:
                break
        return found

    def row(self, of: Viewed, id: str) -> Found | None:
        """Return the row that has an id."""
        columns = Terms(of).columns
        statement = f"SELECT {columns} FROM events e WHERE e.model = :model AND e.id = :id AND e.kind IN {ROWS}"
        row = self._db.execute(statement, of.values | {"id": id}).fetchone()
        return None if row is None else _found(row)

    def history(self, example: int) -> list[Moment]:
        """Return what became of a row, in order."""
        rows = self._db.execute(
            f"SELECT seq, kind, label, CASE WHEN kind = {Event.PREDICTION} THEN NULL ELSE note END, time FROM events "
            "WHERE seq = ?1 OR example = ?1 OR example IN (SELECT x.seq FROM events x WHERE x.example = ?1) "
            "ORDER BY seq", (example,),
        )  # fmt: skip
        return [Moment(seq, Event(kind), *rest) for seq, kind, *rest in rows]

    def last(self) -> int:
        """Return the number of the last event."""
        [(found,)] = self._db.execute("SELECT coalesce(max(seq), 0) FROM events")
        return int(found)

    def _ranges(self, model: int, before: int, most: int) -> Iterator[tuple[int, int]]:
        """Yield ranges that have so many events of a model in all, the newest first; each takes as long as a query may.

        The last one begins with event 1 if the model has no others.
        """
        high, n = min(before, self.last() + 1), FIRST_RANGE
        while most > 0 and high > 1:
            row = self._db.execute(
                "SELECT seq FROM events INDEXED BY of_models WHERE model = ? AND seq < ? ORDER BY seq DESC "
                "LIMIT 1 OFFSET ?", (model, high, min(n, most) - 1),
            ).fetchone()  # fmt: skip
            low = 1 if row is None else int(row[0])
            began = time.perf_counter()
            yield low, high
            spent = time.perf_counter() - began
            high, most = low, most - n
            n = min(max(int(n * min(max(STEP_SECONDS / max(spent, 1e-6), 0.5), 2.0)), 1), MAX_RANGE)


def _found(row: tuple[Any, ...]) -> Found:
    one = Found(*row)
    if one.state not in GONE:
        return one  # what is gone may only be hidden yet
    return one._replace(
        features=None, label=None, logged=None, predicted=None, prediction=None, outcome=None, reason=None
    )


def _classes(label: str | None) -> list[str] | None:
    """Return the names of the classes of a label in JSON."""
    found = None if label is None else json.loads(label)
    return None if found is None else [str(one) for one in (found if isinstance(found, list) else [found])]


def _conditions(of: Viewed, terms: Terms, filters: Filters) -> tuple[str, dict[str, Any]]:
    """Return the condition of the rows looked for in a range, and its values."""
    tests = {
        "label": _has(terms.given, ":label"), "predicted": _has(terms.predicted, ":predicted"),
        "outcome": f"{terms.outcome} = :outcome", "state": f"{terms.state} = :state", "by": f"{BY} = :by",
        "batch": f"(e.batch = {BATCH} OR EXISTS (SELECT 1 {OF_ROW} IN {LABELS} AND x.batch = {BATCH}))",
        "since": "e.time >= :since", "until": "e.time < :until",
    }  # fmt: skip
    values = of.values
    where = f"e.model = :model AND e.seq >= :low AND e.seq < :high AND e.kind IN {ROWS} AND e.id IS NOT NULL"
    for name, test in tests.items():
        if (value := getattr(filters, name)) is not None:
            where += f" AND {test}"
            values[name] = value
    for k, word in enumerate((filters.text or "").split()):
        test, patterns = _contains(word, f"w{k}")
        where += f" AND {test}"
        values |= patterns
    return where, values


def _contains(word: str, name: str) -> tuple[str, dict[str, str]]:
    """Return SQL for whether the id or a value of a row has a word, and the patterns that it needs.

    Texts may be escaped in JSON, so the text of the features is searched first, and values only where that has a match.
    """
    forms = [word] if word.isascii() else sorted({word, word.lower(), word.upper(), word.capitalize()})  # as LIKE needs
    plain = {f"{name}v{k}": _pattern(form) for k, form in enumerate(forms)}
    inner = {json.dumps(form, ensure_ascii=ascii)[1:-1] for form in forms for ascii in (True, False)}
    raw = {f"{name}r{k}": _pattern(form) for k, form in enumerate(sorted(inner))}

    def like(what: str, patterns: dict[str, str]) -> str:
        return "(" + " OR ".join(f"{what} LIKE :{one} ESCAPE '\\'" for one in patterns) + ")"

    text = "CAST(e.features AS TEXT)"
    values = f"EXISTS (SELECT 1 FROM json_tree({text}) t WHERE t.key IS NOT '{KEY}' AND {like('t.atom', plain)})"
    inside = f"{like(text, raw)} AND CASE WHEN json_valid({text}, 6) THEN {values} ELSE 1 END"
    return f"({like('e.id', plain)} OR {inside})", plain | raw


def _pattern(text: str) -> str:
    return "%" + "".join(f"\\{c}" if c in "%_\\" else c for c in text) + "%"
