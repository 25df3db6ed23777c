"""Labelling: who is asked about which row, answers that can be undone, and accuracy that is honest."""

import math
import random
import time
from itertools import pairwise

import msgspec
import pytest

from confidently.serve.engine.requests import Request
from confidently.serve.model import hosted as hosted_models
from confidently.serve.model import labelling as pools
from confidently.serve.model.candidates import RANDOM_SHARE, candidate, is_random, likeness
from confidently.serve.model.labelling import LEASE_SECONDS, UNDO_ANSWERS, Labeller, Labelling
from confidently.serve.model.metrics import wilson
from confidently.serve.model.predicted import Answer
from confidently.serve.waiting import Limits
from confidently.serve.work import answers
from tests.serve.running import blocked, kind_of, lines_of, wait_until

FIRST = "/v1/models/m"
ANN, BOB, CARL = Labeller("ann"), Labeller("bob"), Labeller("carl")


def row(k, margin=1.0, label="ham", **features):
    features = msgspec.json.encode(features or {"text": f"word{k}"})
    return candidate(f"row-{k}", k, features, Answer(label, {}, margin, 1.0, False))


@pytest.fixture
def server(with_model):
    """A server with forty predicted rows, and nobody but tests in a hurry."""
    made = with_model({"view": "none", "classes": ["ham", "spam"]})
    predict(made, range(40))
    return made


def predict(server, numbers):
    for k in numbers:
        body = {"id": f"q-{k}", "features": {"text": f"word{k}"}}
        assert server("POST", f"{FIRST}/predict", body).status_code == 200


def queue(server, n=5, labeller="ann"):
    return [one["id"] for one in server("GET", f"{FIRST}/queue?n={n}&labeller={labeller}").json()["rows"]]


def answer(server, id, label="ham", labeller="ann"):
    return server("POST", f"{FIRST}/answers", {"id": id, "label": label, "labeller": labeller})


def learned(server):
    return {one["id"]: one["label"] for one in lines_of(server("GET", f"{FIRST}/examples"))}


# --- leases ----------------------------------------------------------------------------------------------------------


def test_two_labellers_never_get_the_same_row(server):
    first, second = queue(server, 10, "ann"), queue(server, 10, "bob")
    assert len({*first, *second}) == 20
    assert queue(server, 10, "ann") == first, "whoever asks again goes on with the same rows"
    assert kind_of(answer(server, first[0], labeller="bob")) == "leased"
    assert answer(server, first[0], labeller="ann").status_code == 200
    assert first[0] not in queue(server, 40, "bob")


def test_skipping_a_row_of_somebody_else_leaves_it_to_them():
    labelling = Labelling()
    labelling.add(row(1))
    labelling.next_rows(1, ANN)
    labelling.skip("row-1", BOB)
    assert labelling.holder("row-1") == ANN
    assert labelling.next_rows(1, CARL) == [] and [one.id for one in labelling.next_rows(1, ANN)] == ["row-1"]
    labelling.skip("row-1", ANN)
    assert labelling.holder("row-1") is None
    assert labelling.next_rows(1, BOB) == [] and [one.id for one in labelling.next_rows(1, CARL)] == ["row-1"]


def test_a_lease_ends(monkeypatch):
    labelling, now = Labelling(), time.monotonic()
    labelling.add(row(1))
    assert [one.id for one in labelling.next_rows(1, ANN)] == ["row-1"]
    assert labelling.next_rows(1, BOB) == []
    monkeypatch.setattr(time, "monotonic", lambda: now + LEASE_SECONDS + 1)
    assert labelling.holder("row-1") is None
    assert [one.id for one in labelling.next_rows(1, BOB)] == ["row-1"]


def test_rows_that_somebody_holds_are_theirs_unless_another_one_has_them():
    """As a page asks that was open while the server began again."""
    labelling = Labelling()
    for k in (1, 2):
        labelling.add(row(k))
    assert [one.id for one in labelling.next_rows(1, ANN, ["row-2", "gone"])] == ["row-2"]
    assert [one.id for one in labelling.next_rows(2, BOB, ["row-2"])] == ["row-1"]
    assert (labelling.holder("row-1"), labelling.holder("row-2")) == (BOB, ANN)


