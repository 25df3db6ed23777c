"""Rows as ordinary data have them: rare classes, few kinds of rows, ties, duplicates, columns that say nothing."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

KINDS = ("continuous", "categorical", "mixed", "sparse")


def columns(kind: str, y: np.ndarray, generator: np.random.Generator) -> np.ndarray | csr_array:
    """Return rows of a kind, shape (n, d), that tell something of their classes, 0 and 1."""
    n = len(y)
    numbers = generator.normal(size=(n, 4)) + y[:, None] * [1.5, 1.0, 0.0, 0.0]
    levels = generator.normal(size=(n, 3)) + y[:, None] * [1.2, 0.6, 0.0]
    indicators = np.concatenate([np.eye(4)[np.digitize(one, [-0.7, 0.3, 1.2])] for one in levels.T], axis=1)
    if kind == "continuous":
        return numbers
    if kind == "categorical":
        return indicators
    if kind == "mixed":
        return np.concatenate([numbers, indicators], axis=1)
    words = generator.random((n, 200)) < np.where(np.arange(200) < 20, 0.03 + 0.1 * y[:, None], 0.03)
    return csr_array(words.astype(float))


def rare_class(kind: str, rows: int, generator: np.random.Generator, n: int = 3000, new: int = 8000):
    """Return rows with so many of class 1 among n, their classes, and new ones with a tenth of class 1."""
    y = np.zeros(n, dtype=np.int64)
    y[generator.choice(n, rows, replace=False)] = 1
    y_new = (generator.random(new) < 0.1).astype(np.int64)
    X = columns(kind, np.concatenate([y, y_new]), generator)
    return X[:n], y, X[n:], y_new


def four_kinds(generator: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return one category of four values, and classes whose shares depend on it."""
    kind = generator.integers(0, 4, n)
    return np.eye(4)[kind], (generator.random(n) < np.array([0.5, 0.2, 0.8, 0.35])[kind]).astype(np.int64)


NULL = ("constant", "coin", "noise", "rare noise", "categories", "signal", "several classes", "duplicates")


def null_stream(kind: str, generator: np.random.Generator, n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows in random order, of which no order is less likely than another."""
    if kind in ("constant", "coin"):
        return np.ones((n, 1)), (generator.random(n) < (0.06 if kind == "constant" else 0.3)).astype(np.int64)
    if kind in ("noise", "rare noise"):
        share = 0.5 if kind == "noise" else 0.08
        return generator.normal(size=(n, 4)), (generator.random(n) < share).astype(np.int64)
    if kind == "categories":
        X = np.eye(3)[generator.integers(0, 3, (n, 3))].reshape(n, 9)
        odds = X @ [0.5, 0.0, -0.5, 0.4, 0.0, -0.4, 0.3, 0.0, -0.3] - 2.0
        return X, (generator.random(n) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int64)
    if kind == "several classes":
        X = generator.normal(size=(n, 5))
        return X, (X @ generator.normal(size=(5, 5)) + generator.gumbel(size=(n, 5))).argmax(axis=1)
    if kind == "duplicates":
        X, y = null_stream("signal", generator, n // 3)
        rows = generator.permutation(np.repeat(np.arange(n // 3), 3))
        return X[rows], y[rows]
    X = generator.normal(size=(n, 4))
    return X, (generator.random(n) < 1.0 / (1.0 + np.exp(1.0 - 1.5 * X[:, 0]))).astype(np.int64)
