"""Files of bandits: a zip archive with a JSON header, arrays, model files and the log. Nothing is pickled."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..estimators.archive import Archive, ArchiveKind
from .decisions import Decision, decision_of

BANDIT = ArchiveKind("bandit.json", 1, "the file of a bandit", "ContextualBandit.save")
LOG = "log.jsonl"

damage_reported = BANDIT.damage_reported


@dataclass
class Saved:
    """The contents of a bandit's file.

    Attributes
    ----------
    header : dict
        Plain values: arms, policy, the state of the random generator, and what waits for rewards.
    arrays : dict of ndarray
    estimators : dict
        Fitted estimators, by name.
    log : list of Decision
    """

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]
    estimators: dict[str, Any]
    log: list[Decision]


def write(path: str | os.PathLike[str], saved: Saved) -> None:
    """Write a file, which appears under its name only when it is complete."""
    lines = (json.dumps(asdict(one), allow_nan=False) for one in saved.log)
    log = "".join(f"{line}\n" for line in lines)
    BANDIT.write(path, Archive(saved.header, {LOG: log}, saved.arrays, saved.estimators))


def read(path: str | os.PathLike[str]) -> Saved:
    """Read a file; the errors are those of :meth:`ArchiveKind.read`."""
    found = BANDIT.read(path)
    with damage_reported(path):
        log = [decision_of(json.loads(line)) for line in found.texts[LOG].splitlines()]
    return Saved(found.header, found.arrays, found.estimators, log)
