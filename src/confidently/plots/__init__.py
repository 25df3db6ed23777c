"""Plots of classifiers, in the style of scikit-learn's Display objects; needs the extra ``plots``.

A class method whose name begins with ``from_`` creates a display and draws it on ``ax``, by default in a new figure.
The display has the Axes ``ax_``, the ``figure_`` and its data as attributes. ``plot(ax=...)`` draws it again elsewhere
and returns the Axes.

===============================  ==============================================================================
:class:`LearningCurveDisplay`    progressive validation error by rows seen, with bands over row orders
:class:`UpdatesDisplay`          error against the number of updates
:class:`LabelsDisplay`           test error against the number of labels requested
:class:`ErrorBarsDisplay`        errors of several learners side by side
:class:`WeightEllipsesDisplay`   pairs of weights as ellipses of the Gaussian
:class:`DecisiveWeightsDisplay`  the most decisive weights, with error bars
:class:`DecisionMapDisplay`      mean of the margin over two features, and its standard deviation
:class:`ReliabilityDisplay`      how often events with predicted probability p happen
:class:`RiskCoverageDisplay`     error of the predictions made, by the fraction of rows predicted
:class:`ConfidenceLossDisplay`   the loss of CW-Stdev for several confidences
:class:`MixtureDisplay`          shares of a stack's windows, or weights of its members, by rows seen
:class:`CoverageDisplay`         coverage or size of prediction sets in the last rows, and alarms
===============================  ==============================================================================
"""

from .abstention import RiskCoverageDisplay
from .coverage import CoverageDisplay
from .curves import ErrorBarsDisplay, LabelsDisplay, LearningCurveDisplay, UpdatesDisplay
from .gaussian import DecisionMapDisplay, DecisiveWeightsDisplay, WeightEllipsesDisplay
from .mixture import MixtureDisplay
from .probabilities import ConfidenceLossDisplay, ReliabilityDisplay

__all__ = [
    "ConfidenceLossDisplay",
    "CoverageDisplay",
    "DecisionMapDisplay",
    "DecisiveWeightsDisplay",
    "ErrorBarsDisplay",
    "LabelsDisplay",
    "LearningCurveDisplay",
    "MixtureDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "UpdatesDisplay",
    "WeightEllipsesDisplay",
]
