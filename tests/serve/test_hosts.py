"""The Host of requests, and connections after a fault of the server."""

import pytest

from tests.serve.running import threaded
from tests.serve.test_connections import answer_from, problem_in, received
from tests.serve.test_network import FIRST, connected, request_of


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with threaded(tmp_path_factory.mktemp("hosts") / "served") as found:
        with found.client() as client:
            assert client.put(FIRST, json={}).status_code == 201
        yield found


def answer_to(server, *lines):
    with connected(server) as one:
        one.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1"))
        return received(one)


HOSTS = {
    "none": [], "two": ["Host: a", "Host: b"], "two alike": ["Host: a", "host: a"], "two words": ["Host: a b"],
    "an address": ["Host: http://a/"], "a control character": ["Host: a\x01"], "a list": ["Host: a/, b"],
}  # fmt: skip


@pytest.mark.parametrize("hosts", HOSTS.values(), ids=HOSTS)
def test_a_request_has_one_host(server, hosts):
    """RFC 9112, 3.2: otherwise a proxy and the server may each take another host for the one that is meant."""
    assert problem_in(answer_to(server, "GET /livez HTTP/1.1", *hosts)) == "invalid-http"
    accepted = answer_to(server, "GET /livez HTTP/1.0", *hosts).startswith(b"HTTP/1.1 200 ")
    assert accepted == (not hosts)


@pytest.mark.parametrize("host", ["", "localhost:80", "[::1]:8642", "a_b.example", "x ", "%C3%A9.example"])
def test_hosts_of_any_name_are_served(server, host):
    assert answer_to(server, "GET /livez HTTP/1.1", f"Host: {host}").startswith(b"HTTP/1.1 200 ")


def test_what_follows_a_request_without_a_host_is_not_answered(server):
    good = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connected(server) as one:
        one.sendall(good + b"GET /livez HTTP/1.1\r\n\r\n" + good)
        answers = received(one)
    assert [answers.count(status) for status in (b"HTTP/1.1 200 ", b"HTTP/1.1 400 ")] == [1, 1]


def test_a_connection_lives_on_after_a_fault_of_the_server(server, caplog):
    """Also where the body was not read; the fault is in the log of the process."""
    server.server.engine.find("m").live.metrics = None  # which nobody needs until rows come
    with connected(server) as one:
        for path, status in ((f"{FIRST}/metrics", 500), ("/livez", 200), (f"{FIRST}/metrics", 500), ("/livez", 200)):
            one.sendall(request_of(path, {"unread": 1}, "GET"))
            answer = answer_from(one)
            assert answer.startswith(b"HTTP/1.1 %d " % status) and b"connection: close" not in answer
            assert status == 200 or problem_in(answer) == "internal"
            assert b"Traceback" not in answer and b".py" not in answer, "a fault tells nothing of the server"
    faults = [record for record in caplog.records if record.exc_info]
    assert len(faults) == 2 and "AttributeError" in caplog.text
