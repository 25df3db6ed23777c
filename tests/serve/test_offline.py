"""The command on the directory of a server that does not run: check, backup, restore, export."""

import json
import shutil
from pathlib import Path

import apsw
import pytest

from confidently.models.model import Model
from confidently.serve import offline
from confidently.serve.engine.engine import Engine
from confidently.serve.log.log_file import LogError
from tests.serve.conftest import Local
from tests.serve.rows import made
from tests.serve.running import teach

MODEL = "/v1/models/m"
WEIGHTS = [{3: 2.0, 5: 0.0}.get(k % 7, 1.0) for k in range(60)]


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """The directory of a server that has learned rows, with weights, and two snapshots."""
    server = Local(tmp_path_factory.mktemp("offline") / "served")
    server("PUT", MODEL, {"view": "none"})
    for k, (features, label) in enumerate(made(60)):
        body = {"features": features, "label": label, "weight": WEIGHTS[k]}
        assert server("POST", f"{MODEL}/learn?wait=learned", body).status_code == 200
        if k == 30:
            server("POST", "/v1/snapshot")
    server.stop()
    return server.engine.folder


@pytest.fixture
def folder(made_once, tmp_path):
    """A copy of that directory."""
    return Path(shutil.copytree(made_once, tmp_path / "served"))


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
    snapshot = max((folder / "models" / "1" / "1").glob("m-*.cw"))
    snapshot.write_bytes(snapshot.read_bytes()[:-10])
    assert call("serve", folder, "--check")[0] == 2
    found = [sound for sound, _ in offline.check(folder)]
    assert found == [True, True, False, True]
    model = Model.load(folder / "models" / "1" / "1" / "m-000000000031.cw")
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
    ok("train", rows, "--weight", "sample_weight", "--no-shuffle", "--view", "none", "-o", target)
    model = Model.load(target)
    model.source["weight"] = None  # the server keeps weights beside the columns
    model.save(target)
    assert file_of(local, folder) == target.read_bytes()
    exported = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [row.pop("sample_weight", 1.0) for row in exported] == WEIGHTS
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


# --- directories and backups that a stranger has made ----------------------------------------------------------------

SCHEMES = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END",
    "view": "CREATE VIEW v AS SELECT * FROM events",
    "table": "CREATE TABLE other(x)",
    "index": "CREATE INDEX i ON events(abs(weight))",
    "column": "ALTER TABLE events ADD COLUMN more",
    "missing": "DROP INDEX ids",
    "view instead": "ALTER TABLE positions RENAME TO p; CREATE VIEW positions AS SELECT * FROM p",
}
VALUES = {
    "features": "UPDATE events SET features = 'text' WHERE seq = 3",
    "kind": "UPDATE events SET kind = 99 WHERE seq = 3",
    "weight": "UPDATE events SET weight = -1 WHERE seq = 3",
    "infinite": "UPDATE events SET weight = 9e999 WHERE seq = 3",
    "label": "UPDATE events SET label = 7 WHERE seq = 3",
    "time": "UPDATE events SET time = x'00' WHERE seq = 3",
    "id": "UPDATE events SET id = x'00' WHERE seq = 3",
    "settings": "UPDATE versions SET settings = '{}'",
}


def changed(folder, statement):
    db = apsw.Connection(str(folder / "events.db"))
    for one in statement.split("; ") if "BEGIN" not in statement else [statement]:
        db.execute(one)
    db.close()


@pytest.mark.parametrize("name", SCHEMES)
def test_a_log_with_another_schema_is_refused(folder, tmp_path, name):
    changed(folder, SCHEMES[name])
    for work in (
        lambda: list(offline.check(folder)), lambda: offline.restore(folder, tmp_path / "new"),
        lambda: list(offline.export(folder, "m")), lambda: Engine(folder),
    ):  # fmt: skip
        with pytest.raises(LogError, match=r"is not a log of confidently: the .* is not one that a server makes"):
            work()
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("version", [0, -1])
def test_a_database_of_something_else_is_refused(tmp_path, version):
    db = apsw.Connection(str(tmp_path / "events.db"))
    db.execute("CREATE TABLE notes(x)")
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    with pytest.raises(LogError, match="is not a log of confidently"):
        Engine(tmp_path)


@pytest.mark.parametrize("name", VALUES)
def test_values_that_no_server_writes_are_found_and_end_no_other_model(folder, local, tmp_path, name):
    """The directory of a server is trusted more than a backup; still nothing in it ends the process."""
    changed(folder, VALUES[name])
    assert not all(sound for sound, _ in offline.check(folder))
    with pytest.raises(LogError, match=r"1 (event|version) of the log cannot be what a server wrote"):
        offline.restore(folder, tmp_path / "new")
    server = local(folder)
    assert server("GET", "/readyz").status_code == 200
    assert server("PUT", "/v1/models/new", {}).status_code == 201
    teach(server, [({"a": 1}, "x")], model="new")
    for path in ("", "/examples", "/metrics", "/set-aside", "/queue"):
        server("GET", f"{MODEL}{path}")
    assert server("GET", "/readyz").status_code == 200


def test_a_backup_never_copies_what_a_link_leads_to(folder, tmp_path):
    (tmp_path / "secret").write_text("secret")
    snapshot = max((folder / "models" / "1" / "1").glob("m-*.cw"))
    snapshot.unlink()
    snapshot.symlink_to(tmp_path / "secret")
    for work in (offline.restore, offline.backup):
        with pytest.raises(LogError, match="is not a regular file"):
            work(folder, tmp_path / work.__name__)
        assert not list((tmp_path / work.__name__).rglob("m-*61.cw"))


def test_a_check_says_what_a_start_says(folder, local, call):
    """Settings that do not fit together any more, say."""
    changed(folder, 'UPDATE versions SET settings = CAST(\'{"covariance":"kernel"}\' AS BLOB)')
    status, out, _ = call("serve", folder, "--check")
    assert status == 2 and "DAMAGED model m: it cannot be served" in out
    told = [line for line in local(folder).told if "the other models are served" in line]
    assert len(told) == 1
