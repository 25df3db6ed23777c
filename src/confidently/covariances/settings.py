"""The settings of a learner: one list, from which constructors, options and model headers derive."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from ..rules import AROW, make_rule
from ..rules.ranges import Range, check_choice, check_integer, check_number
from ..rules.rule import Rule
from ..tasks.table import BINARY, task_named
from ..tasks.task import Task
from .names import RANK

DTYPES = ("float64", "float32")
# Columns of weights beyond which covariances of matrices update only those that rows move, and score by products.
MANY_COLUMNS = 256
PROJECTIONS = ("precision", "moments")
NAMES_IN_FILES = {"rows_per_product": "block_size"}  # model files keep the earlier name
# Settings that files of the current format may lack, with the values that learners had before these settings existed.
ADDED_SETTINGS: dict[str, Any] = {"projection": "precision", "rank": RANK}
# Within these ranges and the largest values of confidently.data.memory.matrix, no number of a state overflows its type.
PRIOR_VARIANCES = Range(1e-15, 1e9, closed_low=True, closed_high=True)
FRACTION = Range(0.0, 1.0, closed_low=True)
MIN_VARIANCES = Range(1e-20, 1.0, closed_low=True)  # a smaller one, times the prior's, is 0 in single precision
PRODUCT_ROWS = Range(1, 2**20, closed_low=True, closed_high=True)
EXAMPLES = Range(1, 2**31, closed_low=True, closed_high=True)
RANKS = Range(1, 2**16, closed_low=True, closed_high=True)


def about(meaning: str, allowed: Range | None = None) -> dict[str, Any]:
    """Return the metadata of a setting: its meaning and, for a number, its range."""
    return {"meaning": meaning, "range": allowed}


@dataclass(frozen=True)
class Settings:
    """The settings of a learner.

    Rule and task may be names. Ranges are checked here. :class:`confidently.learner.learner.Learner` calls
    :func:`confidently.covariances.table.resolved`, which checks what depends on the covariance.

    Raises
    ------
    ValueError, TypeError
        For a value outside its range or of the wrong type; the message gives the allowed ones.

    Examples
    --------
    >>> Settings("arow", "full", prior_variance=0.5).covariance
    'full'
    """

    rule: Rule = field(default_factory=AROW, metadata=about("update rule"))
    covariance: str = field(default="diag", metadata=about("how Sigma is stored: a name in COVARIANCES"))
    task: Task = field(
        default=BINARY,
        metadata=about(
            "two classes; more classes (joint, one-vs-rest or softmax); labels (multilabel: joint or one-vs-rest); or "
            "numbers (regression)"
        ),
    )
    prior_variance: float = field(
        default=1.0, metadata=about("variance of every weight before training", PRIOR_VARIANCES)
    )
    fit_intercept: bool = field(
        default=True, metadata=about("whether every row has a constant feature 1, with the prior of any other")
    )
    average: bool = field(default=False, metadata=about("predict with the mean of the weights over all rows seen"))
    min_variance: float = field(
        default=1e-12, metadata=about("lower bound of variances, as a fraction of the prior's", MIN_VARIANCES)
    )
    dtype: str = field(default="float64", metadata=about("type of the state: float64 or float32"))
    rows_per_product: int | None = field(
        default=None,
        metadata=about("rows that a full, shared or kernel covariance learns per product of matrices", PRODUCT_ROWS),
    )
    kernel: Any = field(
        default=None, metadata=about("covariance kernel: a name of scikit-learn's pairwise kernels, or a function")
    )
    kernel_params: dict[str, Any] | None = field(
        default=None, metadata=about("covariance kernel: the kernel's parameters")
    )
    budget: int | None = field(
        default=None, metadata=about("covariance kernel: maximum number of examples kept", EXAMPLES)
    )
    forget: float = field(
        default=0.0, metadata=about("fraction of the accumulated precision that every row takes away", FRACTION)
    )

    projection: str | None = field(
        default=None,
        metadata=about(
            "what a diagonal covariance keeps of an updated Gaussian: precision or moments; by default what the rule's "
            "paper keeps"
        ),
    )
    rank: int = field(
        default=RANK, metadata=about("covariance low_rank: directions kept besides the precision of each weight", RANKS)
    )

    def __getstate__(self) -> dict[str, Any]:
        return {setting.name: getattr(self, setting.name) for setting in fields(self)}

    def __post_init__(self) -> None:
        for setting in fields(self):
            allowed, value = setting.metadata["range"], getattr(self, setting.name)
            if allowed is not None and not (value is None and setting.default is None):
                check_number("learner", setting.name, value, allowed)
        check_integer("learner", "rank", self.rank, 1)
        task = task_named(self.task)
        check_choice("dtype", str(self.dtype) if self.dtype in DTYPES else self.dtype, DTYPES)
        rule = make_rule(self.rule)
        task.check_rule(rule)
        projection = rule.projection if self.projection is None else self.projection
        check_choice("projection", projection, PROJECTIONS)
        plain = {
            "rule": rule,
            "task": task,
            "prior_variance": float(self.prior_variance),
            "fit_intercept": bool(self.fit_intercept),
            "average": bool(self.average),
            "min_variance": float(self.min_variance),
            "dtype": str(self.dtype),
            "rows_per_product": self.rows_per_product and int(self.rows_per_product),
            "budget": self.budget and int(self.budget),
            "forget": float(self.forget),
            "projection": str(projection),
            "rank": int(self.rank),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    def learners(self, n_classes: int) -> int:
        """Return the number of independent Gaussians: one per class or one."""
        return n_classes if self.independent else 1

    @property
    def floor(self) -> float:
        """Lower bound of variances. Rules of regression leave them positive, and columns may have any unit."""
        return 0.0 if self.task.regression else self.min_variance * self.prior_variance

    @property
    def independent(self) -> bool:
        """Whether every class has a Gaussian of its own, with its own covariance, scale and number of updates."""
        shared = self.covariance == "shared" or (self.covariance == "low_rank" and not self.task.separate)
        return self.task.own_gaussians and not shared

    def header(self) -> dict[str, Any]:
        """Return the settings as plain data, for a model file.

        Raises
        ------
        TypeError
            If the kernel is a function, which cannot be saved.
        """
        if callable(self.kernel):
            raise TypeError("a kernel that is a function cannot be saved in a model file; use one of scikit-learn's")
        plain = asdict(self) | {
            "task": self.task.name,
            "rule": {"name": self.rule.name, "parameters": self.rule.get_params()},
        }
        added = {name for name, before in ADDED_SETTINGS.items() if plain[name] == before}
        return {NAMES_IN_FILES.get(name, name): value for name, value in plain.items() if name not in added}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Return the settings of a :meth:`header` of this version or an earlier one."""
        names = {in_file: name for name, in_file in NAMES_IN_FILES.items()}
        known = ADDED_SETTINGS | {names.get(name, name): value for name, value in header.items()}
        rule = known.pop("rule")
        known["min_variance"] = max(known["min_variance"], MIN_VARIANCES.low)  # earlier versions allowed smaller ones
        made = make_rule(rule["name"])
        left_out = {own.name for own in fields(made) if own.default is None}  # by None, which elsewhere is a value
        parameters = {n: v for n, v in rule["parameters"].items() if v is not None or n not in left_out}
        return cls(made.with_params(**parameters), **known)
