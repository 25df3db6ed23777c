"""Guards: odd rows are counted, refused where the settings say so, and told before an import."""

import json
import random

import msgspec
import pytest

from confidently.serve import Client
from confidently.serve.model.guards import KINDS, MAX_FIELDS, MIN_ROWS, Guards
from confidently.serve.model.served import ServedModel
from confidently.serve.model.settings import ModelSettings, Reading, canonical
from confidently.serve.sources.follow import Follower
from confidently.serve.sources.source import FileSource
from tests.serve.rows import examples, made
from tests.serve.running import NDJSON, as_lines, lines_of, measured, post_lines, teach, threaded, wait_until

MODEL = "/v1/models/m"
ODD = {
    "unknown-field": ({"a": 1.0, "subject": "tea", "typo": 3}, "/features/typo"),
    "text-for-number": ({"a": "many", "subject": "tea"}, "/features/a"),
    "no-known-feature": ({"subject": "never seen"}, "/features"),
}


def tried(server, rows, model="m", **query):
    """What a dry run says of rows, pairs of features and label."""
    lines = as_lines({"features": features, "label": label} for features, label in rows)
    query |= {"dry_run": "true"}
    return server("POST", f"/v1/models/{model}/learn", content=lines, headers=NDJSON, params=query)


def learned(server, n=2 * MIN_ROWS, **settings):
    """A model that has learned rows with the fields subject, a, b and n."""
    assert server("PUT", MODEL, {"view": "none", **settings}).status_code == 201
    teach(server, made(n, "mixed"))


def kind_of(problem):
    return problem["type"].removeprefix("urn:confidently:")


# --- counting --------------------------------------------------------------------------------------------------------


def test_odd_rows_are_counted_where_they_are_learned_and_predicted(local):
    server = local()
    learned(server)
    assert server("GET", MODEL).json()["guards"] == {kind: {"learned": 0, "asked": 0} for kind in KINDS}
    for features, _ in ODD.values():
        server("POST", f"{MODEL}/predict", {"features": features})
        server("POST", f"{MODEL}/learn?wait=learned", {"features": features, "label": "ham"})
    server("POST", f"{MODEL}/learn?wait=learned", {"features": {"a": 1}, "label": "new"})
    found = server("GET", f"{MODEL}/metrics").json()["guards"]
    assert found == {kind: {"learned": 1, "asked": int(kind != "unknown-class")} for kind in KINDS}
    counted = {(key[1], key[3]): n for key, n in measured(server).items() if key[0] == "confidently_odd_rows_total"}
    assert counted == {(kind, rows): n for kind, both in found.items() for rows, n in both.items()}


def test_nothing_is_odd_before_there_are_rows_enough(local):
    server = local()
    learned(server, MIN_ROWS - 1, strict=[*KINDS])
    features, _ = ODD["unknown-field"]
    assert server("POST", f"{MODEL}/predict", {"features": features}).status_code == 200
    teach(server, [(features, "brand new")], MIN_ROWS)  # the hundredth row
    answer = server("POST", f"{MODEL}/learn", {"features": {"a": 1, "other": 2}, "label": "ham"})
    assert answer.status_code == 422 and kind_of(answer.json()) == "unknown-field"


def test_values_that_are_no_features_are_not_odd(local):
    server = local()
    learned(server, strict=[*KINDS], reading={"drop": ["secret"], "category": ["code"]})
    for features in ({"a": 1, "secret": 5}, {"a": 1, "gone": None}, {"a": 1, "empty": ""}, {"b": 0, "a": 1}, {"a": ""}):
        good = features if len(features) > 1 else {**features, "b": 1}
        assert server("POST", f"{MODEL}/predict", {"features": good}).status_code == 200, good


def test_texts_for_numbers_are_counted_until_the_column_is_mixed():
    model = ServedModel(ModelSettings(view="none"))
    model.learn(examples([({"x": k}, "ab"[k % 2]) for k in range(1, 201)]))
    model.learn(examples([({"x": "n/a"}, "a")] * 5))
    assert model.guards.learned["text-for-number"] == 5
    model.learn(examples([({"x": "n/a"}, "a")] * 95))
    assert 16 <= model.guards.learned["text-for-number"] <= 25, "more than a tenth of the numbers: both are usual"


