"""
Compiled core of confidently: rules, covariances, the training loop, readers.
"""

from collections.abc import Sequence
import enum
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray

def rule_names() -> list[str]: ...
def largest_weight(single: bool) -> float: ...
def covariance_names() -> list[str]: ...
def multiclass_names() -> list[str]: ...
def logistic_noise() -> list[tuple[float, float]]: ...

class Rule:
    def __init__(self, name: str, parameters: Sequence[float]) -> None: ...
    @property
    def rescales(self) -> bool:
        """whether its steps have a scale other than 1"""

    def step(
        self, margin: float, variance: float, weight: float = 1.0, updates: float = 0.0, target: float | None = None
    ) -> tuple[float, float, float, bool]: ...

class Matrix:
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def checked(self) -> float:
        """largest absolute value that its rows were checked for; 0: not checked"""

    @checked.setter
    def checked(self, arg: float, /) -> None: ...
    @property
    def stored(self) -> int:
        """number of stored values"""

    def fault(self, largest: float) -> tuple[str, int, int, float] | None: ...

class LabelOrder:
    def __init__(self) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def changes(self) -> int: ...
    @property
    def counts(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    def add(
        self, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> None: ...

def are_within(
    labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_classes: int,
) -> bool: ...
def least_positive(
    numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> float: ...
def distinct_numbers(
    labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> (
    tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]
    | None
): ...
def suspects(rows: Matrix, earliest: float, fraction: float) -> tuple[int, list[int], list[int], int]: ...
def column_counts(
    columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)], n: int
) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
@overload
def dense(
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> Matrix: ...
@overload
def dense(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> Matrix: ...
@overload
def csr(
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_columns: int,
) -> Matrix: ...
@overload
def csr(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_columns: int,
) -> Matrix: ...

class Task(enum.Enum):
    binary = 0

    joint = 1

    one_vs_rest = 2

    multilabel = 3

    multilabel_one_vs_rest = 4

    softmax = 5

    regression = 6

    offset_regression = 7

    centered_regression = 8

class TrainingRows:
    def __init__(
        self,
        labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        label_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None,
        weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        class_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None,
        order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        first: int,
        last: int,
        class_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None,
        targets: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
        | None,
        calibrate: bool,
        log_loss: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None,
        logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")] | None,
        evidence: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")] | None,
        scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None,
        seen: Matrix | None = None,
        seen_order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
        seen_first: int = 0,
    ) -> None: ...

class UndoLog:
    def __init__(self) -> None: ...
    def roll_back(self) -> None: ...

class LearnerSettings:
    pass

class Learner(LearnerSettings):
    def __init__(
        self,
        rule: Rule,
        covariance: str,
        task: Task,
        *,
        independent: bool,
        intercept: bool,
        average: bool,
        moments: bool,
        prior_variance: float,
        min_variance: float,
        forget: float,
        pending: bool = False,
    ) -> None: ...
    def learn(
        self,
        state: dict[str, Any],
        matrix: Matrix,
        rows: TrainingRows,
        largest: float = 0.0,
        undo: UndoLog | None = None,
    ) -> tuple[str, int, int, float] | None: ...
    def scores(
        self,
        state: dict[str, Any],
        matrix: Matrix,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        largest: float = 0.0,
    ) -> tuple[str, int, int, float] | None: ...
    def best(
        self,
        state: dict[str, Any],
        matrix: Matrix,
        out: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        largest: float = 0.0,
    ) -> tuple[str, int, int, float] | None: ...
    def moderated(
        self,
        state: dict[str, Any],
        matrix: Matrix,
        scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        largest: float = 0.0,
    ) -> tuple[str, int, int, float] | None: ...
    def variances(
        self,
        state: dict[str, Any],
        matrix: Matrix,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    ) -> None: ...
    def top_variances(
        self,
        state: dict[str, Any],
        matrix: Matrix,
        scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> None: ...

@overload
def moved_rows(
    weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    prior: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
@overload
def moved_rows(
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    prior: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
@overload
def split_column(
    weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    prior: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    fraction: float,
    variances: bool,
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu")],
) -> None: ...
@overload
def split_column(
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    prior: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    fraction: float,
    variances: bool,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
) -> None: ...
def lists_are_distinct(
    sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_columns: int,
) -> bool: ...
@overload
def copy_lists(
    numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    from_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    to_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def copy_lists(
    numbers: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    from_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    to_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def copy_lists(
    numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    from_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    to_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def copy_rows(
    weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu")],
) -> None: ...
@overload
def copy_rows(
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
) -> None: ...
def binary_probabilities(
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    calibration: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def label_probabilities(
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    calibration: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def class_probabilities(
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    calibration: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def calibration_learn(
    calibration: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
) -> None: ...
def conformal_errors() -> list[float]: ...

conformal_experts: int = 4

conformal_enough: float = 30.0

conformal_counts: int = 207

conformal_counts_of_answers: int = 105

conformal_answer_bins: int = 96

conformal_answer_width: float = 0.125

def conformal_places() -> list[int]: ...
def conformal_places_of_numbers() -> list[int]: ...
def group_errors_places() -> list[int]: ...
def group_errors_begin(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")], numbers: int
) -> None: ...
def group_errors_learn(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    errors: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> None: ...

noise_inputs: int = 65

def noise_sizes(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    matrix: Matrix,
    predictions: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def conformal_begin_intervals(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def conformal_begin(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")], classes: int
) -> None: ...
def conformal_learn(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    classes: int,
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> None: ...
def conformal_gather_rare(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")], classes: int
) -> None: ...
def conformal_learn_late(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
) -> None: ...
def conformal_p_values(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    by_class: bool,
    enough: float,
    repeated: bool,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def conformal_conformity(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    classes: int,
    probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def moved_columns_sizes() -> list[int]: ...
def moved_columns_rows_per_look(width: float) -> float: ...
def moved_columns_begin(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def moved_columns_learn(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    by_column: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    first: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    rows: Matrix,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
) -> None: ...

margin_variances_size: int = 208

def margin_variances_learn(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    variances: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> None: ...
def margin_variances_p_values(
    state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    variances: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def mira_learn(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    *,
    intercept: bool,
    gamma: float,
    C: float,
) -> tuple[int, int]: ...
def mira_step(scores: Sequence[float], truth: int, norm2: float, gamma: float, C: float) -> list[float]: ...
def best_arm(
    mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    deviation: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def json_probabilities(
    keys: bytes,
    ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> bytes: ...
def arm_scores(
    state: dict[str, Any],
    prior_variance: float,
    least_variance: float,
    columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def arm_score(
    state: dict[str, Any],
    prior_variance: float,
    least_variance: float,
    columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    arm: int,
) -> tuple[float, float]: ...
def arm_update(
    state: dict[str, Any],
    prior_variance: float,
    least_variance: float,
    columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    arm: int,
    alpha: float,
    zeta: float,
    moments: bool,
) -> None: ...
def dense_arm_scores(
    state: dict[str, Any],
    prior_variance: float,
    columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    arms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def learn_dense_arms(
    rule: Rule,
    state: dict[str, Any],
    prior_variance: float,
    min_variance: float,
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    arms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rewards: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> bool: ...

min_fraction: float = 0.0001

class Sharing(enum.Enum):
    joint = 0

    shared = 1

    independent = 2

class ProductLearner:
    def __init__(
        self, rule: Rule, task: Task, sharing: Sharing, prior_variance: float, min_variance: float
    ) -> None: ...
    def learn_support(
        self,
        state: dict[str, Any],
        inverse: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
        | None,
        kernel: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        own: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        sides: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        plus: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        minus: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        solved: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        along: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        norm: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        rows: TrainingRows,
    ) -> tuple[int, list[dict[str, Any]]]: ...
    @overload
    def learn(
        self,
        state: dict[str, Any],
        gram: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
        ],
        start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        norm: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        rows: TrainingRows,
        known: list[dict[str, Any]] | None = None,
        first: int = 0,
        room: int = 0,
    ) -> tuple[int, list[dict[str, Any]]]: ...
    @overload
    def learn(
        self,
        state: dict[str, Any],
        gram: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
        ],
        start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        norm: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        rows: TrainingRows,
        known: list[dict[str, Any]] | None = None,
        first: int = 0,
        room: int = 0,
    ) -> tuple[int, list[dict[str, Any]]]: ...

def wider_row(
    matrix: Matrix,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    first: int,
    last: int,
    width: int,
) -> tuple[int, int]: ...
def take_rows(
    matrix: Matrix,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    first: int,
    rows: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
]: ...

class Blas:
    def __init__(self, functions: dict[str, Any]) -> None: ...

@overload
def fill_rows(
    matrix: Matrix,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    first: int,
    intercept: bool,
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
@overload
def fill_rows(
    matrix: Matrix,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    first: int,
    intercept: bool,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
@overload
def multiply_sparse_rows(
    rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    s: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
) -> int: ...
@overload
def multiply_sparse_rows(
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    s: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> int: ...
@overload
def row_squares(
    rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
@overload
def row_squares(
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
@overload
def add_gram(
    blas: Blas,
    s: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    sign: float,
    first: int,
    last: int,
) -> None: ...
@overload
def add_gram(
    blas: Blas,
    s: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    sign: float,
    first: int,
    last: int,
) -> None: ...
@overload
def add_product(
    blas: Blas,
    s: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    left: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    right: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    first: int,
    last: int,
) -> None: ...
@overload
def add_product(
    blas: Blas,
    s: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    left: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    right: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    first: int,
    last: int,
) -> None: ...
@overload
def update_block(
    blas: Blas,
    G: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    plus: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    minus: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    lower: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    mean: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    size: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    Q: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    first: int,
    last: int,
) -> None: ...
@overload
def update_block(
    blas: Blas,
    G: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    plus: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    minus: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    size: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    Q: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    first: int,
    last: int,
) -> None: ...

class LabelCount(enum.Enum):
    ignored = 0

    any = 1

    one = 2

    several = 3

    target = 4

class ReaderOptions:
    def __init__(
        self,
        *,
        largest: float,
        max_columns: int,
        labels: LabelCount,
        skip_errors: bool,
        l2: bool,
        bits: int,
        classes: Sequence[str],
        n_kept: int,
        zeros: bool,
        own_columns: bool,
        strict: bool = False,
        path: str = "",
        skip_unlabelled: bool = False,
        missing: Sequence[str] = [],
        whole_labels: bool = False,
    ) -> None: ...

def is_missing(text: str) -> bool: ...

class NumberFormat:
    def __init__(
        self, *, decimal: str = ".", thousands: str = "", units: bool = False, strict: bool = False
    ) -> None: ...
    def read(self, text: str) -> tuple[float, bytes] | None: ...

class NgramOptions:
    def __init__(self, *, characters: bool, shortest: int, longest: int, binary: bool) -> None: ...

class Numbering:
    def __init__(self, options: ReaderOptions) -> None: ...
    def restore(
        self,
        keys: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

def count_lines(text: bytes) -> int: ...
@overload
def ascend(
    numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    strictly: bool = False,
) -> bool: ...
@overload
def ascend(
    numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    strictly: bool = False,
) -> bool: ...
def come_announced(
    labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    announced: Sequence[int],
    n_labels: int,
) -> bool: ...
@overload
def rows_of_known(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_known: int,
    model: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
]: ...
@overload
def rows_of_known(
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_known: int,
    model: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
]: ...
def take_strings(
    text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> tuple[
    Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]
]: ...
def strings_with(
    text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    characters: str,
) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
def name_keys(
    text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...
def line_formats() -> list[str]: ...
def line_reader(
    format: str,
    options: ReaderOptions,
    *,
    zero_based: bool,
    ngrams: NgramOptions,
    label: str,
    weight: str,
    drop: Sequence[str],
    category: Sequence[str],
    text: Sequence[str],
    keep: Sequence[str],
    only: Sequence[str],
    dates: Sequence[str],
    date_format: str = "",
    units: Sequence[str] = [],
    unit_names: Sequence[str] = [],
    numbers: NumberFormat = ...,
    cells: Sequence[str] = [],
    mixed: Sequence[str] = [],
    of_cells: NumberFormat = ...,
) -> LineReader: ...

class MemoryPool:
    def __init__(self) -> None: ...
    def bytes(self, n: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

class LinePiece:
    @property
    def line(self) -> int: ...
    @property
    def bytes_read(self) -> int: ...

class LinePieces:
    def __init__(self, file: int, piece_bytes: int) -> None: ...
    def next(self) -> LinePiece | None: ...

class LineReader:
    def parse_piece(self, piece: LinePiece) -> None: ...
    def parse(self, begun: bytes, text: bytes, line: int) -> None: ...
    def number(self, numbering: Numbering) -> None: ...
    def take(self) -> dict[str, Any]: ...
    def restore(
        self,
        keys: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        freeze: bool,
    ) -> None: ...

class Topics:
    def __init__(
        self,
        *,
        topics: int,
        tasks: int,
        nonparametric: bool,
        digamma: bool,
        gibbs: bool,
        document_prior: float,
        word_prior: float,
        stick_prior: float,
        c: float,
        epsilon: float,
        prior_variance: float,
        step_size: float,
        inner: int,
        samples: int,
        burn_in: int,
        batch: int,
        seed: int,
    ) -> None: ...
    def learn(
        self,
        state: dict[str, Any],
        n_words: int,
        start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        counts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        signs: Annotated[NDArray[numpy.int8], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        seen: int,
        threads: int,
    ) -> None: ...
    def infer(
        self,
        state: dict[str, Any],
        n_words: int,
        start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        counts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        burn_in: int,
        samples: int,
        proportions: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
        threads: int,
    ) -> None: ...

def digamma(x: float) -> float: ...
def exp_of_negative(x: float) -> float: ...
def inverse_gaussian(mean: float, seed: int, n: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
def table_text(
    columns: Sequence[
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | tuple[
            Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)], Sequence[str]
        ]
    ],
    separator: str,
) -> str: ...

class Use(enum.Enum):
    none = 0

    value = 1

    category = 2

    text = 3

    label = 4

    target = 5

    weight = 6

    number = 7

    date = 8

class PartUse(enum.Enum):
    none = 0

    number = 1

    category = 2

class ColumnUse:
    def __init__(
        self,
        name: str,
        use: Use,
        kept: Sequence[int],
        parts: Sequence[PartUse] = [PartUse.number, PartUse.number, PartUse.number],
        date_format: str = "",
        numbers: NumberFormat = ...,
        unit: str = "",
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def use(self) -> Use: ...
    @property
    def kept(self) -> list[int]: ...
    @property
    def parts(self) -> list[PartUse]: ...
    @property
    def date_format(self) -> str: ...
    @property
    def numbers(self) -> NumberFormat: ...
    @property
    def unit(self) -> str: ...

def is_date(text: str, format: str) -> bool: ...

class CellCounts:
    @property
    def numbers(self) -> int: ...
    @property
    def missing(self) -> int: ...
    @property
    def dates(self) -> int: ...
    @property
    def formatted(self) -> int: ...
    @property
    def others(self) -> int: ...
    @property
    def moments(self) -> int: ...
    @property
    def digits(self) -> int: ...
    @property
    def zeros(self) -> int: ...
    @property
    def codes(self) -> int: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def measured(self) -> int: ...
    @property
    def marks(self) -> dict[float, int]: ...
    @property
    def samples(self) -> list[bytes]: ...
    @property
    def texts(self) -> list[bytes]: ...
    @property
    def different(self) -> int: ...
    @property
    def first(self) -> bytes: ...
    @property
    def first_missing(self) -> bytes: ...
    @property
    def first_formatted(self) -> bytes: ...

def count_cells(cells: Sequence[str], numbers: NumberFormat = ..., date_format: str = "") -> CellCounts: ...
def count_numbers(
    numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> CellCounts: ...

class CsvReader:
    def __init__(
        self, options: ReaderOptions, ngrams: NgramOptions, *, delimiter: str, quotes: bool, careful: bool = False
    ) -> None: ...
    def header(self, text: bytes) -> list[bytes] | None: ...
    def counts(self, text: bytes, *, last: bool, rows: int, texts: int | None = None) -> list[CellCounts] | None: ...
    def describe(self, columns: Sequence[ColumnUse]) -> None: ...
    def feed(self, text: bytes) -> dict[str, Any]: ...
    def finish(self) -> dict[str, Any]: ...
    def restore(
        self,
        keys: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        freeze: bool,
    ) -> None: ...

class ArrowColumn:
    def __init__(
        self,
        which: int,
        *,
        numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
        text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
        start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
        entry: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
        valid: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
        valid_first: int = 0,
        list_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
        list_valid: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
        list_valid_first: int = 0,
    ) -> None: ...

class ArrowReader:
    def __init__(self, options: ReaderOptions, ngrams: NgramOptions) -> None: ...
    def describe(self, columns: Sequence[ColumnUse]) -> None: ...
    def feed(self, n_rows: int, columns: Sequence[ArrowColumn]) -> dict[str, Any]: ...
    def restore(
        self,
        keys: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        freeze: bool,
    ) -> None: ...

class DictLearner:
    def __init__(self, bits: int, max_columns: int, zeros: bool = False) -> None: ...
    def bind(
        self,
        learner: LearnerSettings,
        state: dict[str, Any],
        calibrate: bool,
        largest: float,
        spare: bool,
        classes: dict[Any, int],
        views: Sequence[tuple[str, bool, int]],
    ) -> None: ...
    def unbind(self) -> None: ...
    def learn(self, x: object | None, y: object | None, weight: float) -> bool: ...
    def learn_class(self, x: object | None, label: int, weight: float) -> bool: ...
    def learn_labels(self, x: object | None, labels: Sequence[int], weight: float) -> bool: ...
    def learn_number(self, x: object | None, y: float, weight: float) -> bool: ...
    def best(self, x: object | None) -> int: ...
    def scores(self, x: object | None) -> list[float]: ...
    def number(self, x: object | None) -> float: ...
    def distribution(self, x: object | None) -> tuple[float, float]: ...
    def probabilities(self, x: object | None) -> list[float]: ...
    def row(
        self, x: object | None, learned: bool, largest: float
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]
    ]: ...
    def columns(self, names: Sequence[str], learned: bool) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def forget(self, features: int) -> None: ...
    def features(
        self, first: int = 0
    ) -> tuple[
        Annotated[NDArray[numpy.uint32], dict(shape=(None,))],
        tuple[
            Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]
        ],
    ]: ...
    def restore(
        self,
        keys: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def size(self) -> int:
        """number of features seen"""

class Entities:
    def __init__(
        self,
        priors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        outputs: int,
        regression: bool,
        max_age: int,
    ) -> None: ...
    def __len__(self) -> int: ...
    def add(self, n: int) -> None: ...
    def keep(
        self, slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> None: ...
    def learn(
        self,
        slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        matrix: Matrix,
        offsets: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        now: int,
    ) -> None: ...
    def scores(
        self,
        slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        matrix: Matrix,
        now: int,
        mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
        variance: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
        squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> None: ...
    def one(
        self, slot: int
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.float32], dict(shape=(None,))],
        int,
        int,
    ]: ...
    def state(self) -> dict[str, Any]: ...
    def state_of_levels(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...
    @property
    def last(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """number of the last row of each entity"""

    @property
    def bytes(self) -> int: ...

class Hierarchy:
    def __init__(self, max_age: int) -> None: ...
    def __len__(self) -> int: ...
    def add(self, n: int) -> None: ...
    def keep(
        self, slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> None: ...
    def learn(
        self,
        slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        matrix: Matrix,
        missing: Annotated[NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        first: int,
        now: int,
    ) -> int: ...
    def predict(
        self,
        slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        matrix: Matrix,
        missing: Annotated[NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        now: int,
        mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        variance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> None: ...
    def settle(self, now: int) -> None: ...
    def one(self, slot: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], int, int]: ...
    def state(self) -> dict[str, Any]: ...
    def state_of_columns(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...
    @property
    def forgot(self) -> bool:
        """whether entities are to be dropped"""

    @property
    def noise(self) -> float:
        """variance of the noise"""

    @property
    def freedom(self) -> float:
        """rows less the shared weights that they determine"""

    @property
    def last(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """number of the last row of each entity, -1 if it is forgotten"""

    @property
    def bytes(self) -> int: ...

def view_names() -> list[str]: ...
def grow_trees(
    rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    targets: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    kind: str,
    outputs: int,
    rounds: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.float32], dict(shape=(None,))],
    Annotated[NDArray[numpy.float32], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.int8], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
]: ...
def normal_quantile(p: float) -> float: ...
def see(
    view: str, unit_norm: bool, state: dict[str, Any], matrix: Matrix, first: int, n: int, limit: int = -1
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
]: ...
def see_and_learn(
    view: str,
    unit_norm: bool,
    state: dict[str, Any],
    matrix: Matrix,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    first: int,
    labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    label_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    class_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None,
    n_classes: int,
    undo: UndoLog | None,
    targets: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
    | None = None,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
]: ...
def renew_knots(view: str, state: dict[str, Any]) -> None: ...
def meet_pairs(
    state: dict[str, Any],
    matrix: Matrix,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    first: int,
    n: int,
    labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    class_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None,
    done: int,
    limit: int,
    undo: UndoLog | None,
) -> int: ...
def index_pairs(state: dict[str, Any]) -> None: ...

max_logit: float = 1000.0

weight_precision: float = 11.11111111111111

longest_memory: float = 5000.0

windows: int = 3

def window_rows(window: int) -> float: ...
def naive_bayes_scores(
    state: dict[str, Any],
    matrix: Matrix,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def class_means_scores(
    state: dict[str, Any],
    matrix: Matrix,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def class_means_learn(state: dict[str, Any], matrix: Matrix, rows: TrainingRows) -> None: ...
def class_means_p_values(
    state: dict[str, Any],
    matrix: Matrix,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...

frequency_factor: float = 0.1

first_distance: float = 0.2

rows_of_distance: float = 10.0

most_at_center: float = 100.0

prior_rows: float = 5.0

def naive_bayes_learn(
    state: dict[str, Any], matrix: Matrix, rows: TrainingRows, undo: UndoLog | None = None
) -> None: ...
def mixture_learn(
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    own: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    hessian: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    counters: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
    log_loss: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None = None,
    shares: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")] | None = None,
    conformal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None = None,
    lasting: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None = None,
) -> None: ...
def label_mixtures_learn(
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    share: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    own: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    hessian: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None, None), order="C", device="cpu")],
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    counters: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    log_loss: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None,
    conformal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None = None,
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None = None,
) -> None: ...
def number_mixture_learn(
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    products: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    calibration: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    counters: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    rests: int,
    predictions: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    calibrate: bool,
    mixed: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None = None,
    shares: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")] | None = None,
    conformal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None = None,
    matrix: Matrix | None = None,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None = None,
) -> None: ...

class BoundMembers:
    def __init__(self, groups: int) -> None: ...
    def bind(
        self,
        group: int,
        views: Sequence[tuple[str, bool, int]],
        numbers: Sequence[int],
        members: list[tuple[LearnerSettings, dict[str, Any], bool, float, int]],
    ) -> None: ...
    def take(self, states: Sequence[dict[str, Any]]) -> list[int]: ...
    def score(
        self,
        matrix: Matrix,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    ) -> list[int]: ...
    def begin_row(self) -> None: ...
    def learn(
        self,
        matrix: Matrix,
        label: int,
        weight: float,
        n_classes: int,
        groups: Sequence[int],
        targets: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
        | None,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    ) -> list[int]: ...
    def roll_back(self) -> None: ...

def build() -> dict[str, Any]:
    """
    Return how the module was built, which instruction sets the processor has, and which of the paths for them is taken.
    """
