"""Sets of classes, withheld answers and alarms of served models are those of the model file."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from confidently import load
from confidently.serve import Client
from tests.serve.running import NDJSON, as_lines, lines_of, measured, threaded

MODEL = "/v1/models/m"


def digits():
    """Rows of a few columns as dicts, and their digits as names."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    names = [f"p{k}" for k in range(X.shape[1])]
    rows = [dict(zip(names, row, strict=True)) for row in X[order].tolist()]
    return rows, [f"d{k}" for k in y[order].tolist()]


def learned(server, rows, labels, **settings):
    server("PUT", MODEL, settings)
    content = as_lines({"features": x, "label": label} for x, label in zip(rows, labels, strict=True))
    server("POST", f"{MODEL}/learn?wait=learned", content=content, headers=NDJSON)


def of_file(server, folder, rows, coverage, risk=None):
    """Sets, the most probable first, and whether to abstain, by the model file."""
    (folder / "m.cw").write_bytes(server("GET", f"{MODEL}/file").content)
    (folder / "rows.jsonl").write_text(as_lines(rows))
    model = load(folder / "m.cw")

    def predicted(method, **options):
        return np.concatenate(list(model.predict_stream(folder / "rows.jsonl", method, **options)))

    sets, p = predicted("predict_set", coverage=coverage), predicted("predict_proba")
    ranked = [[k for k in np.argsort(-one, kind="stable") if own[k]] for one, own in zip(p, sets, strict=True)]
    sets = [model.classes_[own].tolist() for own in ranked]
    return sets, risk and (p.max(axis=1) < model.learner_.conformal.least_probability(risk)).tolist()


def test_sets_and_withheld_answers_are_those_of_the_model_file(local, tmp_path):
    server, (rows, labels) = local(), digits()
    learned(server, rows[:1200], labels[:1200])
    new = rows[1200:1300]
    sets, leave = of_file(server, tmp_path, new, 0.99, 0.03)
    assert max(map(len, sets)) > 2 and 0 < sum(leave) < len(leave)
    asked = f"{MODEL}/predict?set=0.99&max_risk=0.03"
    found = lines_of(server("POST", asked, content=as_lines({"features": x} for x in new), headers=NDJSON))
    assert [one["set"] for one in found] == sets
    assert [one["abstain"] for one in found] == leave
    several = server("POST", asked, {"instances": [{"features": x} for x in new]}).json()["predictions"]
    assert several == found
    for x, one in zip(new[:5], found, strict=False):
        assert server("POST", asked, {"features": x}).json() == one
        assert server("POST", f"{MODEL}/predict?set=0.99", {"features": x}).json().keys() ^ one.keys() == {"abstain"}
        assert server("POST", f"{MODEL}/predict", {"features": x}).json().keys() ^ one.keys() == {"abstain", "set"}


def test_a_stored_prediction_has_the_set_of_its_probabilities(local):
    """A row that comes again has its first answer, and the set fits it; a bad row among others has a problem."""
    server, (rows, labels) = local(), digits()
    learned(server, rows[:400], labels[:400])
    asked = f"{MODEL}/predict?set=0.9"
    first = server("POST", asked, {"id": "q", "features": rows[500]}).json()
    learned(server, rows[400:900], labels[400:900])
    again = server("POST", asked, {"id": "q", "features": rows[500]}).json()
    assert again["probability"] == first["probability"] and again["set"][:1] == first["set"][:1] == [first["label"]]
    assert "set" not in server("GET", f"{MODEL}/examples/q").json()["prediction"]
    body = {"instances": [{"features": {"p0": "x" * 3}}, {"id": "q", "features": rows[1]}, {"features": rows[500]}]}
    one, other, last = server("POST", asked, body).json()["predictions"]
    assert "set" in one and other["status"] == 422 and last["set"]


@pytest.mark.long("600 rows of digits, three times")
@pytest.mark.parametrize("settings", [{}, {"auto": True}, {"multilabel": True}])
def test_novelty_is_that_of_the_model_file(settings, local, tmp_path):
    server, (rows, labels) = local(), digits()
    asked = f"{MODEL}/predict?novelty=true&set=0.9"
    server("PUT", MODEL, settings)
    assert server("POST", asked, {"features": rows[0]}).json()["novelty"] == 1.0
    given = [[name] for name in labels] if settings.get("multilabel") else labels
    learned(server, rows[:600], given[:600], **settings)
    far = [{name: 100.0 * value + 7.0 for name, value in row.items()} for row in rows[:3]]
    new = [*rows[600:640], *far]
    found = lines_of(server("POST", asked, content=as_lines({"features": x} for x in new), headers=NDJSON))
    (tmp_path / "m.cw").write_bytes(server("GET", f"{MODEL}/file").content)
    (tmp_path / "rows.jsonl").write_text(as_lines(new))
    expected = np.concatenate(list(load(tmp_path / "m.cw").predict_stream(tmp_path / "rows.jsonl", "novelty")))
    assert [one["novelty"] for one in found] == expected.tolist()
    assert "novelty" not in server("POST", f"{MODEL}/predict?set=0.9", {"features": rows[0]}).json()
    one = server("POST", f"{MODEL}/predict?novelty=true", {"id": "q", "features": rows[0]}).json()
    assert 0.0 < one["novelty"] <= 1.0 and "set" not in one
    assert server("POST", f"{MODEL}/predict?novelty=yes", {"features": rows[0]}).status_code == 422


