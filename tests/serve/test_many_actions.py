"""Decisions among many actions: the log stores a list of actions once, and tells of each decision what it was."""

import json
import shutil

import apsw
import msgspec
import numpy as np
import pytest

from confidently import _core
from confidently.serve.model.deciding import Keys
from confidently.serve.model.logged_decisions import Decided, choice_of, decided_in, note_of
from confidently.serve.model.settings import Deciding
from confidently.serve.waiting import Limits
from tests.serve.test_decisions import SHOP, decided, refused, rewarded

FEATURES = {"topic": "t", "price": 0.5}
MANY = [f"item{k}" for k in range(200)]
OTHERS = [f"other{k}" for k in range(200)]
RICH = [{"id": id, "features": FEATURES | {"topic": f"t{k % 7}"}, "cost": 0.01 * k} for k, id in enumerate(MANY)]


def counts(one):
    """How many lists of actions the log has, and of how many decisions."""
    query = "SELECT (SELECT count(*) FROM lists), (SELECT count(*) FROM choices)"
    return one.engine.writer.write(lambda log, request: log._db.execute(query).fetchone())


def prediction(one, id):
    """What the page shows of a decision, which GET .../examples/ID tells too."""
    found = one("GET", f"{SHOP}/rows/{id}").json()["prediction"]
    assert one("GET", f"{SHOP}/examples/{id}").json()["prediction"] == found
    return found["decision"]


def told(one, id):
    [row] = [row for row in one("GET", f"{SHOP}/rows").json()["rows"] if row["id"] == id]
    return row["probability"]


@pytest.mark.parametrize("actions", [MANY, RICH], ids=["ids", "features"])
def test_the_whole_decision_is_told(shop, actions):
    for k in range(4):
        decided(shop, f"before{k}", actions=actions[k:])
        rewarded(shop, f"before{k}", float(k % 2))
    excluded, context = ["item3", "item150"], {"hour": 9}
    found = decided(shop, "d", context, actions, excluded=excluded, baseline="item7", deferred=True)
    kept = prediction(shop, "d")
    left = [id for id in MANY if id not in excluded]
    assert kept["actions"] == left and left[kept["baseline"]] == "item7" and kept["deferred"]
    assert dict(zip(left, kept["probabilities"], strict=True)) == found["probabilities"]
    assert left[kept["chosen"]] == found["chosen"] and kept["mean"][kept["chosen"]] == found["reward"]
    assert kept["asked"] == {
        "actions": actions, "context": context, "excluded": excluded, "baseline": "item7", "deferred": True,
        "id": None,
    } and "arm" not in kept  # fmt: skip
    assert told(shop, "d") == found["probability"]
    assert len(kept["variance"]) == 198 and min(kept["variance"]) > 0
    assert shop("POST", f"{SHOP}/activate", {"id": "d"}).status_code == 200
    assert rewarded(shop, "d", 1.0).json()["status"] == "learned"


def test_a_list_that_is_sent_again_is_stored_once(shop):
    for k in range(5):
        decided(shop, f"d{k}", {"hour": k}, MANY)
    decided(shop, "slots", {"hour": 1}, MANY, slots=[{"id": "top"}, {"id": "side", "excluded": ["item1"]}])
    decided(shop, "other", None, OTHERS)
    decided(shop, "few", None, MANY[:3])
    assert counts(shop) == (2, 8)
    slots = [prediction(shop, f"slots/{name}") for name in ("top", "side")]
    assert [len(one["actions"]) for one in slots] == [200, 198]
    assert slots[0]["actions"][slots[0]["chosen"]] not in slots[1]["actions"]
    notes = shop.engine.writer.write(lambda log, request: [len(log.find(1, f"d{k}").note) for k in range(5)])
    assert max(notes) < 1000


def test_a_decision_that_is_sent_again_is_the_first_one(shop, local):
    found = decided(shop, "d", {"hour": 1}, RICH)
    for k in range(20):
        decided(shop, f"d{k}", {"hour": k}, RICH)
        rewarded(shop, f"d{k}", 1.0)
    shop.stop()
    again = local()
    assert decided(again, "d", {"hour": 1}, RICH) == found
    for actions in (RICH[:-1], [*RICH[:-1], {**RICH[-1], "cost": 3}], MANY[:2]):
        answer = again("POST", f"{SHOP}/decide", {"id": "d", "context": {"hour": 1}, "actions": actions})
        assert refused(answer)[:2] == (422, "other-content")
    counted = again("GET", SHOP).json()["decisions"]
    assert counted["decisions"] == 21 and set(counted["shares"]) <= set(MANY)


def test_a_list_goes_with_the_last_decision_that_has_it(shop):
    for k in range(3):
        decided(shop, f"d{k}", None, MANY)
    rewarded(shop, "d0", 1.0)
    for k, left in enumerate([(1, 2), (1, 1), (0, 0)]):
        assert shop("DELETE", f"{SHOP}/examples/d{k}").status_code == 200
        assert counts(shop) == left
    decided(shop, "new", None, MANY)
    assert counts(shop) == (1, 1)
    assert b"item77" in (shop.engine.folder / "events.db").read_bytes() + wal(shop)
    shop("DELETE", SHOP)
    assert counts(shop) == (0, 0)
    shop.stop()
    assert b"item77" not in (shop.engine.folder / "events.db").read_bytes()


