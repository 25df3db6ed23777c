"""Batches that are taken out, classes that are renamed, merged, removed: the model is that of the edited log."""

import json
import shutil

import pytest

from confidently.serve.engine.trainer import Trainer
from tests.serve.rows import made, trained
from tests.serve.running import kind_of, lines_of, teach, wait_until
from tests.serve.test_versions import MODEL, change, file_of

ROWS = made(300)
TYPO = [(features, "spm" if label == "spam" and k % 5 == 0 else label) for k, (features, label) in enumerate(ROWS)]


def edited(rows, source, target):
    found = [(features, target if label == source else label) for features, label in rows]
    return [row for row in found if row[1] is not None]


@pytest.fixture
def server(local):
    found = local()
    found("PUT", MODEL, {"view": "none"})
    return found


def exported(server):
    return [(one["features"], one["label"]) for one in lines_of(server("GET", f"{MODEL}/examples"))]


def test_a_batch_is_taken_out_and_put_back(server, local, tmp_path, capsys):
    teach(server, ROWS[:100])
    wrong = [(features, "ham" if label == "spam" else "spam") for features, label in ROWS[100:200]]
    teach(server, wrong, 100, query="&batch=wrong.csv")
    teach(server, ROWS[200:], 200, query="&batch=right")
    with_all = file_of(server)
    found = server("GET", f"{MODEL}/batches").json()["batches"]
    assert [(one["batch"], one["rows"], one["edit"]) for one in found] == [
        ("right", 100, None),
        ("wrong.csv", 100, None),
    ]
    answer = change(server, "DELETE", "batches/wrong.csv")
    rest = ROWS[:100] + ROWS[200:]
    assert file_of(server) == trained(tmp_path, rest, "--view=none") != with_all
    assert exported(server) == rest
    assert server("GET", MODEL).json()["rows"] == 200
    assert server("GET", f"{MODEL}/batches").json()["batches"][1]["edit"] == answer["edit"]
    assert change(server, "DELETE", "batches/wrong.csv")["edit"] == answer["edit"], "it is out already"
    teach(server, ROWS[100:120], 300, query="&batch=wrong.csv")
    assert file_of(server) == trained(tmp_path, rest + ROWS[100:120], "--view=none"), "an edit is of the rows before"
    assert server("GET", f"{MODEL}/batches").json()["batches"][1]["edit"] is None
    server.stop()
    again = local()
    assert file_of(again) == trained(tmp_path, rest + ROWS[100:120], "--view=none")
    change(again, "DELETE", f"edits/{answer['edit']}")
    assert file_of(again) == trained(tmp_path, ROWS[:100] + wrong + ROWS[200:] + ROWS[100:120], "--view=none")
    assert again("GET", f"{MODEL}/edits").json() == {"edits": []}


def test_labels_of_a_batch_are_taken_out_too(server, tmp_path, capsys):
    teach(server, ROWS[:50])
    for k, (features, label) in enumerate(ROWS[50:60]):
        server("POST", f"{MODEL}/predict", {"id": f"p{k}", "features": features})
        server("POST", f"{MODEL}/labels?wait=learned&batch=%C3%A9t%C3%A9", {"id": f"p{k}", "label": label})
    assert server("GET", f"{MODEL}/batches").json()["batches"][0]["batch"] == "été"
    change(server, "DELETE", "batches/%C3%A9t%C3%A9")
    assert file_of(server) == trained(tmp_path, ROWS[:50], "--view=none")


@pytest.mark.parametrize("to", ["spam", "junk", None], ids=["merged", "renamed", "removed"])
@pytest.mark.parametrize("source", ["spm", "spam"])
def test_a_class_is_edited(server, local, tmp_path, capsys, source, to):
    if source == to:
        to = "spm"
    teach(server, TYPO)
    answer = change(server, "POST", "edits", {"from": source} | ({} if to is None else {"to": to}))
    rows = edited(TYPO, source, to)
    assert file_of(server) == trained(tmp_path, rows, "--view=none")
    assert exported(server) == rows
    assert source not in server("GET", MODEL).json()["classes"]
    [edit] = server("GET", f"{MODEL}/edits").json()["edits"]
    assert (edit["edit"], edit["from"], edit["to"], edit["answers"]) == (answer["edit"], source, to, True)
    teach(server, [(ROWS[0][0], source)], 300)
    assert source in server("GET", MODEL).json()["classes"], "an edit is of the rows before"
    server.stop()
    again = local()
    assert file_of(again) == trained(tmp_path, [*rows, (ROWS[0][0], source)], "--view=none")
    change(again, "DELETE", f"edits/{answer['edit']}")
    assert file_of(again) == trained(tmp_path, [*TYPO, (ROWS[0][0], source)], "--view=none")


