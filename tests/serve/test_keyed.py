"""Models of entities: a served model has the bytes of an EntityModels that is given the same rows one at a time."""

import json
import random
import shutil

import numpy as np
import pytest

from confidently import OnlineClassifier, OnlineRegressor
from confidently.entities import EntityModels
from confidently.serve import offline
from tests.command_line import here
from tests.serve.running import as_lines, kind_of, lines_of, teach, threaded, wait_until

MODEL = "/v1/models/m"
GENRES = ("crime", "love", "space")


def rows_of(task, n, seed=0, classes=2):
    """Rows of users, each of whom has a taste of their own."""
    chance, found = random.Random(seed), []
    for _ in range(n):
        user, genre, x = f"u{chance.randrange(12)}", chance.choice(GENRES), chance.gauss(0, 1)
        taste = random.Random(f"{user} {genre}").gauss(0, 2)
        label = taste + x + chance.gauss(0, 0.1) if task == "numbers" else f"c{int(abs(taste + x / 2) * 1.5) % classes}"
        found.append(({"user": user, "genre": genre, "x": x}, label))
    return found


def expected(folder, task, rows, **limits):
    """An EntityModels that is given the rows one at a time, each in a file of its own."""
    shared = OnlineRegressor() if task == "numbers" else OnlineClassifier("arow", view=None)
    model, path = EntityModels("user", shared, **limits), folder / "one.jsonl"
    for k, (row, label) in enumerate(rows):
        path.write_text(as_lines([{"label": label} | row]))
        if k:
            model.partial_fit_stream(path)
        else:
            given = {} if task == "numbers" else {"classes": ["c0", "c1", "c2"][: 2 + (task == "three")]}
            model.fit_stream(path, normalize="none", zeros=True, **given)
    return model


def served(server, folder):
    path = folder / "served.ent"
    path.write_bytes(server("GET", f"{MODEL}/file").content)
    return EntityModels.load(path)


def settings_of(task):
    if task == "numbers":
        return {"task": "numbers", "key": "user", "covariance": "shared"}
    classes = ["c0", "c1", "c2"][: 2 + (task == "three")]
    return {"key": "user", "classes": classes, "view": "none", "reading": {"normalize": "none", "zeros": True}}


@pytest.mark.long("160 rows one at a time")
@pytest.mark.parametrize("task", ["two", "numbers", pytest.param("three", marks=pytest.mark.long("80 files"))])
def test_a_served_model_is_one_that_is_given_the_rows_one_at_a_time(local, with_model, tmp_path, task):
    rows = rows_of(task, 80, classes=3 if task == "three" else 2)
    server = with_model(settings_of(task))
    for first, last in ((0, 1), (1, 50), (50, 51), (51, 80)):
        teach(server, rows[first:last], first)
        server("POST", f"{MODEL}/predict", {"features": rows[0][0]})
    twin = expected(tmp_path, task, rows)
    found = served(server, tmp_path)
    assert found.keys_ == twin.keys_ and found.n_seen_ == 80
    for name, array in twin._table.state().items():
        np.testing.assert_array_equal(found._table.state()[name], array)
    ours, theirs = found.shared_.as_model().arrays(), twin.shared_.as_model().arrays()
    for name in theirs:
        np.testing.assert_array_equal(ours[name], theirs[name])
    _compare_answers(server, twin, rows_of(task, 6, 1), task)
    assert server("GET", MODEL).json()["entities"] == len(twin.keys_) == 12
    before = server("GET", f"{MODEL}/file").content
    server.stop()
    for _ in range(2):  # of a snapshot, if there is one, and of the log alone
        again = local()
        assert again("GET", f"{MODEL}/file").content == before
        again.stop()
        shutil.rmtree(tmp_path / "served" / "models", ignore_errors=True)


