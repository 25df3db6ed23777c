"""Batches that are taken out, classes that are renamed, merged, removed: the model is that of the edited log."""

import pytest

from tests.serve.rows import made, trained
from tests.serve.running import kind_of, lines_of
from tests.serve.test_versions import MODEL

ROWS = made(300)


@pytest.fixture
def server(local):
    found = local()
    found("PUT", MODEL, {"view": "none"})
    return found


def test_edits_that_would_leave_one_class_are_rejected(server):
    """Of the version that answers, of one that is trained beside it, and of one that is promoted later."""
    three = {"view": "none", "classes": ["ham", "spam", "spm"]}
    path, beside = "/v1/models/closed", "/v1/models/beside"
    server("PUT", path, three)
    edits = [{"from": "spam", "to": "ham"}, {"from": "ham", "to": "junk"}, {"from": "spm", "to": "ham"}]
    made = [server("POST", f"{path}/edits?wait=live", edit).json()["edit"] for edit in edits]
    refused = server("DELETE", f"{path}/edits/{made[1]}")
    assert kind_of(refused) == "invalid-settings" and "the edits would leave ['ham']" in refused.json()["detail"]
    assert kind_of(server("PUT", path, {"classes": ["ham", "spam"]})) == "invalid-settings"
    server("PUT", beside, {"view": "none"})
    for k, label in enumerate(["ham", "spam", "spm"]):
        server("POST", f"{beside}/learn?wait=learned", {"features": {"a": k}, "label": label})
    assert server("PUT", beside, three).status_code == 202
    assert server("POST", f"{beside}/edits?wait=live", {"from": "spam", "to": "ham"}).status_code == 200
    assert kind_of(server("POST", f"{beside}/edits", {"from": "spm", "to": "ham"})) == "invalid-settings"
    assert server("DELETE", f"{beside}/versions/2").status_code == 200
    assert server("POST", f"{beside}/edits?wait=live", {"from": "spm", "to": "ham"}).status_code == 200
    assert kind_of(server("POST", f"{beside}/versions/2/promote")) == "invalid-settings"
    assert server("GET", "/readyz").status_code == 200


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


def test_classes_of_a_file_that_a_model_began_with_stay(server, tmp_path, capsys):
    file = trained(tmp_path, ROWS[:50], "--view=none")
    headers = {"Content-Type": "application/octet-stream"}
    assert server("PUT", "/v1/models/based/file", content=file, headers=headers).status_code == 201
    body = {"id": "r0", "features": ROWS[0][0], "label": "other"}
    server("POST", "/v1/models/based/learn?wait=learned", body)
    assert kind_of(server("POST", "/v1/models/based/edits", {"from": "spam", "to": "x"})) == "invalid-body"
    assert server("POST", "/v1/models/based/edits?wait=live", {"from": "other"}).status_code == 200
    assert server("GET", "/v1/models/based/file").content == file, "the only row is that of a class that was removed"
