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
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path

import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState

from confidently.serve.http import app, calls, connections, tokens
from confidently.serve.http.handlers import merging, models
from confidently.serve.http.tokens import Guard, read_tokens
from confidently.serve.waiting import Limits
from tests.serve.running import (
    NDJSON,
    PATIENCE,
    lines_of,
    more_of,
    post_lines,
    refused,
    running,
    threaded,
    wait_until,
)  # fmt: skip
from tests.serve.test_network import FIRST, connected, ids, most_memory, request_of, row
from tests.serve.test_tokens import bearer, token_file

PAGE = Path(__file__).parents[2] / "docs" / "serve.md"
HEAD = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def guarded(tmp_path):
    """Starts servers with one token and a model, by their limits; returns a server, its token and a client."""
    with ExitStack() as stack:

        def start(*options, scopes="predict,learn,label,admin", apart=False, **started):
            path, [token] = token_file(tmp_path, scopes)
            begin = running if "preexec_fn" in started or apart else threaded
            server = stack.enter_context(begin(tmp_path / "served", "--token-file", path, *options, **started))
            alone = httpx.Limits(max_keepalive_connections=0)  # no connection of it is idle
            client = stack.enter_context(server.client(headers=bearer(token), limits=alone))
            assert client.put(FIRST, json={"view": "none"}).status_code == (201 if "admin" in scopes else 403)
            return server, token, client

        yield start


@contextmanager
def limited(folder, **limits):
    """A server with other limits of connections, and a connection to it."""
    limits = {f"http.connections.{name}": value for name, value in limits.items()}
    with threaded(folder / "served", limits=limits) as server, connected(server) as one:
        yield server, one


def head_of(path, token, method="GET"):
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n".encode()


def answers_to(server, content, piece):
    """All answers to what is sent in pieces of a size, by a client that reads meanwhile."""
    found = []
    with connected(server) as one:
        reading = threading.Thread(target=lambda: found.append(received(one)))
        reading.start()
        for begin in range(0, len(content), piece):
            one.sendall(content[begin : begin + piece])
        reading.join()
    return found[0]


def fill(client, n=6000):
    """Teach so many long rows."""
    told = post_lines(
        client.request, f"{FIRST}/learn", [row(f"m-{k}") | {"features": {"t": "x" * 2000}} for k in range(n)]
    )
    assert [one["status"] for one in told] == ["durable"] * n


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
                content = HEAD + b"Connection: close\r\nX: " + b"x" * (size - len("Connectionclose")) + b"\r\n\r\n"
                answer = answers_to(server, content, len(content) // pieces + 1)
                assert answer.startswith(b"HTTP/1.1 %d " % status)
                assert status == 200 or problem_in(answer) == "head-too-large"
        for n, status in ((connections.MAX_HEADERS - 2, 200), (connections.MAX_HEADERS - 1, 431)):
            answer = answers_to(server, HEAD + b"Connection: close\r\n" + b"X: x\r\n" * n + b"\r\n", 1 << 20)
            assert answer.startswith(b"HTTP/1.1 %d " % status)
        answer = answers_to(server, b"GET /" + b"x" * connections.MAX_HEAD + b" HTTP/1.1\r\n", 1 << 20)
        assert problem_in(answer) == "head-too-large"


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
    with limited(tmp_path, HEAD_SECONDS=0.5) as (_, slow):
        slow.sendall(begun)
        with pytest.raises(ConnectionError):
            for _ in range(100):
                time.sleep(0.05)
                slow.sendall(b"x" if begun else b"\r\n")


@pytest.mark.long("waits between parts of a body")
def test_a_head_is_in_time_and_its_body_may_take_longer(tmp_path):
    with limited(tmp_path, HEAD_SECONDS=1.0) as (server, slow):
        with server.client() as client:
            assert client.put(FIRST, json={}).status_code == 201
        content, at = request_of(f"{FIRST}/learn", row("slow")), 0
        for end in (40, content.index(b"{"), -30, -20, None):
            slow.sendall(content[at:end])
            at = end
            time.sleep(0.4)
        assert b"200 OK" in answer_from(slow)
        assert ids(server) == ["slow"]


@pytest.mark.long("waits for two seconds")
def test_a_connection_is_kept_for_a_while(tmp_path):
    with limited(tmp_path, KEEP_SECONDS=1) as (_, kept):
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
    server, token, client = guarded(preexec_fn=few_files(164))  # 50 connections
    with ExitStack() as stack:
        body = json.dumps(row("busy")).encode()
        busy = stack.enter_context(connected(server))
        head = head_of(f"{FIRST}/learn", token, "POST")
        busy.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body[:10])
        idle = [stack.enter_context(connected(server)) for _ in range(250)]
        assert client.post(f"{FIRST}/learn", json=row("other")).status_code == 200
        assert client.get(f"{FIRST}/file").status_code == 409, "a file can be opened too"
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
    server, token, _ = guarded(preexec_fn=few_files(84))  # 10 connections
    with ExitStack() as stack:
        for _ in range(10):
            stream = stack.enter_context(connected(server))
            stream.sendall(head_of("/v1/events", token) + b"\r\n")
            assert b"200 OK" in stream.recv(4096)
        late = stack.enter_context(connected(server))
        late.sendall(HEAD + b"\r\n")
        answer = received(late)
        assert answer.startswith(b"HTTP/1.1 503 ") and b"retry-after: 1" in answer
        assert problem_in(answer) == "overloaded"
        stream.close()

        asked = HEAD + b"Connection: close\r\n\r\n"
        wait_until(lambda: answers_to(server, asked, 1 << 20).startswith(b"HTTP/1.1 200 "))


