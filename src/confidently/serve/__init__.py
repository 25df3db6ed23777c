"""An online learning server: rows come in, answers go out, labels follow; nothing acknowledged is lost.

The engine (:mod:`confidently.serve.engine`) knows nothing of HTTP: it keeps a log of events, one thread that writes the
log and one that owns the models. :mod:`confidently.serve.app` is its HTTP face. Needs the extra ``serve``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import Client, ServerError

__all__ = ["Client", "ServerError"]


def __getattr__(name: str) -> Any:
    """Import the client when it is asked for: the server does not need it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import client

    return getattr(client, name)
