"""Servers that exchange what they have learned: no row is lost or counts twice, and models are those of the library."""

import random
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from confidently.models.file import encoded
from confidently.models.model import Model
from confidently.serve import Client, offline
from confidently.serve.client.connection import ServerError
from confidently.serve.engine.requests import LearnedQuestion
from confidently.serve.http.handlers import merging
from confidently.serve.model import merged
from confidently.serve.model.contributions import ENTRY, Contribution
from confidently.serve.work import merging as work
from tests.command_line import here
from tests.serve.rows import made, numbered, trained
from tests.serve.running import kind_of, lines_of, running, teach, threaded, wait_until

MODEL = "/v1/models/m"
SETTINGS = [
    {"view": "none"}, {"covariance": "full", "view": "standard"}, {"covariance": "shared", "classes": ["ham", "spam"]},
    {}, {"task": "numbers"}, {"task": "numbers", "covariance": "diag"},
]  # fmt: skip


def rows_of(settings, n, seed=0):
    if settings.get("task") == "numbers":
        return numbered(n, "numbers", seed)
    kind = "late" if settings.get("view") == "none" else "mixed"
    found = made(n, kind, seed)
    return found if kind == "late" else [(row | {"subject": row["subject"][-1:]}, label) for row, label in found]


def contribution(server, model=MODEL):
    answer = server("GET", f"{model}/contribution")
    assert answer.status_code == 200, answer.text
    return answer.content


def merge(server, content, model=MODEL):
    return server("POST", f"{model}/merge?wait=learned", content=content)


def file_of(server, model=MODEL):
    return server("GET", f"{model}/file").content


def as_merged(folder, *contributions, base=None):
    """The file that ``confidently merge`` makes of contributions, in the order of their origins."""
    found = sorted(contributions, key=lambda content: Contribution.of(content).stated.origin)
    for k, content in enumerate(found):
        (folder / f"part-{k}.cw").write_bytes(content)
    paths = [folder / f"part-{k}.cw" for k in range(len(found))]
    done = here("merge", *paths, "-o", folder / "whole.cw", *(() if base is None else ("--base", base)))
    assert done.returncode == 0, done.stderr
    return (folder / "whole.cw").read_bytes()


def changed(content, training=None, **arrays):
    """A contribution that states something else, or has other numbers."""
    found = Contribution.of(content)
    header = found.model.header() | {"training": training or {ENTRY: stated(content)}}
    return encoded(header, found.model.arrays() | arrays)


def stated(content, **other):
    found = Contribution.of(content).stated
    return {"origin": found.origin, "seq": found.seq, "settings": found.settings} | other


@pytest.fixture
def pair(local, tmp_path):
    return [local(tmp_path / name) for name in ("a", "b")]


def taught(servers, *sizes, **settings):
    """Make models of these settings, by default without a view, and teach each server rows of its own."""
    make(servers, settings or {"view": "none"})
    for k, server in enumerate(servers):
        teach(server, made(sizes[k % len(sizes)], seed=k))


def make(servers, settings):
    for server in servers:
        assert server("PUT", MODEL, settings).status_code == 201


@pytest.mark.long("five servers")
@pytest.mark.parametrize("settings", [SETTINGS[0], SETTINGS[4], *(
    pytest.param(one, marks=pytest.mark.long("1,000 rows each")) for one in (*SETTINGS[1:4], SETTINGS[5])
)], ids=str)  # fmt: skip
def test_servers_that_exchange_have_the_model_that_merging_their_files_makes(pair, local, tmp_path, settings):
    make(pair, settings)
    a, b = pair
    rows, at = rows_of(settings, 420), 0
    for size in (120, 60, 40):
        for server in pair:
            teach(server, rows[at : at + size], at)
            at += size
        parts = [contribution(server) for server in pair]
        for server, content in ((a, parts[1]), (b, parts[0])):
            answer = merge(server, content)
            assert answer.json()["status"] == "learned", answer.text
        assert file_of(a) == file_of(b) == as_merged(tmp_path, *parts)
        assert [contribution(server) for server in pair] == parts
        at -= 20  # rows of one server are in no order of the other's
    own = [row for k, row in enumerate(rows[:120])] + rows[220:280] + rows[320:360]
    assert a("GET", MODEL).json()["rows"] == len(own)
    found, alone = Contribution.of(parts[0]).model, local(tmp_path / "alone")
    make([alone], settings)
    teach(alone, own)
    assert found.arrays().keys() == Model.load(_saved(tmp_path, file_of(alone))).arrays().keys()
    for name, array in Model.load(_saved(tmp_path, file_of(alone))).arrays().items():
        np.testing.assert_array_equal(found.arrays()[name], array)
    if settings == {"view": "none"}:
        assert file_of(alone) == trained(tmp_path, own, "--view=none")
    teach(a, rows[400:], 1000)  # learned by what was merged
    before = file_of(a)
    assert before != file_of(b)
    a.stop()
    for _ in range(2):  # of a snapshot, and of the log alone
        again = local(tmp_path / "a")
        assert file_of(again) == before and contribution(again) != parts[0]
        again.stop()
        shutil.rmtree(tmp_path / "a" / "models", ignore_errors=True)


