"""The log of events, asked without threads."""

import re
from pathlib import Path

import pytest

import confidently.serve
from confidently.serve.log.event_log import EventLog, same_json
from confidently.serve.log.events import Event


@pytest.fixture
def log(tmp_path):
    found = EventLog(tmp_path)
    yield found
    found.close()


def test_events_that_were_set_aside_since_another_one(log):
    first, second = (log.add(1, Event.LEARN, id, features=b"{}", label=b'"x"') for id in ("a", "b"))
    aside = second + 1
    log.set_aside(1, second, "no reason given")
    assert log.was_set_aside_since(1, aside - 1, second)
    assert not log.was_set_aside_since(1, aside - 1, first), "what was learned comes before it"
    assert not log.was_set_aside_since(1, aside, second), "it was set aside before"
    assert not log.was_set_aside_since(2, aside - 1, second), "of another model"


def test_a_deleted_model_leaves_no_name_of_its_sources(log):
    number = log.add_model("m", b"{}", has_file=False)
    log.set_position(number, "file:/rows.jsonl", 7)
    log.set_position(number + 1, "file:/rows.jsonl", 8)
    log.delete_model(number)
    assert [log.position(one, "file:/rows.jsonl") for one in (number, number + 1)] == [0, 8]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (b'{"a": 1, "b": [2]}', b'{"b":[2.0],"a":1}', True),
        (b'{"a": 1}', b'{"a": 2}', False),
        (b'{"a": 1e400}', b'{"a": 1e400}', True),
        (b'{"a": 1e400}', b'{"a": 1e401}', False),
        (b'{"a": "\xff"}', b'{"a": 1}', False),
        (None, None, True),
        (None, b"{}", False),
    ],
)
def test_the_same_content(first, second, same):
    """Also of rows of older versions, which took numbers and bytes that no decoder accepts now."""
    assert same_json(first, second) == same_json(second, first) == same


@pytest.mark.parametrize(
    "asked",
    [
        lambda log: log.waiting_answers(1),
        lambda log: log.answer_notes(1),
        lambda log: log.opinions(1),
        lambda log: log.skips(1),
        lambda log: log.last_of(1, Event.ERASURE),
        lambda log: log.n_aside(1),
        lambda log: log.aside(1, 0, 10),
        lambda log: log.was_set_aside_since(1, 0, 10),
    ],
)
def test_events_of_rare_kinds_are_found_by_their_index(log, asked):
    """The index is used only by statements that repeat its condition, word by word and number by number."""
    statements = []
    log._db.exec_trace = lambda cursor, sql, values: statements.append((sql, values)) or True
    asked(log)
    log._db.exec_trace = None
    plan = [row[3] for row in log._db.execute(f"EXPLAIN QUERY PLAN {statements[0][0]}", statements[0][1])]
    assert any("USING INDEX rare" in step or "USING COVERING INDEX rare" in step for step in plan), plan


def test_statements_name_kinds_of_events():
    """They contain members of Event, not the members' numbers."""
    for path in Path(confidently.serve.__file__).parent.rglob("*.py"):
        assert not re.findall(r"\bkind (?:=|>=|IN|BETWEEN) \(?\d.*", path.read_text()), path.name
