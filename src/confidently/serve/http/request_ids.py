"""The id of the request that is being answered."""

from __future__ import annotations

import secrets
from contextvars import ContextVar
from itertools import count

HEADER = "x-request-id"
request_id: ContextVar[str] = ContextVar("request_id", default="")
_run, _numbers = secrets.token_hex(6), count(1)


def new_id() -> str:
    """Return an id that no other request has."""
    return f"{_run}-{next(_numbers)}"