def test_given_classes_are_edited_too(server, local, tmp_path, capsys):
    server("PUT", "/v1/models/closed", {"view": "none", "classes": ["ham", "spam", "spm"]})
    path = "/v1/models/closed"
    for k, (features, label) in enumerate(TYPO[:60]):
        server("POST", f"{path}/learn?wait=learned", {"id": f"r{k}", "features": features, "label": label})
    assert server("POST", f"{path}/edits?wait=live", {"from": "spm", "to": "spam"}).status_code == 200
    row = {"features": ROWS[0][0], "label": "spm"}
    assert kind_of(server("POST", f"{path}/learn", row)) == "unknown-class"
    assert sorted(server("GET", path).json()["classes"]) == ["ham", "spam"]
    expected = trained(tmp_path, edited(TYPO[:60], "spm", "spam"), "--view=none", "--classes=ham,spam")
    assert server("GET", f"{path}/file").content == expected
    assert server("PUT", path, {"view": "none", "classes": ["ham", "spam", "spm"]}).status_code == 200, "as it was put"
    assert kind_of(server("PUT", path, {"classes": ["ham", "spam", "spm"]})) == "invalid-settings"
    assert kind_of(server("POST", f"{path}/edits", {"from": "spam"})) == "invalid-body"
    server.stop()
    again = local()
    assert again("GET", f"{path}/file").content == expected
    assert kind_of(again("POST", f"{path}/learn", row)) == "unknown-class"


def test_labels_of_sets_are_edited(server, tmp_path, capsys):
    server("PUT", "/v1/models/sets", {"view": "none", "multilabel": True})
    path = "/v1/models/sets"
    sets = [["a", "b"], ["b"], ["c", "a"], []]
    for k, (features, _) in enumerate(ROWS[:80]):
        server("POST", f"{path}/learn?wait=learned", {"id": f"r{k}", "features": features, "label": sets[k % 4]})
    server("POST", f"{path}/edits?wait=live", {"from": "b", "to": "a"})
    found = [one["label"] for one in lines_of(server("GET", f"{path}/examples"))]
    assert found[:4] == [["a"], ["a"], ["c", "a"], []]
    server("POST", f"{path}/edits?wait=live", {"from": "c"})
    found = [one["label"] for one in lines_of(server("GET", f"{path}/examples"))]
    assert found[:4] == [["a"], ["a"], ["a"], []]
    assert server("GET", path).json()["classes"] == ["a"]


def test_an_edit_restarts_what_is_being_trained_and_all_versions_have_it(server, tmp_path, capsys):
    teach(server, TYPO, query="&batch=one")
    server("PUT", MODEL, {"rule": "scw1", "view": "none"})
    first = server("POST", f"{MODEL}/edits", {"from": "spm", "to": "spam"}).json()
    second = change(server, "POST", "edits", {"from": "ham", "to": "good"})
    rows = edited(edited(TYPO, "spm", "spam"), "ham", "good")
    assert second["version"] >= first["version"]
    assert file_of(server) == trained(tmp_path, rows, "--view=none")
    change(server, "POST", "versions/2/promote")
    assert file_of(server) == trained(tmp_path, rows, "--view=none", "--rule=scw1")


def test_a_kill_while_a_batch_is_taken_out(server, local, tmp_path, monkeypatch, capsys):
    """The next start goes on with it; until then the version before answers."""
    teach(server, ROWS[:100])
    teach(server, ROWS[100:200], 100, query="&batch=x")
    monkeypatch.setattr(Trainer, "_train", lambda *arguments: False)
    before = file_of(server)
    number = server("DELETE", f"{MODEL}/batches/x").json()["version"]
    assert server("GET", MODEL).json()["version"] == 1 and file_of(server) == before
    shutil.copytree(tmp_path / "served", tmp_path / "killed")
    monkeypatch.undo()
    again = local(tmp_path / "killed")
    wait_until(lambda: again("GET", MODEL).json()["version"] == number)
    assert file_of(again) == trained(tmp_path, ROWS[:100], "--view=none")


def test_classes_of_a_file_that_a_model_began_with_stay(server, tmp_path, capsys):
    file = trained(tmp_path, ROWS[:50], "--view=none")
    headers = {"Content-Type": "application/octet-stream"}
    assert server("PUT", "/v1/models/based/file", content=file, headers=headers).status_code == 201
    body = {"id": "r0", "features": ROWS[0][0], "label": "other"}
    server("POST", "/v1/models/based/learn?wait=learned", body)
    assert kind_of(server("POST", "/v1/models/based/edits", {"from": "spam", "to": "x"})) == "invalid-body"
    assert server("POST", "/v1/models/based/edits?wait=live", {"from": "other"}).status_code == 200
    assert server("GET", "/v1/models/based/file").content == file, "the only row is that of a class that was removed"


@pytest.mark.parametrize(
    ("method", "path", "body", "kind"),
    [
        ("DELETE", "batches/nothing", None, "unknown-batch"),
        ("DELETE", "edits/3", None, "unknown-edit"),
        ("DELETE", "edits/x", None, "invalid-parameter"),
        ("POST", "edits", {"from": "nothing", "to": "ham"}, "unknown-class"),
        ("POST", "edits", {"from": "ham", "to": "ham"}, "invalid-body"),
        ("POST", "edits", {"to": "ham"}, "invalid-body"),
        ("POST", "edits", {"from": "", "to": "ham"}, "invalid-body"),
        ("POST", "learn?batch=", {"features": {"a": 1}, "label": "ham"}, "invalid-parameter"),
        ("POST", "learn?batch=a%0Ab", {"features": {"a": 1}, "label": "ham"}, "invalid-parameter"),
    ],
)
def test_what_cannot_be(server, method, path, body, kind):
    teach(server, ROWS[:10])
    assert kind_of(server(method, f"{MODEL}/{path}", body)) == kind
    assert json.loads(server("GET", f"{MODEL}/versions").text)["versions"][0]["version"] == 1
