"""The entrance of requests: their ids, the access log, and the path below which a proxy offers the server."""

import asyncio
import json
import os
import re
import subprocess
from contextlib import closing, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confidently.serve import Client
from confidently.serve.http.app import make_app
from confidently.serve.http.entrance import SANE_ID, Access, AccessLog, Entrance
from confidently.serve.http.tokens import Guard, read_tokens
from tests.serve.running import COMMAND, PATIENCE, not_served, threaded, wait_until
from tests.serve.test_connections import HEAD, problem_in, received
from tests.serve.test_network import FIRST, connected, row
from tests.serve.test_tokens import bearer, token_file

OWN_ID = re.compile(r"[0-9a-f]{12}-[0-9]+")


# --- ids -------------------------------------------------------------------------------------------------------------


def test_every_answer_has_an_id_and_problems_tell_it(local):
    server = local()
    answers = [
        server("GET", "/livez"), server("GET", "/"), server("GET", "/nothing"), server("POST", "/livez"),
        server("PUT", FIRST, {}), server("POST", f"{FIRST}/learn", row("m")), server("POST", f"{FIRST}/learn", {}),
        server("GET", "/v1/models/none"), server("GET", f"{FIRST}/examples"), server("GET", f"{FIRST}/file"),
    ]  # fmt: skip
    found = [answer.headers["x-request-id"] for answer in answers]
    assert all(OWN_ID.fullmatch(id) for id in found)
    assert len(set(found)) == len(found)
    problems = [answer for answer in answers if answer.status_code >= 400]
    assert len(problems) == 5
    assert all(one.json()["request"] == one.headers["x-request-id"] for one in problems)


@given(st.binary(max_size=140))
def test_an_id_that_is_kept_cannot_forge_a_header_or_a_line(id):
    if SANE_ID.fullmatch(id):
        assert 1 <= len(id) <= 128 and json.dumps(id.decode()) == f'"{id.decode()}"' and b" " not in id


def test_a_sane_id_of_a_proxy_is_kept(local):
    server = local()
    for told in ("abc-1.2_3:4/5+6=7@8", "x" * 128, "x" * 129, "a b", ""):
        answer = server("GET", "/v1/models/none", headers={"X-Request-Id": told})
        assert (answer.headers["x-request-id"] == told) == (told in ("abc-1.2_3:4/5+6=7@8", "x" * 128))
        assert answer.json()["request"] == answer.headers["x-request-id"]


def test_answers_of_connections_have_an_id_too(tmp_path):
    with threaded(tmp_path / "served") as server, connected(server) as one:
        one.sendall(HEAD + b"X: x\r\n" * 200 + b"\r\n")
        answer = received(one)
        assert problem_in(answer) == "head-too-large"
        [id] = re.findall(rb"x-request-id: (\S+)", answer)
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["request"] == id.decode()


# --- the access log --------------------------------------------------------------------------------------------------


def test_the_access_log_has_a_line_for_each_request(tmp_path):
    path, [token] = token_file(tmp_path, "admin,learn")
    log = tmp_path / "access.jsonl"

    def logged():
        return [json.loads(line) for line in log.read_text().splitlines()]

    with threaded(tmp_path / "served", "--token-file", path, "--access-log", log) as server:
        with server.client(headers=bearer(token) | {"X-Forwarded-For": "192.0.2.7"}) as client:
            client.put(FIRST, json={})
            client.post(f"{FIRST}/learn?wait=learned", json=row("m"), headers={"X-Request-Id": "mine"})
            size = len(client.get(f"{FIRST}/examples").content)
        with server.client() as client:
            client.get("/v1/models?after=%22")
        found = wait_until(lambda: len(logged()) == 4 and logged())
        assert all(one.keys() == set(Access.__struct_fields__) for one in found)
        told = [(one["method"], one["path"], one["query"], one["status"], one["token"]) for one in found]
        assert told == [
            ("PUT", FIRST, "", 201, "name-0"), ("POST", f"{FIRST}/learn", "wait=learned", 200, "name-0"),
            ("GET", f"{FIRST}/examples", "", 200, "name-0"), ("GET", "/v1/models", "after=%22", 401, None),
        ]  # fmt: skip
        assert found[1]["request"] == "mine" and found[2]["sent"] == size
        assert all(one["complete"] and one["client"] == "127.0.0.1" and 0 <= one["seconds"] < 60 for one in found)
        assert [one["forwarded_for"] for one in found] == ["192.0.2.7"] * 3 + [None]
        assert token not in log.read_text()
        log.rename(tmp_path / "moved")
        server.reload()
        wait_until(log.exists)
        with server.client() as client:
            client.get("/livez")
        wait_until(lambda: [one["path"] for one in logged()] == ["/livez"])
        assert server.stop() == 0