def _compare_answers(server, twin, rows, task):
    new = [row | {"user": user} for (row, _), user in zip(rows, ("u1", "u1", "u2", "u3", "nobody", "u4"), strict=True)]
    answers = [server("POST", f"{MODEL}/predict", {"features": row}).json() for row in new]
    if task == "numbers":
        mean, std = twin.predict(new, return_std=True)
        np.testing.assert_allclose([one["label"] for one in answers], mean, rtol=1e-9)
        np.testing.assert_allclose([one["variance"] for one in answers], std**2, rtol=1e-9)
        wide = server("POST", f"{MODEL}/predict?set=0.99", {"features": new[0]}).json()["interval"]
        assert wide[0] < answers[0]["interval"][0] < mean[0] < answers[0]["interval"][1] < wide[1]
    else:
        p = twin.predict_proba(new)
        np.testing.assert_allclose([list(one["probability"].values()) for one in answers], p, rtol=1e-9)
        assert [one["label"] for one in answers] == twin.predict(new).tolist()
        assert kind_of(server("POST", f"{MODEL}/predict?set=0.9", {"features": new[0]})) == "invalid-parameter"
    if task == "two":
        mean, variance = twin.margin_distribution(new)
        np.testing.assert_allclose([one["margin"] for one in answers], mean, rtol=1e-9)
        np.testing.assert_allclose([one["variance"] for one in answers], variance, rtol=1e-9)


def test_explanations_have_what_the_entity_deviates_by(local, tmp_path):
    server, rows = local(), rows_of("numbers", 120)
    server("PUT", MODEL, settings_of("numbers"))
    teach(server, rows)
    twin = served(server, tmp_path)
    row = {"user": "u1", "genre": "love", "x": 0.5}
    found = server("POST", f"{MODEL}/explain", {"features": row}).json()
    assert found["predicted"] == pytest.approx(twin.predict([row])[0])
    assert found["offset"] + sum(one["mean"] for one in found["contributions"]) == pytest.approx(found["predicted"])
    own = twin.deviation("u1")
    mean = dict(zip(own.features, own.mean, strict=True))
    [genre] = [one for one in found["contributions"] if one["feature"] == "user=u1: genre=love"]
    assert genre["weight"] == pytest.approx(mean["genre=love"])
    _, [variance] = twin.margin_distribution([row])
    assert sum(one["variance"] for one in found["contributions"]) == pytest.approx(variance)
    unknown = server("POST", f"{MODEL}/explain", {"features": row | {"user": "nobody"}}).json()
    assert not any(str(one["feature"]).startswith("user=") for one in unknown["contributions"])


@pytest.mark.parametrize("task", ["two", "three"])
def test_explanations_of_classes_add_up(with_model, task):
    server = with_model(settings_of(task))
    teach(server, rows_of(task, 120, classes=3 if task == "three" else 2))
    row = {"features": {"user": "u1", "genre": "love", "x": 0.5}}
    found, answer = (server("POST", f"{MODEL}/{path}", row).json() for path in ("explain", "predict"))
    assert sum(one["mean"] for one in found["contributions"]) == pytest.approx(found["mean"])
    assert any(one["feature"] == "user=u1: genre=love" for one in found["contributions"])
    assert {one["name"]: one["probability"] for one in found["classes"]} == answer["probability"]


@pytest.mark.long("1,100 rows of entities")
def test_the_first_rows_decide_how_tables_are_read(local, tmp_path):
    """A model without a view begins again, with all entities, when rows turn out to be a table."""
    server, rows = local(), rows_of("two", 1100)
    server("PUT", MODEL, {"key": "user"})
    teach(server, rows[:300])
    teach(server, rows[300:], 300)
    found = served(server, tmp_path)
    assert found.n_seen_ == 1100 and found.shared_.learner_.view.name == "standard"
    assert server("GET", MODEL).json()["rows"] == 1100
    assert server("POST", "/v1/snapshot").json() != {}
    before = server("GET", f"{MODEL}/file").content
    assert server("POST", "/v1/backup", {"name": "copy"}).status_code == 201
    [copy] = (tmp_path / "served").glob("**/copy")
    told = list(offline.verify_backup(copy))
    assert all(ok for ok, _ in told) and any("the same model of the snapshot" in text for _, text in told), told
    server.stop()
    again = local()
    assert again("GET", f"{MODEL}/file").content == before
    error = again("GET", MODEL).json()["error"]
    assert error == pytest.approx(served(again, tmp_path).error_)


def test_labels_may_follow_and_keys_are_texts(with_model):
    server = with_model(settings_of("two"))
    rows = rows_of("two", 30)
    server("POST", f"{MODEL}/predict", {"id": "p", "features": rows[0][0]})
    assert server("POST", f"{MODEL}/labels?wait=learned", {"id": "p", "label": "c1"}).json()["status"] == "learned"
    teach(server, [({"user": 7, "x": 1.0}, "c0"), ({"user": "7", "x": 1.0}, "c0")])
    assert server("GET", MODEL).json()["entities"] == 2


