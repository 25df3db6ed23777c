"""Files that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

WINDOWS = os.name == "nt"  # which renames and removes no file that is open


def sync_directory(directory: Path) -> None:
    """Make a rename in a directory outlive a power cut, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
