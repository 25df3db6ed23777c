"""Names that may be meant by a name that does not exist."""

from __future__ import annotations

from collections.abc import Sequence

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


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold())) or name
