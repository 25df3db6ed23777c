"""The entries of a model file about the estimator that would train its learner."""

from __future__ import annotations

from typing import Any


def estimator_entries(
    targets: bool, auto: bool, *, covariance: str, multiclass: str | None, calibration: str | None
) -> dict[str, Any]:
    """Return the parameters of an estimator that are not its learner's.

    Parameters
    ----------
    targets : bool
        Whether rows have numbers instead of classes or labels.
    auto : bool
        Whether the learner is a stack.
    covariance : str
        As chosen, perhaps "auto".
    multiclass, calibration : str or None
    """
    if not targets:
        return {"members": "auto"} if auto else {"multiclass": multiclass, "calibration": calibration}
    if auto:
        return {"members": "auto", "passes": 1, "shuffle": "auto", "random_state": 0}
    return {
        "covariance": covariance, "calibration": calibration, "one_dimensional": True, "passes": 1, "shuffle": False,
        "random_state": None,
    }  # fmt: skip
