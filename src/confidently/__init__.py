"""Classifiers and regressions that learn a stream in one pass, and say how sure they are of every prediction.

Every learner keeps a Gaussian over weight vectors, which every example updates. The update *rule* determines how
far it moves, the *covariance* how its covariance matrix is stored, and the *view* what the learner sees of a row::

    from confidently import OnlineClassifier, CWStdev
    clf = OnlineClassifier(rule=CWStdev(eta=0.9), covariance="diag").fit(X, y)
    mean, variance = clf.margin_distribution(X)
"""

from .lazy import lazy_names

__version__ = "0.3.0"

# scikit-learn takes a second to import, which the rules and the command line save, and the rules a hundredth
__all__, __getattr__, __dir__ = lazy_names(__spec__)