def test_rows_that_are_alike_are_asked_about_once():
    labelling = Labelling()
    labelling.add(row(1, text="Free cash, NOW"))
    labelling.add(row(2, text="now free CASH!"))
    labelling.add(row(3, text="free cash later"))
    assert [one.id for one in labelling.next_rows(5, ANN)] == ["row-1", "row-3"]
    labelling.answered(9, 1, "row-1", b'"ham"', labelling.row("row-1"), 0.0, "ann")
    assert [one.id for one in labelling.next_rows(5, BOB)] == []
    labelling.add(row(4, text="cash NOW free"))
    assert labelling.row("row-4") is None
    assert likeness(b'{"a":"x"}') != likeness(b'{"b":"x"}')


def test_the_least_certain_rows_come_first_beside_the_random_share():
    labelling, chance = Labelling(), random.Random(0)
    rows = [row(k, margin=chance.gauss(0, 3)) for k in range(1, 401)]
    for one in rows:
        labelling.add(one)
    asked = labelling.next_rows(100, ANN)
    drawn = [one for one in asked if one.random]
    unsure = [one for one in asked if not one.random]
    assert len(drawn) == round(100 * RANDOM_SHARE)
    assert [one.certainty for one in unsure] == sorted(one.certainty for one in rows if not one.random)[:85]
    assert [one.seq for one in drawn] == [one.seq for one in rows if one.random][:15], "in the order of their coming"


def labelled_one_by_one(labelling, n, times=1):
    """The ids of the next rows, each asked for some times before it is answered, and the notes of the answers.

    Rows that are asked about a second time are left out; they take no place from others.
    """
    ids, notes = [], []
    while len(ids) < n:
        [asked] = [labelling.next_rows(1, ANN) for _ in range(times)][-1]
        if labelling.is_second(asked.id):
            labelling.second(asked.id, b'"ham"', msgspec.json.encode({"by": "ann", "first": "ann", "of": "ham"}))
            continue
        note = {"by": "ann", "random": asked.random, "guess": asked.guess, "likeness": asked.likeness}
        labelling.answered(10_000 + len(ids), asked.seq, asked.id, b'"ham"', asked, 0.0, "ann")
        ids.append(asked.id)
        notes.append(msgspec.json.encode(note))
    return ids, notes


def pool(without=()):
    labelling, chance = Labelling(), random.Random(1)
    rows = [row(k, margin=chance.gauss(0, 3)) for k in range(1, 401)]
    return labelling, [one for one in rows if one.id not in without]


def test_asking_again_moves_no_place_of_random_rows():
    """Rows that a labeller has already are not handed out again, so that the random share stays what it is."""
    (once, rows), (often, _) = pool(), pool()
    for one in rows:
        once.add(one)
        often.add(one)
    expected, _ = labelled_one_by_one(once, 100)
    assert labelled_one_by_one(often, 100, times=3)[0] == expected
    assert sum(is_random(int(id.removeprefix("row-"))) for id in expected) == round(100 * RANDOM_SHARE)


@pytest.mark.parametrize("n", [3, 10, 33])
def test_places_of_random_rows_survive_a_restart(n):
    labelling, rows = pool()
    for one in rows:
        labelling.add(one)
    first, notes = labelled_one_by_one(labelling, n)
    after, left = pool(without=first)
    for note in notes:
        after.counted(b'"ham"', note)
    for one in left:
        after.add(one)
    assert labelled_one_by_one(after, 60)[0] == labelled_one_by_one(labelling, 60)[0]


def test_the_pool_keeps_the_newest_rows_also_after_a_restart(server, local, monkeypatch):
    for module in (hosted_models, pools):
        monkeypatch.setattr(module, "POOL", 3)
    labelling = Labelling()
    for k in range(5):
        labelling.add(row(k))
    assert len(labelling) == 3 and labelling.row("row-1") is None and labelling.row("row-2") is not None
    server.stop()
    again = local()
    predict(again, [40])
    assert set(queue(again, 10)) == {"q-38", "q-39", "q-40"}


# --- answers ---------------------------------------------------------------------------------------------------------