@pytest.mark.long("a process of few files")
@linux
def test_the_limit_of_files_is_raised_as_far_as_needed(tmp_path):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = 2 * connections.MAX_CONNECTIONS + connections.SPARE_FILES
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))  # noqa: E731
    with running(tmp_path / "served", preexec_fn=few) as server:
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


@pytest.mark.long("a process, and megabytes that nobody reads")
@linux
def test_whoever_has_shown_a_token_may_read_later_while_it_is_one(guarded, tmp_path):
    limits = {"http.connections.UNREAD_SECONDS": 0.3, "http.connections.KEEP_SECONDS": 1}
    server, token, client = guarded(apart=True, limits=limits)
    fill(client)
    asked, found = head_of(f"{FIRST}/examples", token) + b"\r\n", b""
    before = open_sockets(server)
    with unread(server, asked) as later, unread(server, asked):
        time.sleep(1.5)
        later.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        while not found.endswith(b"\r\n0\r\n\r\n"):
            found += more_of(later)
        assert found.count(b'"id":"m-') == 6000
        later.close()
        wait_until(lambda: open_sockets(server) == before + 1)
        time.sleep(1.5)
        assert open_sockets(server) == before + 1
        revoke(server, tmp_path)
        wait_until(lambda: open_sockets(server) == before)


