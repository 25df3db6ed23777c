"""One of several classes, each of which has a learner of two classes: this one and the rest."""

from __future__ import annotations

from .joint import OneOfSeveral


class OneVsRest(OneOfSeveral):
    """One of several classes by the largest score of separate learners."""

    name = multiclass = "one-vs-rest"
    own_gaussians = True
    separate = True
    share_of_two = 1.0
