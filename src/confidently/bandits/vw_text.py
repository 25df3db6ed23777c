"""Vowpal Wabbit's text of logged decisions: ``--cb_adf`` with a line per action, and ``--cb`` with one per decision."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from .. import _core
from ..data.batch import DataError
from ..data.features import Strings
from ..data.formats.lines import parser_of, pieces
from ..data.reading import ReaderOptions
from ..data.request import ReadRequest
from ..data.sources.source import display_name, read_chunks
from .actions import Action
from .logged_decision import LoggedDecision, Skipping, checked
from .vw_labels import SHARED, Cost, costs_of, decision_among, label_of, words_before

LINES_PER_CALL = 4096  # of the compiled parser, at least

Lines = list[tuple[int, bytes]]  # with their numbers


class Head(NamedTuple):
    """The lines of one decision: the number of the first one, whether that is shared, and the label.

    The action of ``label`` is the number of the line that has it, from 0. With ``--cb`` there is one line, which is
    ``decision`` without its context.
    """

    line: int
    n_lines: int
    has_shared: bool = False
    label: Cost | None = None
    decision: LoggedDecision | None = None


class RowsOfText:
    """Parses lines to rows, whose features are numbered by first appearance.

    Parameters
    ----------
    bits : int, optional
        Of the hashes ``keys`` of features; by default their ``names`` are kept instead.
    """

    def __init__(self, bits: int | None = None) -> None:
        self.hashed, how = bits is not None, {"vocabulary": True} if bits is None else {"bits": bits}
        self.reading = ReaderOptions(format="vw", normalize="none", **how)
        self.request = ReadRequest(ignore_labels=True)
        self.parser = parser_of(self.reading, self.request, own_columns=True)
        self.numbering = _core.Numbering(self.request.options(self.reading))
        self.keys, self.names = [np.zeros(0, np.uint32)], list[str]()

    def rows(self, text: bytes, first: int) -> csr_array:
        """Return a row per line that is not blank; ``ValueError``: a line, counted from ``first``, is invalid."""
        try:
            self.parser.parse(b"", text, first)
        except ValueError:
            self.parser = parser_of(self.reading, self.request, own_columns=True)
            raise
        self.parser.number(self.numbering)
        found = self.parser.take()
        _, keys, names = found["new_features"]
        if self.hashed:
            self.keys = [np.concatenate([*self.keys, keys])]
        else:
            self.names += [name.replace("^", ".", 1) for name in Strings(*names)]
        shape = len(found["start"]) - 1, max(found["n_columns"], 1)
        return csr_array((found["values"], found["columns"], found["start"]), shape=shape)

    def features(self, rows: csr_array, k: int) -> dict[str, float]:
        """Return the features of a row, with the names that :func:`confidently.bandits.flat` gives those of JSON."""
        found, (first, last) = dict[str, float](), rows.indptr[k : k + 2]
        for column, value in zip(rows.indices[first:last].tolist(), rows.data[first:last].tolist(), strict=True):
            name = self.names[column]
            found[name] = found.get(name, 0.0) + value
        return found


def decisions_in_text(
    path: str | os.PathLike[str],
    text: RowsOfText,
    heads: Callable[[str, Lines], Head],
    skipping: Skipping,
    *,
    by_line: bool = False,
) -> Iterator[tuple[Head, csr_array]]:
    """Yield the decisions of a file, each with a row per line.

    Parameters
    ----------
    path : path
    text : RowsOfText
    heads : callable
        What the heads of the lines of a decision say, such as :func:`adf_heads`.
    skipping : Skipping
        For invalid decisions.
    by_line : bool
        Whether each line is a decision; otherwise blank lines are between them.

    Raises
    ------
    confidently.data.DataError
        For an invalid line that is not skipped, with the file and its number.
    OSError
        If the file cannot be read.
    """
    name = display_name(path)
    waiting = list[bytes]()  # consecutive lines; those of invalid decisions are blank
    first = 1  # the number of the first of them
    done, current = list[Head](), Lines()

    def flush() -> Iterator[tuple[Head, csr_array]]:
        """Parse the waiting lines, those of the decisions in ``done``."""
        nonlocal first
        try:
            rows = text.rows(b"".join(waiting), first) if done else None
        except ValueError:
            yield from one_by_one()
        else:
            at = 0
            for one in done:
                yield one, rows[at : at + one.n_lines]  # type: ignore[index]
                at += one.n_lines
        first += len(waiting)
        waiting.clear()
        done.clear()

    def one_by_one() -> Iterator[tuple[Head, csr_array]]:
        """Parse the decisions each by itself, since one is invalid."""
        for one in done:
            lines, rows = waiting[one.line - first : one.line - first + one.n_lines], None
            with skipping.at(name):
                try:
                    rows = text.rows(b"".join(lines), one.line)
                except ValueError as error:
                    raise DataError(f"{name}, {error}") from None
            if rows is not None:
                yield one, rows

    def end() -> None:
        """End the decision of the current lines."""
        found = None
        with skipping.at(name):
            found = heads(name, current)
        if found is None:
            for number, _ in current:
                waiting[number - first] = b"\n"
        else:
            done.append(found)
        current.clear()

    for number, line in _lines(path):
        waiting.append(line)
        if line.strip():
            current.append((number, line))
        if current and (by_line or not line.strip()):
            end()
        if not current and len(waiting) >= LINES_PER_CALL:
            yield from flush()
    if current:
        end()
    yield from flush()


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    for piece in pieces(read_chunks(path)):
        *complete, _ = (piece.begun + piece.text).split(b"\n")
        yield from enumerate((line + b"\n" for line in complete), start=piece.line)


def adf_heads(name: str, lines: Lines) -> Head:
    """Return what the heads of the lines of a decision of ``--cb_adf`` say.

    Raises
    ------
    DataError
        For an invalid head, or a decision without actions or with two labels.
    """
    has_shared, label = False, None
    for k, (number, line) in enumerate(lines):
        where = f"{name}, line {number}"
        words = words_before(where, line)
        if words == [SHARED]:
            if k:
                raise DataError(f"{where}: shared is not the first line of its decision; move it there")
            has_shared = True
        elif words:
            if label is not None:
                raise DataError(
                    f"{where}: another label before a blank line, which ends a decision; only the chosen action has "
                    "one; use --actions K for text of --cb K, which has a decision in each line"
                )
            label = _told(where, label_of, words)._replace(action=k - has_shared)
    if len(lines) == has_shared:
        raise DataError(f"{name}, line {lines[0][0]}: shared features without an action; write a line per action below")
    return Head(lines[0][0], len(lines), has_shared, label)


def cb_head(name: str, lines: Lines, ids: Sequence[str]) -> Head:
    """Return what the head of a line of ``--cb K`` says, whose actions have ids; ``DataError``: it is invalid."""
    [(number, line)] = lines
    where = f"{name}, line {number}"
    words = words_before(where, line)
    if words[:1] == [SHARED]:
        raise DataError(f"{where}: shared is of text for --cb_adf, which has a line per action; omit --actions")
    return Head(number, 1, decision=_told(where, lambda words: decision_among(ids, costs_of(words), None), words))


def _told(where: str, reads: Callable[[list[str]], Any], words: list[str]) -> Any:
    """Return what a function makes of words; its errors become those of a line."""
    try:
        return reads(words)
    except ValueError as error:
        raise DataError(f"{where}: {error}") from None


def read_text(path: str | os.PathLike[str], ids: Sequence[str] | None, skipping: Skipping) -> Iterator[LoggedDecision]:
    """Yield the decisions of a file of Vowpal Wabbit's text: of ``--cb`` if there are ids of actions."""
    text, name = RowsOfText(), display_name(path)
    heads = adf_heads if ids is None else partial(cb_head, ids=ids)
    for one, rows in decisions_in_text(path, text, heads, skipping, by_line=ids is not None):
        place, found = f"{name}, line {one.line}", None
        with skipping.at(place):
            if one.decision is None:
                found = checked(_of_actions(one, rows, text))
            else:
                found = checked(one.decision._replace(context=text.features(rows, 0)))
        if found is not None:
            yield found._replace(place=place)


def _of_actions(one: Head, rows: csr_array, text: RowsOfText) -> LoggedDecision:
    found = [text.features(rows, k) for k in range(one.n_lines)]
    context = found.pop(0) if one.has_shared else {}
    actions = [Action(str(k), features) for k, features in enumerate(found)]
    label = one.label
    if label is None or label.probability is None:
        return LoggedDecision(context, actions)
    return LoggedDecision(context, actions, label.action, label.probability, label.reward)