@pytest.mark.long("up to 600 requests at once")
@pytest.mark.parametrize("piece", [1, 2000, 4099, 1 << 20])
def test_requests_that_do_not_wait_for_answers_are_answered_in_their_order(guarded, piece):
    """Whether they come together or apart, with bodies or without, before a token is shown or after."""
    server, token, client = guarded()
    n, begun = (20, []) if piece == 1 else (300, [])
    for k in range(n):
        body = json.dumps(row(f"m-{k}")).encode()
        shown = f"Authorization: Bearer {token}\r\n" if k >= n // 2 else ""
        begun += [
            f"GET {FIRST}?{k} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {k}-get\r\n\r\n".encode(),
            f"POST {FIRST}/learn HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {k}-learn\r\n{shown}".encode(),
            f"Content-Length: {len(body)}\r\n\r\n".encode() + body,
        ]
    content = b"".join(begun) + HEAD + b"Connection: close\r\nX-Request-Id: last\r\n\r\n"
    answered = re.findall(rb"x-request-id: (\S+)", answers_to(server, content, piece))
    assert answered == [b"%d-%s" % (k, what) for k in range(n) for what in (b"get", b"learn")] + [b"last"]
    assert [one["id"] for one in lines_of(client.get(f"{FIRST}/examples"))] == [f"m-{k}" for k in range(n // 2, n)]


@pytest.mark.long("a megabyte in pieces")
@pytest.mark.parametrize("piece", [2047, 70_001, 1 << 20])
def test_large_bodies_between_other_requests_are_read_whole(guarded, piece):
    """Their length is stated, in letters of any case, or they come in chunks."""
    server, token, client = guarded()
    sizes, content = [0, 1990, 2100, 65_500, 70_000, 400_000], b""
    for k, size in enumerate(sizes):
        body = json.dumps({"id": f"m-{k}", "features": {"text": size * "x"}, "label": "a"}).encode()
        head = head_of(f"{FIRST}/learn", token, "POST")
        content += head + [b"Content-Length", b"content-LENGTH"][k % 2] + b": %d\r\n\r\n" % len(body) + body
        content += HEAD + b"\r\n"
        body = body.replace(b"m-", b"chunked-")
        content += head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
    found = answers_to(server, content + HEAD + b"Connection: close\r\n\r\n", piece)
    assert found.count(b"HTTP/1.1 200") == 3 * len(sizes) + 1
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
    server, token, client = guarded(limits={"http.app.LOGIN_SECONDS": 0.5})
    body = json.dumps({"token": token}).encode()
    head = b"POST /session HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    with connected(server) as slow:
        slow.sendall(head)
        with suppress(ConnectionError):
            for k in range(len(body)):
                slow.sendall(body[k : k + 1])
                time.sleep(0.05)
        assert problem_in(received(slow)) == "slow-body"
    assert answers_to(server, head + body, 1 << 20).startswith(b"HTTP/1.1 200 ")
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
            expected += [f"{size}-{k}" for k in range(40)]
            body = "\n \n".join(json.dumps(row(id)) for id in expected[-40:]).encode()
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
    server, _, client = guarded(scopes="predict", limits={"http.handlers.directory.SSE_SECONDS": 0.05})
    with client.stream("GET", "/v1/events") as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("id:"))
        revoke(server, tmp_path)
        assert len(list(islice(lines, 200))) < 200, "they end"
        assert client.get("/v1/events").status_code == 401


@pytest.mark.long("a session of three seconds")
def test_events_end_with_their_session(guarded):
    server, token, _ = guarded(limits={"http.tokens.SESSION_SECONDS": 3.0, "http.handlers.directory.SSE_SECONDS": 0.05})
    with server.client() as client:
        assert client.post("/session", json={"token": token}).status_code == 200
        with client.stream("GET", "/v1/events") as stream:
            lines = stream.iter_lines()
            assert next(line for line in lines if line.startswith("id:"))
            assert len(list(islice(lines, 200))) < 200, "they end"
        assert client.get("/v1/models").status_code == 401


@pytest.mark.long("waits within a body")
def test_rows_are_learned_until_their_token_ends(guarded, tmp_path):
    server, _, client = guarded()

    def body():
        yield (json.dumps(row("before")) + "\n").encode()
        time.sleep(0.5)
        revoke(server, tmp_path)
        yield (json.dumps(row("after")) + "\n").encode()

    told = lines_of(client.post(f"{FIRST}/learn", content=body(), headers=NDJSON))
    assert told[-1]["type"] == "urn:confidently:unauthorized"
    assert "after" not in [one.get("id") for one in told]


@pytest.mark.long("6,000 rows that nobody reads")
@pytest.mark.parametrize("path", ["examples", "file"])
def test_an_answer_whose_token_ends_is_cut(guarded, tmp_path, path):
    """It does not look complete, and leaves nothing."""
    server, token, client = guarded()
    if path == "examples":
        fill(client)
    else:
        rows = [{"features": {f"{k}-{j}": 1 for j in range(200)}, "label": "ab"[k % 2]} for k in range(1500)]
        post_lines(client.request, f"{FIRST}/learn?wait=learned", rows)
    whole = client.get(f"{FIRST}/{path}").content
    with unread(server, head_of(f"{FIRST}/{path}", token) + b"\r\n") as later:
        time.sleep(1.0)
        revoke(server, tmp_path)
        later.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        found = received(later)
    assert 1000 < len(found) < len(whole) and not found.endswith(b"\r\n0\r\n\r\n")
    wait_until(lambda: not list((tmp_path / "served").glob(".passing-*")))
    assert server.stop() == 0
    assert not any("Traceback" in line for line in server.told), server.told


# --- behind a proxy --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("url", "secure"), [
    ("https://learn.example.org", True), ("https://Learn.example.org:443/", True),
    ("http://learn.example.org:80", False), (None, False),
])  # fmt: skip
def test_cookies_behind_a_proxy_and_without_one(local, tmp_path, url, secure):
    path, [token] = token_file(tmp_path, "admin")
    server = local(guard=Guard(read_tokens(path), *([] if url is None else [url])))
    origin = f"http{'s' * secure}://learn.example.org" if url else "http://localhost"
    behind = {"Host": "inside:8642"} if url else {}
    answer = server("POST", "/session", {"token": token}, headers=behind | {"Origin": origin})
    assert answer.status_code == 200 and ("Secure" in answer.headers["set-cookie"]) == secure
    for other in ("https://evil.example", f"{origin}.evil.example", "null", f"{origin}:8"):
        wrong = server("POST", "/session", {"token": token}, headers=behind | {"Origin": other})
        assert wrong.status_code == 403


