"""Problems of requests as a whole: each kind has its status, and says what to do."""

import asyncio
import errno
import threading

import pytest

from confidently.serve.engine.requests import Request
from confidently.serve.http import calls
from confidently.serve.http.calls import Call
from confidently.serve.problems import Problem, problem_of
from confidently.serve.waiting import Limits
from confidently.serve.work import checking
from tests.serve.running import PATIENCE, blocked, kind_of, teach

FIRST = "/v1/models/m"


def test_too_much_is_refused_with_a_time_to_wait(local):
    server = local(limits=Limits(waiting_rows=2))
    server("PUT", FIRST, {})
    hosted = server.engine.find("m")
    release = blocked(server.engine)
    try:
        waiting = [server.engine.submit(Request(lambda log, request: "done").blocking()) for _ in range(2)]
        answer = server("POST", f"{FIRST}/learn", {"features": {"a": 1}, "label": "x"})
        assert kind_of(answer) == "overloaded"
        assert answer.headers["retry-after"] == "1"
        assert server("POST", f"{FIRST}/predict", {"features": {"a": 1}}).status_code == 200
        assert server("GET", "/readyz").status_code == 200
    finally:
        release.set()
    assert [one.answer() for one in waiting] == ["done", "done"]
    teach(server, [({"a": 1}, "x")])
    assert hosted.metrics.rows == 1


def test_lines_wait_while_there_is_too_much(local, monkeypatch):
    """Each is checked once, and learned once, in its place."""
    server = local(limits=Limits(waiting_rows=2))
    server("PUT", FIRST, {})
    release, checked = blocked(server.engine), []
    check = checking.all_taught
    monkeypatch.setattr(checking, "all_taught", lambda *given: checked.append(1) or check(*given))
    waiting = [server.engine.submit(Request(lambda log, request: "done").blocking()) for _ in range(2)]
    timer = threading.Timer(0.3, release.set)
    timer.start()
    teach(server, [({"a": 1}, "x")] * 3)
    timer.join()
    assert [one.answer() for one in waiting] == ["done", "done"] and len(checked) == 1
    assert server.engine.find("m").metrics.rows == 3


def body_in(*pieces):
    """A call whose body comes in these pieces, without a length that is stated before."""
    messages = iter([{"type": "http.request", "body": piece, "more_body": True} for piece in pieces])

    async def receive():
        return next(messages, {"type": "http.request", "body": b"", "more_body": False})

    return Call({"headers": []}, receive, None, {})


def test_bodies_and_lines_of_the_largest_size_are_read_and_no_larger_ones(monkeypatch):
    monkeypatch.setattr(calls, "MAX_LINE", 10)

    async def lines(*pieces):
        return [line async for some in body_in(*pieces).lines() for line in some]

    assert asyncio.run(body_in(b"12345", b"67890").body(10)) == b"1234567890"
    assert asyncio.run(lines(b"12345", b"67890", b"\n1")) == [b"1234567890", b"1"]
    for work in (body_in(b"12345", b"67890", b"1").body(10), lines(b"1\n12345", b"67890", b"1")):
        with pytest.raises(Problem, match="the most allowed") as caught:
            asyncio.run(work)
        assert caught.value.kind == "too-large"


def test_work_that_takes_long_is_refused_when_the_server_stops(with_model):
    """Whoever waits for it is told."""
    server = with_model()
    going_on = threading.Event()

    def steps():
        while True:
            going_on.set()
            yield None

    async def both():
        call = Call({"headers": []}, None, server.engine, {})
        waiting = asyncio.create_task(call.log(Request(lambda log, request: steps())))
        await asyncio.to_thread(going_on.wait)
        await asyncio.to_thread(server.stop)
        async with asyncio.timeout(PATIENCE):
            await waiting

    with pytest.raises(Problem, match="is being stopped"):
        asyncio.run(both())


def test_a_server_that_stops_or_has_not_begun_says_so(local):
    server = local()
    for state, kind in (("stopping", "stopping"), ("ready", "not-ready")):
        server.engine.stopping = server.engine.ready = state == "stopping"
        assert kind_of(server("GET", "/readyz")) == kind
        assert server("GET", "/livez").status_code == 200
        for method, path, body in (("PUT", FIRST, {}), ("GET", f"{FIRST}/examples", None)):
            assert server(method, path, body).status_code in (503, 404)
    server.engine.stopping, server.engine.ready = False, True
    assert server("GET", "/readyz").status_code == 200


def test_a_full_disk_has_a_problem_of_its_own():
    assert problem_of(OSError(errno.ENOSPC, "no space")).status == 507
    assert problem_of(OSError(errno.EACCES, "denied")).status == 500
    inner = Problem("invalid-row", "why", "/features")
    assert inner.within("/instances/3").as_json()["pointer"] == "/instances/3/features"


def test_the_page_says_what_scripts_it_may_run(local):
    answer = local()("GET", "/")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
