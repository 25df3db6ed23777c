from .abstention import RiskCoverage as RiskCoverage
from .abstention import risk_coverage as risk_coverage
from .comparison import Comparison as Comparison
from .comparison import Trial as Trial
from .comparison import compare as compare
from .progressive import MixtureCurve as MixtureCurve
from .progressive import ProgressiveCurve as ProgressiveCurve
