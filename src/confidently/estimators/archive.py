"""Files of several parts: a zip archive with a JSON header, texts, arrays and model files. Nothing is pickled."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..data.sources.whole_files import new_file
from ..models.file import ModelFileError
from .loading import load

ARRAY, MODEL = ".npy", ".cw"  # ends of names of arrays and of models
FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # of entries, so that equal contents have equal files


@dataclass
class Archive:
    """The contents of a file.

    Attributes
    ----------
    header : dict
        Plain values.
    texts : dict of str
        By the names of their entries.
    arrays : dict of ndarray
    estimators : dict
        Fitted estimators, by name.
    """

    header: dict[str, Any]
    texts: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    estimators: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ArchiveKind:
    """A kind of file.

    Attributes
    ----------
    header : str
        The name of the entry with the header.
    format : int
        The version of the format.
    title : str
        What such a file is: "the file of a bandit".
    writer : str
        The method that writes it.
    oldest : int, optional
        The first version of the format that is read, if it is another one.
    """

    header: str
    format: int
    title: str
    writer: str
    oldest: int | None = None

    def write(self, path: str | os.PathLike[str], contents: Archive) -> None:
        """Write a file, which appears under its name only when it is complete."""
        with new_file(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            _put(archive, self.header, json.dumps({"format": self.format, **contents.header}, allow_nan=False).encode())
            for name, text in contents.texts.items():
                _put(archive, name, text.encode())
            for name, array in contents.arrays.items():
                buffer = io.BytesIO()
                np.save(buffer, array, allow_pickle=False)
                _put(archive, name + ARRAY, buffer.getbuffer())
            with tempfile.TemporaryDirectory() as folder:
                for name, estimator in contents.estimators.items():
                    file = Path(folder) / (name + MODEL)
                    estimator.save(file)
                    _put(archive, name + MODEL, file.read_bytes())

    def is_of(self, path: str | os.PathLike[str]) -> bool:
        """Return whether an archive is of this kind, sound or not."""
        with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
            return self.header in archive.namelist()
        return False

    def read(self, path: str | os.PathLike[str]) -> Archive:
        """Read a file.

        Raises
        ------
        ModelFileError
            If it is of another kind, is damaged, or was written by a later version.
        OSError
            If it cannot be read.
        """
        if not zipfile.is_zipfile(path):
            with open(path, "rb"):  # an OSError, if that is the reason
                raise ModelFileError(f"{path}: not {self.title}; pass one that {self.writer} wrote")
        with (
            self.damage_reported(path),
            zipfile.ZipFile(path) as archive,
            tempfile.TemporaryDirectory() as folder,
        ):
            header = json.loads(archive.read(self.header))
            oldest = self.format if self.oldest is None else self.oldest
            if header["format"] not in range(oldest, self.format + 1):
                raise ModelFileError(
                    f"{path}: unknown format {header['format']!r}; this version of confidently reads format "
                    f"{self.format}, so upgrade it"
                )
            found = Archive(header)
            for entry in archive.namelist():
                name, end = os.path.splitext(entry)
                if end == ARRAY:
                    found.arrays[name] = np.load(io.BytesIO(archive.read(entry)), allow_pickle=False)
                elif end == MODEL:
                    file = Path(folder) / "model"  # not the name in the archive, which may lead elsewhere
                    file.write_bytes(archive.read(entry))
                    found.estimators[name] = load(file)
                elif entry != self.header:
                    found.texts[entry] = archive.read(entry).decode()
            return found

    @contextmanager
    def damage_reported(self, path: object) -> Iterator[None]:
        """Turn the errors that a damaged file causes into a ``ModelFileError`` with the name of the file."""
        try:
            yield
        except ModelFileError as error:
            raise error if str(error).startswith(str(path)) else ModelFileError(f"{path}: {error}") from error
        except (LookupError, TypeError, ValueError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            shown = f"{type(error).__name__}: {error}"[:300]
            raise ModelFileError(f"{path}: damaged {self.title.removeprefix('the ')} ({shown})") from error


def _put(archive: zipfile.ZipFile, name: str, content: bytes | memoryview) -> None:
    archive.writestr(zipfile.ZipInfo(name, FIXED_TIME), content, zipfile.ZIP_DEFLATED)
