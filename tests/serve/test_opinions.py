"""Second answers: who is asked for one, how far people agree, and that models never learn from one."""

import math
import random

import msgspec
import pytest

from confidently.serve.model import labelling as pools
from confidently.serve.model import opinions
from confidently.serve.model.candidates import candidate
from confidently.serve.model.labelling import Labeller, Labelling
from confidently.serve.model.opinions import REPEAT_AFTER, SECOND_SHARE, SPACING, Agreement, is_second
from confidently.serve.model.predicted import Answer
from confidently.serve.work import answers
from tests.serve.running import lines_of, wait_until

FIRST = "/v1/models/m"
ANN, BOB = Labeller("ann"), Labeller("bob")


def row(k):
    features = msgspec.json.encode({"text": f"word{k}"})
    return candidate(f"row-{k}", k, features, Answer("ham", {}, 1.0, 1.0, False))


def alpha(pairs):
    """Krippendorff's alpha from the matrix of coincidences, as he defines it."""
    values = sorted({one for pair in pairs for one in pair})
    met = {(a, b): 0 for a in values for b in values}
    for first, second in pairs:
        met[first, second] += 1
        met[second, first] += 1
    total = {a: sum(met[a, b] for b in values) for a in values}
    n = sum(total.values())
    observed = sum(met[a, b] for a in values for b in values if a != b) / n
    expected = sum(total[a] * total[b] for a in values for b in values if a != b) / (n * (n - 1))
    return 1 - observed / expected


def test_agreement_is_krippendorffs_alpha():
    chance = random.Random(0)
    pairs = [(a, a if chance.random() < 0.7 else chance.choice("abc")) for a in chance.choices("abc", (5, 3, 1), k=200)]
    found = Agreement()
    for pair in pairs:
        found.count(*map(msgspec.json.encode, pair))
    assert found.rows == 200 and found.same == sum(a == b for a, b in pairs)
    assert math.isclose(found.alpha(), alpha(pairs), rel_tol=1e-12)
    found.count(b'"a"', b'"z"')
    found.count(b'"a"', b'"z"', -1)
    assert math.isclose(found.alpha(), alpha(pairs), rel_tol=1e-12)
    same = Agreement()
    assert same.alpha() is None
    same.count(b'["b","a"]', b'["a","b"]')
    assert (same.rows, same.same, same.alpha()) == (1, 1, None), "no chance of anything else"


def test_a_share_of_rows_is_asked_about_twice():
    drawn = sum(map(is_second, range(1, 20_001)))
    assert drawn == pytest.approx(20_000 * SECOND_SHARE, abs=4 * math.sqrt(20_000 * SECOND_SHARE))


def answered(labelling, one, by):
    labelling.answered(10_000 + one.seq, one.seq, one.id, b'"ham"', one, 0.0, by.name)


def test_second_looks_are_those_of_others_or_old_ones(monkeypatch):
    monkeypatch.setattr(opinions, "SECOND_SHARE", 1.0)
    labelling = Labelling()
    answered(labelling, row(1), ANN)
    assert labelling.next_rows(5, ANN) == []
    assert [one.id for one in labelling.next_rows(5, BOB)] == ["row-1"], "with nothing else to do, at once"
    assert labelling.is_second("row-1") and labelling.holder("row-1") == BOB
    assert labelling.next_rows(5, Labeller("carl")) == []
    labelling.skip("row-1", BOB)
    for k in range(2, REPEAT_AFTER + 1):
        answered(labelling, row(k), ANN)
    assert labelling.next_rows(5, ANN) == []
    answered(labelling, row(REPEAT_AFTER + 1), ANN)
    assert [one.id for one in labelling.next_rows(5, ANN)] == ["row-1"]
    assert "row-1" not in [one.id for one in labelling.next_rows(5, BOB)], "who has skipped it is not asked"


def test_second_looks_have_a_distance_while_others_wait(monkeypatch):
    labelling = Labelling()
    monkeypatch.setattr(opinions, "SECOND_SHARE", 1.0)
    for k in range(1, 20):
        answered(labelling, row(k), ANN)
    monkeypatch.setattr(opinions, "SECOND_SHARE", 0.0)
    for k in range(100, 200):
        labelling.add(row(k))
    for _ in range(3):
        for _ in range(SPACING):
            asked = labelling.next_rows(1, BOB)
            assert [labelling.is_second(one.id) for one in asked] == [False]
            answered(labelling, asked[0], BOB)
        several = labelling.next_rows(4, BOB)
        assert [labelling.is_second(one.id) for one in several] == [False, False, False, True]
        note = msgspec.json.encode({"by": "bob", "first": "ann", "of": "ham"})
        labelling.second(several[3].id, b'"ham"', note)
        for one in several[:3]:
            answered(labelling, one, BOB)
            labelling.opinions.answers["bob"] -= 1
    assert labelling.opinions.people.rows == 3


