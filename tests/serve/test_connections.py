"""Limits of connections, of what is kept before a token is known, and of streams whose token ends."""

import asyncio
import gc
import json
import os
import re
import resource
import socket
import sys
import threading
import time
import weakref
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path

import pytest
import uvicorn
from uvicorn.server import ServerState

from confidently.serve.http import app, calls, connections, tokens
from confidently.serve.http.handlers import merging, models
from confidently.serve.waiting import Limits
from tests.serve.running import NDJSON, PATIENCE, as_lines, lines_of, more_of, refused, running, threaded, wait_until
from tests.serve.test_network import FIRST, connected, ids, most_memory, row
from tests.serve.test_tokens import bearer, token_file

PAGE = Path(__file__).parents[2] / "docs" / "serve.md"
HEAD = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def guarded(tmp_path):
    """Starts servers with one token, by their limits; returns a server and its token."""
    with ExitStack() as stack:

        def start(*options, scopes="predict,learn,label,admin", apart=False, **started):
            path, [token] = token_file(tmp_path, scopes)
            begin = running if "preexec_fn" in started or apart else threaded
            return stack.enter_context(begin(tmp_path / "served", "--token-file", path, *options, **started)), token

        yield start


def received(connection):
    """All that a server sends until it closes the connection."""
    found = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            found += piece
    return found


