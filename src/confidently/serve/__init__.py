"""An online learning server: rows come in, answers go out, labels follow; nothing acknowledged is lost.

The engine (:mod:`confidently.serve.engine.engine`) knows nothing of HTTP: it keeps a log of events, one thread that
writes the log and one that owns the models. :mod:`confidently.serve.http.app` is its HTTP face. Needs the extra
``serve``.
"""

from ..lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__spec__)  # the server does not need the client
