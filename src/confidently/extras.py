"""How optional dependencies are installed, in messages."""

from __future__ import annotations

INSTALL = "pip install '.[{extra}]' in a clone of confidently"  # of a published release: pip install 'confidently[...]'


def install(extra: str) -> str:
    """Return what installs an extra, for the end of a message.

    >>> print("plots need matplotlib; run", install("plots"))
    plots need matplotlib; run pip install '.[plots]' in a clone of confidently
    """
    return INSTALL.format(extra=extra)
