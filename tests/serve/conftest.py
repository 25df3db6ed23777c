"""An engine in this process, and a client of its application."""

import asyncio
import shutil
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

import httpx
import pytest

from confidently.serve.engine import log_thread
from confidently.serve.engine.engine import Engine
from confidently.serve.engine.requests import Request
from confidently.serve.http import app
from confidently.serve.log.log_file import FILE, open_log
from confidently.serve.model.settings import ModelSettings
from confidently.serve.work.models import create
from tests.serve.running import PATIENCE

UNFINISHED = shutil.ignore_patterns(".*")
app.document = cache(app.document)  # for the many applications of tests, the same


@cache
def empty_log():
    """Return the bytes of a new log, which is a file that takes several writes to make."""
    with tempfile.TemporaryDirectory() as folder:
        open_log(folder).close()
        return (Path(folder) / FILE).read_bytes()


class Local:
    """An engine and its application, asked without a network."""

    def __init__(self, folder, limits=None, guard=None, vfs=None):
        if vfs is None and not folder.exists():
            folder.mkdir()
            (folder / FILE).write_bytes(empty_log())
        self.told, self.thread, self.runner = [], threading.get_ident(), None
        self.engine = Engine(folder, limits, vfs=vfs, say=self.told.append)
        if vfs is None:
            self.engine.log._db.pragma("synchronous", 0)  # no power fails here
        self.engine.start()
        self.app = app.make_app(self.engine, guard)

    def __call__(self, method, path, body=None, **options):
        """Send a request; return the response."""
        if body is not None:
            options["json"] = body
        if threading.get_ident() != self.thread:
            return asyncio.run(self.send(method, path, **options))
        self.runner = self.runner or asyncio.Runner()
        return self.runner.run(self.send(method, path, **options))

    async def send(self, method, path, **options):
        async with asyncio.timeout(PATIENCE), self.client() as client:  # whose transport knows no time-outs
            return await client.request(method, path, **options)

    def client(self):
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://localhost")

    def copy(self, folder):
        """Copy the directory between two writes of the log: what a kill would leave; return the copy."""
        work = Request(lambda log, request: shutil.copytree(self.engine.folder, folder, ignore=UNFINISHED))
        self.engine.submit(work.blocking()).answer()
        return folder

    def stop(self):
        self.engine.stop()
        if self.runner is not None:
            self.runner.close()
            self.runner = None


@pytest.fixture
def local(tmp_path):
    """Makes engines with their applications, by default in one folder."""
    made = []

    def make(folder=tmp_path / "served", **options):
        made.append(Local(folder, **options))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def with_model(local):
    """Makes a server with a model of these settings."""

    def make(settings=None, name="/v1/models/m"):
        server = local()
        answer = server("PUT", name, settings or {})
        assert answer.status_code == 201, answer.text
        return server

    return make


@pytest.fixture
def shop(with_model):
    """A server with a model of decisions."""
    return with_model({"task": "decisions"}, "/v1/models/shop")


@pytest.fixture
def engines(tmp_path):
    """Makes engines with a model m, by default in one folder; returns an engine and the model."""
    made = []

    def make(folder="served", limits=None, **settings):
        engine = Engine(tmp_path / folder, limits)
        made.append(engine)
        engine.start()
        if not engine.hosted:
            engine.submit(create(engine, "m", ModelSettings(**settings)).blocking()).answer()
        return engine, engine.find("m")

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def moved(monkeypatch):
    """By how many milliseconds the clock of events is ahead, so that no test waits for a deadline."""
    ahead = [0]
    clock = lambda: time.time_ns() // 1_000_000 + ahead[0]  # noqa: E731
    for module in ("log.events", "log.event_log", "engine.log_thread", "work.decisions", "work.teaching"):
        monkeypatch.setattr(f"confidently.serve.{module}.now", clock, raising=False)
    monkeypatch.setattr(log_thread, "EXPIRE_SECONDS", 0.0)
    monkeypatch.setattr(log_thread, "OVERDUE_SECONDS", 0.05)
    return ahead
