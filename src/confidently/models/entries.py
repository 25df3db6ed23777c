"""The entries of a model file about the estimator that would train its learner."""

from __future__ import annotations

from typing import Any


def estimator_entries(
    targets: bool, auto: bool, *, covariance: str, multiclass: str | None, calibration: str | None, trees: bool
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
    trees : bool
        Whether a stack has members on trees.
    """
    if auto:
        stack = {"members": "auto"} if trees else {"members": "auto", "trees": False}
        return stack | ({"passes": 1, "shuffle": "auto", "random_state": 0} if targets else {})
    if not targets:
        return {"multiclass": multiclass, "calibration": calibration}
    return {
        "covariance": covariance, "calibration": calibration, "one_dimensional": True, "passes": 1, "shuffle": False,
        "random_state": None,
    }  # fmt: skip