@pytest.mark.parametrize("url", [
    "learn.example.org", "ftp://example.org", "https://", "https://a\n", "https://a/b?c", "https://a/../b", "https://a//b",
    "https://a/v1", "https://a/page/b", "https://a/b\n",
])  # fmt: skip
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


# --- the Host of requests, and faults --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    with threaded(tmp_path_factory.mktemp("hosts") / "served") as found:
        with found.client() as client:
            assert client.put(FIRST, json={}).status_code == 201
        yield found


def answer_to(server, *lines):
    return answers_to(server, "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1"), 1 << 20)


HOSTS = {
    "none": [], "two": ["Host: a", "Host: b"], "two alike": ["Host: a", "host: a"], "two words": ["Host: a b"],
    "an address": ["Host: http://a/"], "a control character": ["Host: a\x01"], "a list": ["Host: a/, b"],
}  # fmt: skip


@pytest.mark.parametrize("given", HOSTS.values(), ids=HOSTS)
def test_a_request_has_one_host(hosts, given):
    """RFC 9112, 3.2: otherwise a proxy and the server may each take another host for the one that is meant."""
    assert problem_in(answer_to(hosts, "GET /livez HTTP/1.1", *given)) == "invalid-http"
    accepted = answer_to(hosts, "GET /livez HTTP/1.0", *given).startswith(b"HTTP/1.1 200 ")
    assert accepted == (not given)


@pytest.mark.parametrize("host", ["", "localhost:80", "[::1]:8642", "a_b.example", "x ", "%C3%A9.example"])
def test_hosts_of_any_name_are_served(hosts, host):
    assert answer_to(hosts, "GET /livez HTTP/1.1", f"Host: {host}").startswith(b"HTTP/1.1 200 ")


def test_what_follows_a_request_without_a_host_is_not_answered(hosts):
    good = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answers = answers_to(hosts, good + b"GET /livez HTTP/1.1\r\n\r\n" + good, 1 << 20)
    assert [answers.count(status) for status in (b"HTTP/1.1 200 ", b"HTTP/1.1 400 ")] == [1, 1]


def test_a_connection_lives_on_after_a_fault_of_the_server(hosts, caplog):
    """Also where the body was not read; the fault is in the log of the process."""
    hosts.server.engine.find("m").live.metrics = None  # which nobody needs until rows come
    with connected(hosts) as one:
        for path, status in ((f"{FIRST}/metrics", 500), ("/livez", 200), (f"{FIRST}/metrics", 500), ("/livez", 200)):
            one.sendall(request_of(path, {"unread": 1}, "GET"))
            answer = answer_from(one)
            assert answer.startswith(b"HTTP/1.1 %d " % status) and b"connection: close" not in answer
            assert status == 200 or problem_in(answer) == "internal"
            assert b"Traceback" not in answer and b".py" not in answer, "a fault tells nothing of the server"
    faults = [record for record in caplog.records if record.exc_info]
    assert len(faults) == 2 and "AttributeError" in caplog.text
