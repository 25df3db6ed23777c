"""Networks as they are: connections that are cut, idle, slow or never read, and a server that ends beside them."""

import asyncio
import json
import signal
import socket
import sys
import time
from contextlib import ExitStack
from http.client import HTTPConnection
from itertools import islice

import httpx
import pytest

from confidently.serve.http import calls
from tests.serve.hostile import WAYS, attack
from tests.serve.rows import made
from tests.serve.running import NDJSON, PATIENCE, as_lines, lines_of, more_of, running, threaded
from tests.serve.test_tokens import bearer, token_file

FIRST = "/v1/models/m"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server that ends as it should after all that its clients did."""
    with threaded(tmp_path_factory.mktemp("network") / "served") as found:
        yield found
        assert found.stop() == 0


@pytest.fixture
def server(shared):
    """The shared server with a new model."""
    with shared.client() as client:
        assert client.put(FIRST, json={"view": "none"}).status_code == 201
        yield shared
        assert client.delete(FIRST).status_code == 204


@pytest.fixture
def client(server):
    with server.client() as found:
        yield found


@pytest.fixture
def apart(tmp_path):
    """A server for a test that stops it, with a model."""
    with threaded(tmp_path / "served") as found:
        with found.client() as client:
            assert client.put(FIRST, json={"view": "none"}).status_code == 201
        yield found


def connected(server):
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def request_of(path, body, method="POST", length=None, kind="application/json"):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {length or len(content)}\r\n\r\n".encode() + content


def row(id, label="ham"):
    return {"id": id, "features": {"a": 1}, "label": label}


def ids(server):
    with server.client() as client:
        return [one["id"] for one in lines_of(client.get(f"{FIRST}/examples"))]


def test_a_thousand_idle_connections(apart):
    with ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(connected(apart))
        with apart.client() as client:
            for k in range(20):
                assert client.post(f"{FIRST}/learn", json=row(f"m-{k}")).status_code == 200
        assert apart.stop() == 0


def test_a_connection_that_is_cut_between_commit_and_answer(server):
    """The row is learned, nobody was told, and the same id sent again gets the first answer."""
    for k in range(30):
        with connected(server) as cut:
            cut.sendall(request_of(f"{FIRST}/learn", row(f"m-{k}")))
            cut.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            if k % 2:
                time.sleep(0.01)
    with server.client() as client:
        receipts = [client.post(f"{FIRST}/learn", json=row(f"m-{k}")).json() for k in range(30)]
        assert [one["id"] for one in receipts] == [f"m-{k}" for k in range(30)]
        again = [client.post(f"{FIRST}/learn", json=row(f"m-{k}")).json() for k in range(30)]
        assert again == receipts
    assert sorted(ids(server)) == sorted(f"m-{k}" for k in range(30))


def test_a_body_that_ends_too_early_is_no_row(server):
    for _ in range(5):
        with connected(server) as cut:
            cut.sendall(request_of(f"{FIRST}/learn", row("cut"), length=10_000))
    with connected(server) as cut:
        content = request_of(f"{FIRST}/learn", row("cut"))
        cut.sendall(content[:-5])
        cut.shutdown(socket.SHUT_WR)
        cut.recv(4096)
    assert ids(server) == []


def test_many_lines_whose_end_never_comes_are_kept_as_far_as_they_were_answered(server):
    body = as_lines(row(f"m-{k}") for k in range(2000)).encode()
    with connected(server) as cut:
        cut.sendall(request_of(f"{FIRST}/learn", body, length=2 * len(body), kind="application/x-ndjson"))
        told = b""
        while told.count(b'"status":"durable"') < 1024:
            told += more_of(cut)
    told = told.count(b'"status":"durable"')
    assert ids(server)[:told] == [f"m-{k}" for k in range(told)]


def test_many_lines_are_answered_while_they_come(server):
    head = f"POST {FIRST}/learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    with connected(server) as both:
        both.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        told = b""
        for part in range(5):
            lines = "".join(json.dumps(row(f"m-{part}-{k}")) + "\n" for k in range(512)).encode()
            both.sendall(b"%x\r\n%s\r\n" % (len(lines), lines))
            while told.count(b'"status":"durable"') < 512 * (part + 1):
                told += more_of(both)
        both.sendall(b"0\r\n\r\n")
    assert len(ids(server)) == 5 * 512


@pytest.mark.long("24,000 rows")
def test_the_memory_of_a_server_does_not_grow_with_the_lines(tmp_path):
    piece = as_lines({"features": features, "label": label} for features, label in made(400)).encode()

    def send(n):
        with server.client() as client:
            pieces = (piece for _ in range(n))
            answer = client.post(f"{FIRST}/learn?wait=learned", content=pieces, headers=NDJSON)
            assert answer.text.count("learned") == 400 * n

    with running(tmp_path / "served") as server:
        with server.client() as client:
            client.put(FIRST, json={"view": "none"})
        send(15)
        before = most_memory(server, "VmRSS")
        send(45)
        assert most_memory(server, "VmRSS") < before + 40


@pytest.mark.long("waits for five seconds")
def test_a_server_ends_within_ten_seconds_beside_streams_that_nobody_reads(apart):
    with ExitStack() as stack:
        for _ in range(5):
            stream = stack.enter_context(connected(apart))
            stream.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in stream.recv(4096)
        half = stack.enter_context(connected(apart))
        half.sendall(request_of(f"{FIRST}/learn", row("half"), length=10_000))
        with apart.client() as client:
            assert client.post(f"{FIRST}/learn", json=row("whole")).status_code == 200
        began = time.monotonic()
        assert apart.stop() == 0
        assert time.monotonic() - began < 10


@pytest.mark.long("four processes")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_was_accepted_before_a_signal_is_learned(tmp_path, number):
    with running(tmp_path / "served") as server:
        with server.client() as client:
            client.put(FIRST, json={"view": "none"})
            for k in range(50):
                assert client.post(f"{FIRST}/learn", json=row(f"m-{k}", "ab"[k % 2])).status_code == 200
        server.process.send_signal(number)
        assert server.wait() == 0
        assert not any("Traceback" in line for line in server.told), server.told
    with running(tmp_path / "served") as server:
        with server.client() as client:
            assert client.get(FIRST).json()["rows"] == 50
        assert not any("replayed" in line for line in server.told), "the snapshot at the end has everything"


@pytest.mark.long("waits for events")
def test_events_tell_what_changes(client):
    with client.stream("GET", "/v1/events", headers={"Last-Event-ID": "7"}) as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("id:")) == "id: 8"
        client.post(f"{FIRST}/learn?wait=learned", json=row("m"))
        told = (json.loads(line.removeprefix("data:")) for line in islice(lines, 200) if line.startswith("data:"))
        found = next(one for one in told if one["models"][0]["rows"])
        assert found["models"][0]["name"] == "m"
    for wrong in ("x", "-1", "9" * 30):
        with client.stream("GET", "/v1/events", headers={"Last-Event-ID": wrong}) as stream:
            assert next(line for line in stream.iter_lines() if line.startswith("id:")) == "id: 1"


def test_a_body_of_which_nothing_more_comes_is_given_up(with_model, monkeypatch):
    monkeypatch.setattr(calls, "BODY_SECONDS", 0.1)
    server = with_model()

    async def body():
        yield b'{"features":'
        await asyncio.sleep(60)

    answer = server("POST", f"{FIRST}/learn", content=body())
    assert answer.status_code == 408
    assert answer.json()["type"] == "urn:confidently:slow-body"


def test_rubbish_is_no_request(server):
    for content in (b"\0" * 100, b"GET / HTTP/9.9\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n"):
        with connected(server) as rude:
            rude.sendall(content)
            rude.shutdown(socket.SHUT_WR)
            assert b"400" in rude.recv(4096)
    assert httpx.get(f"{server.url}/livez", trust_env=False).status_code == 200


@pytest.mark.long("120,000 rows")
def test_a_client_that_sends_everything_before_it_reads_is_answered(server):
    """Its answers, more than connections hold, must not keep its rows from being read."""
    rows, text = 120_000, b"x" * 350
    body = b'{"features":{"n":1,"text":"%b"},"label":"a"}\n{"features":{"n":2},"label":"b"}\n' % text * (rows // 2)
    connection = HTTPConnection("127.0.0.1", int(server.url.rsplit(":", 1)[1]), timeout=PATIENCE)
    connection.request("POST", f"{FIRST}/learn", body, {"Content-Type": "application/x-ndjson"})
    assert connection.getresponse().read().count(b'"durable"') == rows
    connection.close()


@pytest.mark.long("sixty clients, twelve times")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("way", WAYS)
def test_sixty_clients_without_a_token_take_little_memory(tmp_path, way):
    path, [token] = token_file(tmp_path, "admin,learn")
    with running(tmp_path / "served", "--token-file", path) as server:
        with server.client(headers=bearer(token)) as client:
            assert client.put(FIRST, json={}).status_code == 201
            before = most_memory(server)
            attack(server.url, *WAYS[way])
            assert most_memory(server) < before + 50  # MB
            assert client.post(f"{FIRST}/learn", json=row("m")).status_code == 200
        assert server.stop() == 0


def most_memory(server, name="VmHWM"):
    """The most memory that a server has had, or another size, in MB."""
    with open(f"/proc/{server.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1024
