"""Numbers with their nouns, and lists of names, for messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MAX_LISTED, MAX_COLUMNS = 5, 3
SHELL_SAFE = re.compile(r"[\w@%+=:,./-]+")  # what a shell takes as it is


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "row"), counted(2000, "row"), counted(0, "pass", "passes")
    ('1 row', '2,000 rows', '0 passes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def first_of(n: int, noun: str) -> str:
    """Return the first n things in words.

    >>> first_of(1, "row"), first_of(1000, "row")
    ('first row', 'first 1,000 rows')
    """
    return f"first {noun}" if n == 1 else f"first {counted(n, noun)}"


def listed(names: Iterable[object], most: int = MAX_LISTED) -> str:
    """Return the first names, and how many more there are.

    >>> listed(["a", "b"]), listed("abcdefg", most=3)
    ("'a', 'b'", "'a', 'b', 'c' and 4 more")
    """
    names = list(names)
    shown = ", ".join(map(repr, names[:most]))
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "")


def listed_columns(shown: Sequence[str], most: int = MAX_COLUMNS) -> str:
    """Return the first columns as they are shown, with their noun.

    >>> listed_columns(["'a' (x)"]), listed_columns(["'a'", "'b'", "'c'", "'d'"])
    ("column 'a' (x)", "columns 'a', 'b', 'c' and 1 more")
    """
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return f"column{'s' * (len(shown) > 1)} {', '.join(shown[:most])}{more}"


def typed(*names: str) -> str:
    """Return names as they are typed after an option; in a list, one with a comma or a quote is quoted as in CSV.

    >>> print(typed("a", "b"), typed("wait (min)"), typed("a, b", "it's"))
    a,b 'wait (min)' '"a, b",it'"'"'s'
    """
    quoted = ('"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name for name in names)
    text = ",".join(quoted)
    return text if SHELL_SAFE.fullmatch(text) else "'" + text.replace("'", "'\"'\"'") + "'"
