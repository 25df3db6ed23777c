"""Contextual bandits on the posterior of any model, and what their logs say about other policies."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

LAZY = {  # public names that are imported when they are used, and their modules
    "LoggedActions": "adf",
    "read_cb_adf": "adf",
    "ContextualBandit": "bandit",
    "Decision": "decisions",
    "contexts_of": "decisions",
    "feedback": "decisions",
    "read_log": "decisions",
    "write_log": "decisions",
    "POLICIES": "policies",
    "EpsilonGreedy": "policies",
    "Greedy": "policies",
    "LinTS": "policies",
    "LinUCB": "policies",
    "Policy": "policies",
    "make_policy": "policies",
    "replay": "replaying",
    "Replayed": "replaying",
    "Interval": "intervals",
    "OffPolicyEstimator": "off_policy",
    "Overlap": "overlap",
    "OverlapWarning": "overlap",
    "InverseProbabilityWeighting": "off_policy",
    "SelfNormalizedInverseProbabilityWeighting": "off_policy",
    "DirectMethod": "off_policy",
    "DoublyRobust": "off_policy",
    "ReplayMethod": "off_policy",
}

if TYPE_CHECKING:  # type checkers see the same names and no others
    from .adf import LoggedActions as LoggedActions
    from .adf import read_cb_adf as read_cb_adf
    from .bandit import ContextualBandit as ContextualBandit
    from .decisions import Decision as Decision
    from .decisions import contexts_of as contexts_of
    from .decisions import feedback as feedback
    from .decisions import read_log as read_log
    from .decisions import write_log as write_log
    from .intervals import Interval as Interval
    from .off_policy import DirectMethod as DirectMethod
    from .off_policy import DoublyRobust as DoublyRobust
    from .off_policy import InverseProbabilityWeighting as InverseProbabilityWeighting
    from .off_policy import OffPolicyEstimator as OffPolicyEstimator
    from .off_policy import ReplayMethod as ReplayMethod
    from .off_policy import SelfNormalizedInverseProbabilityWeighting as SelfNormalizedInverseProbabilityWeighting
    from .overlap import Overlap as Overlap
    from .overlap import OverlapWarning as OverlapWarning
    from .policies import POLICIES as POLICIES
    from .policies import EpsilonGreedy as EpsilonGreedy
    from .policies import Greedy as Greedy
    from .policies import LinTS as LinTS
    from .policies import LinUCB as LinUCB
    from .policies import Policy as Policy
    from .policies import make_policy as make_policy
    from .replaying import Replayed as Replayed
    from .replaying import replay as replay
else:
    __all__ = list(LAZY)

    def __getattr__(name: str) -> Any:
        # The reward models import scikit-learn, which policies and estimators of values do not need.
        if name in LAZY:
            return getattr(import_module(f"{__name__}.{LAZY[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
