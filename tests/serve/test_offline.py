"""The command on the directory of a server that does not run: check, backup, restore, export."""

import json

import pytest

from confidently.models.model import Model
from confidently.serve import offline
from confidently.serve.log import LogError
from tests.serve.rows import made

MODEL = "/v1/models/m"


@pytest.fixture
def folder(local, tmp_path):
    """The directory of a server that has learned rows, with weights, and two snapshots."""
    server = local(tmp_path / "served")
    server("PUT", MODEL, {"view": "none"})
    for k, (features, label) in enumerate(made(60)):
        body = {"features": features, "label": label, "weight": 2.0 if k % 7 == 3 else 1.0}
        assert server("POST", f"{MODEL}/learn?wait=learned", body).status_code == 200
        if k == 30:
            server("POST", "/v1/snapshot")
    server.stop()
    return tmp_path / "served"


def file_of(local, folder):
    server = local(folder)
    try:
        return server("GET", f"{MODEL}/file").content
    finally:
        server.stop()


def test_a_sound_directory(folder, ok):
    lines = ok("serve", folder, "--check").splitlines()
    assert [line.split()[0] for line in lines] == ["ok"] * 4
    assert "60 events" in lines[0] and "model m: 60 learn" in lines[1]
    found = json.loads(ok("serve", folder, "--check", "--json"))
    assert found["sound"] and len(found["parts"]) == 4


def test_damage_is_found(folder, call):
    snapshot = max((folder / "models" / "1").glob("m-*.cw"))
    snapshot.write_bytes(snapshot.read_bytes()[:-10])
    assert call("serve", folder, "--check")[0] == 2
    found = [sound for sound, _ in offline.check(folder)]
    assert found == [True, True, False, True]
    model = Model.load(folder / "models" / "1" / "m-000000000031.cw")
    model.training["seq"] = 61
    model.save(snapshot)
    assert "but the log ends at 60" in list(offline.check(folder))[2][1]


def test_a_restored_backup_is_the_same_server(folder, local, tmp_path, ok):
    expected = file_of(local, folder)
    ok("serve", folder, "--backup", tmp_path / "copy")
    ok("serve", tmp_path / "new", "--restore", tmp_path / "copy")
    assert file_of(local, tmp_path / "new") == expected
    assert {sound for sound, _ in offline.check(tmp_path / "copy")} == {True}
    with pytest.raises(LogError, match="exists; choose a new folder"):
        offline.backup(folder, tmp_path / "copy")
    with pytest.raises(LogError, match="is not empty; restore into a new folder"):
        offline.restore(tmp_path / "copy", folder)
    with pytest.raises(LogError, match="is not the directory of a server"):
        offline.restore(tmp_path, tmp_path / "other")


def test_exported_rows_train_the_same_model(folder, local, tmp_path, ok):
    rows, target = tmp_path / "rows.jsonl", tmp_path / "trained.cw"
    rows.write_text(ok("serve", folder, "--export", "m"))
    ok("train", rows, "--weight", "sample_weight", "--view", "none", "-o", target)
    model = Model.load(target)
    model.source["weight"] = None  # the server keeps weights beside the columns
    model.save(target)
    assert file_of(local, folder) == target.read_bytes()
    weights = [2.0 if k % 7 == 3 else 1.0 for k in range(60)]
    exported = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [row.pop("sample_weight", 1.0) for row in exported] == weights
    assert exported == [{"label": label} | features for features, label in made(60)]
    with pytest.raises(LogError, match=r"has no model 'x'; there are: m"):
        list(offline.export(folder, "x"))


def test_a_feature_with_the_name_of_weights(local, tmp_path):
    server = local(tmp_path / "served")
    server("PUT", MODEL, {"view": "none"})
    row = {"features": {"sample_weight": 1}, "label": "a"}
    server("POST", f"{MODEL}/learn", row)
    server("POST", f"{MODEL}/learn", row | {"weight": 3})
    server.stop()
    rows = offline.export(tmp_path / "served", "m")
    assert json.loads(next(rows)) == {"label": "a", "sample_weight": 1}
    with pytest.raises(LogError, match="up to event 2 there are a weight and a feature"):
        next(rows)