def test_sets_of_labels_have_those_that_cannot_be_excluded(local, tmp_path):
    server, (rows, names) = local(), digits()
    labels = [[kind for kind, has in (("odd", int(n[1]) % 2), ("large", int(n[1]) > 4)) if has] for n in names]
    learned(server, rows[:800], labels[:800], multilabel=True)
    new = rows[800:850]
    found = [server("POST", f"{MODEL}/predict?set=0.9", {"features": x}).json()["set"] for x in new]
    assert found == of_file(server, tmp_path, new, 0.9)[0]
    answer = server("POST", f"{MODEL}/predict?max_risk=0.1", {"features": new[0]})
    assert answer.status_code == 422 and "several labels" in answer.json()["detail"]


@pytest.mark.parametrize("settings", [{}, {"auto": True}])
def test_every_class_is_possible_before_there_are_rows_enough(with_model, settings):
    server = with_model({"classes": ["ham", "spam"], **settings})
    asked = f"{MODEL}/predict?set=0.9&max_risk=0.1"
    for _ in range(2):
        found = server("POST", asked, {"features": {"a": 1}}).json()
        assert sorted(found["set"]) == ["ham", "spam"] and found["abstain"]
        server("POST", f"{MODEL}/learn?wait=learned", {"features": {"a": 1}, "label": "ham"})
    server("PUT", "/v1/models/open", settings)
    assert server("POST", "/v1/models/open/predict?set=0.9", {"features": {"a": 1}}).json()["set"] == []
    server("POST", "/v1/models/open/learn?wait=learned", {"features": {"a": 1}, "label": 7})
    assert server("POST", "/v1/models/open/predict?set=0.9", {"features": {"a": 1}}).json()["set"] == [7]


def test_alarms_are_counted(local, tmp_path):
    server, (rows, labels) = local(), digits()
    names = sorted(set(labels))
    turned = {name: names[k - 1] for k, name in enumerate(names)}
    learned(server, rows[:900], [*labels[:600], *(turned[label] for label in labels[600:900])])
    (tmp_path / "m.cw").write_bytes(server("GET", f"{MODEL}/file").content)
    model = load(tmp_path / "m.cw")
    assert model.alarms_ > 0
    shown = server("GET", f"{MODEL}/metrics").json()
    assert shown["order"] == {"alarms": model.alarms_, "rows_since_alarm": model.rows_since_alarm_}
    assert any(alarm["kind"] == "order" for alarm in shown["alarms"]) == (model.rows_since_alarm_ < 1000)
    told = measured(server)
    assert told["confidently_alarms_total", "m"] == model.alarms_
    assert told["confidently_rows_since_alarm", "m"] == model.rows_since_alarm_
    server("PUT", "/v1/models/new", {"auto": True})
    shown = server("GET", "/v1/models/new/metrics").json()
    assert shown["order"] == {"alarms": 0, "rows_since_alarm": 0}


def test_the_client_asks_for_both(tmp_path):
    rows, labels = digits()
    with threaded(tmp_path / "served") as server, Client(server.url, "m") as model:
        model.create()
        model.learn_many({"features": x, "label": label} for x, label in zip(rows[:300], labels[:300], strict=True))
        model.learn(rows[300], labels[300], wait=True)
        alone = model.predict(rows[400], coverage=0.9, max_risk=0.2)
        assert alone["set"] and alone["abstain"] in (True, False)
        assert model.predict_many([{"features": rows[400]}], coverage=0.9, max_risk=0.2) == [alone]
        assert model.predict(rows[400], coverage=0.9).keys() ^ alone.keys() == {"abstain"}
        assert model.predict(rows[400], "q").keys() ^ alone.keys() == {"abstain", "set"}
        assert model.label("q", labels[400], wait=True)["id"] == "q" and model.metrics()["rows"] == 302
        model.download(tmp_path / "m.cw")
        assert load(tmp_path / "m.cw").n_seen_ == 302
