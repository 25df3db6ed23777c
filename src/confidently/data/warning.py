"""The warning about data that may not be meant as they are read."""

from __future__ import annotations

import warnings


class DataWarning(UserWarning):
    """Data can be read, but may not be meant as they are read."""


def warn(text: str) -> None:
    """Issue a :class:`DataWarning`."""
    warnings.warn(text, DataWarning, stacklevel=3)