def _saved(folder, content):
    (folder / "saved.cw").write_bytes(content)
    return folder / "saved.cw"


def test_the_order_in_which_contributions_come_does_not_matter(local, tmp_path):
    servers = [local(tmp_path / name) for name in "abc"]
    taught(servers, 50, 60, 70)
    early = [contribution(server) for server in servers]
    for k, server in enumerate(servers):
        teach(server, made(30, seed=10 + k), 100)
    late = [contribution(server) for server in servers]
    for server, order in zip(servers, ((0, 1, 2), (2, 1, 0), (1, 0, 2)), strict=True):
        for k in order:
            for content in (early[k], late[k], late[k]) if server is servers[1] else (late[k], late[k]):
                merge(server, content)
    files = {file_of(server) for server in servers}
    assert files == {as_merged(tmp_path, *late)}
    assert Model.load(_saved(tmp_path, files.pop())).learner.n_seen == 50 + 60 + 70 + 3 * 30
    assert [one["rows"] for one in servers[0]("GET", MODEL).json()["merged"]] != []


@pytest.mark.long("stacks of 1,100 rows")
def test_models_that_began_with_one_file_count_it_once(pair, local, tmp_path):
    content = trained(tmp_path, made(1100, seed=9), "--auto")
    (tmp_path / "base.cw").write_bytes(content)
    for k, server in enumerate(pair):
        assert server("PUT", f"{MODEL}/file", content=content).status_code == 201
        teach(server, made(60, seed=k), 0)
    parts = [contribution(server) for server in pair]
    for server, part in zip(pair, reversed(parts), strict=True):
        assert merge(server, part).status_code == 200
    assert file_of(pair[0]) == file_of(pair[1]) == as_merged(tmp_path, *parts, base=tmp_path / "base.cw")
    assert Model.load(_saved(tmp_path, file_of(pair[0]))).learner.n_seen == 1100 + 2 * 60
    others = alone, other = local(tmp_path / "alone"), local(tmp_path / "other")
    taught(others, 60, auto=True)
    assert kind_of(merge(alone, parts[0])) == "cannot-merge"  # which has begun with no file
    answer = merge(alone, contribution(other))
    assert kind_of(answer) == "cannot-merge" and "upload it to both servers" in answer.json()["detail"]


