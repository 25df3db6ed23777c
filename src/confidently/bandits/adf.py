"""Vowpal Wabbit's text of logged decisions whose actions have features (``--cb_explore_adf``)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..rules.ranges import check_choice
from .logged_decision import Skipping
from .vw_labels import Cost
from .vw_text import RowsOfText, adf_heads, decisions_in_text

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
    text = RowsOfText(bits)
    for one, rows in decisions_in_text(path, text, adf_heads, Skipping()):
        columns = np.concatenate(text.keys).astype(np.int64)[rows.indices] if rows.nnz else rows.indices
        hashed = csr_array((rows.data, columns, rows.indptr), shape=(rows.shape[0], 1 << bits))
        hashed.sum_duplicates()
        shared = hashed[:1] if one.has_shared else csr_array((1, 1 << bits))
        label = one.label or Cost(0)
        chosen = None if one.label is None else label.action
        yield LoggedActions(hashed[one.has_shared :], shared, chosen, label.cost, label.probability, one.line)


def _hashed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers in which every bit depends on all bits of the given ones."""
    found = numbers + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in MIXING:
        found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
    return found
