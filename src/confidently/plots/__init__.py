"""Pictures of learners, in the style of scikit-learn's Display objects. Needs matplotlib: ``confidently[plots]``.

Every display is made by a class method whose name begins with ``from_``, draws itself on ``ax`` (by default a new
figure) and keeps what it drew: ``ax_``, ``figure_`` and its numbers. ``plot(ax=...)`` draws it again elsewhere and
returns the Axes.

===============================  ==============================================================================
:class:`LearningCurveDisplay`    progressive error as rows come, with bands over orders of the rows
:class:`UpdatesDisplay`          error against the number of updates
:class:`LabelsDisplay`           test error against the number of labels asked for
:class:`ErrorBarsDisplay`        errors of several learners side by side
:class:`WeightEllipsesDisplay`   pairs of weights as ellipses of the Gaussian
:class:`DecisiveWeightsDisplay`  the weights that decide most, with error bars
:class:`DecisionMapDisplay`      mean of the margin over two features, and its standard deviation
:class:`ReliabilityDisplay`      how often what is said to have probability p comes true
:class:`ConfidenceLossDisplay`   the loss of CW-Stdev for several confidences
===============================  ==============================================================================
"""

from .curves import ErrorBarsDisplay, LabelsDisplay, LearningCurveDisplay, UpdatesDisplay
from .gaussian import DecisionMapDisplay, DecisiveWeightsDisplay, WeightEllipsesDisplay
from .probabilities import ConfidenceLossDisplay, ReliabilityDisplay

__all__ = [
    "ConfidenceLossDisplay",
    "DecisionMapDisplay",
    "DecisiveWeightsDisplay",
    "ErrorBarsDisplay",
    "LabelsDisplay",
    "LearningCurveDisplay",
    "ReliabilityDisplay",
    "UpdatesDisplay",
    "WeightEllipsesDisplay",
]
