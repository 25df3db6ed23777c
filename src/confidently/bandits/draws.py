"""Draws that can be repeated: by a hash, with probabilities of which each is at least as large as given."""

from __future__ import annotations

import hashlib

import numpy as np

from .named_features import Floats


def uniform(seed: int, id: str) -> float:
    """Return a number in [0, 1) that a seed and the id of a decision determine, on every machine."""
    digest = hashlib.blake2b(f"{seed}:{id}".encode(errors="surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest) >> 11) * 2.0**-53


def with_shares(probabilities: Floats, shares: Floats) -> Floats:
    """Return s + (1 - sum of s) p for probabilities p and the least shares s, which are scaled if their sum is above 1.

    Examples
    --------
    >>> with_shares(np.array([1.0, 0.0]), np.array([0.1, 0.1]))
    array([0.9, 0.1])
    """
    shares = shares / max(1.0, float(shares.sum()))
    return shares + (1.0 - shares.sum()) * probabilities


def drawn(probabilities: Floats, u: float) -> int:
    """Return the number of the action at u, in [0, 1), in the cumulated probabilities.

    Examples
    --------
    >>> drawn(np.array([0.25, 0.0, 0.75]), 0.25)
    2
    """
    cumulated = probabilities.cumsum()
    return int(np.searchsorted(cumulated, u * cumulated[-1], side="right"))
