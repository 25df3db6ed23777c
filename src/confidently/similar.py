"""Names that may be meant by a name that does not exist, of files, commands and parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., None])
SIMILAR = 0.8  # of the characters, as difflib counts them


def similar(name: str, among: Sequence[str]) -> str | None:
    """Return the name that differs least, first in case and punctuation only; ``None`` if none is similar.

    Examples
    --------
    >>> similar("unit_price", ["Price", "Unit Price"]), similar("amount", ["amuont", "town"]), similar("a", ["b"])
    ('Unit Price', 'amuont', None)
    """
    from difflib import get_close_matches  # imported here to save start-up time

    plain = next((other for other in among if _plain(other) == _plain(name)), None)
    return plain or next(iter(get_close_matches(name, among, n=1, cutoff=SIMILAR)), None)


def hint(name: str, among: Sequence[str]) -> str:
    """Return " (did you mean ...?)" with the name that may be meant; nothing if none is similar.

    Examples
    --------
    >>> hint("arrow", ["pa", "arow"])
    " (did you mean 'arow'?)"
    """
    meant = similar(name, among)
    return "" if meant is None else f" (did you mean {meant!r}?)"


def hinting(init: Method) -> Method:
    """Return an ``__init__`` whose error for a parameter that does not exist names those that do."""

    @wraps(init)
    def checked(self: Any, *args: Any, **parameters: Any) -> None:
        try:
            init(self, *args, **parameters)
        except TypeError:
            from inspect import signature  # imported here to save start-up time

            known = list(signature(init).parameters)[1:]
            if (wrong := next((name for name in parameters if name not in known), None)) is None:
                raise
            there = ", ".join(known) or "none"
            message = f"{type(self).__name__} has no parameter {wrong!r}{hint(wrong, known)}; there are {there}"
            raise TypeError(message) from None

    return checked  # type: ignore[return-value]


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold())) or name
