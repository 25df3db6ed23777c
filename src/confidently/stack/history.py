"""What a mixture was after some rows: the shares of its windows and the weights of its members."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..learner.learner import Learner
from .following import WINDOW_ROWS
from .members import Members


class MixturePoint(NamedTuple):
    """A mixture after some rows.

    Attributes
    ----------
    shares : float array of shape (windows,)
        Of the windows of 50, 300 and 5000 rows.
    weights : dict of str to float
        Of the members, by name.
    forget : dict of str to float
        The fraction of what it knows that each member forgets per row.
    """

    shares: np.ndarray
    weights: dict[str, float]
    forget: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Return shares, by the rows of their windows, and weights as plain data."""
        shares = dict(zip(map(str, WINDOW_ROWS), self.shares.tolist(), strict=True))
        return {"shares": shares, "weights": self.weights}


def mixture_of(learner: Any) -> MixturePoint | None:
    """Return the mixture as it is; ``None`` of single learners, stacks of several mixtures, and without members."""
    if not isinstance(learner, Members) or learner.moves is None or not learner.members:
        return None
    forget = [member.settings.forget if isinstance(member, Learner) else 0.0 for member in learner.members]
    weights = learner.member_weights.tolist()
    return MixturePoint(
        learner.shares.copy(),
        dict(zip(learner.names, weights, strict=True)),
        dict(zip(learner.names, forget, strict=True)),
    )
