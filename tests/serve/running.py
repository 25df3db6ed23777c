"""Servers in processes of their own, and how tests speak with them."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from unittest import mock

import httpx
from prometheus_client.parser import text_string_to_metric_families

from confidently.cli import run
from confidently.serve import server as server_module
from confidently.serve.engine.requests import Request
from confidently.serve.problems import KINDS
from tests.command_line import here

COMMAND = [sys.executable, "-m", "confidently", "serve"]
PATIENCE = 60.0  # seconds, for what is soon there
NDJSON = {"Content-Type": "application/x-ndjson"}


def command(limits):
    """``confidently serve`` with other limits than its own, such as ``{"http.connections.HEAD_SECONDS": 0.2}``."""
    if not limits:
        return COMMAND
    lines = [
        f"import confidently.serve.{name.rpartition('.')[0]}; confidently.serve.{name} = {value!r}"
        for name, value in limits.items()
    ]
    lines.append("from confidently.__main__ import main; main()")
    return [sys.executable, "-c", "\n".join(lines), "serve"]


class ServerProcess:
    """``confidently serve`` of one folder."""

    def __init__(self, folder, *options, limits=None, **started):
        self.process = subprocess.Popen(
            [*command(limits), str(folder), "--port", "0", *map(str, options)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **started,
        )  # fmt: skip
        self.told = []
        self._reading = threading.Thread(target=self._read_errors, daemon=True)
        self._reading.start()
        first = self.process.stdout.readline()
        assert "http://" in first, f"{first}{self.wait()} {self.told}"
        self.url = first[first.index("http://") :].split()[0]

    def _read_errors(self):
        for line in self.process.stderr:
            self.told.append(line.rstrip("\n"))

    def client(self, **options):
        return httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False, **options)

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def kill(self):
        self.process.kill()
        return self.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self):
        status = self.process.wait(PATIENCE)
        self._reading.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return status


@contextmanager
def running(folder, *options, **started):
    """A server that is killed at the end unless it was stopped."""
    server = ServerProcess(folder, *options, **started)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


class ServerHere:
    """``confidently serve`` of one folder, in a thread of this process: begun at once, and never killed."""

    client = ServerProcess.client

    def __init__(self, folder, *options):
        self.told, begun, made = [], threading.Event(), []

        class Noted(server_module.Server):
            def __init__(self, *given, say, **more):
                super().__init__(*given, say=told, **more)
                made.append(self)

            def run(self, tell):
                return super().run(lambda server: begun.set())

        def told(line):
            self.told.append(f"confidently: {line}")

        def work():
            try:
                self.status = run(["serve", str(folder), "--port", "0", *map(str, options)])
            finally:
                begun.set()

        with mock.patch.object(server_module, "Server", Noted):
            self.thread = threading.Thread(target=work, daemon=True)
            self.thread.start()
            assert begun.wait(PATIENCE)
        [self.server] = made
        self.url = self.server.address

    def reload(self):
        self.server.reload()

    def stop(self):
        self.server.stop()
        self.thread.join(PATIENCE)
        return self.status


@contextmanager
def threaded(folder, *options, limits=None):
    """A server in this process, perhaps with other limits, as of :func:`command`; it is stopped at the end."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(server_module, "gc", SimpleNamespace(freeze=lambda: None)))
        for name, value in (limits or {}).items():
            module, _, constant = f"confidently.serve.{name}".rpartition(".")
            for one in {module, "confidently.serve.server"}:
                if hasattr(sys.modules[one], constant):
                    stack.enter_context(mock.patch.object(sys.modules[one], constant, value))
        server = ServerHere(folder, *options)
        try:
            yield server
        finally:
            server.stop()


def not_served(folder, *options):
    """Begin to serve a folder, which must not succeed; return the exit status, and the one line that says why."""
    done = here("serve", folder, "--port", 0, *options)
    [told] = done.stderr.strip().splitlines()
    assert not done.stdout
    return done.returncode, told


def refused(folder, *options):
    """Begin to serve in this process, which an option must forbid before the port, which is taken, does so."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = here("serve", folder, "--port", taken.getsockname()[1], *options)
    [told] = done.stderr.strip().splitlines()
    assert not done.stdout and "use another --port" not in told
    return done.returncode, told


class Answering(BaseHTTPRequestHandler):
    """Answers requests by a function of its server, which has the handler and the body and returns what to send."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, content = self.server.answer(self, body)
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(content))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST

    def log_message(self, *told):
        pass


@contextmanager
def answering(answer):
    """The address of a server of HTTP in this process, of which a function tells status, headers and content."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.answer = answer
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def blocked(engine):
    """Make the log thread wait; return what lets it go on."""
    begun, release = threading.Event(), threading.Event()

    def work(log, request):
        begun.set()
        release.wait()

    engine.submit(Request(work, rows=0))
    begun.wait()
    return release


def wait_until(condition):
    """Wait until a condition holds; return its value."""
    until = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < until, "this took too long"
        time.sleep(0.01)
    return found


def more_of(connection):
    """The next bytes that a server sends, which it must not end with."""
    found = connection.recv(65536)
    assert found, "the server closed the connection"
    return found


def lines_of(response):
    return [json.loads(line) for line in response.text.split("\n")[:-1]]


def as_lines(rows):
    """Rows as a body of NDJSON."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def post_lines(ask, path, rows):
    """Send rows, or lines as they are, as NDJSON; return the lines of the answer."""
    content = rows if isinstance(rows, str | bytes) else as_lines(rows)
    return lines_of(ask("POST", path, content=content, headers=NDJSON))


def teach(ask, rows, first=0, model="m", query=""):
    """Teach rows, pairs of features and label, under the ids r0, r1, ..., and wait until they are learned.

    ``ask`` sends a request: an application, or the method of a client.
    """
    bodies = [{"id": f"r{k}", "features": features, "label": label} for k, (features, label) in enumerate(rows, first)]
    path = f"/v1/models/{model}/learn?wait=learned{query}"
    told = post_lines(ask, path, bodies)
    assert [one["status"] for one in told] == ["learned"] * len(bodies), told[:3]


def measured(server):
    """What Prometheus is told: the samples by their names and the values of their labels."""
    answer = server("GET", "/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.text)
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def kind_of(response):
    """The name of the problem that a response is."""
    assert response.headers["content-type"] == "application/problem+json"
    found = response.json()
    kind = found["type"].removeprefix("urn:confidently:")
    assert (found["status"], found["title"]) == KINDS[kind]
    assert response.status_code == found["status"]
    assert found["detail"]
    return kind
