"""Linear classifiers that train in one pass over a stream and report the uncertainty of every prediction.

Every classifier keeps a Gaussian over weight vectors, which every example updates. The update *rule* determines how
far it moves, the *covariance* how its covariance matrix is stored, and the *view* what the learner sees of a row::

    from confidently import OnlineClassifier, CWStdev
    clf = OnlineClassifier(rule=CWStdev(eta=0.9), covariance="diag").fit(X, y)
    mean, variance = clf.margin_distribution(X)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .rules import RULES as RULES
from .rules import make_rule as make_rule
from .rules import step as step
from .rules.bayesian import *  # noqa: F403
from .rules.confidence_weighted import *  # noqa: F403
from .rules.ellipsoid import *  # noqa: F403
from .rules.passive_aggressive import *  # noqa: F403

__version__ = "0.1.0"

LAZY = {  # public names that are imported when they are used, and their modules
    "VIEWS": "views.table",
    "CostWarning": "learner.cost",
    "Cosines": "views.cosines",
    "First": "views.first",
    "Idf": "views.idf",
    "MIRA": "estimators.mira",
    "NaiveBayesScale": "views.naive_bayes",
    "AutoClassifier": "estimators.auto",
    "OnlineClassifier": "estimators.classifier",
    "OnlineMedLDA": "topics.estimator",
    "Pairs": "views.pairs",
    "Standard": "views.standard",
    "Unit": "views.unit",
    "load": "estimators.loading",
    "make_view": "views.table",
    "merge": "estimators.merging",
    "progressive_validation": "evaluation.progressive",
}

if TYPE_CHECKING:  # type checkers see the same names and no others
    from .estimators.auto import AutoClassifier as AutoClassifier
    from .estimators.classifier import OnlineClassifier as OnlineClassifier
    from .estimators.loading import load as load
    from .estimators.merging import merge as merge
    from .estimators.mira import MIRA as MIRA
    from .evaluation.progressive import progressive_validation as progressive_validation
    from .learner.cost import CostWarning as CostWarning
    from .topics.estimator import OnlineMedLDA as OnlineMedLDA
    from .views.cosines import Cosines as Cosines
    from .views.first import First as First
    from .views.idf import Idf as Idf
    from .views.naive_bayes import NaiveBayesScale as NaiveBayesScale
    from .views.pairs import Pairs as Pairs
    from .views.standard import Standard as Standard
    from .views.table import VIEWS as VIEWS
    from .views.table import make_view as make_view
    from .views.unit import Unit as Unit
else:
    __all__ = [*LAZY, "RULES", "make_rule", "step", *(rule.__name__ for rule in RULES.values())]

    def __getattr__(name: str) -> Any:
        # scikit-learn takes a second to import, which the rules and the command line save
        if name in LAZY:
            return getattr(import_module(f"{__name__}.{LAZY[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
