"""Following a primary: a thread looks which models it has, and one per model learns what they learn."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import httpx
import msgspec

from ..background import BackgroundThread
from ..engine.engine import Engine
from ..engine.requests import Request
from ..log.event_log import EventLog
from ..log.events import State, StoredModel, StoredVersion
from ..model.hosted import Hosted
from ..model.learning import Example
from ..model.rows import labelled_line
from ..model.settings import canonical
from ..model.snapshots import SNAPSHOT
from ..model.version import BASE, Version
from ..problems import Problem
from .source import Followed, Training, decoder

ADDRESS = "address"  # the file in the directory of a running server that has its address
LOOK_SECONDS = 0.5  # between two looks at the models of the primary
PASSED_ON_SECONDS = 600.0  # for which the primary may take to answer a question that is passed on
SILENCE_SECONDS = 10.0  # after which a connection is taken for broken
MAX_WAITING = 10_000  # rows that wait to be learned
ROWS_TOGETHER = 512


class Models(msgspec.Struct):
    """The answer of a primary about its models."""

    models: list[Followed]


class Gone(Exception):
    """The primary's model is another one now, or its rows cannot be followed any further."""


class Replica(BackgroundThread):
    """What follows a primary and keeps the models of an engine equal to its models.

    Parameters
    ----------
    engine : Engine
        Of a directory of its own, without models.
    primary : str
        The address of the primary, or its directory.
    token : str, optional
        With the scope admin.
    say : callable
        Called with a line about what happens.
    """

    def __init__(self, engine: Engine, primary: str, token: str | None, say: Callable[[str], None]) -> None:
        super().__init__("replica")
        self.engine, self.primary, self.say = engine, primary, say
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._following: dict[str, Following] = {}
        self._told = ""
        self._looked: float | None = None  # on the monotonic clock: when the models were last listed
        engine.replica = self
        engine.learner.record = lambda hosted: None  # rows set aside are in the log of the primary

    def stop(self) -> None:
        """End. Models are not written: the next start asks for them again."""
        super().stop()
        for one in self._following.values():
            one.stop()
        self.engine.hosted.clear()

    def refusal(self) -> Problem:
        """Return the problem of a request that only the primary answers."""
        return Problem("read-only", f"this server is a replica and stores nothing; send this to {self.address()}")

    def passed_on(self, path: str, query: Sequence[tuple[str, str]]) -> tuple[int, str, bytes]:
        """Return the answer of the primary to a question about a model: status, media type and body."""
        try:
            with self.client() as client:
                answer = client.get(f"/v1/models/{path}", params=list(query), timeout=PASSED_ON_SECONDS)
        except httpx.HTTPError as error:
            raise Problem("not-ready", f"{self.address()} does not answer ({error}); ask again in a second") from None
        return answer.status_code, answer.headers.get("content-type", ""), answer.content

    def check_ready(self) -> None:
        """Raise a ``Problem`` until all models of the primary are level."""
        waiting = [one.name for one in list(self._following.values()) if not one.level]
        if self._looked is None or waiting:
            what = ", ".join(waiting[:5]) or "the models"
            raise Problem("not-ready", f"the replica loads {what} from {self.address()}; ask again in a second")

    def address(self) -> str:
        """Return the address of the primary, as it is now."""
        if re.match("https?://", self.primary):
            return self.primary.rstrip("/")
        try:
            return (Path(self.primary) / ADDRESS).read_text("utf-8").strip()
        except OSError:
            return self.primary

    def lag(self, name: str) -> tuple[int, float]:
        """Return by how many events a model is behind the primary, as far as is known, and for how many seconds."""
        found = self._following.get(name)
        return (0, 0.0) if found is None else found.lag()

    def client(self) -> httpx.Client:
        """Return a client of the primary."""
        return httpx.Client(
            base_url=self.address(), headers=self._headers, timeout=SILENCE_SECONDS, trust_env=False
        )  # fmt: skip

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with self.client() as client:
                    while not self._stopping.wait(0.0 if self._looked is None else LOOK_SECONDS):
                        self._look(client)
            except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
                self._tell(f"{self.address()} cannot be followed now ({str(error) or type(error).__name__})")
                self._stopping.wait(LOOK_SECONDS)

    def _look(self, client: httpx.Client) -> None:
        """Follow what is new, and drop what is not there any more."""
        answer = client.get("/v1/replication")
        answer.raise_for_status()
        models = {one.name: one for one in msgspec.json.decode(answer.content, type=Models).models}
        for name, following in list(self._following.items()):
            found = models.get(name)
            if found is None or found.number != following.followed.number:
                self._following.pop(name).drop()
        for name, one in models.items():
            if name in self._following:
                self._following[name].followed = one
            else:
                self._following[name] = Following(self, one)
        self._looked = time.monotonic()
        self._tell(f"follows {self.address()}")

    def _tell(self, line: str) -> None:
        if line != self._told:
            self._told = line
            self.say(line)