def test_an_undone_or_changed_answer_is_not_looked_at_again(monkeypatch):
    monkeypatch.setattr(opinions, "SECOND_SHARE", 1.0)
    labelling, note = Labelling(), b'{"by":"ann","random":false,"guess":null}'
    for k in (1, 2):
        answered(labelling, row(k), ANN)
    labelling.undone(10_001, note)
    labelling.remove("row-2")
    assert labelling.next_rows(5, BOB) == []


# --- over HTTP -------------------------------------------------------------------------------------------------------


@pytest.fixture
def server(with_model, monkeypatch):
    """A server with ten rows, each of which is asked about twice; answers are learned at once."""
    monkeypatch.setattr(opinions, "SECOND_SHARE", 1.0)
    monkeypatch.setattr(answers, "UNDO_SECONDS", 0.0)
    made = with_model({"view": "none", "classes": ["ham", "spam"]})
    for k in range(10):
        body = {"id": f"q-{k}", "features": {"text": f"word{k}"}}
        assert made("POST", f"{FIRST}/predict", body).status_code == 200
    return made


def queue(server, labeller, n=20, seat=""):
    return server("GET", f"{FIRST}/queue?n={n}&labeller={labeller}&seat={seat}").json()["rows"]


def give(server, id, label, labeller, **more):
    return server("POST", f"{FIRST}/answers", {"id": id, "label": label, "labeller": labeller} | more)


def exported(server):
    return [(one["id"], one["label"], one.get("by")) for one in lines_of(server("GET", f"{FIRST}/examples"))]


def agreement(server):
    return server("GET", f"{FIRST}/metrics").json()["labelling"]["agreement"]


def test_a_second_answer_is_never_learned(server, local):
    for k in range(4):
        assert give(server, f"q-{k}", "spam", "ann").status_code == 200
    wait_until(lambda: len(exported(server)) == 4)
    assert not any(one["second"] for one in queue(server, "bob")), "first the rows without an answer"
    for k in range(4, 10):
        assert give(server, f"q-{k}", "ham", "bob").status_code == 200
    [look] = queue(server, "bob")
    assert look["second"] and look["id"] in {"q-0", "q-1", "q-2", "q-3"}
    for k, label in enumerate(["spam", "ham", "spam"]):
        first = give(server, f"q-{k}", label, "bob", second=True)
        assert first.status_code == 200
        assert give(server, f"q-{k}", label, "bob", second=True).json() == first.json(), "sent again"
    assert give(server, "q-0", "ham", "bob", second=True).status_code == 409
    assert give(server, "q-1", "ham", "ann", second=True).status_code == 200
    found = agreement(server)
    assert (found["people"]["rows"], found["people"]["same"]) == (3, 2)
    assert (found["repeats"]["rows"], found["repeats"]["same"]) == (1, 0)
    wait_until(lambda: len(exported(server)) == 10)
    expected = [(f"q-{k}", "spam", "ann") if k < 4 else (f"q-{k}", "ham", "bob") for k in range(10)]
    assert exported(server) == expected
    people = server("GET", f"{FIRST}/metrics").json()["labelling"]["people"]
    assert people == [{"name": "bob", "answers": 6}, {"name": "ann", "answers": 4}], "second answers do not count"
    left = {one["id"] for one in queue(server, "carl", 1)}
    server.stop()
    again = local()
    assert exported(again) == expected and agreement(again) == found
    assert {one["id"] for one in queue(again, "carl", 1)} == left
    assert not {one["id"] for one in queue(again, "dora")} & {"q-0", "q-1", "q-2"}


