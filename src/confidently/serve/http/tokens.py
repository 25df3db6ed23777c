"""Who may do what: tokens with scopes, the cookie of a browser's session, and requests from other sites.

A file of tokens has a line for each: a name, its scopes separated by commas, perhaps the models that it is for, and
the SHA-256 of the token, in hexadecimal digits. So the file does not reveal tokens. Models are names separated by
commas; one that ends in * stands for all that begin so. Lines that begin with # are comments.
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
KEY = "Ocp-Apim-Subscription-Key"  # in which clients of Azure Personalizer send a token
SESSION_SECONDS = 12 * 3600.0
LINE = re.compile(r"(\S+)\s+([a-z,]+)\s+(?:(\S+)\s+)?([0-9a-fA-F]{64})")
MODELS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\*?")
MODELS_RULE = "names of models separated by commas, the last letters of a name perhaps replaced by *"
LOOPBACK = re.compile(r"(localhost|127\.[0-9.]+|\[::1\]|::1)(:[0-9]+)?")
PUBLIC_URL = re.compile(
    r"(?P<origin>https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?)"
    r"(?P<base>(?!/(?:v1|page)(?:/|$))(/[a-z0-9_~-][a-z0-9._~-]*)*)/?",
    re.IGNORECASE,
)
SAFE = ("GET", "HEAD", "OPTIONS")


class Token(NamedTuple):
    """A token of the file, by its hash; without models it is for all of them."""

    name: str | None
    scopes: frozenset[str]
    digest: str
    models: tuple[str, ...] = ()

    def sees(self, model: str) -> bool:
        """Return whether the token is for a model."""
        return not self.models or any(
            model.startswith(one[:-1]) if one.endswith("*") else model == one for one in self.models
        )


ANYONE = Token(None, frozenset(SCOPES), "")  # where there are no tokens


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
        token = _token_of(line.strip())
        if token is None:
            raise ValueError(
                f"{path}, line {number}: expected a name, scopes of {', '.join(SCOPES)} separated by commas, perhaps "
                f"{MODELS_RULE}, and the SHA-256 of a token; make one with: confidently serve --new-token NAME SCOPES"
            )
        found.append(token)
    if not found:
        raise ValueError(f"{path} has no tokens; make one with: confidently serve --new-token NAME SCOPES")
    return found


def _token_of(line: str) -> Token | None:
    """Return the token of a line of the file, if it is one."""
    parts = LINE.fullmatch(line)
    if parts is None:
        return None
    token = Token(parts[1], frozenset(parts[2].split(",")), parts[4].lower(), tuple((parts[3] or "*").split(",")))
    if "*" in token.models:
        token = token._replace(models=())
    return token if token.scopes <= set(SCOPES) and all(map(MODELS.fullmatch, token.models)) else None


def new_token(name: str, scopes: str, models: str = "*") -> tuple[str, str]:
    """Return a new token, and its line for the file.

    Raises
    ------
    ValueError
        If the name has spaces, a scope is unknown, or the models are not names of models or beginnings of them.
    """
    if not re.fullmatch(r"[^\s#]\S*", name):
        raise ValueError(f"the name of a token: expected letters without spaces, got {name!r}")
    if not scopes or not set(scopes.split(",")) <= set(SCOPES):
        raise ValueError(f"scopes: expected some of {', '.join(SCOPES)} separated by commas, got {scopes!r}")
    if models != "*" and not all(map(MODELS.fullmatch, models.split(","))):
        raise ValueError(f"models: expected {MODELS_RULE}, got {models!r}")
    token = secrets.token_urlsafe(24)
    parts = [name, scopes, *([] if models == "*" else [models]), hashlib.sha256(token.encode()).hexdigest()]
    return token, " ".join(parts)


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
        Where browsers find the server, such as ``"https://example.org/learn/"``: the address of a proxy before it.

    Attributes
    ----------
    public_url : str or None
        Without a slash at its end.
    base : str
        The path of it, such as ``"/learn"`` or ``""``.
    is_secure : bool
        Whether cookies are for TLS only.

    Raises
    ------
    ValueError
        If the address has other parts, or its path begins like one of the server's own.
    """

    def __init__(self, tokens: list[Token], public_url: str | None = None) -> None:
        self.tokens = tokens
        self.public_url, self.public_origin, self.base = None, None, ""
        if public_url is not None:
            parts = PUBLIC_URL.fullmatch(public_url)
            if parts is None:
                raise ValueError(
                    "--public-url: expected https://HOST, https://HOST:PORT or one of them with a PATH that does not "
                    f"begin with v1 or page, got {public_url!r}"
                )
            self.public_url, self.public_origin = public_url.rstrip("/"), _origin(parts["origin"])
            self.base = parts["base"]
        self.is_secure = self.public_origin is not None and self.public_origin.startswith("https:")
        self._sessions: dict[str, Session] = {}

    def check(
        self, method: str, headers: Mapping[str, str], scope: str, model: str | None = None, some: bool = False
    ) -> Token:
        """Return the token of a request with these headers, or :data:`ANYONE`.

        Raises
        ------
        Problem
            Unless it may do what needs this scope: to a model, if there is one, or to all; or, if that suffices, to
            some.
        """
        if not self.tokens:
            self._check_local(method, headers)
            return ANYONE
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
        if token.models and not (some if model is None else token.sees(model)):
            wanted = "all models" if model is None else f"the model {model[:80]!r}"
            raise Problem("forbidden", f"this needs a token for {wanted}; the token is for {', '.join(token.models)}")
        return token

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
        key = headers.get(KEY.lower())
        kind, _, text = headers.get("authorization", "" if key is None else f"Bearer {key}").partition(" ")
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
