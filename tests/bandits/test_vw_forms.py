"""Vowpal Wabbit's logs of decisions, in every form that its own tests have: equal to its parser, or one clear error."""

import pytest

from confidently.bandits import flat, read_decisions
from confidently.data import DataError
from tests.bandits.vw_forms import FORMS, REFUSED

SUFFIX = {"adf": ".vw", "cb": ".vw", "json": ".json", "cb json": ".json", "dsjson": ".json", "slots": ".json"}


def read(folder, how, text, **options):
    path = folder / f"log{SUFFIX[how]}"
    path.write_text(text, newline="")
    return list(read_decisions(path, actions=4 if how.startswith("cb") else None, **options))


@pytest.mark.parametrize(("how", "text", "expected"), [one[1:] for one in FORMS], ids=[one[0] for one in FORMS])
def test_forms_are_read_as_vowpal_wabbit_reads_them(tmp_path, how, text, expected):
    found = read(tmp_path, how, text)
    assert len(found) == len(expected)
    first = 1 if how.startswith("cb") else 0  # how VW numbers the actions of these
    for one, (chosen, cost, probability, weight, actions) in zip(found, expected, strict=True):
        assert one.weight == weight
        assert (one.reward is None) if cost is None else (one.chosen, -one.reward, one.probability) == (
            chosen, cost, probability
        )  # fmt: skip
        allowed = [k for k, action in enumerate(one.actions, start=first) if not action.excluded]
        assert (allowed if isinstance(actions, list) else len(allowed)) == actions


@pytest.mark.parametrize(("how", "text", "message"), [one[1:] for one in REFUSED], ids=[one[0] for one in REFUSED])
def test_other_forms_are_one_error(tmp_path, how, text, message):
    with pytest.raises(DataError, match=rf"line [12]: .*{message}"):
        read(tmp_path, how, text)
    assert read(tmp_path, how, text, on_error="skip") == []


@pytest.mark.parametrize(("how", "text", "expected"), [FORMS[k][1:] for k in (0, 9, 15)])
def test_a_byte_order_mark_is_no_part(tmp_path, how, text, expected):
    assert len(read(tmp_path, how, f"\ufeff{text}")) == len(expected)


def test_features_have_the_names_of_requests(tmp_path):
    [text] = read(tmp_path, "cb", "1:0:0.5 |guest old:2 city=rome |day hot | dry\n")
    [line] = read(tmp_path, "cb json", '{"guest": {"old": 2, "city": "rome"}, "day": {"hot": 1}, "dry": 1}')
    assert text.context == {"guest.old": 2, "guest.city=rome": 1, "day.hot": 1, "dry": 1}
    assert line.context == {"guest": {"old": 2, "city": "rome"}, "day": {"hot": 1}, "dry": 1}
    assert [one.id for one in text.actions] == ["1", "2", "3", "4"]
    [twice] = read(tmp_path, "cb json", '{"dish": "soup", "dish": "bread", "g": {"a": 1}, "g": {"b": 2}}')
    assert flat(twice.context) == {"dish=soup": 1, "dish=bread": 1, "g.a": 1, "g.b": 2}
    named = read_decisions(tmp_path / "log.vw", actions=["tea", "milk"])
    assert [one.id for one in next(named).actions] == ["tea", "milk"]
    [both] = read(tmp_path, "adf", "shared |guest old\n0:1:1 |dish soup |dish hot:2\n")
    assert both.context == {"guest.old": 1} and both.actions[0].features == {"dish.soup": 1, "dish.hot": 2}


def test_own_lines_may_leave_their_actions_to_the_option(tmp_path):
    own = '{"context": {"old": 2}, "chosen": "2", "probability": 0.5, "reward": 1}\n{"context": {"old": 1}}\n'
    first = read(tmp_path, "cb json", own.splitlines()[0])[0]
    assert (first.context, first.chosen, first.reward, len(first.actions)) == ({"old": 2}, 1, 1, 4)
    [named] = read(tmp_path, "json", '{"context": {"old": 2}, "_labelIndex": 0, "_label": "1:0:1", "_multi": [{}]}')
    assert named.context == {"context": {"old": 2}}  # a namespace, which may have this name
    found = read(tmp_path, "cb json", own, labeled=False)
    assert [one.context for one in found] == [{"old": 2}, {"old": 1}]


def test_a_line_is_skipped_with_all_of_its_slots(tmp_path):
    how, text, _ = FORMS[-1][1:]
    broken = text.replace('"_p":[0.5,0.25,0.25]', '"_p":[1.5,0,0]')
    assert broken != text and len(read(tmp_path, how, broken + text, on_error="skip")) == 2


@pytest.mark.parametrize("lines_per_call", [1, 4096])
def test_invalid_decisions_are_skipped(tmp_path, monkeypatch, lines_per_call):
    """Whole decisions are, with all of their lines; what is after them keeps its place."""
    monkeypatch.setattr("confidently.bandits.vw_text.LINES_PER_CALL", lines_per_call)
    text = "0:1:1 | a\n\n| b\n0:1:2 | b\n| b\n\n| c\n0:2:1 | c\n\n| d:nan\n0:1:1 | d\n\n0:3:1 | e\n"
    path = tmp_path / "log.vw"
    path.write_text(text)
    log = read_decisions(path, on_error="skip")
    assert [(one.reward, one.chosen, list(one.actions[0].features), one.place[-2:]) for one in log] == [
        (-1, 0, ["a"], " 1"), (-2, 1, ["c"], " 7"), (-3, 0, ["e"], "13"),
    ]  # fmt: skip
    assert (
        log.skipped == 2
        and "line 4: the probability" in log.skipped_examples[0]
        and "line 10" in log.skipped_examples[1]
    )
    with pytest.raises(DataError, match=r"more than 1 invalid decision; the first: .*line 4.*line 10"):
        list(read_decisions(path, on_error=1))
