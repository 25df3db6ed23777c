"""The log of events, asked without threads."""

import re
from pathlib import Path

import apsw
import pytest

import confidently.serve
from confidently.serve.log.browse import Filters, Viewed
from confidently.serve.log.edits import NO_EDITS, Basis
from confidently.serve.log.event_log import EventLog, same_json
from confidently.serve.log.events import Event

VIEWED = Viewed(model=1, version=1, edits=NO_EDITS, classes=True)


@pytest.fixture
def log(tmp_path):
    found = EventLog(tmp_path)
    yield found
    found.close()


def test_an_event_is_set_aside_by_a_version(log):
    seq = log.add(1, Event.LEARN, "a", features=b"{}", label=b'"x"')
    log.set_aside(1, 2, seq, "no reason given")
    assert (log.why_aside(2, seq), log.why_aside(1, seq)) == ("no reason given", None)
    taught = [log.taught(Basis(1, version, 0, NO_EDITS), 0, 10) for version in (1, 2)]
    assert [len(rows) for rows in taught] == [1, 0]


def test_a_deleted_model_leaves_no_name_of_its_sources(log):
    number = log.add_model("m")
    log.set_position(number, "file:/rows.jsonl", 7)
    log.set_position(number + 1, "file:/rows.jsonl", 8)
    log.delete_model(number)
    assert [log.position(one, "file:/rows.jsonl") for one in (number, number + 1)] == [0, 8]


@pytest.mark.parametrize(("first", "second", "same"), [
        (b'{"a": 1, "b": [2]}', b'{"b":[2.0],"a":1}', True),
        (b'{"a": 1}', b'{"a": 2}', False),
        (b'{"a": 1e400}', b'{"a": 1e400}', True),
        (b'{"a": 1e400}', b'{"a": 1e401}', False),
        (b'{"a": "\xff"}', b'{"a": 1}', False),
        (None, None, True),
        (None, b"{}", False),
])  # fmt: skip
def test_the_same_content(first, second, same):
    """Also of rows of older versions, which took numbers and bytes that no decoder accepts now."""
    assert same_json(first, second) == same_json(second, first) == same


RARE = {  # what is asked of events of rare kinds
    "waiting": lambda log: log.answers.waiting(1), "given": lambda log: log.answers.given(1),
    "opinions": lambda log: log.answers.opinions(1), "skips": lambda log: log.answers.skips(1),
    "erasures": lambda log: log.last_of(1, Event.ERASURE), "how many aside": lambda log: log.n_aside(1, 1),
    "aside": lambda log: log.aside(1, 1, 0, 10), "promotions": lambda log: log.last_note(1, Event.PROMOTED),
    "edits": lambda log: log.edits.until(1, 10),
}  # fmt: skip


@pytest.mark.parametrize("asked", RARE.values(), ids=RARE)
def test_events_of_rare_kinds_are_found_by_their_index(log, asked):
    """The index is used only by statements that repeat its condition, word by word and number by number."""
    assert any(" INDEX rare " in step for step in plan_of(log, asked))


@pytest.mark.parametrize(
    "asked",
    [
        lambda log: log.taught(Basis(1, 1, 0, NO_EDITS), 0, 10),
        lambda log: list(log.predictions(1, 0)),
        lambda log: log.counts(1),
        lambda log: list(log.rows.page(VIEWED, Filters(), 10, 10, 10)),
        lambda log: list(log.rows.facets(VIEWED, Filters(), 10)),
        lambda log: log.unlabelled(1, 10),
    ],
)
def test_no_statement_looks_at_rows_of_other_models(log, asked):
    log.add(2, Event.LEARN, "a", features=b"{}", label=b'"x"')
    plan = plan_of(log, asked)
    assert not [step for step in plan if step.startswith("SCAN e") or "INTEGER PRIMARY KEY (rowid>" in step], plan
    assert any("(model=?" in step for step in plan), plan


def test_the_newest_unlabelled_rows_are_found_without_sorting_all(log):
    assert not any("ORDER BY" in step for step in plan_of(log, lambda log: log.unlabelled(1, 10)))


@pytest.mark.parametrize(
    "asked", [EventLog.label_of, EventLog.is_taught, EventLog.erasure_of, lambda log, seq: log.answers.waiting_of(seq)]
)
def test_a_statement_is_planned_once(log, asked):
    """Not again for each value, which took two thirds of the time of a reward's statements."""
    planned = []  # of which SQLite asks whether the statement may do it
    log._db.authorizer = lambda *what: planned.append(what) or apsw.SQLITE_OK
    asked(log, 1)
    before = len(planned)
    assert before
    for seq in (2, 3):
        asked(log, seq)
    assert len(planned) == before


def plan_of(log, asked):
    """How the database finds what is asked for, of every statement."""
    statements = []
    log._db.exec_trace = lambda cursor, sql, values: statements.append((sql, values)) or True
    asked(log)
    log._db.exec_trace = None
    assert statements
    return [row[3] for sql, values in statements for row in log._db.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


def test_statements_name_kinds_of_events():
    """They contain members of Event, not the members' numbers."""
    for path in Path(confidently.serve.__file__).parent.rglob("*.py"):
        assert not re.findall(r"\bkind (?:=|>=|IN|BETWEEN) \(?\d.*", path.read_text()), path.name