def test_a_second_answer_is_undone(server, local):
    give(server, "q-0", "spam", "ann")
    wait_until(lambda: exported(server))
    give(server, "q-0", "ham", "bob", second=True)
    assert agreement(server)["people"]["rows"] == 1
    undone = server("DELETE", f"{FIRST}/answers/q-0?second=true&labeller=bob")
    assert undone.status_code == 200 and agreement(server)["people"]["rows"] == 0
    assert server("DELETE", f"{FIRST}/answers/q-0?second=true&labeller=bob").status_code == 404
    assert give(server, "q-0", "spam", "bob", second=True).status_code == 200
    assert agreement(server)["people"] == {"rows": 1, "same": 1, "alpha": None}
    server.stop()
    assert agreement(local())["people"]["same"] == 1


def test_a_second_answer_to_a_row_without_one_is_the_first(server):
    """Whoever was first has undone theirs meanwhile."""
    assert give(server, "q-0", "spam", "bob", second=True).status_code == 200
    wait_until(lambda: exported(server) == [("q-0", "spam", "bob")])
    assert agreement(server)["people"]["rows"] == 0


def test_erasing_a_row_erases_its_second_answers(server, local):
    give(server, "q-0", "spam", "ann")
    wait_until(lambda: exported(server))
    give(server, "q-0", "ham", "bob", second=True)
    assert server("DELETE", f"{FIRST}/examples/q-0").status_code == 200
    assert not [one for one in queue(server, "carl") if one["second"]]
    server.stop()
    assert agreement(local())["people"]["rows"] == 0


def test_the_history_of_a_row_says_who_and_why(server):
    id, address = "a/b ?", "a%2Fb%20%3F"
    server("POST", f"{FIRST}/predict", {"id": id, "features": {"text": "odd"}})
    body = {"id": id, "skip": True, "reason": "cannot tell", "labeller": "bob"}
    assert server("POST", f"{FIRST}/answers", body).status_code == 200
    give(server, id, "spam", "ann")
    wait_until(lambda: exported(server))
    give(server, id, "spam", "carl", second=True)
    server("POST", f"{FIRST}/labels", {"id": id, "label": "ham", "correct": True, "labeller": "dora"})
    server("POST", f"{FIRST}/labels", {"id": id, "label": "spam", "correct": True})
    found = server("GET", f"{FIRST}/examples/{address}").json()["history"]
    told = [(one["event"], one.get("label"), one.get("by"), one.get("reason")) for one in found]
    assert told == [
        ("prediction", None, None, None), ("skip", None, "bob", "cannot tell"), ("answer", "spam", "ann", None),
        ("label", "spam", "ann", None), ("opinion", "spam", "carl", None), ("correction", "ham", "dora", None),
        ("correction", "spam", None, None),
    ]  # fmt: skip
    row = server("GET", f"{FIRST}/rows/{address}").json()
    assert [(one["kind"], one["label"], one["by"]) for one in row["history"]] == [one[:3] for one in told]
    assert (row["label"], row["state"]) == ("spam", "labelled")
    assert row["prediction"]["probability"].keys() == {"ham", "spam"}
    assert [one["seq"] for one in found] == sorted(one["seq"] for one in found) and found[0]["time"] > 1e9
    assert exported(server)[-2:] == [(id, "ham", "dora"), (id, "spam", None)]
    assert server("GET", f"{FIRST}/metrics").json()["labelling"]["skips"] == [{"reason": "cannot tell", "rows": 1}]
    for label, who in (("ham", "bob"), ("spam", "cy")):
        server("POST", f"{FIRST}/labels", {"id": "q-3", "label": label, "labeller": who, "correct": True})
    assert server("GET", f"{FIRST}/rows/q-3").json()["by"] == "cy"
    assert server("GET", f"{FIRST}/facets").json()["by"] == {"cy": 1, "dora": 1}
    assert [one["id"] for one in server("GET", f"{FIRST}/rows?by=cy").json()["rows"]] == ["q-3"]
    assert server("GET", f"{FIRST}/rows?by=bob").json()["rows"] == []


def test_a_second_answer_is_compared_with_the_name_that_a_class_has_now(with_model, monkeypatch):
    monkeypatch.setattr(answers, "UNDO_SECONDS", 0.0)
    server = with_model({"view": "none"})
    server("POST", f"{FIRST}/predict", {"id": "q-0", "features": {"text": "word"}})
    for label in ("ham", "eggs"):
        server("POST", f"{FIRST}/learn?wait=learned", {"features": {"text": "other"}, "label": label})
    give(server, "q-0", "spm", "ann")
    wait_until(lambda: len(exported(server)) == 3 and server("GET", FIRST).json()["rows"] == 3)
    assert server("POST", f"{FIRST}/edits?wait=live", {"from": "spm", "to": "spam"}).status_code < 300
    [row] = server("GET", f"{FIRST}/rows?label=spam").json()["rows"]
    assert (row["id"], row["label"], row["logged"]) == ("q-0", "spam", "spm")
    give(server, "q-0", "spam", "bob", second=True)
    assert (agreement(server)["people"]["rows"], agreement(server)["people"]["same"]) == (1, 1)