@pytest.mark.long("waits for an event")
def test_a_stream_is_logged_when_it_ends(tmp_path):
    log = tmp_path / "access.jsonl"
    with threaded(tmp_path / "served", "--access-log", log) as server:
        with server.client() as client, client.stream("GET", "/v1/events") as stream:
            assert next(line for line in stream.iter_lines() if line.startswith("id:"))
            assert log.read_text() == ""
        found = json.loads(wait_until(log.read_text))
        assert (found["path"], found["status"], found["complete"]) == ("/v1/events", 200, True)
        assert found["sent"] > 0


async def cut(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"some", "more_body": True})


async def fault(scope, receive, send):
    raise RuntimeError


@pytest.mark.parametrize(("app", "status", "sent"), [(cut, 200, 4), (fault, None, 0)])
def test_an_answer_that_is_cut_is_not_complete(tmp_path, app, status, sent):
    log = AccessLog(tmp_path / "access.jsonl")

    async def discard(message):
        pass

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
    with closing(log), suppress(RuntimeError):
        asyncio.run(Entrance(app, log=log)(scope, None, discard))
    found = json.loads((tmp_path / "access.jsonl").read_text())
    assert (found["status"], found["sent"], found["complete"], found["client"]) == (status, sent, False, None)


@pytest.mark.long("a process")
def test_the_access_log_may_be_standard_output(tmp_path):
    command = [*COMMAND, str(tmp_path / "served"), "--port", "0", "--access-log", "-", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = json.loads(process.stdout.readline())["address"]
        with closing(Client(address, "m")) as client:
            client.create()
        assert json.loads(process.stdout.readline())["path"] == FIRST
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0
        process.stdout.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_of_the_access_log_keeps_nothing_from_being_answered(local):
    with closing(AccessLog("/dev/full")) as log:
        server = local()
        server.app = make_app(server.engine, access=log)
        assert server("GET", "/livez").status_code == 200


def test_a_place_where_no_access_log_can_be(tmp_path):
    assert not_served(tmp_path / "served", "--access-log", tmp_path / "none" / "log")[0] == 2
    assert not (tmp_path / "served").exists()


def test_an_access_log_that_cannot_be_opened_again_stays(tmp_path):
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "access.jsonl"
    with threaded(tmp_path / "served", "--access-log", log) as server:
        (tmp_path / "logs").rename(tmp_path / "moved")
        server.reload()
        wait_until(lambda: any("the access log stays as it was" in line for line in server.told))
        with server.client() as client:
            client.get("/livez")
        wait_until((tmp_path / "moved" / "access.jsonl").read_text)


# --- below a path ----------------------------------------------------------------------------------------------------


@pytest.fixture
def below(local, tmp_path):
    path, [token] = token_file(tmp_path, "predict,admin")
    return local(guard=Guard(read_tokens(path), "https://example.org/team/learn/")), token


def test_all_addresses_are_below_the_path_of_a_proxy_and_without_it(below):
    server, token = below
    for base in ("/team/learn", ""):  # a proxy may take it off
        assert server("GET", f"{base}/livez").status_code == 200
        assert server("GET", f"{base}/").text.startswith("<!doctype html>")
        assert server("GET", f"{base}/docs").status_code == 200
        assert server("GET", f"{base}/page/js/app.js").status_code == 200
        assert server("PUT", f"{base}{FIRST}", {}, headers=bearer(token)).status_code in (201, 200)
        assert server("POST", f"{base}{FIRST}/predict", {"features": {}}, headers=bearer(token)).status_code == 200
        assert server("GET", f"{base}{FIRST}", headers=bearer(token)).json()["name"] == "m"
    for path in ("/team/learning/livez", "/team/livez", "/team/learn/team/learn/livez", "/TEAM/learn/livez"):
        assert server("GET", path).status_code == 404
    moved = server("GET", "/team/learn")
    assert (moved.status_code, moved.headers["location"]) == (308, "/team/learn/")


def test_cookies_and_the_description_know_the_path(below):
    server, token = below
    origin = {"Origin": "https://example.org", "Host": "inside:8642"}
    answer = server("POST", "/team/learn/session", {"token": token}, headers=origin)
    assert answer.status_code == 200
    assert "Path=/team/learn/;" in answer.headers["set-cookie"] and "Secure" in answer.headers["set-cookie"]
    assert server("GET", "/openapi.json").json()["servers"] == [{"url": "https://example.org/team/learn"}]