@pytest.mark.long("1,300 rows in parts of one")
@pytest.mark.parametrize("settings", [{}, {"view": "none"}, {"auto": True}, {"multilabel": True}], ids=str)
def test_what_is_learned_counts_the_same_in_any_parts(settings):
    """So a restart, which learns again in other parts, finds the same; the view is chosen meanwhile."""
    chance, rows = random.Random(0), made(1300, "mixed")
    for k in range(150, 1300, 37):
        features, label = rows[k]
        rows[k] = ({**features, **chance.choice([{"a": "text"}, {f"f{k}": 1}, {"n": None}])}, f"{label}{k % 3}")
    if settings.get("multilabel"):
        rows = [(features, [label]) for features, label in rows]
    given, states = examples(rows), []
    for size in (1, 7, 100, 1300):
        model = ServedModel(ModelSettings(**settings))
        for first in range(0, len(given), size):
            model.learn(given[first : first + size])
        states.append(model.guards.as_dict())
        if len(states) > 1:
            assert states[-1] == states[0], size
        if settings.get("auto"):
            break
    assert states[0]["learned"]["unknown-field"] > 3 and states[0]["learned"]["text-for-number"] > 3
    assert states[0]["learned"]["unknown-class"] > 1


def test_the_counts_are_the_same_after_a_stop_and_after_a_kill(local, tmp_path):
    server, rows = local(), made(500, "mixed")
    rows[300:310] = [({"typo": k}, "else") for k in range(10)]
    server("PUT", MODEL, {"view": "none"})
    teach(server, rows[:400])
    server("POST", "/v1/snapshot")
    teach(server, [*rows[400:], ({"last": 1}, "ham")], 400)
    before = server("GET", MODEL).json()["guards"]
    assert before["unknown-field"] == {"learned": 2, "asked": 0} and before["unknown-class"]["learned"] == 1
    killed = local(server.copy(tmp_path / "killed"))
    server.stop()
    assert killed("GET", MODEL).json()["guards"] == local()("GET", MODEL).json()["guards"] == before


def test_rows_of_thousands_of_fields_take_bounded_memory():
    model = ServedModel(ModelSettings(view="none"))
    model.learn(examples([({f"w{k}": 1, f"v{k}": 1}, "ab"[k % 2]) for k in range(MAX_FIELDS)]))
    assert len(model.guards.fields) == MAX_FIELDS
    before = model.guards.learned["unknown-field"]
    model.learn(examples([({"another": 1}, "a")]))
    assert model.guards.learned["unknown-field"] == before


def test_the_fields_of_a_model_file_are_known(local):
    server = local()
    learned(server)
    file = server("GET", f"{MODEL}/file").content
    assert server("PUT", "/v1/models/up/file", content=file).status_code == 201
    rows = [({"a": 1.0, "subject": "x", "typo": 3}, "ham"), ({"a": "many", "n": 1}, "ham")]
    found = tried(server, rows, "up").json()
    assert found["unknown_fields"] == ["typo"]
    assert found["guards"] == {"unknown-field": 1, "text-for-number": 1}


def test_of_a_table_strings_of_numbers_are_numbers():
    reading = ModelSettings(reading=Reading())
    guards = Guards.of_features(ServedModel(reading).reading, False, ["x", "c=red"], 500)
    assert [one.kind for one in guards.findings(b'{"x":"12"}', False)] == ["text-for-number"]
    guards._cells = {"x"}
    assert guards.findings(b'{"x":"12"}', False) == []
    assert [one.kind for one in guards.findings(b'{"x":"dozen"}', False)] == ["text-for-number"]


