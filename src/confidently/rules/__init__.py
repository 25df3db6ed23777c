"""Update rules: how far the Gaussian moves for an example, given the mean and variance of its margin."""

from .bayesian import *  # noqa: F403
from .confidence_weighted import *  # noqa: F403
from .ellipsoid import *  # noqa: F403
from .passive_aggressive import *  # noqa: F403
from .regression import *  # noqa: F403
from .table import REGRESSION_RULES as REGRESSION_RULES
from .table import RULES as RULES
from .table import make_rule as make_rule
from .table import step as step
