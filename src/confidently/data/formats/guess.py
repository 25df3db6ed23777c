"""The format of a file whose name shows none, by its first lines."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress

from ..sources.encoding import UTF8
from .delimiters import MARKS, cut, first_lines, usual_cells
from .table import DEFAULT, OBJECTS, TEXTS, TYPED, format_of

LINES = 20
MIN_FRACTION = 0.9  # of the lines are of the format
MAX_TEXT_CELLS = 2  # a label and a text
MAX_MAGIC = 8  # bytes
MAGIC = {b"PAR1": TYPED, b"ARROW1": "feather", b"FEA1": "feather"}
FASTTEXT = re.compile(r"__label__\S")
SVMLIGHT = re.compile(r"[^\s|]*(\s+(qid|sid|cost|\d+):\s*[^\s:;,|]+)+\s*(#.*)?")  # no hour behind a day, in cells
NUMBER = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?")
VW = re.compile(r"[^|]*\|\S*(\s.*)?")
VW_BAR = re.compile(r"([^|]*\s)?('[^\s|]*)?\|")  # the first one, behind a space or a tag


def format_of_files(paths: Sequence[str | os.PathLike[str]]) -> str:
    """Return the format that the suffixes of files name, or else the first lines of the first file.

    Raises
    ------
    ValueError
        If suffixes name different formats.
    """
    found = format_of(paths, default="")
    if not found and paths:
        with suppress(OSError, ValueError):  # raised again when the rows are read
            found = format_of_content(paths[0]) or ""
    return found or DEFAULT


def format_of_content(path: str | os.PathLike[str]) -> str | None:
    """Return the format of the first lines of a file; ``None`` if they are of none."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            head = file.read(MAX_MAGIC)
        if (binary := next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)) is not None:
            return binary
    lines = [line for line in first_lines(path, UTF8)[:LINES] if line.strip()]
    if not lines or all(line.lstrip().startswith("{") for line in lines):
        return OBJECTS
    if all(FASTTEXT.match(line) for line in lines):
        return TEXTS
    if _most(SVMLIGHT, lines):
        return DEFAULT
    marks = [mark for mark in MARKS if usual_cells(cut(lines, mark)) > 1]
    is_vw = all(map(VW_BAR.match, lines)) if marks else any(" |" in line or "| " in line for line in lines)
    if _most(VW, lines) and is_vw and not (marks and marks[0] != "|"):
        return "vw"
    if marks == ["\t"]:
        return TEXTS if usual_cells(cut(lines, "\t", quoted=False)) == MAX_TEXT_CELLS else "tsv"
    return "csv" if marks else None


def has_columns_of_words(path: str | os.PathLike[str]) -> bool:
    """Return whether most of the first lines below the header have as many words, three or more, and one a number."""
    lines = [line.split() for line in first_lines(path, UTF8)[:LINES] if line.strip()][1:]
    has_numbers = any(NUMBER.fullmatch(word) for words in lines for word in words)
    return len(lines) > 1 and usual_cells(lines) > MAX_TEXT_CELLS and has_numbers


def _most(pattern: re.Pattern[str], lines: Sequence[str]) -> bool:
    """Return whether a pattern is that of most lines; of the last one, only the beginning may have been read."""
    return sum(pattern.fullmatch(line) is not None for line in lines) >= MIN_FRACTION * len(lines)
