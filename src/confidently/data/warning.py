"""The warning about data that can be read but are perhaps not meant as they are read."""

from __future__ import annotations

import warnings


class DataWarning(UserWarning):
    """Data can be read, but are perhaps not meant as they are read."""


def warn(text: str) -> None:
    """Issue a :class:`DataWarning`."""
    warnings.warn(text, DataWarning, stacklevel=3)
