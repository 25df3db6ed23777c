"""What can be wrong with a request: each kind of problem has a name, a status and a title (RFC 9457)."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """A kind of problem: the status of its answers, and its title."""

    status: int
    title: str


KINDS = {
    "invalid-http": Kind(400, "The request is not HTTP"),
    "invalid-json": Kind(400, "The body is not JSON"),
    "invalid-body": Kind(422, "The body does not have the expected form"),
    "invalid-row": Kind(422, "The row cannot be read"),
    "invalid-settings": Kind(422, "The settings do not fit together"),
    "invalid-parameter": Kind(422, "A parameter of the URL is invalid"),
    "unknown-class": Kind(422, "The label is not one of the model's classes"),
    "unknown-field": Kind(422, "No row so far had this field"),
    "text-for-number": Kind(422, "A text is where numbers have been"),
    "no-known-feature": Kind(422, "The row has no feature that the model knows"),
    "other-content": Kind(422, "The id was used before with other content"),
    "unknown-model": Kind(404, "There is no such model"),
    "unknown-id": Kind(404, "There is no example with this id"),
    "unknown-version": Kind(404, "There is no such version"),
    "unknown-batch": Kind(404, "There is no such batch"),
    "unknown-edit": Kind(404, "There is no such edit"),
    "not-found": Kind(404, "There is nothing at this address"),
    "method": Kind(405, "The method is not allowed here"),
    "other-model": Kind(409, "The model exists with other settings"),
    "too-many-versions": Kind(409, "The model has as many versions as it may have"),
    "live-version": Kind(409, "The version answers"),
    "other-label": Kind(409, "The example has another label"),
    "other-task": Kind(409, "The model has another task"),
    "late-reward": Kind(409, "The reward came after the deadline"),
    "cannot-merge": Kind(409, "The models cannot be merged"),
    "merged-already": Kind(409, "The model has these rows already"),
    "one-class": Kind(409, "The model has seen fewer than two classes"),
    "leased": Kind(409, "Another labeller has this row"),
    "expired": Kind(410, "The prediction is too old"),
    "slow-body": Kind(408, "The body did not arrive in time"),
    "too-large": Kind(413, "The body is too large"),
    "head-too-large": Kind(431, "Address and headers are too large"),
    "media-type": Kind(415, "The media type is not supported"),
    "unauthorized": Kind(401, "A token is needed"),
    "forbidden": Kind(403, "The token does not allow this"),
    "read-only": Kind(403, "The server is a replica"),
    "cross-site": Kind(403, "The request comes from another site"),
    "set-aside": Kind(422, "The model could not learn the row"),
    "model-failed": Kind(503, "The model has stopped"),
    "no-encoder": Kind(503, "The encoder of the model is not there"),
    "overloaded": Kind(503, "The server has too much to do"),
    "not-ready": Kind(503, "The server is not ready"),
    "stopping": Kind(503, "The server is stopping"),
    "log-failed": Kind(503, "The log cannot be written"),
    "disk-full": Kind(507, "The disk is full"),
    "internal": Kind(500, "The server has a fault"),
}


class Problem(Exception):
    """A request that cannot be answered as it is.

    Parameters
    ----------
    kind : str
        A name in :data:`KINDS`.
    detail : str
        What was given, what is allowed and what to do.
    pointer : str, optional
        JSON pointer to the part of the body that is wrong.
    """

    def __init__(self, kind: str, detail: str, pointer: str | None = None) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.pointer = kind, detail, pointer

    @property
    def status(self) -> int:
        return KINDS[self.kind].status

    def within(self, pointer: str) -> Problem:
        """Return the problem of a part of a body as that of the body."""
        return Problem(self.kind, self.detail, pointer + (self.pointer or ""))

    def as_json(self) -> dict[str, Any]:
        """Return the members of ``application/problem+json``."""
        kind = KINDS[self.kind]
        found = {"type": f"urn:confidently:{self.kind}", "title": kind.title, "status": kind.status}
        return found | {"detail": self.detail} | ({} if self.pointer is None else {"pointer": self.pointer})


def tried(function: Callable[..., Any], *arguments: Any, pointer: str = "") -> Any:
    """Return what a function returns, or the problem that it raises, about the part of a body at the pointer."""
    try:
        return function(*arguments)
    except Problem as problem:
        return problem.within(pointer) if pointer else problem


def problem_of(error: OSError) -> Problem:
    """Return the problem that a file could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Problem("disk-full", "the disk is full; nothing was stored")
    return Problem("internal", f"a file could not be written ({error.strerror})")