# --- strict ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("alone", [True, False])
def test_strict_settings_refuse_odd_rows_and_say_where(local, kind, alone):
    server, (features, pointer) = local(), ODD[kind]
    learned(server, strict=[kind] if alone else [one for one in KINDS if one != kind])
    good = {"features": {"a": 1.0, "subject": made(1, "mixed")[0][0]["subject"]}}
    odd, label = {"features": features}, {"label": "ham"}
    answers = [
        server("POST", f"{MODEL}/predict", odd), server("POST", f"{MODEL}/predict", {"id": "p", **odd}),
        server("POST", f"{MODEL}/learn", odd | label),
    ]  # fmt: skip
    for answer in answers:
        assert answer.status_code == (422 if alone else 200), answer.text
        if alone:
            assert kind_of(answer.json()) == kind and answer.json()["pointer"] == pointer
    assert server("GET", f"{MODEL}/examples/p").status_code == (404 if alone else 200)
    several = server("POST", f"{MODEL}/predict", {"instances": [good, odd, good]}).json()["predictions"]
    assert ["label" in one for one in several] == [True, not alone, True]
    if alone:
        assert several[1]["pointer"] == f"/instances/1{pointer}"
    told = post_lines(server, f"{MODEL}/learn?wait=learned", [one | label for one in (good, odd, good)])
    assert [one["status"] for one in told] == ["learned", 422 if alone else "learned", "learned"]
    if alone:
        assert server("GET", MODEL).json()["guards"][kind] == {"learned": 0, "asked": 5}


def test_strict_settings_refuse_new_classes_from_everybody(local):
    server = local()
    learned(server, strict=["unknown-class"])
    server("POST", f"{MODEL}/predict", {"id": "q", "features": {"a": 1}})
    new = {"id": "q", "label": "spm"}
    for path, sent in [
        ("learn", {"features": {"a": 1}, "label": "spm"}), ("labels", new), ("answers", new),
        ("labels?park=true", {"id": "later", "label": "spm"}),
    ]:  # fmt: skip
        answer = server("POST", f"{MODEL}/{path}", sent)
        assert answer.status_code == 422 and kind_of(answer.json()) == "unknown-class", answer.text
        assert answer.json()["pointer"] == "/label" and "ham, spam" in answer.json()["detail"]
    assert server("POST", f"{MODEL}/labels", {"id": "q", "label": "spam"}).status_code == 200
    assert server("GET", MODEL).json()["classes"] == ["ham", "spam"]


def test_a_followed_file_is_held_to_the_same(local, tmp_path):
    server = local()
    learned(server, strict=["unknown-field"])
    lines = [{"label": "ham", "a": 1}, {"label": "ham", "typo": 1}, {"label": "spam", "b": 1}]
    (tmp_path / "grows.jsonl").write_text(as_lines(lines))
    hosted = server.engine.find("m")
    follower = Follower(server.engine, hosted, FileSource(tmp_path / "grows.jsonl"), server.told.append)
    follower.start()
    wait_until(lambda: follower.learned == 2)
    follower.stop()
    assert follower.refused == 1 and any("'typo'" in line for line in server.told)


def test_settings_of_before_are_the_same_bytes():
    for task, rule, covariance in (("classes", "arow", "diag"), ("numbers", "ridge", "auto")):
        named = ModelSettings(task=task, rule=rule, covariance=covariance)
        assert canonical(named) == canonical(ModelSettings(task=task))
    assert canonical(ModelSettings()) == b"{}"
    assert canonical(ModelSettings(task="numbers", rule="arow")) != canonical(ModelSettings(task="numbers"))
    explicit = b'{"ask":0.1,"strict":[],"prior_variance":1,"rule":"arow","reading":{"ngrams":[1,1],"bits":22}}'
    assert canonical(msgspec.json.decode(explicit, type=ModelSettings)) == b"{}", "equal settings are the same model"
    assert canonical(ModelSettings(ask=0.2, strict=["unknown-field"])) == b'{"ask":0.2,"strict":["unknown-field"]}'


# --- before an import ------------------------------------------------------------------------------------------------


def state_of(server):
    """What a model is, without what changes by itself: its snapshot and whatever depends on the time."""
    facts, metrics = (server("GET", path).json() for path in (MODEL, f"{MODEL}/metrics"))
    of_the_time = ("history", "learns_per_second", "predictions_per_second")
    return facts | {"snapshot": None}, metrics | dict.fromkeys(of_the_time)


