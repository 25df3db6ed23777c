"""The check, after arrays and after streams, that a model does not predict the same class for all documents."""

from __future__ import annotations

import numpy as np

MIN_PREDICTIONS = 100  # fewer may all be of one class by chance


class CollapseWarning(UserWarning):
    """A warning that all documents are predicted to be of one class, whatever their topics."""


def collapse_message(scores: np.ndarray, multilabel: bool) -> str | None:
    """Return a message if the scores predict the same for all documents, which are too many for chance."""
    predicted = scores > 0 if multilabel or scores.ndim == 1 else scores.argmax(axis=1)
    if len(predicted) < MIN_PREDICTIONS or (predicted != predicted[0]).any():
        return None
    return (
        f"all {len(predicted)} documents are predicted to be of one class; if that is wrong, use a larger step_size, "
        "fewer topics or, with averaging, n_inner of 2 or more"
    )