def test_an_answer_is_learned_after_a_while(server, monkeypatch):
    monkeypatch.setattr(answers, "UNDO_SECONDS", 0.3)
    given = answer(server, "q-0", "spam")
    assert answer(server, "q-0", "spam").json() == given.json()
    assert kind_of(answer(server, "q-0", "ham")) == "other-label"
    assert learned(server) == {}
    wait_until(lambda: learned(server) == {"q-0": "spam"})
    assert kind_of(server("DELETE", f"{FIRST}/answers/q-0")) == "other-label"


def test_an_answer_that_is_undone_is_never_learned(server, monkeypatch):
    monkeypatch.setattr(answers, "UNDO_SECONDS", 600.0)
    answer(server, "q-0", "spam")
    assert server("DELETE", f"{FIRST}/answers/q-0").status_code == 200
    assert kind_of(server("DELETE", f"{FIRST}/answers/q-0")) == "unknown-id"
    assert kind_of(server("DELETE", f"{FIRST}/answers/nothing")) == "unknown-id"
    assert "q-0" in queue(server, 40)
    for k in range(1, UNDO_ANSWERS + 2):
        answer(server, f"q-{k}", "spam")
    wait_until(lambda: learned(server) == {"q-1": "spam"})
    for k in (0, *range(10, 10 + UNDO_ANSWERS)):
        assert answer(server, f"q-{k}", "ham").status_code == 200
    wait_until(lambda: learned(server).get("q-0") == "ham")


def test_a_row_whose_answer_was_undone_is_of_who_labelled_it_then(server):
    answer(server, "q-0", "ham")
    assert server("DELETE", f"{FIRST}/answers/q-0").status_code == 200
    server("POST", f"{FIRST}/labels", {"id": "q-0", "label": "ham", "labeller": "bob"})
    row = server("GET", f"{FIRST}/rows/q-0").json()
    told = [(one["kind"], one["by"]) for one in row["history"]]
    assert told == [("prediction", None), ("answer", "ann"), ("undo", None), ("label", "bob")] and row["by"] == "bob"


def test_an_answer_that_waits_keeps_its_row(local, monkeypatch, moved):
    """The time for which predictions are kept ends before the answer is learned."""
    monkeypatch.setattr(answers, "UNDO_SECONDS", 0.3)
    server = local(limits=Limits(keep_predictions=60.0))
    server("PUT", FIRST, {"view": "none"})
    predict(server, range(1))
    assert answer(server, "q-0", "spam").status_code == 200
    moved[0] = 61_000
    predict(server, range(1, 2))  # what has expired is overwritten with what is written
    wait_until(lambda: learned(server) == {"q-0": "spam"})


def test_undoing_as_an_answer_falls_due_leaves_one_of_both(server, monkeypatch):
    """Whether the undo comes in time or too late, its answer says so."""
    monkeypatch.setattr(answers, "UNDO_SECONDS", 0.01)
    undone, kept = set(), set()
    for k in range(40):
        answer(server, f"q-{k}", "spam")
        time.sleep(0.0006 * (k % 30))
        (undone if server("DELETE", f"{FIRST}/answers/q-{k}").status_code == 200 else kept).add(f"q-{k}")
    wait_until(lambda: set(learned(server)) >= kept)
    assert set(learned(server)) == kept
    assert undone or kept


def test_an_answer_given_again_as_the_first_falls_due(server, monkeypatch):
    """Undo and another answer are written in the transaction that would have learned the first one."""
    monkeypatch.setattr(answers, "UNDO_SECONDS", 0.2)
    engine, hosted = server.engine, server.engine.find("m")
    answer(server, "q-0", "spam")

    def work(log, request):
        time.sleep(0.3)
        answers.undo(hosted, "q-0", ANN).work(log, request)
        return answers.answer(hosted, "q-0", "ham", ANN).work(log, request)

    engine.submit(Request(work).blocking()).answer()
    wait_until(lambda: learned(server) == {"q-0": "ham"})