def test_a_dry_run_says_what_an_import_would_do_and_does_nothing(local):
    server = local()
    learned(server)
    before = state_of(server)
    rows = [
        {"features": {"a": 1, "typo": 2}, "label": "ham"}, None, {"features": {"a": "x", "b": 1}, "label": "odd"},
        {"features": 7, "label": "ham"}, {"features": {"a": 3}, "label": "odd"}, {"features": {"a": 3}},
    ]  # fmt: skip
    content = "".join("\n" if row is None else json.dumps(row) + "\n" for row in rows) + '{"not json\n'
    answer = server("POST", f"{MODEL}/learn?dry_run=true", content=content, headers=NDJSON)
    assert answer.headers["content-type"] == "application/json"
    found = answer.json()
    assert (found["rows"], found["good"]) == (6, 3)
    assert [one["line"] for one in found["bad"]] == [4, 6, 7]
    assert [one["status"] for one in found["bad"]] == [422, 422, 400]
    assert found["labels"] == {"odd": 2, "ham": 1} and found["n_classes"] == 2
    assert found["new_classes"] == ["odd"] and found["unknown_fields"] == ["typo"]
    assert found["guards"] == {"unknown-field": 1, "text-for-number": 1, "unknown-class": 2}
    assert state_of(server) == before
    assert len(lines_of(server("GET", f"{MODEL}/examples"))) == 2 * MIN_ROWS


def test_a_dry_run_of_one_row(with_model):
    server = with_model({"classes": ["ham", "spam"]})
    found = server("POST", f"{MODEL}/learn?dry_run=true", {"features": {"a": 1}, "label": True}).json()
    assert found["rows"] == 1 and found["good"] == 0 and kind_of(found["bad"][0]) == "unknown-class"
    found = server("POST", f"{MODEL}/learn?dry_run=true", {"features": {"a": 1}, "label": "ham"}).json()
    assert found["good"] == 1 and found["unknown_fields"] == ["a"] and not found["new_classes"]


def test_a_dry_run_counts_what_strict_settings_would_refuse(local):
    server = local()
    learned(server, strict=["unknown-class"])
    rows = [({"a": 1}, f"2024-{k:02}") for k in range(30)] + [({"typo": 1}, "ham")]
    found = tried(server, rows).json()
    assert (found["rows"], found["good"], len(found["bad"])) == (31, 1, 20)
    assert found["labels"] == {"ham": 1} and found["new_classes"] == []
    assert found["guards"] == {"unknown-class": 30, "unknown-field": 1, "no-known-feature": 1}


def test_the_client_tries_rows_before_it_sends_them(tmp_path):
    rows = [{"features": features, "label": label} for features, label in made(150, "mixed")]
    with threaded(tmp_path / "served") as server, Client(server.url, "m") as model:
        model.create(classes=["ham", "spam"])
        found = model.try_many([*rows, {"features": {"a": 1}, "label": "spm"}])
        assert (found["rows"], found["good"], found["bad"][0]["line"]) == (151, 150, 151)
        assert model.info()["rows"] == 0
        model.learn_many(rows)
        model.learn({"a": 1}, "ham", wait=True)
        assert list(model.predict({"a": 1}, top_k=1)["probability"]) == [model.predict({"a": 1})["label"]]
        assert len(model.predict_many([{"features": {"a": 1}}], top_k=1)[0]["probability"]) == 1


def test_a_dry_run_of_another_label_column_shows_its_classes(local):
    """As when dates were taken for labels: 600 classes, of which the first 20 are shown."""
    server = local()
    learned(server)
    rows = [({"a": 1}, f"day {k % 600}") for k in range(1300)]
    found = tried(server, rows).json()
    assert found["n_classes"] == 600 == len(found["new_classes"]) and len(found["labels"]) == 20
    assert list(found["labels"].values()) == [3] * 20


def test_rows_are_tried_on_a_model_that_is_not_made(local):
    server = local()
    rows = [({"a": 1}, 2.5), ({"a": 2}, "cheap"), ({"a": 3}, 4)]
    found = tried(server, rows, settings='{"task": "numbers"}').json()
    assert (found["rows"], found["good"], found["labels"]) == (3, 2, {}) and "cheap" in found["bad"][0]["detail"]
    found = tried(server, rows, settings='{"classes": ["cheap", "4"], "auto": true}').json()
    assert (found["good"], found["labels"], found["guards"]) == (2, {"cheap": 1, "4": 1}, {})
    for wrong in ("{", '{"rule": "none"}', '{"file": "x"}'):
        assert tried(server, rows, settings=wrong).status_code in (400, 422)
    assert server("GET", "/v1/models").json() == {"models": []}
    assert server("GET", MODEL).status_code == 404
