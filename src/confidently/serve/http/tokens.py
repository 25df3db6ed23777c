"""Who may do what: tokens with scopes, the cookie of a browser's session, and requests from other sites.

A file of tokens has a line for each: a name, its scopes separated by commas, and the SHA-256 of the token, in
hexadecimal digits. So the file does not reveal tokens. Lines that begin with # are comments.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..problems import Problem

SCOPES = ("predict", "learn", "label", "admin")
COOKIE = "confidently_session"
CSRF = "x-csrf-token"
SESSION_SECONDS = 12 * 3600.0
LINE = re.compile(r"(\S+)\s+([a-z,]+)\s+([0-9a-fA-F]{64})")
LOOPBACK = re.compile(r"(localhost|127\.[0-9.]+|\[::1\]|::1)(:[0-9]+)?")
ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?/?", re.IGNORECASE)
SAFE = ("GET", "HEAD", "OPTIONS")


class Token(NamedTuple):
    """A token of the file, by its hash."""

    name: str
    scopes: frozenset[str]
    digest: str


class Session(NamedTuple):
    """A browser that has shown a token."""

    token: Token
    csrf: str
    until: float


def read_tokens(path: str | os.PathLike[str]) -> list[Token]:
    """Read a file of tokens.

    Raises
    ------
    ValueError
        If a line is not a token; the message names it.
    OSError
        If the file cannot be read.
    """
    found = []
    for number, line in enumerate(Path(path).read_text("utf-8").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts = LINE.fullmatch(line.strip())
        scopes = frozenset(parts[2].split(",")) if parts else frozenset[str]()
        if parts is None or not scopes <= set(SCOPES):
            raise ValueError(
                f"{path}, line {number}: expected a name, scopes of {', '.join(SCOPES)} separated by commas, and the "
                "SHA-256 of a token; make one with: confidently serve --new-token NAME SCOPES"
            )
        found.append(Token(parts[1], scopes, parts[3].lower()))
    if not found:
        raise ValueError(f"{path} has no tokens; make one with: confidently serve --new-token NAME SCOPES")
    return found


def new_token(name: str, scopes: str) -> tuple[str, str]:
    """Return a new token, and its line for the file.

    Raises
    ------
    ValueError
        If a scope is unknown.
    """
    token = secrets.token_urlsafe(24)
    line = f"{name} {scopes} {hashlib.sha256(token.encode()).hexdigest()}"
    if LINE.fullmatch(line) is None or not set(scopes.split(",")) <= set(SCOPES):
        raise ValueError(f"scopes: expected some of {', '.join(SCOPES)} separated by commas, got {scopes!r}")
    return token, line


def _is_basic(headers: Mapping[str, str]) -> bool:
    return headers.get("authorization", "").partition(" ")[0].lower() == "basic"


def _password(text: str) -> str:
    """Return the password of Basic authentication, which stands for a token where a program can send nothing else."""
    try:
        return base64.b64decode(text.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _origin(url: str) -> str:
    """Return an address as browsers write it in the header ``Origin``."""
    found = url.lower().rstrip("/")
    return found.removesuffix(":443" if found.startswith("https:") else ":80")


class Guard:
    """Decides whether a request may pass.

    Parameters
    ----------
    tokens : list of Token
        Empty: everyone who can reach the server may do everything; it then listens to this machine only.
    public_url : str, optional
        Where browsers find the server, such as ``"https://learn.example.org"``: the address of a proxy before it.

    Attributes
    ----------
    is_secure : bool
        Whether cookies are for TLS only.

    Raises
    ------
    ValueError
        If the address is not that of a server alone.
    """

    def __init__(self, tokens: list[Token], public_url: str | None = None) -> None:
        if public_url is not None and ORIGIN.fullmatch(public_url) is None:
            raise ValueError(f"--public-url: expected https://HOST or https://HOST:PORT, got {public_url!r}")
        self.tokens = tokens
        self.public_origin = None if public_url is None else _origin(public_url)
        self.is_secure = self.public_origin is not None and self.public_origin.startswith("https:")
        self._sessions: dict[str, Session] = {}

    def check(self, method: str, headers: Mapping[str, str], scope: str) -> None:
        """Raise a ``Problem`` unless a request with these headers may do what needs this scope."""
        if not self.tokens:
            self._check_local(method, headers)
            return
        session = self.session(headers)
        token = self._bearer(headers)
        if token is not None and method not in SAFE and _is_basic(headers):
            self._check_same_site(headers)  # a browser that knows a password sends it of itself
        if token is None and session is not None:
            token = session.token
            if method not in SAFE:
                self._check_same_site(headers)
                if not hmac.compare_digest(headers.get(CSRF, "").encode(), session.csrf.encode()):
                    raise Problem("cross-site", f"the header {CSRF} is missing or wrong; load the page again")
        if token is None:
            raise Problem("unauthorized", "send the header Authorization: Bearer TOKEN")
        if scope not in token.scopes:
            raise Problem(
                "forbidden", f"this needs the scope {scope!r}; the token has {', '.join(sorted(token.scopes))}"
            )

    def session(self, headers: Mapping[str, str]) -> Session | None:
        """Return the session of a browser, if it has one."""
        cookies = dict(part.strip().partition("=")[::2] for part in headers.get("cookie", "").split(";"))
        found = self._sessions.get(cookies.get(COOKIE, ""))
        return found if found is not None and found.until > time.monotonic() and found.token in self.tokens else None

    def log_in(self, headers: Mapping[str, str], text: str) -> tuple[str, Session]:
        """Return the cookie and the session of a browser that shows a token.

        Raises
        ------
        Problem
            If the token is wrong, or the request comes from another site.
        """
        self._check_same_site(headers)
        token = self._known(text)
        if token is None:
            raise Problem("unauthorized", "the token is not known")
        now = time.monotonic()
        self._sessions = {key: one for key, one in self._sessions.items() if one.until > now}
        key, session = secrets.token_urlsafe(24), Session(token, secrets.token_urlsafe(24), now + SESSION_SECONDS)
        self._sessions[key] = session
        return key, session

    def _bearer(self, headers: Mapping[str, str]) -> Token | None:
        kind, _, text = headers.get("authorization", "").partition(" ")
        if not kind:
            return None
        if kind.lower() not in ("bearer", "basic"):
            raise Problem("unauthorized", "send the header Authorization: Bearer TOKEN")
        found = self._known(_password(text) if _is_basic(headers) else text.strip())
        if found is None:
            raise Problem("unauthorized", "the token is not known")
        return found

    def _known(self, text: str) -> Token | None:
        """Return the token of a text; the time it takes does not reveal how much of the text is right."""
        digest, found = hashlib.sha256(text.encode()).hexdigest(), None
        for token in self.tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token
        return found

    def _check_local(self, method: str, headers: Mapping[str, str]) -> None:
        """Reject requests that a page of another site can make a browser on this machine send."""
        if LOOPBACK.fullmatch(headers.get("host", "localhost")) is None:
            raise Problem("cross-site", "without tokens the server answers to localhost only; use --token-file")
        if method not in SAFE:
            self._check_same_site(headers)

    def _check_same_site(self, headers: Mapping[str, str]) -> None:
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Problem("cross-site", "the request comes from a page of another site")
        origin = headers.get("origin")
        if origin not in (None, self.public_origin) and origin.partition("://")[2] != headers.get("host"):
            raise Problem("cross-site", f"the request comes from {origin[:100]}")
