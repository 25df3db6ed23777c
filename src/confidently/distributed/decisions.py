"""Training a model of decisions on logs, on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from distributed import Client

from ..bandits.decision_log import play, read_decisions
from ..bandits.decision_merging import merge_decisions
from ..bandits.decision_model import DecisionModel
from .cluster import connected
from .training import result_of


def fit_decisions(
    model: DecisionModel, paths: Sequence[str], *, client: Client | str | None = None, workers: int | None = None,
    rounds: int = 1,
) -> DecisionModel:  # fmt: skip
    """Return a model that continued with the decisions of several logs, each read by one task.

    In every round the logs are dealt out, each task trains a copy of the model on its log, and the results are merged
    (:func:`confidently.bandits.merge_decisions`). With full covariances, the number of rounds does not matter.

    Parameters
    ----------
    model : DecisionModel
        With ``forget=False``, since drift is found in the order of decisions. It is not changed.
    paths : sequence of str
        Logs, as :func:`confidently.bandits.read_decisions` reads them, at the same paths on all workers.
    client, workers
        As for :func:`fit`.
    rounds : int
        At most the number of logs.

    Raises
    ------
    ValueError
        If the model forgets, there are no logs, or ``rounds`` is out of range.
    confidently.data.DataError
        For an invalid log.
    """
    if model.drift is not None:
        raise ValueError("fit_decisions: parts of a log cannot be forgotten one by one; use forget=False")
    if not 1 <= rounds <= len(paths):
        raise ValueError(f"fit_decisions: rounds: expected 1 to {len(paths)}, the number of logs, got {rounds}")
    with connected(client, workers) as used:
        for k in range(rounds):
            base: Any = used.scatter(model, broadcast=True, hash=False)
            learned = [used.submit(_continued, base, path, pure=False) for path in paths[k::rounds]]
            model = merge_decisions([result_of(future) for future in learned], model)
    return model


def _continued(model: DecisionModel, path: str) -> DecisionModel:
    """Return a copy of a model that learned from a log."""
    model = model.copy()
    play(model, read_decisions(path), learn=True)
    return model