def test_a_file_of_training_goes_on(local, tmp_path):
    rows = rows_of("two", 300)
    (tmp_path / "rows.jsonl").write_text(as_lines([{"label": label} | row for row, label in rows]))
    options = ["--key", "user", "--rule=arow", "-q", "--max-entities", "50", "-o", tmp_path / "m.ent"]
    done = here("train", tmp_path / "rows.jsonl", *options)
    assert done.returncode == 0, done.stderr
    server = local()
    answer = server("PUT", f"{MODEL}/file", content=(tmp_path / "m.ent").read_bytes())
    assert answer.status_code == 201, answer.text
    assert answer.json()["settings"]["key"] == "user" and answer.json()["entities"] == 12
    more = rows_of("two", 40, 5)
    teach(server, more)
    twin = EntityModels.load(tmp_path / "m.ent")
    for row, label in more:
        (tmp_path / "one.jsonl").write_text(as_lines([{"label": label} | row]))
        twin.partial_fit_stream(tmp_path / "one.jsonl")
    found = served(server, tmp_path)
    for name, array in twin._table.state().items():
        np.testing.assert_array_equal(found._table.state()[name], array)
    assert found.max_entities == 50
    bad = (tmp_path / "m.ent").read_bytes()[:-30]
    assert kind_of(server("PUT", "/v1/models/n/file", content=bad)) == "invalid-body"
    arrays = EntityModels().fit(np.eye(4), [0, 1, 0, 1], key=[1, 2, 1, 2])
    arrays.save(tmp_path / "arrays.ent")
    answer = server("PUT", "/v1/models/n/file", content=(tmp_path / "arrays.ent").read_bytes())
    assert kind_of(answer) == "invalid-body" and "EntityModels(key='user')" in answer.json()["detail"]


def test_keys_of_a_model_that_began_with_integers(local, tmp_path):
    rows = [({"user": k % 3, "x": float(k % 2)}, f"c{k % 2}") for k in range(40)]
    model = EntityModels("user", OnlineClassifier("arow", view=None))
    model.fit([row for row, _ in rows], [label for _, label in rows]).save(tmp_path / "m.ent")
    server = local()
    assert server("PUT", f"{MODEL}/file", content=(tmp_path / "m.ent").read_bytes()).status_code == 201
    teach(server, rows)
    assert server("GET", MODEL).json()["entities"] == 3
    assert server("POST", f"{MODEL}/learn", {"features": {"user": "ann"}, "label": "c0"}).status_code == 200
    wait_until(lambda: server("GET", MODEL).json()["refused"])
    [aside] = lines_of(server("GET", f"{MODEL}/set-aside"))
    assert "the keys of this model are integers, got 'ann'" in aside["reason"]


@pytest.mark.long("three servers")
def test_versions_and_replicas(tmp_path):
    rows = rows_of("two", 60)
    with threaded(tmp_path / "a") as one, one.client() as client:
        client.put(MODEL, json=settings_of("two"))
        teach(client.request, rows)
        with threaded(tmp_path / "b", "--replica-of", one.url) as other, other.client() as replica:
            seq = client.get(MODEL).json()["seq"]
            wait_until(lambda: replica.get(MODEL).status_code == 200 and replica.get(MODEL).json()["seq"] == seq)
            assert replica.get(f"{MODEL}/file").content == client.get(f"{MODEL}/file").content
        assert client.put(MODEL, json=settings_of("two") | {"key": "genre"}).status_code == 202
        assert client.post(f"{MODEL}/versions/2/promote?wait=live").status_code == 200
        assert client.get(MODEL).json()["entities"] == 3
    with threaded(tmp_path / "a") as one, one.client() as client:
        info = client.get(MODEL).json()
        assert info["entities"] == 3 and info["rows"] == 60
        assert json.loads(client.get(f"{MODEL}/versions").content)["versions"][0]["state"] == "live"


def test_a_model_of_one_class_so_far_answers_and_explains(local):
    server, row = local(), {"user": "u1", "genre": "love"}
    server("PUT", MODEL, {"key": "user"})
    assert server("POST", f"{MODEL}/predict", {"features": row}).json()["label"] is None
    teach(server, [(row, "c0")])
    answer = server("POST", f"{MODEL}/predict", {"features": row}).json()
    found = server("POST", f"{MODEL}/explain", {"features": row}).json()
    assert found["predicted"] == answer["label"] == "c0"
    assert sum(one["probability"] for one in found["classes"]) == pytest.approx(1.0)
    assert kind_of(server("GET", f"{MODEL}/file")) == "one-class"
