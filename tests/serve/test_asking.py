"""``ask``: the least certain fraction of predictions asks for its label, whatever is learned of the answers."""

import json
import random

import msgspec
import pytest

from confidently.serve.model.asking import LEAST_LEVEL, Asking
from confidently.serve.model.served import ServedModel
from confidently.serve.model.settings import ModelSettings
from tests.serve.rows import examples
from tests.serve.running import post_lines, teach

MODEL = "/v1/models/m"
TEXT = {"view": "none", "reading": {"text": ["words"]}}


def stream(n, classes=2, noise=0.7, seed=0, several=False):
    """Rows of words, some of which tell the class."""
    chance = random.Random(seed)
    found = []
    for _ in range(n):
        label = chance.randrange(classes)
        words = [f"k{label}x{chance.randrange(3)}" for _ in range(3) if chance.random() > noise * chance.random()]
        features = {"words": " ".join(words + [f"w{chance.randrange(50)}" for _ in range(4)])}
        names = [f"c{label}", *([f"c{(label + 1) % classes}"] if chance.random() < 0.3 else [])]
        found.append((features, names if several else names[0]))
    return found


def made(settings):
    return ServedModel(msgspec.convert(settings, ModelSettings))


def fractions(model, rows, taught=lambda answer: True, stored=False, parts=4, size=20):
    """The fraction of each part of a stream that asks, predicted before it is learned."""
    asked, seq, given = list[bool](), 0, examples(rows)
    for first in range(0, len(rows), size):
        some = given[first : first + size]
        answers = model.answers([json.dumps(features).encode() for features, _ in rows[first : first + size]])
        asked += [answer.ask for answer in answers]
        for answer in answers if stored else ():
            seq += 1
            model.asking.predicted(seq, answer.ask)
        model.learn([example for example, answer in zip(some, answers, strict=True) if taught(answer)])
    n = len(asked) // parts
    return [sum(asked[k * n : (k + 1) * n]) / n for k in range(parts)]


@pytest.mark.long("4,000 rows of each setting")
@pytest.mark.parametrize(
    ("settings", "classes"),
    [
        ({}, 2), ({}, 7), ({"auto": True}, 7), ({"multilabel": True}, 7), *(
            pytest.param(*case, marks=pytest.mark.long("60 classes, or a stack")) for case in
            (({}, 60), ({"multilabel": True, "auto": True}, 4))
        ), ({"calibration": "none"}, 2), ({"ask": 0.3}, 7),
    ],
    ids=str,
)  # fmt: skip
def test_about_the_fraction_that_is_asked_for_asks(settings, classes):
    model = made(settings | {"reading": TEXT["reading"]})
    n = 1600 if settings.get("auto") else 4000
    found = fractions(model, stream(n, classes, several=bool(settings.get("multilabel"))))
    share = settings.get("ask", 0.1)
    assert all(0.3 * share < one < 2.0 * share for one in found[2:]), found


@pytest.mark.parametrize("settings", [{}, pytest.param({"multilabel": True}, marks=pytest.mark.long("6,000 rows"))])
def test_labels_of_asked_rows_alone_do_not_end_the_asking(settings):
    """Learned rows are then less certain than others, so that their least certain tenth would be ever fewer."""
    model = made(TEXT | settings)
    rows = stream(6000, 5, several=bool(settings.get("multilabel")))
    found = fractions(model, rows, taught=lambda answer: answer.ask, stored=True)
    assert all(0.07 < one < 0.15 for one in found[1:]), found


def test_all_ask_until_there_are_rows_enough_to_tell():
    model = made(TEXT)
    rows = stream(400)
    assert fractions(model, rows[:20]) == [1.0] * 4
    assert fractions(model, rows[20:]) < [1.0] * 4


def test_the_level_of_asking_is_bounded():
    asking = Asking(0.1)
    for seq in range(1, 2000):
        asking.predicted(seq, True)
    assert asking.as_dict()["level"] == LEAST_LEVEL
    for seq in range(2000, 9000):
        asking.predicted(seq, False)
    assert asking.as_dict()["level"] == 1.0
    asking.predicted(5, True)
    assert asking.as_dict()["level"] == 1.0, "an event of before, which is counted already"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(TEXT, id="classes"),
        pytest.param(TEXT | {"multilabel": True}, id="label sets", marks=pytest.mark.long("1,600 rows")),
    ],
)
def test_what_asks_is_the_same_after_a_kill(local, tmp_path, settings):
    """Stored predictions move the level, those in the snapshot and those after it."""
    rows, server = stream(1600, 5, several=bool(settings.get("multilabel"))), local()
    lines = [{"features": features, "label": label} for features, label in rows]

    def send(server, path, lines):
        return post_lines(server, f"{MODEL}/{path}", lines)

    def store(first, last):
        send(server, "predict", [{"id": f"p{k}", "features": rows[k][0]} for k in range(first, last)])

    def asks(server):
        found = send(server, "predict", [{"features": features} for features, _ in stream(500, 5, seed=1)])
        return [one["ask"] for one in found]

    server("PUT", MODEL, settings)
    send(server, "learn?wait=learned", lines[:1000])
    fresh = asks(server)
    store(0, 300)
    server("POST", "/v1/snapshot")
    send(server, "learn?wait=learned", lines[1000:])
    store(300, 700)
    before = asks(server)
    assert 0 < sum(before) < len(before) and before != fresh
    assert asks(local(server.copy(tmp_path / "killed"))) == before


# --- the most probable classes ---------------------------------------------------------------------------------------


def test_only_the_most_probable_classes_are_shown(local):
    server, rows = local(), stream(600, 12)
    server("PUT", MODEL, {"reading": {"text": ["words"]}})
    teach(server, rows)
    row = {"features": rows[0][0]}
    whole = server("POST", f"{MODEL}/predict?set=0.9", row).json()
    best = sorted(whole["probability"].items(), key=lambda one: -one[1])
    short = server("POST", f"{MODEL}/predict?top_k=3&set=0.9", row).json()
    assert list(short["probability"].items()) == best[:3] and short["set"] == whole["set"]
    assert short | {"probability": 0} == whole | {"probability": 0}
    stored = server("POST", f"{MODEL}/predict?top_k=1", {"id": "q", **row}).json()
    assert list(stored["probability"]) == [whole["label"]]
    assert len(server("GET", f"{MODEL}/examples/q").json()["prediction"]["probability"]) == 12
    [line] = post_lines(server, f"{MODEL}/predict?top_k=2", [row])
    assert list(line["probability"].items()) == best[:2]
    several = server("POST", f"{MODEL}/predict?top_k=500", {"instances": [row, {"features": 7}]}).json()["predictions"]
    assert list(several[0]["probability"].items()) == best and several[1]["status"] == 422
