"""Files of bandits: a zip archive with a JSON header, arrays, model files and the log. Nothing is pickled."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data.sources.whole_files import new_file
from ..estimators.loading import load
from ..models.file import ModelFileError
from .decisions import Decision, decision_of

FORMAT = 1
HEADER, LOG = "bandit.json", "log.jsonl"
ARRAY, MODEL = ".npy", ".cw"  # ends of names of arrays and of models
FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # of entries, so that equal bandits have equal files


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
    with new_file(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        _put(archive, HEADER, json.dumps({"format": FORMAT, **saved.header}, allow_nan=False).encode())
        lines = (json.dumps(asdict(one), allow_nan=False) for one in saved.log)
        _put(archive, LOG, "".join(f"{line}\n" for line in lines).encode())
        for name, array in saved.arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            _put(archive, name + ARRAY, buffer.getvalue())
        with tempfile.TemporaryDirectory() as folder:
            for name, estimator in saved.estimators.items():
                file = Path(folder) / (name + MODEL)
                estimator.save(file)
                _put(archive, name + MODEL, file.read_bytes())


def read(path: str | os.PathLike[str]) -> Saved:
    """Read a file.

    Raises
    ------
    ModelFileError
        If it is not a bandit's file, is damaged, or was written by a later version.
    OSError
        If it cannot be read.
    """
    if not zipfile.is_zipfile(path):
        with open(path, "rb"):  # an OSError, if that is the reason
            raise ModelFileError(f"{path}: not the file of a bandit; pass one that ContextualBandit.save wrote")
    with damage_reported(path), zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
        header = json.loads(archive.read(HEADER))
        if header["format"] != FORMAT:
            raise ModelFileError(
                f"{path}: unknown format {header['format']!r}; this version of confidently reads format {FORMAT}, so "
                "upgrade it"
            )
        log = [decision_of(json.loads(line)) for line in archive.read(LOG).decode().splitlines()]
        saved = Saved(header, {}, {}, log)
        for entry in archive.namelist():
            name = entry.removesuffix(ARRAY).removesuffix(MODEL)
            if entry.endswith(ARRAY):
                saved.arrays[name] = np.load(io.BytesIO(archive.read(entry)), allow_pickle=False)
            elif entry.endswith(MODEL):
                file = Path(folder) / "model"  # not the name in the archive, which may lead elsewhere
                file.write_bytes(archive.read(entry))
                saved.estimators[name] = load(file)
        return saved


@contextmanager
def damage_reported(path: object) -> Iterator[None]:
    """Turn the errors that a damaged file causes into a ``ModelFileError`` with the name of the file."""
    try:
        yield
    except ModelFileError as error:
        raise error if str(error).startswith(str(path)) else ModelFileError(f"{path}: {error}") from error
    except (LookupError, TypeError, ValueError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        shown = f"{type(error).__name__}: {error}"[:300]
        raise ModelFileError(f"{path}: damaged file of a bandit ({shown})") from error


def _put(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, FIXED_TIME), content, zipfile.ZIP_DEFLATED)
