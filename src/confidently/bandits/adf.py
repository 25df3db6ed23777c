"""Vowpal Wabbit's text of logged decisions whose actions have features (``--cb_explore_adf``)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .. import _core
from ..data.batch import DataError
from ..data.formats.lines import parser_of, pieces
from ..data.reading import ReaderOptions
from ..data.request import ReadRequest
from ..data.sources.source import display_name, read_chunks
from ..rules.ranges import check_choice

SHARED = "shared"  # the word that begins the line of features of all actions
LINES_PER_CALL = 4096  # of the compiled parser, at least
# Shifts and factors of the finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
MIXING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
BITS = range(1, 31)


class LoggedActions(NamedTuple):
    """One logged decision.

    Attributes
    ----------
    actions : csr_array of shape (n_actions, 2^bits)
        The features of the actions.
    shared : csr_array of shape (1, 2^bits)
        Those of the line ``shared``, which belong to all actions; empty without such a line.
    chosen : int, optional
        The number of the action with a label, from 0; None without a label.
    cost, probability : float, optional
        Of the label.
    line : int
        The number of the first line in its file.
    """

    actions: csr_array
    shared: csr_array
    chosen: int | None
    cost: float | None
    probability: float | None
    line: int

    def crossed(self) -> csr_array:
        """Return a row per action for a linear model: its features, the shared ones, and products of both.

        Products are hashed into the same 2^bits columns, as with VW's ``--interactions``.
        """
        n, width = self.actions.shape
        x, z = self.shared, self.actions
        counts = np.diff(z.indptr)
        row = np.repeat(np.arange(n), counts)
        product = _hashed(_hashed(x.indices.astype(np.uint64)) ^ z.indices.astype(np.uint64)[:, None])
        columns = (product & np.uint64(width - 1)).astype(np.int64)
        rows = np.repeat(row, x.nnz)
        every = np.arange(n).repeat(x.nnz)
        return csr_array(
            (
                np.concatenate([z.data, np.tile(x.data, n), np.outer(z.data, x.data).ravel()]),
                (
                    np.concatenate([row, every, rows]),
                    np.concatenate([z.indices, np.tile(x.indices, n), columns.ravel()]),
                ),
            ),
            shape=(n, width),
        )


class _Lines(NamedTuple):
    """The lines of one decision: the number of the first one, whether that is shared, and the label."""

    line: int
    n_lines: int
    has_shared: bool
    label: tuple[int, float, float] | None  # of which action, cost, probability


def read_cb_adf(path: str | os.PathLike[str], bits: int = 18) -> Iterator[LoggedActions]:
    """Yield the decisions of a file of VW's text for ``--cb_adf`` and ``--cb_explore_adf``.

    A blank line ends a decision. Its first line may be ``shared |features``; each other line is an action,
    ``[label] |features``, and at most one has a label ``action:cost:probability``, whose action number is ignored.

    Parameters
    ----------
    path : path
        A file, which may be compressed.
    bits : int
        Features are hashed into 2^bits columns, 1 to 30, with VW's namespaces and values.

    Yields
    ------
    LoggedActions

    Raises
    ------
    confidently.data.DataError
        For an invalid line, with the file and its number.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".vw") as file:
    ...     _ = file.write("shared |user age:0.3\\n|item news\\n0:-1:0.5 |item sport\\n\\n")
    ...     file.flush()
    ...     for one in read_cb_adf(file.name):
    ...         print(one.actions.shape[0], one.chosen, one.cost, one.probability)
    2 1 -1.0 0.5
    """
    check_choice("bits", bits, BITS)
    reading = ReaderOptions(format="vw", bits=bits, normalize="none")
    request = ReadRequest(ignore_labels=True)
    parser = parser_of(reading, request, own_columns=False)
    numbering = _core.Numbering(request.options(reading))
    name = display_name(path)
    waiting: list[bytes] = []  # lines of complete decisions and of the one that has begun
    first = 1  # the number of the first of them
    keys: list[np.ndarray] = []  # hashes of the features, which the parser numbers by first appearance
    done: list[_Lines] = []
    current: list[tuple[int, bytes]] = []

    def flush(n: int) -> Iterator[LoggedActions]:
        """Parse the first n waiting lines, those of the decisions in ``done``."""
        nonlocal first
        text = b"".join(waiting[:n])
        try:
            parser.parse(b"", text, first)
            parser.number(numbering)
            found = parser.take()
            keys.append(found["new_features"][1])
        except ValueError as error:
            raise DataError(f"{name}, {error}") from None
        known = np.concatenate(keys)
        keys[:] = [known]
        shape = len(found["start"]) - 1, 1 << bits
        rows = csr_array((found["values"], known[found["columns"]].astype(np.int64), found["start"]), shape=shape)
        rows.sum_duplicates()
        at = 0
        for one in done:
            of_one = rows[at : at + one.n_lines]
            shared = of_one[:1] if one.has_shared else csr_array((1, 1 << bits))
            chosen, cost, probability = (None, None, None) if one.label is None else one.label
            yield LoggedActions(of_one[one.has_shared :], shared, chosen, cost, probability, one.line)
            at += one.n_lines
        del waiting[:n]
        done.clear()
        first += n

    for piece in pieces(read_chunks(path)):
        complete = piece.text[: piece.text.rfind(b"\n") + 1]
        lines = (piece.begun + complete).splitlines(keepends=True)
        for number, line in enumerate(lines, start=piece.line):
            waiting.append(line)
            if line.strip():
                current.append((number, line))
                continue
            if current:
                done.append(_lines_of(name, current))
                current = []
            if len(waiting) >= LINES_PER_CALL:
                yield from flush(len(waiting))
    if current:
        done.append(_lines_of(name, current))
    if done:
        yield from flush(len(waiting))


def _hashed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers in which every bit depends on all bits of the given ones."""
    found = numbers + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in MIXING:
        found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
    return found