def wal(one):
    path = one.engine.folder / "events.db-wal"
    return path.read_bytes() if path.exists() else b""


def test_decisions_that_expire_leave_no_list(local):
    one = local(limits=Limits(keep_predictions=0.0))
    one("PUT", SHOP, {"task": "decisions"})
    for id in ("d", "e"):
        decided(one, id, None, MANY)
    one.engine.writer.write(lambda log, request: log.expire(1, 2**62))
    assert counts(one) == (0, 0)


def test_a_log_with_whole_notes_is_brought_up_to_date(shop, local, tmp_path):
    """Before the fourth version of the schema, notes of decisions among many actions had everything."""
    for k in range(12):
        decided(shop, f"d{k}", {"hour": k % 3}, RICH, excluded=["item5"] * (k % 2))
        rewarded(shop, f"d{k}", float(k % 2))
    path = f"{SHOP}/evaluate?policy=uniform&policy=lin_ucb&policy=always:item9"
    expected = shop("GET", path).json(), prediction(shop, "d3"), shop("GET", SHOP).json()["decisions"]
    wholes = [shop("GET", f"{SHOP}/examples/d{k}").json()["prediction"] for k in range(12)]
    again = decided(shop, "d3", {"hour": 0}, RICH, excluded=["item5"])
    shop.stop()
    old = tmp_path / "old"
    shutil.copytree(tmp_path / "served", old)
    db = apsw.Connection(str(old / "events.db"))
    for k, whole in enumerate(wholes):
        note = json.dumps(whole, separators=(",", ":")).encode()
        assert note.startswith(b'{"decision":') and len(note) > 10_000
        db.execute("UPDATE events SET note = ? WHERE id = ?", (note, f"d{k}"))
    db.execute("DROP TABLE choices; DROP TABLE lists; PRAGMA user_version = 3")
    db.close()
    shutil.rmtree(old / "models")  # so that the decisions are counted again
    one = local(old)
    assert (one("GET", path).json(), prediction(one, "d3"), one("GET", SHOP).json()["decisions"]) == expected
    assert decided(one, "d3", {"hour": 0}, RICH, excluded=["item5"]) == again
    decided(one, "new", {"hour": 0}, RICH)
    assert counts(one) == (1, 1)


def test_numbers_that_do_not_fit_their_list_are_not_taken_for_a_decision(shop):
    decided(shop, "d", None, MANY)
    decided(shop, "e", None, MANY)
    rewarded(shop, "d", 1.0)
    rewarded(shop, "e", 1.0)

    def spoil(log, request):
        found = log.find(1, "d")
        log._db.execute("UPDATE choices SET numbers = zeroblob(24 * 199) WHERE event = ?", (found.seq,))
        return found.note, log.decisions.choice_of(found.seq)

    note, choice = shop.engine.writer.write(spoil)
    with pytest.raises(ValueError, match="there is not a number for each action"):
        decided_in(note, choice)
    with pytest.raises(ValueError, match="a number is not finite"):
        decided_in(note, choice._replace(numbers=b"\0" * 8 * 599 + b"\0\0\0\0\0\0\xf0\x7f"))
    assert shop("GET", f"{SHOP}/evaluate?policy=uniform").json()["left_out"] == {"unreadable": 1}


def test_probabilities_as_text_are_those_of_the_numbers():
    random = np.random.default_rng(0)
    numbers = [0.0, 1.0, 1.0, 0.1, 1 / 3, 5e-324, 1e-300, 1e22, 123456789.0, -2.5, *random.random(500) ** 20]
    ids = [k if k % 3 else f'"\\é\n\u2028{k}' for k in range(len(numbers))]
    text = _core.json_probabilities(*Keys.of(ids), np.array(numbers))
    found = json.loads(text)
    assert list(found) == [str(id) for id in ids]
    assert list(found.values()) == numbers
    assert {type(number) for number in found.values()} == {float}
    assert _core.json_probabilities(*Keys.of([]), np.array([])) == b"{}"
    with pytest.raises(ValueError, match="probabilities must be finite"):
        _core.json_probabilities(*Keys.of(["a"]), np.array([np.nan]))


@pytest.mark.parametrize("left", [[0, 1, 2, 3], [0, 2, 3]], ids=["all", "without one"])
def test_a_decision_that_was_stored_is_written_as_when_it_was_made(left):
    """A request that is sent again is answered with the decision of the log."""
    ids, p = [f"item{k}" for k in left], np.arange(1.0, 1.0 + len(left)) / 7.0
    asked = msgspec.Raw(b'{"actions":null}')
    made = Decided(1, ids, p, p + 1.0, p + 2.0, Deciding(), version=1, seq=2, baseline=0, asked=asked)
    choice = choice_of(made, np.array(left), b'["item0","item1","item2","item3"]', 4)
    found = decided_in(note_of(made, is_whole=False), choice)
    assert found.actions == ids
    for numbers, before in zip((found.probabilities, found.mean, found.variance), (p, p + 1.0, p + 2.0), strict=True):
        np.testing.assert_array_equal(numbers, before)
    texts = [_core.json_probabilities(*Keys.of(one.actions), one.probabilities) for one in (made, found)]
    assert texts[0] == texts[1]