def answer_from(connection):
    """One answer whose length is stated."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += more_of(connection)
    head, _, body = found.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += more_of(connection)
    return head + b"\r\n\r\n" + body


def problem_in(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    found = json.loads(body)
    assert head.startswith(b"HTTP/1.1 %d " % found["status"])
    return found["type"].removeprefix("urn:confidently:")


def send_until_refused(connection, piece, n):
    with suppress(ConnectionError):
        for _ in range(n):
            connection.sendall(piece)


# --- heads -----------------------------------------------------------------------------------------------------------


def test_the_largest_head_is_answered_and_a_larger_one_refused(tmp_path):
    fixed = len("/livez") + len("Hostlocalhost") + len("X")
    with threaded(tmp_path / "served") as server:
        for size, status in ((connections.MAX_HEAD - fixed, 200), (connections.MAX_HEAD - fixed + 1, 431)):
            for pieces in (1, 7):
                with connected(server) as one:
                    content = HEAD + b"Connection: close\r\nX: " + b"x" * (size - len("Connectionclose")) + b"\r\n\r\n"
                    for k in range(pieces):
                        one.sendall(content[k * len(content) // pieces : (k + 1) * len(content) // pieces])
                    answer = received(one)
                    assert answer.startswith(b"HTTP/1.1 %d " % status)
                    assert status == 200 or problem_in(answer) == "head-too-large"
        for n, status in ((connections.MAX_HEADERS - 2, 200), (connections.MAX_HEADERS - 1, 431)):
            with connected(server) as one:
                one.sendall(HEAD + b"Connection: close\r\n" + b"X: x\r\n" * n + b"\r\n")
                assert received(one).startswith(b"HTTP/1.1 %d " % status)
        with connected(server) as one:
            one.sendall(b"GET /" + b"x" * connections.MAX_HEAD + b" HTTP/1.1\r\n")
            assert problem_in(received(one)) == "head-too-large"


ENDLESS = {
    "nothing": b"",
    "address": b"GET /",
    "name": b"GET / HTTP/1.1\r\nX",
    "header": b"GET / HTTP/1.1\r\nX: ",
    "trailer": b"POST /session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
    "chunk": b"POST /session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;",
}


@pytest.mark.long("twelve connections of megabytes")
@linux
def test_what_never_ends_is_not_kept(tmp_path):
    with running(tmp_path / "served") as server:
        before = most_memory(server)
        for name, begin in ENDLESS.items():
            for piece in (b"x" * 60000, b"x: x\r\n" * 10000):
                with connected(server) as endless:
                    endless.sendall(begin)
                    send_until_refused(endless, piece, 1000)
                assert most_memory(server) < before + 15, name
        with server.client() as client:
            assert client.get("/livez").status_code == 200


HALF = {
    "nothing": (b"", 0, b""),
    "line": (b"GET /livez HT", 0, b""),
    "head": (HEAD, 0, b"X: x\r\n"),
    "empty lines": (HEAD + b"\r\n", 1, b"\r\n"),
    "second head": (HEAD + b"\r\n" + HEAD, 1, b"X"),
    "body": (HEAD + b"Content-Length: 10\r\n\r\n", 1, b"x"),
    "refused body": (b"POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n", 1, b"x"),
}


@pytest.mark.long("waits for seven heads")
def test_a_request_whose_head_does_not_come_is_given_up(tmp_path):
    """Also after an answer, and where an answer is there before the body, whose rest is dribbled."""
    with threaded(tmp_path / "served", limits={"http.connections.HEAD_SECONDS": 0.5}) as server:
        for name, (content, answers, further) in HALF.items():
            with connected(server) as half:
                half.sendall(content)
                if answers:
                    assert answer_from(half).startswith(b"HTTP/1.1 "), name
                time.sleep(0.1)
                with suppress(ConnectionError):
                    half.sendall(further)
                assert received(half) == b"", name


@pytest.mark.long("waits between bytes")
@pytest.mark.parametrize("begun", [b"", HEAD + b"X: "], ids=["lines", "a header"])
def test_a_head_that_comes_byte_by_byte_is_given_up(tmp_path, begun):
    """As a whole it has to be in time, however often something of it comes."""
    with (
        threaded(tmp_path / "served", limits={"http.connections.HEAD_SECONDS": 0.5}) as server,
        connected(server) as slow,
    ):
        slow.sendall(begun)
        with pytest.raises(ConnectionError):
            for _ in range(100):
                time.sleep(0.05)
                slow.sendall(b"x" if begun else b"\r\n")


@pytest.mark.long("waits between parts of a body")
def test_a_head_is_in_time_and_its_body_may_take_longer(tmp_path):
    with (
        threaded(tmp_path / "served", limits={"http.connections.HEAD_SECONDS": 1.0}) as server,
        connected(server) as slow,
    ):
        with server.client() as client:
            assert client.put(FIRST, json={}).status_code == 201
        body = json.dumps(row("slow")).encode()
        head = f"POST {FIRST}/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        for part in (head[:40], head[40:], body[:10], body[10:20], body[20:]):
            slow.sendall(part)
            time.sleep(0.4)
        assert b"200 OK" in answer_from(slow)
        assert ids(server) == ["slow"]


@pytest.mark.long("waits for two seconds")
def test_a_connection_is_kept_for_a_while(tmp_path):
    with (
        threaded(tmp_path / "served", limits={"http.connections.KEEP_SECONDS": 1}) as server,
        connected(server) as kept,
    ):
        for _ in range(3):
            kept.sendall(HEAD + b"\r\n")
            assert b"200 OK" in answer_from(kept)
            time.sleep(0.4)
        assert received(kept) == b""


# --- how many there are ----------------------------------------------------------------------------------------------


def few_files(n):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))


@pytest.mark.long("a process of few files")
@linux
def test_idle_connections_do_not_keep_others_out(guarded):
    """More than there are file descriptors: the ones idle for longest go, one with a request under way stays."""
    server, token = guarded(preexec_fn=few_files(164))  # 50 connections
    with ExitStack() as stack, server.client(headers=bearer(token)) as client:
        assert client.put(FIRST, json={}).status_code == 201
        body = json.dumps(row("busy")).encode()
        busy = stack.enter_context(connected(server))
        head = f"POST {FIRST}/learn HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        busy.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:10])
        idle = [stack.enter_context(connected(server)) for _ in range(250)]
        with server.client(headers=bearer(token)) as other:
            assert other.post(f"{FIRST}/learn", json=row("other")).status_code == 200
            assert other.get(f"{FIRST}/file").status_code == 409, "a file can be opened too"
        busy.sendall(body[10:])
        assert b"200 OK" in answer_from(busy)
        assert received(idle[0]) == b"" and received(idle[100]) == b""
        idle[-1].sendall(HEAD + b"\r\n")
        assert b"200 OK" in answer_from(idle[-1]), "the newest are open"
        wait_until(lambda: client.get(FIRST).json()["rows"] == 2)
    assert server.stop() == 0


@pytest.mark.long("a process of few files")
@linux
def test_the_connection_that_has_been_idle_for_longest_goes_first(tmp_path):
    """Since its last request, not since it was made."""
    with running(tmp_path / "served", preexec_fn=few_files(84)) as server, ExitStack() as stack:  # 10 connections
        idle = [stack.enter_context(connected(server)) for _ in range(10)]
        for one in reversed(idle):
            one.sendall(HEAD + b"\r\n")
            assert b"200 OK" in answer_from(one)
            time.sleep(0.02)  # the clock of the event loop has milliseconds
        for gone, stays in zip(idle[:6:-1], idle[6:3:-1], strict=True):
            stack.enter_context(connected(server))
            assert received(gone) == b""
            stays.sendall(HEAD + b"\r\n")
            assert b"200 OK" in answer_from(stays)
            time.sleep(0.02)


@pytest.mark.long("a process of few files")
@linux
def test_a_connection_beyond_the_limit_is_refused_while_all_others_are_busy(guarded):
    server, token = guarded(preexec_fn=few_files(84))  # 10 connections
    with ExitStack() as stack:
        for _ in range(10):
            stream = stack.enter_context(connected(server))
            stream.sendall(
                f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
            )
            assert b"200 OK" in stream.recv(4096)
        late = stack.enter_context(connected(server))
        late.sendall(HEAD + b"\r\n")
        answer = received(late)
        assert answer.startswith(b"HTTP/1.1 503 ") and b"retry-after: 1" in answer
        assert problem_in(answer) == "overloaded"
        stream.close()

        def is_served():
            with connected(server) as again:
                again.sendall(HEAD + b"Connection: close\r\n\r\n")
                return received(again).startswith(b"HTTP/1.1 200 ")

        wait_until(is_served)


@pytest.mark.long("a process of few files")
@linux
def test_the_limit_of_files_is_raised_as_far_as_needed(tmp_path):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = 2 * connections.MAX_CONNECTIONS + connections.SPARE_FILES
    with running(
        tmp_path / "served", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
    ) as server:
        soft = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)[0]
        assert soft == min(wanted, hard if hard != resource.RLIM_INFINITY else wanted)


# --- answers that nobody reads ---------------------------------------------------------------------------------------


def unread(server, request, times=1):
    """A connection that sends requests and reads nothing."""
    host, port = server.url.removeprefix("http://").split(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(PATIENCE)
    connection.connect((host, int(port)))
    connection.sendall(request * times)
    return connection


def open_sockets(server):
    folder = f"/proc/{server.process.pid}/fd"
    with suppress(FileNotFoundError):
        return sum(os.readlink(f"{folder}/{name}").startswith("socket:") for name in os.listdir(folder))
    return 0


@pytest.mark.long("a process, and megabytes that nobody reads")
@linux
def test_answers_that_nobody_reads_are_given_up(tmp_path):
    """However much of them waits: little, so that the server had no reason to pause, or more than it holds."""
    limits = {"http.connections.UNREAD_SECONDS": 0.5, "http.connections.KEEP_SECONDS": 1}
    one = b"GET /page/style.css HTTP/1.1\r\nHost: localhost\r\n"
    endings = [one + b"\r\n", one + b"Connection: close\r\n\r\n", one + b"X: " + b"x" * 70_000 + b"\r\n\r\n"]
    with running(tmp_path / "served", limits=limits) as server, ExitStack() as stack:
        before = open_sockets(server)
        for times in (0, 1, *range(100, 200, 12), 400):
            for ending in endings:
                lazy = stack.enter_context(unread(server, one + b"\r\n", times))
                with suppress(ConnectionError):
                    lazy.sendall(ending)
        wait_until(lambda: open_sockets(server) > before)
        wait_until(lambda: open_sockets(server) == before)


@pytest.mark.long("reads for five seconds")
def test_an_answer_that_is_read_slowly_is_sent_to_its_end(tmp_path):
    """The server waits several times, each time for less than it allows, and for longer than that in all."""
    one, n, seconds = b"GET /page/style.css HTTP/1.1\r\nHost: localhost\r\n", 500, 1.5
    with threaded(tmp_path / "served", limits={"http.connections.UNREAD_SECONDS": seconds}) as server:
        with server.client() as client:
            size = n * len(client.get("/page/style.css").content)
        with unread(server, one + b"\r\n", n - 1) as slow:
            slow.sendall(one + b"Connection: close\r\n\r\n")
            began, found = time.monotonic(), 0
            with suppress(ConnectionResetError):
                while piece := slow.recv(65536):
                    found += len(piece)
                    time.sleep(max(began + 3 * seconds * found / size - time.monotonic(), 0.0))
        assert found > size


@pytest.mark.long("megabytes that nobody reads")
def test_whoever_has_shown_a_token_may_read_later(guarded):
    server, token = guarded(limits={"http.connections.UNREAD_SECONDS": 0.3, "http.connections.KEEP_SECONDS": 1})
    n = 6000
    with server.client(headers=bearer(token)) as client:
        client.put(FIRST, json={"view": "none"})
        lines = "".join(json.dumps(row(f"m-{k}") | {"features": {"t": "x" * 2000}}) + "\n" for k in range(n))
        told = client.post(f"{FIRST}/learn?wait=learned", content=lines, headers=NDJSON)
        assert told.text.count('"learned"') == n
    head = f"GET {FIRST}/examples HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    with unread(server, head) as later:
        time.sleep(1.5)
        later.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        found = b""
        while not found.endswith(b"\r\n0\r\n\r\n"):
            found += more_of(later)
    assert found.count(b'"id":"m-') == n


@pytest.mark.long("up to 600 requests at once")
@pytest.mark.parametrize("piece", [1, 2000, 4099, 1 << 20])
def test_requests_that_do_not_wait_for_answers_are_answered_in_their_order(guarded, piece):
    """Whether they come together or apart, with bodies or without, before a token is shown or after."""
    server, token = guarded()
    with server.client(headers=bearer(token)) as client:
        client.put(FIRST, json={"view": "none"})
    n, begun = (20, []) if piece == 1 else (300, [])
    for k in range(n):
        body = json.dumps(row(f"m-{k}")).encode()
        shown = f"Authorization: Bearer {token}\r\n" if k >= n // 2 else ""
        begun += [
            f"GET {FIRST}?{k} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {k}-get\r\n\r\n".encode(),
            f"POST {FIRST}/learn HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {k}-learn\r\n{shown}".encode(),
            f"Content-Length: {len(body)}\r\n\r\n".encode() + body,
        ]
    content, found = b"".join(begun) + HEAD + b"Connection: close\r\nX-Request-Id: last\r\n\r\n", []
    with connected(server) as one:
        reading = threading.Thread(target=lambda: found.append(received(one)))
        reading.start()
        for begin in range(0, len(content), piece):
            one.sendall(content[begin : begin + piece])
        reading.join()
    answered = re.findall(rb"x-request-id: (\S+)", found[0])
    assert answered == [b"%d-%s" % (k, what) for k in range(n) for what in (b"get", b"learn")] + [b"last"]
    with server.client(headers=bearer(token)) as client:
        assert [one["id"] for one in lines_of(client.get(f"{FIRST}/examples"))] == [f"m-{k}" for k in range(n // 2, n)]


@pytest.mark.long("a megabyte in pieces")
@pytest.mark.parametrize("piece", [2047, 70_001, 1 << 20])
def test_large_bodies_between_other_requests_are_read_whole(guarded, piece):
    """Their length is stated, in letters of any case, or they come in chunks."""
    server, token = guarded()
    with server.client(headers=bearer(token)) as client:
        client.put(FIRST, json={"view": "none"})
    sizes, content = [0, 1990, 2100, 65_500, 70_000, 400_000], b""
    for k, size in enumerate(sizes):
        body = json.dumps({"id": f"m-{k}", "features": {"text": size * "x"}, "label": "a"}).encode()
        head = f"POST {FIRST}/learn HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n".encode()
        content += head + [b"Content-Length", b"content-LENGTH"][k % 2] + b": %d\r\n\r\n" % len(body) + body
        content += HEAD + b"\r\n"
        body = body.replace(b"m-", b"chunked-")
        content += head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
    found = []
    with connected(server) as one:
        reading = threading.Thread(target=lambda: found.append(received(one)))
        reading.start()
        for begin in range(0, len(content), piece):
            one.sendall(content[begin : begin + piece])
        one.sendall(HEAD + b"Connection: close\r\n\r\n")
        reading.join()
    assert found[0].count(b"HTTP/1.1 200") == 3 * len(sizes) + 1
    with server.client(headers=bearer(token)) as client:
        rows = lines_of(client.get(f"{FIRST}/examples"))
    expected = [(f"{name}-{k}", size) for k, size in enumerate(sizes) for name in ("m", "chunked")]
    assert [(row["id"], len(row["features"]["text"])) for row in rows] == expected


async def asked_and_left():
    """Let clients ask for much, read nothing, and go; return what is left of their connections in the server."""

    async def much(scope, receive, send):
        connections.admit(scope, lambda: None)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(8 << 20)})

    made, config = [], uvicorn.Config(much, lifespan="off", access_log=False, timeout_keep_alive=1)
    config.load()

    def connection():
        found = connections.Connection(config, ServerState(), {})
        made.append(weakref.ref(found))
        return found

    loop = asyncio.get_running_loop()
    server = await loop.create_server(connection, "127.0.0.1", 0)
    for _ in range(3):
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(HEAD + b"\r\n")
        await asyncio.sleep(0.2)
        writer.transport.abort()
    server.close()
    until = loop.time() + 5.0
    while any(one() is not None for one in made) and loop.time() < until:
        await asyncio.sleep(0.1)
        gc.collect()
    return [one() for one in made]


@pytest.mark.long("waits until nothing more is asked")
def test_a_connection_that_ends_while_it_is_waited_for_is_forgotten(monkeypatch):
    """Its answer is made to its end, and nothing asks again and again whether it may still be sent."""
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.1)
    assert asyncio.run(asked_and_left()) == [None] * 3


# --- before a token is known -----------------------------------------------------------------------------------------


@pytest.mark.long("waits between bytes")
def test_a_login_has_to_come_in_time(guarded):
    """As a whole: byte after byte it would take for ever."""
    server, token = guarded(limits={"http.app.LOGIN_SECONDS": 0.5})
    body = json.dumps({"token": token}).encode()
    head = b"POST /session HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    with connected(server) as slow:
        slow.sendall(head)
        with suppress(ConnectionError):
            for k in range(len(body)):
                slow.sendall(body[k : k + 1])
                time.sleep(0.05)
        assert problem_in(received(slow)) == "slow-body"
    with connected(server) as quick:
        quick.sendall(head + body)
        assert received(quick).startswith(b"HTTP/1.1 200 ")
    with server.client() as client:
        assert client.post("/session", json={"token": "x" * app.MAX_LOGIN}).status_code == 413


# --- lines -----------------------------------------------------------------------------------------------------------


def seconds_of_bytes_after(begun):
    """Processor time to read a line of which so many bytes are there, and 500 more one by one."""
    pieces = [b'"' + b"x" * begun, *[b"x"] * 500, b'"\n']
    messages = iter([{"type": "http.request", "body": piece, "more_body": True} for piece in pieces])
    end = {"type": "http.request", "body": b"", "more_body": False}

    async def receive():
        return next(messages, end)

    async def read():
        call = calls.Call({"headers": []}, receive, None, {})
        return [line async for lines in call.lines() for line in lines]

    began = time.thread_time()
    [line] = asyncio.run(read())
    assert len(line) == begun + 502
    return time.thread_time() - began


def test_a_long_line_that_comes_byte_by_byte_costs_what_a_short_one_does():
    short, long = (min(seconds_of_bytes_after(begun) for _ in range(3)) for begun in (0, 3 << 20))
    assert long < 20 * short, "copied for each byte, a line of 3 MB takes a hundred times as long"


def test_lines_in_pieces_are_the_lines(tmp_path):
    with threaded(tmp_path / "served") as server, server.client() as client:
        client.put(FIRST, json={})
        expected = []
        for size in (1, 7, 64, 4096):
            rows = [row(f"{size}-{k}") for k in range(40)]
            expected += [one["id"] for one in rows]
            body = "\n \n".join(json.dumps(one) for one in rows).encode()
            pieces = (body[k : k + size] for k in range(0, len(body), size))
            told = client.post(f"{FIRST}/learn", content=pieces, headers=NDJSON)
            assert [one["id"] for one in lines_of(told)] == expected[-40:]
        assert ids(server) == expected


# --- tokens that end -------------------------------------------------------------------------------------------------


def revoke(server, folder):
    """Replace the tokens of a server."""
    token_file(folder, "admin")
    server.reload()
    wait_until(lambda: any("tokens read from" in line for line in server.told))


def test_events_end_with_their_token(guarded, tmp_path):
    server, token = guarded(scopes="predict", limits={"http.handlers.directory.SSE_SECONDS": 0.05})
    with server.client() as client, client.stream("GET", "/v1/events", headers=bearer(token)) as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("id:"))
        revoke(server, tmp_path)
        assert len(list(islice(lines, 200))) < 200, "they end"
        assert client.get("/v1/events", headers=bearer(token)).status_code == 401


@pytest.mark.long("a session of three seconds")
def test_events_end_with_their_session(guarded):
    server, token = guarded(limits={"http.tokens.SESSION_SECONDS": 3.0, "http.handlers.directory.SSE_SECONDS": 0.05})
    with server.client() as client:
        assert client.post("/session", json={"token": token}).status_code == 200
        with client.stream("GET", "/v1/events") as stream:
            lines = stream.iter_lines()
            assert next(line for line in lines if line.startswith("id:"))
            assert len(list(islice(lines, 200))) < 200, "they end"
        assert client.get("/v1/models").status_code == 401


@pytest.mark.long("waits within a body")
def test_rows_are_learned_until_their_token_ends(guarded, tmp_path):
    server, token = guarded()
    with server.client() as client:
        client.put(FIRST, json={}, headers=bearer(token))

    def body():
        yield (json.dumps(row("before")) + "\n").encode()
        time.sleep(0.5)
        revoke(server, tmp_path)
        yield (json.dumps(row("after")) + "\n").encode()

    with server.client() as client:
        headers = bearer(token) | NDJSON
        told = lines_of(client.post(f"{FIRST}/learn", content=body(), headers=headers))
    assert told[-1]["type"] == "urn:confidently:unauthorized"
    assert "after" not in [one.get("id") for one in told]


@pytest.mark.long("6,000 rows that nobody reads")
def test_an_export_whose_token_ends_is_cut(guarded, tmp_path):
    """It does not look complete."""
    server, token = guarded()
    with server.client(headers=bearer(token)) as client:
        client.put(FIRST, json={"view": "none"})
        lines = "".join(json.dumps(row(f"m-{k}") | {"features": {"t": "x" * 2000}}) + "\n" for k in range(6000))
        client.post(f"{FIRST}/learn?wait=learned", content=lines, headers=NDJSON)
    head = f"GET {FIRST}/examples HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    with unread(server, head) as later:
        time.sleep(0.5)
        revoke(server, tmp_path)
        later.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        found = received(later)
    assert b'"id":"m-0"' in found and b'"id":"m-5999"' not in found
    assert not found.endswith(b"\r\n0\r\n\r\n")
    assert server.stop() == 0
    assert not any("Traceback" in line for line in server.told), server.told


@pytest.mark.long("a file of many megabytes")
def test_a_model_file_whose_token_ends_is_cut(guarded, tmp_path):
    server, token = guarded()
    with server.client(headers=bearer(token)) as client:
        client.put(FIRST, json={"view": "none"})
        rows = [{"features": {f"{k}-{j}": 1 for j in range(200)}, "label": "ab"[k % 2]} for k in range(1500)]
        lines = as_lines(rows)
        client.post(f"{FIRST}/learn?wait=learned", content=lines, headers=NDJSON)
        size = int(client.get(f"{FIRST}/file").headers["content-length"])
    head = f"GET {FIRST}/file HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    with unread(server, head) as later:
        wait_until(lambda: list((tmp_path / "served").glob(".passing-*")))
        time.sleep(0.5)
        revoke(server, tmp_path)
        later.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        assert len(received(later)) < size
    wait_until(lambda: not list((tmp_path / "served").glob(".passing-*")))
    assert server.stop() == 0
    assert not any("Traceback" in line for line in server.told), server.told


@pytest.mark.long("a process, and megabytes that nobody reads")
@linux
def test_whoever_has_shown_a_token_may_read_later_only_while_it_is_one(guarded, tmp_path):
    server, token = guarded(
        apart=True, limits={"http.connections.UNREAD_SECONDS": 0.3, "http.connections.KEEP_SECONDS": 1}
    )
    before = open_sockets(server)
    with server.client(headers=bearer(token)) as client:
        client.put(FIRST, json={"view": "none"})
        lines = "".join(json.dumps(row(f"m-{k}") | {"features": {"t": "x" * 2000}}) + "\n" for k in range(6000))
        client.post(f"{FIRST}/learn", content=lines, headers=NDJSON)
    head = f"GET {FIRST}/examples HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    with unread(server, head):
        time.sleep(1.5)
        assert open_sockets(server) > before
        revoke(server, tmp_path)
        wait_until(lambda: open_sockets(server) == before)


# --- behind a proxy --------------------------------------------------------------------------------------------------


@pytest.mark.long("a server for each address")
@pytest.mark.parametrize(
    ("url", "secure"),
    [
        ("https://learn.example.org", True),
        ("https://Learn.example.org:443/", True),
        ("http://learn.example.org:80", False),
    ],
)
def test_cookies_behind_a_proxy_with_tls(guarded, url, secure):
    server, token = guarded("--public-url", url)
    origin = {"Origin": "https://learn.example.org" if secure else "http://learn.example.org", "Host": "inside:8642"}
    with server.client() as client:
        answer = client.post("/session", json={"token": token}, headers=origin)
        assert answer.status_code == 200
        assert ("Secure" in answer.headers["set-cookie"]) == secure
        for other in (
            "https://evil.example",
            "https://learn.example.org.evil.example",
            "null",
            "https://learn.example.org:8",
        ):
            wrong = client.post("/session", json={"token": token}, headers=origin | {"Origin": other})
            assert wrong.status_code == 403


def test_cookies_without_a_proxy(guarded):
    server, token = guarded()
    with server.client() as client:
        assert "Secure" not in client.post("/session", json={"token": token}).headers["set-cookie"]


@pytest.mark.parametrize(
    "url",
    [
        "learn.example.org", "ftp://example.org", "https://", "https://a\n", "https://a/b?c", "https://a/../b",
        "https://a//b", "https://a/v1", "https://a/page/b", "https://a/b\n",
    ],
)  # fmt: skip
def test_public_addresses_that_are_none(tmp_path, url):
    status, told = refused(tmp_path / "served", "--public-url", url)
    assert status == 2 and "--public-url: expected https://HOST, https://HOST:PORT or one" in told


def test_the_limits_of_the_documentation_are_those_of_the_server():
    kib, mib, gib, spare = 1 << 10, 1 << 20, 1 << 30, connections.SPARE_FILES
    told = {
        "| connections": f"{connections.MAX_CONNECTIONS:,}, or half of the file descriptors less {spare}",
        "| address and headers": f"{connections.MAX_HEAD // kib} KiB, {connections.MAX_HEADERS} headers",
        "| time for address": f"{connections.HEAD_SECONDS:.0f} s",
        "| time between two requests": f"{connections.KEEP_SECONDS} s",
        "| an answer that is not read": f"{connections.UNREAD_SECONDS:.0f} s",
        "| the body of a login": f"{app.MAX_LOGIN // kib} KiB, {app.LOGIN_SECONDS:.0f} s",
        "| a body of JSON": f"{calls.MAX_BODY // mib} MiB",
        "| a line of NDJSON": f"{calls.MAX_LINE // mib} MiB",
        "| a model file": f"{models.MAX_FILE // gib} GiB",
        "| a contribution": f"{merging.MAX_CONTRIBUTION // mib} MiB",
        "| time between two parts": f"{calls.BODY_SECONDS:.0f} s",
        "| rows that wait": f"{Limits().waiting_rows:,}, {Limits().waiting_bytes // mib} MiB",
        "| a session": f"{tokens.SESSION_SECONDS / 3600:.0f} hours",
    }
    lines = PAGE.read_text().splitlines()
    for name, value in told.items():
        [line] = [line for line in lines if line.startswith(name)]
        assert line.split("|")[2].strip() == value