def _lines_of(name: str, lines: list[tuple[int, bytes]]) -> _Lines:
    """Return what the heads of the lines of a decision say.

    Raises
    ------
    DataError
        For an invalid head, or a decision without actions or with two labels.
    """
    has_shared, label = False, None
    for k, (number, line) in enumerate(lines):
        head, bar, _ = line.partition(b"|")
        if not bar:
            raise DataError(
                f"{name}, line {number}: no | in a line of Vowpal Wabbit's text; write one in each, even without any "
                "features, or a log as JSON lines: objects with context, actions, chosen, probability and reward"
            )
        touches = bool(head) and not head[-1:].isspace()  # the last word is then a tag
        words = head.decode("utf-8", errors="replace").split()
        if touches and (":" in words[-1] or words[-1] == SHARED):
            raise DataError(f"{name}, line {number}: {words[-1]!r} touches the |, which makes it a tag; add a space")
        if words and (touches or words[-1].startswith("'")):
            words = words[:-1]
        if words == [SHARED]:
            if k:
                raise DataError(f"{name}, line {number}: shared is not the first line of its decision; move it there")
            has_shared = True
        elif words:
            where = f"{name}, line {number}"
            if label is not None:
                raise DataError(
                    f"{where}: another label before a blank line, which ends a decision; only the chosen action has "
                    "one (of --cb, which has a decision in each line, write all actions, as for --cb_adf)"
                )
            label = (k - has_shared, *_label(where, words))
    if len(lines) == has_shared:
        raise DataError(f"{name}, line {lines[0][0]}: shared features without an action; write a line per action below")
    return _Lines(lines[0][0], len(lines), has_shared, label)


def _label(where: str, words: list[str]) -> tuple[float, float]:
    """Return cost and probability of a label."""
    parts = words[0].split(":")
    problem = f"{where}: expected a label action:cost:probability, got {' '.join(words)!r}"
    try:
        action, cost, probability = int(parts[0]), float(parts[1]), float(parts[2])
    except (ValueError, IndexError):
        raise DataError(problem) from None
    if len(words) > 1 or len(parts) > 3 or action < 0 or not math.isfinite(cost):
        raise DataError(problem)
    if not 0 < probability <= 1:
        raise DataError(f"{where}: the probability of the chosen action must be in (0, 1], got {parts[2]}")
    return cost, probability
