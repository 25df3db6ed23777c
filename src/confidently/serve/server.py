"""The process: an engine, its application and uvicorn, from the first signal of life to the last snapshot."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import uvicorn

from ..memory import give_back_large
from .background import BackgroundThread
from .engine.engine import Engine
from .engine.webhooks import Webhooks, check_url, secret_of
from .http.app import make_app
from .http.connections import KEEP_SECONDS, Connection, most_connections
from .http.entrance import AccessLog
from .http.tokens import Guard, read_tokens
from .model.settings import ModelSettings
from .problems import Problem
from .replica.follower import ADDRESS, Replica
from .sources.demo import DEMOS
from .sources.follow import Follower, sources_of
from .waiting import Limits
from .work.backups import Backups
from .work.models import check_name, create, upload

LOOPBACK = ("127.0.0.1", "localhost", "::1")
STOP_SECONDS = 5  # that answers may take after a signal
AUDIT_SECONDS = 1.0  # between two writes of the rows that were taught
NEVER = 1e8  # seconds
GARBAGE = 20_000  # objects after which garbage is looked for: rows that wait are none
SWITCH_SECONDS = 5e-4  # between threads; a question must not wait long for a thread that learns


class UsageError(ValueError):
    """The server cannot be started like this; the message is one sentence."""


class Server:
    """A server of one directory.

    Parameters
    ----------
    folder : path
    host : str
    port : int
        0: any that is free.
    token_file : path, optional
    public_url : str, optional
        As of :class:`Guard`.
    access_log : path, optional
        As of :class:`AccessLog`.
    limits : Limits, optional
    vfs : str, optional
        The name of a virtual file system of SQLite, for the log.
    say : callable
        Called with a line about what happens.
    replica_of : str, optional
        The address or the directory of a server to follow; this one then only answers questions.
    replica_token : str, optional
        Of that server, with the scope admin.
    webhooks : sequence of str
        Addresses to which alarms are sent.
    webhook_secret_file : path, optional
        Of the secret with which they are signed.

    Raises
    ------
    UsageError
        For an address that others can reach, without tokens.
    ValueError
        For a file of tokens or a secret, a public address or a webhook that cannot be used.
    OSError
        If a file cannot be opened.
    """

    def __init__(
        self, folder: str | os.PathLike[str], host: str = "127.0.0.1", port: int = 8642, *,
        token_file: str | os.PathLike[str] | None = None, public_url: str | None = None,
        access_log: str | os.PathLike[str] | None = None, limits: Limits | None = None, vfs: str | None = None,
        say: Callable[[str], None] = lambda line: None, replica_of: str | None = None,
        replica_token: str | None = None, webhooks: Sequence[str] = (),
        webhook_secret_file: str | os.PathLike[str] | None = None,
    ) -> None:  # fmt: skip
        for url in webhooks:
            check_url(url)
        self.webhooks = tuple(webhooks)
        self._secret = None if webhook_secret_file is None else secret_of(webhook_secret_file)
        if token_file is None and host not in LOOPBACK:
            raise UsageError(
                f"without tokens only this machine may use the server, got --host {host}; use --token-file FILE"
            )
        self.folder, self.host, self.port, self.say = Path(folder), host, port, say
        self.token_file = token_file
        self.guard = Guard([] if token_file is None else read_tokens(token_file), public_url)
        self.access = None if access_log is None else AccessLog(access_log)
        self.replica_of = replica_of
        if replica_of is not None:
            limits = Limits(snapshot_events=2**62, snapshot_seconds=NEVER)  # its models are those of the primary
        self.engine = Engine(folder, limits, vfs=vfs, say=say)
        if replica_of is not None and self.engine.log.models():
            self.engine.log.close()
            raise UsageError(f"{folder} has models of its own; use a new directory for a replica")
        config = uvicorn.Config(
            make_app(self.engine, self.guard, self.access), log_level="warning", access_log=False, lifespan="off",
            timeout_graceful_shutdown=STOP_SECONDS, timeout_keep_alive=KEEP_SECONDS, server_header=False,
            proxy_headers=False, http=Connection, ws="none", limit_concurrency=most_connections(),
        )  # fmt: skip
        self.server = uvicorn.Server(config)
        self.engine.failure.notify = self.stop
        self.model: str | None = None  # a model file to begin with
        self.follow: tuple[str, str] | None = None  # a file and the model that learns it
        self.demo: str | None = None
        self.backups: tuple[Path, float, int] | None = None  # folder, seconds between two, how many are kept
        self.sources: list[BackgroundThread] = []
        if replica_of is not None:
            self.sources.append(Replica(self.engine, replica_of, replica_token, say))
        self._refusal: UsageError | None = None
        self.socket = self._bind()

    def _bind(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # for which asyncio sets TCP_NODELAY
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self.replica_of is not None and hasattr(socket, "SO_REUSEPORT"):  # replicas may share a port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            found.bind((self.host, self.port))
            found.listen(2048)  # from now on, connections wait to be served instead of being refused
        except OSError as error:
            self.engine.log.close()
            found.close()
            raise UsageError(
                f"cannot listen on {self.host}:{self.port} ({error.strerror}); use another --port"
            ) from None
        found.set_inheritable(True)
        return found

    @property
    def address(self) -> str:
        """Where the server is."""
        host, port = self.socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def run(self, begun: Callable[[Server], None] = lambda server: None) -> int:
        """Serve until a signal; return the exit status: 0, or 1 if the log could not be written.

        Raises
        ------
        UsageError
            If the first model or the source to follow cannot be used.
        """
        sys.setswitchinterval(SWITCH_SECONDS)
        give_back_large()
        gc.freeze()  # what was imported is never garbage; to search it takes a tenth of the time of requests
        gc.set_threshold(GARBAGE)
        try:
            with asyncio.Runner(loop_factory=self.server.config.get_loop_factory()) as runner:
                runner.run(self._serve(begun))
        finally:
            (self.folder / ADDRESS).unlink(missing_ok=True)
            for source in self.sources:
                source.stop()
            self.engine.stop()
        if self._refusal is not None:
            raise self._refusal
        if self.engine.failure.reason is not None:
            self.say(f"stopped: {self.engine.failure.reason}")
            return 1
        return 0

    async def _serve(self, begun: Callable[[Server], None]) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(ValueError, RuntimeError, NotImplementedError):
                loop.add_signal_handler(number, self.stop)
        if hasattr(signal, "SIGHUP"):
            with suppress(ValueError, RuntimeError):
                loop.add_signal_handler(signal.SIGHUP, self.reload)
        starting = threading.Thread(target=self._start_engine, args=(begun,), name="replay", daemon=True)
        starting.start()
        self.server.config.load()
        self.server.capture_signals = nullcontext  # type: ignore[method-assign,assignment]  # handled above
        flushing = asyncio.create_task(self._flush_audit())
        await self.server.serve([self.socket])
        flushing.cancel()
        starting.join()

    async def _flush_audit(self) -> None:
        while True:
            await asyncio.sleep(AUDIT_SECONDS)
            self.engine.audit.flush()

    def _start_engine(self, begun: Callable[[Server], None]) -> None:
        try:
            self.engine.start()
            self._begin_sources()
        except UsageError as error:
            self._refusal = error
            self.stop()
        except Exception as error:
            self.engine.failure.set(str(error))
        else:
            (self.folder / ADDRESS).write_text(f"{self._reached_at()}\n", "utf-8")
            begun(self)

    def _reached_at(self) -> str:
        """Return where programs of this machine reach the server."""
        return self.address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")

    def _begin_sources(self) -> None:
        """Upload the first model, and begin to follow or to demonstrate, as the command line asks for."""
        if self.model is not None and (name := Path(self.model).stem) not in self.engine.hosted:
            with _usage_errors(self.model):
                digest = hashlib.sha256(Path(self.model).read_bytes()).hexdigest()
                check_name(name)
                self.engine.submit(upload(self.engine, name, self.model, digest).blocking()).answer()
        if self.backups is not None:
            with _usage_errors(str(self.backups[0])):
                self.sources.append(Backups(self.engine, *self.backups, self.say))
        if self.demo is not None:
            with _usage_errors(f"--demo {self.demo}"):
                self.sources.append(DEMOS[self.demo](self.engine))
        if self.follow is not None:
            path, name = self.follow
            with _usage_errors(path):
                followed = sources_of(path)
            if name not in self.engine.hosted:
                with _usage_errors(f"--into {name}"):
                    check_name(name)
                    self.engine.submit(create(self.engine, name, ModelSettings()).blocking()).answer()
            self.sources += [Follower(self.engine, self.engine.find(name), one, self.say) for one in followed]
        if self.webhooks:
            self.sources.append(Webhooks(self.engine, self.webhooks, self._secret, self.say))
        for source in self.sources:
            source.start()

    def stop(self) -> None:
        """End in order: answers that are under way are completed, accepted rows are learned."""
        self.engine.stopping = True
        self.server.should_exit = True

    def reload(self) -> None:
        """Read the file of tokens again, and open the access log again; a fault in one of them changes nothing."""
        if self.access is not None:
            try:
                self.access.reopen()
            except OSError as error:
                self.say(f"the access log stays as it was: {error}")
        if self.token_file is None:
            return
        try:
            self.guard.tokens = read_tokens(self.token_file)
            self.say(f"{len(self.guard.tokens)} tokens read from {self.token_file}")
        except (OSError, ValueError) as error:
            self.say(f"the tokens stay as they were: {error}")


@contextmanager
def _usage_errors(about: str) -> Iterator[None]:
    """Turn errors of what the command line names into a ``UsageError``."""
    try:
        yield
    except (OSError, Problem) as error:
        raise UsageError(f"{about}: {error.strerror if isinstance(error, OSError) else error}") from None
