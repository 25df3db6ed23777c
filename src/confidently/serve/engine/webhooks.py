"""Webhooks: alarms are sent to addresses that the operator names.

A thread looks at the alarms and sends what has changed; it retries for hours and delays nothing else. Redirects are not
followed, and proxies of the environment are not used, so that nothing goes anywhere else.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from ..background import BackgroundThread
from .alarming import alarms_of, changed_alarms
from .engine import Engine

LOOK_SECONDS = 1.0  # between two looks at the alarms
TIMEOUT, STOP_SECONDS = 10.0, 1.0  # of one try, and for which the end waits for it
FIRST_PAUSE, LONGEST_PAUSE, PATIENCE = 1.0, 300.0, 4 * 3600.0  # seconds between tries, and of all of them
MAX_WAITING = 1000  # messages for one address; beyond, the oldest are dropped
MIN_SECRET = 16  # bytes
SIGNATURE, TIMESTAMP = "Confidently-Signature", "Confidently-Timestamp"


def secret_of(path: str | os.PathLike[str]) -> bytes:
    """Return the secret in a file, without the white space around it.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is too short to sign with.
    """
    found = Path(path).read_bytes().strip()
    if len(found) < MIN_SECRET:
        raise ValueError(f"{path}: expected a secret of at least {MIN_SECRET} bytes, got {len(found)}")
    return found


def check_url(url: str) -> None:
    """Raise a ``ValueError`` unless an address can be posted to."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        good = False
    if not good or parts.fragment or parts.username is not None:
        raise ValueError(f"--webhook: expected an address such as https://HOST/PATH, got {url!r}")


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """Return what a message is signed with: HMAC-SHA256 of its time, a dot and its body, in hexadecimal digits."""
    return "sha256=" + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


class Webhooks(BackgroundThread):
    """The thread that sends alarms.

    Parameters
    ----------
    engine : Engine
        Started; alarms that it has already are not sent again.
    urls : sequence of str
    secret : bytes, optional
        With which messages are signed.
    say : callable
        Called with a line about messages that could not be sent.
    """

    def __init__(self, engine: Engine, urls: Sequence[str], secret: bytes | None, say: Callable[[str], None]) -> None:
        super().__init__("webhooks")
        self._engine, self._before = engine, alarms_of(engine)
        self._hooks = [_Hook(url, secret, say) for url in dict.fromkeys(urls)]

    def stop(self) -> None:
        """End; what waits is dropped, and a message that is being sent may be."""
        self._stopping.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        with httpx.Client(timeout=TIMEOUT, follow_redirects=False, trust_env=False) as client:
            while not self._stopping.wait(LOOK_SECONDS):
                now = alarms_of(self._engine)
                messages, self._before = changed_alarms(self._before, now), now
                for hook in self._hooks:
                    hook.add(messages)
                    hook.send(client, self._stopping)


class _Hook:
    """The messages for one address, sent in their order."""

    def __init__(self, url: str, secret: bytes | None, say: Callable[[str], None]) -> None:
        self._url, self._secret, self._say = url, secret, say
        self._waiting: deque[tuple[float, bytes]] = deque(maxlen=MAX_WAITING)  # since when, on the monotonic clock
        self._pause, self._not_before = FIRST_PAUSE, 0.0

    def add(self, messages: Sequence[dict[str, Any]]) -> None:
        self._waiting.extend((time.monotonic(), msgspec.json.encode(message)) for message in messages)

    def send(self, client: httpx.Client, stopping: threading.Event) -> None:
        """Send what waits, up to the first failure, after which a pause begins."""
        while self._waiting and time.monotonic() >= self._not_before and not stopping.is_set():
            since, body = self._waiting[0]
            problem = self._posted(client, body)
            if problem is None:
                self._pause = FIRST_PAUSE
                self._waiting.popleft()
                continue
            if time.monotonic() - since > PATIENCE:
                self._waiting.popleft()
                self._say(f"an alarm could not be sent to {self._host} ({problem})")
            elif self._pause == FIRST_PAUSE:
                self._say(f"an alarm is not sent to {self._host} yet ({problem}); it is tried again")
            self._not_before = time.monotonic() + self._pause
            self._pause = min(2.0 * self._pause, LONGEST_PAUSE)

    def _posted(self, client: httpx.Client, body: bytes) -> str | None:
        """Post a message; return why it did not arrive."""
        at = str(int(time.time()))
        headers = {"Content-Type": "application/json", TIMESTAMP: at}
        if self._secret is not None:
            headers[SIGNATURE] = signature(self._secret, at, body)
        try:
            with client.stream("POST", self._url, content=body, headers=headers) as answer:  # its body is not read
                return None if answer.is_success else f"status {answer.status_code}"
        except httpx.HTTPError as error:
            return str(error) or type(error).__name__

    @property
    def _host(self) -> str:
        """The host, without the path, which may have a secret."""
        return urlsplit(self._url).netloc