def test_an_answer_beside_a_request_with_a_fault_counts_once(server):
    """What was written together is written again one by one."""
    engine, hosted = server.engine, server.engine.find("m")
    release = blocked(engine)
    given = engine.submit(answers.answer(hosted, "q-0", "ham", ANN).blocking())
    faulty = engine.submit(Request(lambda log, request: 1 // 0).blocking())
    release.set()
    given.answer()
    with pytest.raises(ZeroDivisionError):
        faulty.answer()
    assert server("GET", f"{FIRST}/queue").json()["progress"]["answers"] == 1


@pytest.mark.long("waits until answers are learned")
@pytest.mark.parametrize("label", ["spam", "ham"])
def test_a_label_by_id_beside_an_answer_that_waits(server, monkeypatch, label):
    monkeypatch.setattr(answers, "UNDO_SECONDS", 0.3)
    answer(server, "q-0", "spam")
    sent = server("POST", f"{FIRST}/labels", {"id": "q-0", "label": label})
    if label == "ham":
        assert kind_of(sent) == "other-label"
        sent = server("POST", f"{FIRST}/labels", {"id": "q-0", "label": label, "correct": True})
    assert sent.status_code == 200
    time.sleep(0.5)
    rows = lines_of(server("GET", f"{FIRST}/examples"))
    assert [(one["id"], one["label"]) for one in rows] == [("q-0", label)]


def test_answers_survive_a_restart(server, local):
    answer(server, "q-0", "spam")
    answer(server, "q-1", "ham")
    server("DELETE", f"{FIRST}/answers/q-1")
    before = server("GET", f"{FIRST}/queue").json()["progress"]
    server.stop()
    again = local()
    wait_until(lambda: learned(again) == {"q-0": "spam"})
    after = again("GET", f"{FIRST}/queue").json()["progress"]
    assert after == before
    assert "q-0" not in queue(again, 40) and "q-1" in queue(again, 40)
    again.stop()
    assert learned(local()) == {"q-0": "spam"}


def test_what_is_not_asked_again_survives_a_restart(server, local):
    """Neither rows with a label or like one that was answered, nor rows that a labeller has skipped."""
    answer(server, "q-0", "spam")
    assert server("POST", f"{FIRST}/labels", {"id": "q-1", "label": "spam"}).status_code == 200
    skipped = queue(server, 3, "ann")
    for id in [*skipped, skipped[0]]:
        assert server("POST", f"{FIRST}/answers", {"id": id, "skip": True, "labeller": "ann"}).status_code == 200
    assert kind_of(server("POST", f"{FIRST}/answers", {"id": "nothing", "skip": True})) == "unknown-id"
    server.stop()
    again = local()
    again("POST", f"{FIRST}/predict", {"id": "alike", "features": {"text": "WORD0!"}})
    again("POST", f"{FIRST}/predict", {"id": "other", "features": {"text": "word99"}})
    asked = queue(again, 100, "ann")
    assert "other" in asked and not {"alike", "q-1", *skipped} & set(asked)
    again.stop()
    assert set(skipped) <= set(queue(local(), 100, "bob")), "who has not skipped them is asked about them"


def test_answers_that_cannot_be_given(server):
    assert kind_of(answer(server, "q-0", "eggs")) == "unknown-class"
    server("DELETE", f"{FIRST}/examples/q-0")
    assert kind_of(answer(server, "q-0")) == "expired"


# --- honest accuracy -------------------------------------------------------------------------------------------------


def test_the_random_share_does_not_depend_on_what_is_in_a_row():
    drawn = [k for k in range(1, 20_001) if is_random(k)]
    assert len(drawn) == pytest.approx(20_000 * RANDOM_SHARE, abs=4 * math.sqrt(20_000 * RANDOM_SHARE * 0.85))
    for k in drawn[:50]:
        assert all(row(k, margin, label).random for margin in (0.0, 9.0) for label in ("ham", "spam"))
    gaps = [b - a for a, b in pairwise(drawn)]
    assert 0.1 < sum(gap == 1 for gap in gaps) / len(gaps) < 0.2, "neither in clusters nor at even distances"


def test_accuracy_is_that_of_random_rows_alone():
    labelling, chance = Labelling(), random.Random(3)
    hits = n = 0
    for k in range(1, 1001):
        one, label = row(k, label="ham"), "ham" if chance.random() < 0.7 else "spam"
        labelling.add(one)
        labelling.answered(10_000 + k, k, one.id, msgspec.json.encode(label), one, 0.0, "ann")
        n += one.random
        hits += one.random and label == "ham"
    shown = labelling.shown()["random"]
    assert (shown["answers"], shown["accuracy"]) == (n, hits / n)
    assert shown["interval"] == [*wilson(hits, n)]
    assert shown["interval"][0] < 0.7 < shown["interval"][1]