class Following(BackgroundThread):
    """A thread that follows one model.

    Parameters
    ----------
    replica : Replica
    followed : Followed
        The model, as the primary described it last.

    Attributes
    ----------
    level : bool
        Whether the model answers.
    """

    def __init__(self, replica: Replica, followed: Followed) -> None:
        super().__init__(f"replica-{followed.name}")
        self.replica, self.engine, self.followed, self.name = replica, replica.engine, followed, followed.name
        self.hosted: Hosted | None = None
        self.level = False
        self._at = 0  # the last event that the primary has learned, as it said
        self._level_at = time.monotonic()
        self._count = count(1)
        self.start()

    def drop(self) -> None:
        """End, and forget the model, which the primary has no more."""
        self.stop()
        if (hosted := self.hosted) is not None:
            hosted.deleted = True
            self.engine.hosted.pop(self.name, None)
            self.engine.learner.forget(hosted)

    def lag(self) -> tuple[int, float]:
        """Return by how many events the model is behind, and for how many seconds."""
        behind = self._at - (0 if self.hosted is None else self.hosted.cursor)
        if behind <= 0 and time.monotonic() - self._level_at < 2.0 * LOOK_SECONDS:
            return 0, 0.0
        return max(behind, 0), time.monotonic() - self._level_at

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow(self.followed)
            except (httpx.HTTPError, Gone, Problem, OSError, ValueError) as error:
                if not isinstance(error, httpx.HTTPError | Gone):
                    self.replica.say(f"{self.name}: {error}")
                self._stopping.wait(LOOK_SECONDS)

    def _follow(self, followed: Followed) -> None:
        """Load a model, learn until it is level, let it answer, and go on until it is another one."""
        with self.replica.client() as client:
            version = self._loaded(client, followed)
        serving, last = False, version.cursor
        while not self._stopping.is_set() and _training(self.followed) == _training(followed):
            try:
                with self.replica.client() as client:  # whose address may be another one after a restart
                    for examples, at, level in self._learned(client, followed, version, last):
                        last = at
                        if serving:
                            self._teach(examples)
                        else:
                            version.learn_events(examples, live=False)
                            version.cursor = last
                        if not serving and level is not None and last >= level:
                            self._serve(followed, version)
                            serving = True
                        self._note(level)
                        if self._stopping.is_set():
                            return
            except httpx.TransportError:  # the primary may be back soon, with the same model
                pass
            self._stopping.wait(LOOK_SECONDS)

    def _note(self, level: int | None) -> None:
        """Note how far the primary is, if it has said so."""
        if level is not None:
            self._at = level
        if self.hosted is not None:
            self.hosted.behind = max(self._at - self.hosted.cursor, 0)
            self._level_at = self._level_at if self.hosted.behind else time.monotonic()

    def _loaded(self, client: httpx.Client, followed: Followed) -> Version:
        """Return the model of the newest snapshot of the primary, in a folder of its own."""
        folder = self.engine.folder_of(followed.number) / f"{os.getpid()}-{next(self._count)}"
        own = folder / str(followed.version)
        own.mkdir(parents=True)
        if followed.has_file:
            self._download(client, own, "base")
        self._download(client, own, "snapshot")
        stored = StoredVersion(
            followed.number, followed.version, canonical(followed.settings), followed.has_file, followed.begun,
            State.LIVE, "followed", followed.created,
        )  # fmt: skip
        version = Version(followed.name, stored, folder)
        version.load_newest(self.replica.say)
        version.aside.clear()
        if not followed.has_file:  # of which contributions of other servers are merged
            shutil.rmtree(folder)
        return version

    def _download(self, client: httpx.Client, folder: Path, what: str) -> None:
        """Write a file of the primary to a folder, if there is one."""
        with client.stream("GET", f"/v1/models/{self.name}/replication/snapshot", params={"of": what}) as answer:
            if answer.status_code == 404:
                return
            answer.raise_for_status()
            found = re.search('filename="([^"]+)"', answer.headers.get("content-disposition", ""))
            name = BASE if what == "base" else "" if found is None else found[1]
            if name != BASE and SNAPSHOT.fullmatch(name) is None:
                raise Gone
            with open(folder / name, "wb") as file:
                for piece in answer.iter_bytes():
                    file.write(piece)

    def _learned(
        self, client: httpx.Client, followed: Followed, version: Version, after: int
    ) -> Iterator[tuple[list[Example], int, int | None]]:
        """Yield what the model learns after an event, some at a time, the last event so far, and the primary's."""
        asked = {"version": followed.version, "begun": followed.begun, "after": after}
        examples, last = list[Example](), after
        with client.stream("GET", f"/v1/models/{self.name}/replication/learned", params=asked) as answer:
            if answer.status_code in (403, 404, 401):
                raise Gone
            answer.raise_for_status()
            for text in answer.iter_lines():
                line = decoder.decode(text)
                if line.reload:
                    raise Gone
                last = line.seq
                if line.erasure:
                    examples.append(Example(b"", 1.0, line.seq))
                elif isinstance(line.contribution, bytes) and isinstance(line.source, msgspec.Raw):
                    merged = line.contribution, bytes(line.source)
                    examples.append(Example(b"", 1.0, line.seq, merged=merged))
                elif isinstance(line.features, msgspec.Raw) and isinstance(line.label, msgspec.Raw):
                    label, features = bytes(line.label), bytes(line.features)
                    examples.append(
                        Example(labelled_line(version.label_key, label, features), line.weight, line.seq, label)
                    )
                if line.level is not None or len(examples) >= ROWS_TOGETHER:
                    yield examples, last, line.level
                    examples = []

    def _serve(self, followed: Followed, version: Version) -> None:
        """Let a version answer, in the place of the one before if there is one."""
        if self.hosted is None:
            stored = StoredModel(followed.number, followed.name, followed.created)
            self.hosted = Hosted(stored, self.engine.folder_of(followed.number), version)
            self.engine.hosted[followed.name] = self.hosted
        else:
            hosted = self.hosted

            def work(log: EventLog, request: Request) -> None:
                left = hosted.live.waiting
                self.engine.waiting.add(-len(left), -sum(len(example.line) for example, _ in left))
                left.clear()
                hosted.promoted(version).release()

            question = Request(work).blocking()
            self.engine.ask(question)
            question.answer()
        self.level = True

    def _teach(self, examples: list[Example]) -> None:
        """Have the model that answers learn examples."""
        assert self.hosted is not None
        if not examples:
            return
        while len(self.hosted.waiting) > MAX_WAITING and not self._stopping.wait(0.01):
            pass
        request = Request(lambda log, request: None, rows=0)
        request.examples = [(self.hosted, example) for example in examples]
        self.engine.learner.take([request])


def _training(followed: Followed) -> Training:
    return Training(followed.number, followed.version, followed.begun)
