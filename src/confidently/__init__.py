"""Linear classifiers that train in one pass over a stream and report the uncertainty of every prediction.

Every classifier keeps a Gaussian over weight vectors, which every example updates. The update *rule* determines how
far it moves, the *covariance* how its covariance matrix is stored, and the *view* what the learner sees of a row::

    from confidently import OnlineClassifier, CWStdev
    clf = OnlineClassifier(rule=CWStdev(eta=0.9), covariance="diag").fit(X, y)
    mean, variance = clf.margin_distribution(X)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

LAZY = {  # public names that are imported when they are used, and their modules
    "BayesPA": "rules.bayesian",
    "GibbsPA": "rules.bayesian",
    "GibbsPAExact": "rules.bayesian",
    "Logistic": "rules.bayesian",
    "Probit": "rules.bayesian",
    "AROW": "rules.confidence_weighted",
    "NHERD": "rules.confidence_weighted",
    "SCW1": "rules.confidence_weighted",
    "SCW2": "rules.confidence_weighted",
    "SOP": "rules.confidence_weighted",
    "CWStdev": "rules.confidence_weighted",
    "CWVar": "rules.confidence_weighted",
    "PA": "rules.passive_aggressive",
    "PA1": "rules.passive_aggressive",
    "PA2": "rules.passive_aggressive",
    "Perceptron": "rules.passive_aggressive",
    "AROWEps": "rules.regression",
    "PA1Reg": "rules.regression",
    "PA2Reg": "rules.regression",
    "PAReg": "rules.regression",
    "Poisson": "rules.regression",
    "Quantile": "rules.regression",
    "Ridge": "rules.regression",
    "CELLIP": "rules.ellipsoid",
    "IELLIP": "rules.ellipsoid",
    "IELLIPMargin": "rules.ellipsoid",
    "REGRESSION_RULES": "rules.table",
    "RULES": "rules.table",
    "make_rule": "rules.table",
    "step": "rules.table",
    "VIEWS": "views.table",
    "Center": "views.center",
    "CostWarning": "learner.cost",
    "Cosines": "views.cosines",
    "First": "views.first",
    "Idf": "views.idf",
    "MIRA": "estimators.mira",
    "NaiveBayesScale": "views.naive_bayes",
    "AutoClassifier": "estimators.auto",
    "AutoRegressor": "estimators.auto_regressor",
    "OnlineClassifier": "estimators.classifier",
    "OnlineRegressor": "estimators.regressor",
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
    from .estimators.auto_regressor import AutoRegressor as AutoRegressor
    from .estimators.classifier import OnlineClassifier as OnlineClassifier
    from .estimators.loading import load as load
    from .estimators.merging import merge as merge
    from .estimators.mira import MIRA as MIRA
    from .estimators.regressor import OnlineRegressor as OnlineRegressor
    from .evaluation.progressive import progressive_validation as progressive_validation
    from .learner.cost import CostWarning as CostWarning
    from .rules.bayesian import BayesPA as BayesPA
    from .rules.bayesian import GibbsPA as GibbsPA
    from .rules.bayesian import GibbsPAExact as GibbsPAExact
    from .rules.bayesian import Logistic as Logistic
    from .rules.bayesian import Probit as Probit
    from .rules.confidence_weighted import AROW as AROW
    from .rules.confidence_weighted import NHERD as NHERD
    from .rules.confidence_weighted import SCW1 as SCW1
    from .rules.confidence_weighted import SCW2 as SCW2
    from .rules.confidence_weighted import SOP as SOP
    from .rules.confidence_weighted import CWStdev as CWStdev
    from .rules.confidence_weighted import CWVar as CWVar
    from .rules.ellipsoid import CELLIP as CELLIP
    from .rules.ellipsoid import IELLIP as IELLIP
    from .rules.ellipsoid import IELLIPMargin as IELLIPMargin
    from .rules.passive_aggressive import PA as PA
    from .rules.passive_aggressive import PA1 as PA1
    from .rules.passive_aggressive import PA2 as PA2
    from .rules.passive_aggressive import Perceptron as Perceptron
    from .rules.regression import AROWEps as AROWEps
    from .rules.regression import PA1Reg as PA1Reg
    from .rules.regression import PA2Reg as PA2Reg
    from .rules.regression import PAReg as PAReg
    from .rules.regression import Poisson as Poisson
    from .rules.regression import Quantile as Quantile
    from .rules.regression import Ridge as Ridge
    from .rules.table import REGRESSION_RULES as REGRESSION_RULES
    from .rules.table import RULES as RULES
    from .rules.table import make_rule as make_rule
    from .rules.table import step as step
    from .topics.estimator import OnlineMedLDA as OnlineMedLDA
    from .views.center import Center as Center
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
    __all__ = list(LAZY)

    def __getattr__(name: str) -> Any:
        # scikit-learn takes a second to import, which the rules and the command line save, and the rules a hundredth
        if name in LAZY:
            return getattr(import_module(f"{__name__}.{LAZY[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