def test_what_cannot_be_merged_is_refused_and_changes_nothing(pair, local, tmp_path, monkeypatch):
    make(pair, {"view": "none"})
    a, b = pair
    assert kind_of(b("GET", f"{MODEL}/contribution")) == "one-class"
    for k, server in enumerate(pair):
        teach(server, made(40, seed=k))
    first = contribution(b)
    teach(b, made(10, seed=5), 100)
    second, before = contribution(b), file_of(a)
    weights = Contribution.of(second).model.arrays()["weights"]
    others = [
        (first[: len(first) // 2], "invalid-body", "damaged"),
        (b"{}", "invalid-body", "not a model file"),
        (file_of(b), "invalid-body", "GET .../contribution"),
        (changed(second, weights=np.full_like(weights, np.nan)), "invalid-body", "not finite"),
        (changed(second, {ENTRY: stated(second, origin="B")}), "invalid-body", "damaged"),
        (changed(second, {ENTRY: stated(second, settings='{"rule":"scw1"}')}), "cannot-merge", "settings"),
        (contribution(a), "merged-already", "of this model itself"),
    ]
    for content, kind, told in others:
        answer = merge(a, content)
        assert kind_of(answer) == kind and told in answer.json()["detail"], answer.text
    assert file_of(a) == before and a("GET", MODEL).json()["merged"] == []
    receipt = merge(a, second).json()
    assert receipt["rows"] == 50 and merge(a, second).json() == receipt
    answer = merge(a, first)
    assert kind_of(answer) == "merged-already" and "a later one" in answer.json()["detail"]
    assert file_of(a) == as_merged(tmp_path, contribution(a), second)
    teach(b, made(10, seed=6), 200)
    third = contribution(b)
    monkeypatch.setattr(merged, "COPIES", 2**50)
    answer = merge(a, third)
    assert kind_of(answer) == "cannot-merge" and "bytes" in answer.json()["detail"]
    monkeypatch.undo()
    assert merge(a, third).status_code == 200
    monkeypatch.setattr(merging, "MAX_CONTRIBUTION", 100)
    assert kind_of(merge(a, third)) == "too-large"


def test_classes_that_were_renamed_on_one_server_are_not_merged(pair):
    taught(pair, 60, classes=["ham", "spam"], view="none")
    a, b = pair
    assert b("POST", f"{MODEL}/edits?wait=live", {"from": "spam", "to": "junk"}).status_code == 200
    answer = merge(a, contribution(b))
    assert kind_of(answer) == "cannot-merge"
    assert answer.json()["detail"].endswith("classes that this model has not: junk")
    assert a("POST", f"{MODEL}/edits?wait=live", {"from": "spam", "to": "junk"}).status_code == 200
    assert merge(a, contribution(b)).status_code == 200


def test_decisions_are_not_merged(pair):
    make(pair, {"task": "decisions"})
    assert kind_of(pair[0]("GET", f"{MODEL}/contribution")) == "cannot-merge"
    pair[1]("PUT", "/v1/models/other", {"view": "none"})
    teach(pair[1], made(40), model="other")
    assert kind_of(merge(pair[0], contribution(pair[1], "/v1/models/other"))) == "cannot-merge"


def test_a_server_without_rows_answers_with_what_others_have_learned(pair):
    make(pair, {"view": "none"})
    a, b = pair
    teach(b, made(80))
    assert merge(a, contribution(b)).status_code == 200
    question = {"features": made(1, seed=3)[0][0]}
    expected = b("POST", f"{MODEL}/predict", question).json()["probability"]
    assert a("POST", f"{MODEL}/predict", question).json()["probability"] == expected
    assert file_of(a) == file_of(b) and kind_of(a("GET", f"{MODEL}/contribution")) == "one-class"
    teach(a, made(40, seed=4))
    assert a("GET", MODEL).json()["rows"] == 40


def test_what_no_longer_fits_when_its_turn_comes_is_set_aside(pair, monkeypatch):
    """The model has changed since the contribution was tried."""
    make(pair[:1], {"view": "none"})
    make(pair[1:], {"view": "none", "rule": "scw1"})
    a, b = pair
    teach(b, made(40))
    assert kind_of(merge(a, contribution(b))) == "cannot-merge"
    question = {"features": made(1, seed=3)[0][0]}
    monkeypatch.setattr(work, "check", lambda hosted, given, source: LearnedQuestion(hosted, lambda log, request: None))
    for n in (0, 40):  # rows of its own
        if n:
            teach(a, made(n, seed=1))
        before = a("POST", f"{MODEL}/predict", question).json()
        answer = merge(a, contribution(b))
        assert kind_of(answer) == "cannot-merge" and "settings" in answer.json()["detail"]
        assert a("POST", f"{MODEL}/predict", question).json() == before
        teach(b, made(10, seed=2 + n), 100 + n)
    assert len(lines_of(a("GET", f"{MODEL}/set-aside"))) == 1  # that of the last contribution


def test_a_version_says_which_contributions_it_lacks(pair, local, tmp_path):
    alone = local(tmp_path / "alone")
    taught(pair, 80)
    make([alone], {"view": "none", "rule": "scw1"})
    a, b = pair
    part = contribution(b)
    merge(a, part)
    teach(a, made(30, seed=7), 100)
    live = file_of(a)
    assert a("POST", f"{MODEL}/rebuild?wait=live").status_code == 200  # of the log: the contribution is in it
    assert file_of(a) == live
    assert a("PUT", MODEL, {"view": "none", "rule": "scw1"}).status_code == 202
    number = a("GET", f"{MODEL}/versions").json()["versions"][0]["version"]
    assert a("POST", f"{MODEL}/versions/{number}/promote?wait=live").status_code == 200
    [missing] = a("GET", MODEL).json()["merged"]
    assert "settings" in missing["missing"] and missing["rows"] == 80
    [aside] = lines_of(a("GET", f"{MODEL}/set-aside"))
    assert aside["reason"] == missing["missing"] and aside["features"] is None
    teach(alone, made(80) + made(30, seed=7))
    assert file_of(a) == file_of(alone)
    assert kind_of(merge(a, part)) == "cannot-merge"
    assert a("POST", f"{MODEL}/rollback?wait=live").status_code == 200
    assert file_of(a) == live


@pytest.mark.long("2,200 rows")
def test_backups_have_contributions(pair, tmp_path):
    taught(pair, 1100)
    a, b = pair
    merge(a, contribution(b))
    assert a("POST", "/v1/snapshot").status_code == 200
    teach(a, made(30, seed=7), 2000)
    assert a("POST", "/v1/backup", {"name": "copy"}).status_code == 201
    [copy] = (tmp_path / "a").glob("**/copy")
    found = list(offline.verify_backup(copy))
    assert all(ok for ok, _ in found) and any("the same model of the snapshot" in text for _, text in found), found


@pytest.mark.long("three servers")
def test_a_replica_has_what_its_primary_has_merged(tmp_path):
    settings = {"view": "none"}
    with (
        threaded(tmp_path / "a") as one, threaded(tmp_path / "b") as other, one.client() as a, other.client() as b,
        threaded(tmp_path / "c", "--replica-of", one.url) as third, third.client() as replica,
    ):  # fmt: skip
        for k, client in enumerate((a, b)):
            client.put(MODEL, json=settings)
            teach(client.request, made(60, seed=k))
        for k in range(3):
            answer = a.post(f"{MODEL}/merge", content=b.get(f"{MODEL}/contribution").content)
            assert answer.status_code == 200, answer.text
            teach(a.request, made(20, seed=10 + k), 100 * k + 100)
            teach(b.request, made(20, seed=20 + k), 100 * k + 100)
            seq = a.get(MODEL).json()["seq"]
            wait_until(lambda: replica.get(MODEL).json().get("seq") == seq)  # noqa: B023
            assert replica.get(f"{MODEL}/file").content == a.get(f"{MODEL}/file").content
        assert kind_of(replica.get(f"{MODEL}/contribution")) == "read-only"
        assert kind_of(replica.post(f"{MODEL}/merge", content=b"")) == "read-only"


@pytest.mark.long("three processes")
@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.long("twenty kills"))])
def test_kills_lose_no_contribution_and_count_none_twice(tmp_path, rounds):
    """A server is killed while rows and contributions come; those who send try again."""
    chance, merged, taught = random.Random(rounds), [], []
    with running(tmp_path / "b") as other, other.client() as b:
        b.put(MODEL, json={"view": "none"})
        for turn in range(rounds):
            with running(tmp_path / "a") as one, Client(one.url, "m", patience=0.0) as a:
                a.create(view="none")
                timer = threading.Timer(chance.uniform(0.05, 0.6), one.kill)
                _exchange_until_killed(a, b, 1000 * turn, merged, taught, timer)
                timer.join()
        with running(tmp_path / "a") as one, one.client() as a:
            teach(b.request, made(1, seed=1), 1000 * rounds)  # what has rows of its own since it was merged differs
            last = b.get(f"{MODEL}/contribution").content
            assert merge(lambda *args, **options: a.request(*args, **options), last).status_code == 200
            info, rows = a.get(MODEL).json(), lines_of(a.get(f"{MODEL}/examples"))
            ids = [row["id"] for row in rows]
            assert len(set(ids)) == len(ids) == info["rows"] and {*taught} <= {*ids}
            assert [one["rows"] for one in info["merged"]] == [Contribution.of(last).rows]
            whole = as_merged(tmp_path, a.get(f"{MODEL}/contribution").content, last)
            assert a.get(f"{MODEL}/file").content == whole
            assert Model.load(_saved(tmp_path, whole)).learner.n_seen == len(ids) + Contribution.of(last).rows
    assert merged


def _exchange_until_killed(a, b, first, merged, taught, timer):
    """Teach both servers, and merge now and then; the timer, which kills one, starts after the first time of all."""
    rows = made(400, seed=first)
    try:
        for k, (row, label) in enumerate(rows, first):
            teach(b.request, [rows[k - first]], k)
            if k % 4 == 0:
                merged.append(a.merge(b.get(f"{MODEL}/contribution").content)["seq"])
            taught.append(a.learn(row, label, id=f"a{k}")["id"])
            if k == first:
                timer.start()
    except (httpx.TransportError, ServerError):
        pass


def test_contributions_that_come_at_once_are_merged_in_turn(pair, local, tmp_path):
    others = [local(tmp_path / f"other-{k}") for k in range(4)]
    taught([pair[0], *others], 40)
    parts = [contribution(server) for server in others]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda content: merge(pair[0], content), 2 * parts))
    assert {answer.status_code for answer in answers} == {200}
    assert file_of(pair[0]) == as_merged(tmp_path, contribution(pair[0]), *parts)