def test_numbers_are_not_asked_about_twice(local, with_model, monkeypatch):
    monkeypatch.setattr(opinions, "SECOND_SHARE", 1.0)
    monkeypatch.setattr(answers, "UNDO_SECONDS", 0.0)
    server = with_model({"task": "numbers"})
    for k in range(3):
        server("POST", f"{FIRST}/predict", {"id": f"q-{k}", "features": {"a": k}})
        assert give(server, f"q-{k}", 1.5 * k, "ann").status_code == 200
    wait_until(lambda: len(exported(server)) == 3)
    assert exported(server) == [(f"q-{k}", 1.5 * k, "ann") for k in range(3)] and queue(server, "bob") == []
    server.stop()
    assert queue(local(), "bob") == []


def test_seats_of_a_person_have_different_rows(server):
    left, right = queue(server, "ann", 3, "left"), queue(server, "ann", 3, "right")
    ids = [one["id"] for one in [*left, *right]]
    assert len(set(ids)) == 6
    assert give(server, ids[0], "spam", "ann", seat="right").status_code == 409
    assert give(server, ids[0], "spam", "ann", seat="left").status_code == 200
    server("POST", f"{FIRST}/answers", {"id": ids[1], "skip": True, "labeller": "ann", "seat": "left"})
    assert ids[1] not in [one["id"] for one in queue(server, "ann", 20, "right")], "what a person skips they skip"


# --- what the model says now -----------------------------------------------------------------------------------------


def test_rows_have_the_most_probable_classes_of_now(with_model):
    server = with_model({"reading": {"text": ["text"]}})
    server("POST", f"{FIRST}/predict", {"id": "q", "features": {"text": "one"}})
    assert [(one["guess"], one["top"]) for one in queue(server, "ann")] == [(None, [])]
    for k in range(7):
        body = {"features": {"text": "one" if k == 3 else f"other{k}"}, "label": f"class-{k}"}
        server("POST", f"{FIRST}/learn?wait=learned", body)
    [found] = queue(server, "ann")
    said = server("POST", f"{FIRST}/predict", {"features": {"text": "one"}}).json()
    expected = sorted(said["probability"].items(), key=lambda one: -one[1])[:5]
    assert [(one["label"], one["probability"]) for one in found["top"]] == expected
    assert found["guess"] == found["top"][0]["label"] == "class-3"


@pytest.mark.long("460 requests")
def test_the_certainty_of_waiting_rows_follows_the_model(with_model, monkeypatch):
    """Rows that came before the model knew anything: those that it has understood meanwhile are asked about last."""
    monkeypatch.setattr(pools, "REFRESH_SECONDS", 0.0)
    server = with_model({"view": "none", "classes": ["ham", "spam"]})
    for k in range(400):
        word = "known" if k % 2 else "strange"
        server("POST", f"{FIRST}/predict", {"id": f"{word}-{k}", "features": {f"{word}": 1, f"n{k}": 1}})
    for k in range(60):
        body = {"features": {"known" if k % 2 else "other": 1}, "label": "spam" if k % 2 else "ham"}
        assert server("POST", f"{FIRST}/learn?wait=learned", body).status_code == 200
    pool = server.engine.find("m").labelling

    def followed():
        queue(server, "ann", 1)  # somebody asks
        rows = list(pool._pool.values())
        least = max(one.certainty for one in rows if one.id.startswith("strange"))
        return len(rows) == 400 and all(one.certainty > least for one in rows if one.id.startswith("known"))

    wait_until(followed)
    asked = [one["id"] for one in queue(server, "bob", 100) if not one["random"]]
    assert asked and all(one.startswith("strange") for one in asked)


def test_a_model_that_has_stopped_still_shows_its_rows(with_model):
    server = with_model({"view": "none", "classes": ["ham", "spam"]})
    server("POST", f"{FIRST}/predict", {"id": "q", "features": {"a": 1}})
    server.engine.find("m").live.fail(MemoryError())
    assert [(one["id"], one["top"]) for one in queue(server, "ann")] == [("q", [])]
