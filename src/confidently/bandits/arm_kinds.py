"""The kinds of models of arms, of which a bandit takes the first that fits its model."""

from __future__ import annotations

from typing import Any

from .arm_models import ArmModels, PerArm
from .dense_arms import DenseArms
from .reward_model import RewardModel
from .shared_model import SharedModel
from .sparse_arms import SparseArms

KINDS: tuple[type[ArmModels], ...] = (SparseArms, DenseArms, PerArm)


def models_of_arms(
    model: RewardModel, n_features: int, n_arms: int, features: Any = None, prior: Any = None
) -> ArmModels:
    """Return models of arms at the prior.

    Parameters
    ----------
    model : RewardModel
    n_features, n_arms : int
        The number of columns of a context, and of arms.
    features : array or sparse array of shape (n_arms, d), optional
        Of the arms, which then share one model.
    prior : estimator, optional
        One that has seen nothing; by default it is made.
    """
    if features is not None:
        return SharedModel(model, n_features, features, prior)
    prior = prior or model.prior(n_features)
    kind = next(kind for kind in KINDS if kind.fits(model, prior))
    return kind(model, prior, n_arms, n_features)
