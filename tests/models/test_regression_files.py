"""Model files of regressions: training resumes exactly, settings come back, and inconsistent files are refused."""

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from confidently import REGRESSION_RULES, OnlineClassifier, OnlineRegressor, Quantile, Ridge, load
from confidently.models.file import LINEAR, REGRESSION, ModelFileError
from confidently.models.model import Model
from confidently.tasks.targets import GAIN
from tests.model_files import contents_of, write_contents

X, Y = load_diabetes(return_X_y=True)
X, COUNTS = X[:160] / 0.05, np.floor(Y[:160] / 25.0)
BOTH = np.column_stack([COUNTS, 3.0 - X[:, 0] + 0.1 * COUNTS])

# what is learned: parameters, and the number of targets per row
CASES = {
    **{f"{rule}-diag": ({"rule": rule, "covariance": "diag"}, 1) for rule in REGRESSION_RULES},
    **{f"{rule}-full": ({"rule": rule, "covariance": "full"}, 1) for rule in REGRESSION_RULES},
    "auto": ({}, 1),
    "auto of two": ({}, 2),
    "diag of two": ({"covariance": "diag"}, 2),
    "shared of one": ({"covariance": "shared"}, 1),
    "kernel": ({"covariance": "kernel", "budget": 400}, 1),
    "quantile kernel": ({"covariance": "kernel", "rule": Quantile(tau=0.9)}, 1),
    "unknown noise": ({"rule": Ridge(r=None), "calibration": None}, 1),
    "float32": ({"dtype": "float32", "average": True}, 2),
    "no intercept": ({"fit_intercept": False}, 1),
    "standard": ({"view": "standard"}, 1),
    "pairs": ({"view": "pairs", "covariance": "diag"}, 1),
    "standard, cosines": ({"view": ["standard", "cosines"], "view__cosines__n": 20}, 1),
    "centered by the user": ({"view": ["center", "unit"]}, 1),
    "forgetting": ({"covariance": "diag", "forget": 0.01}, 1),
}  # fmt: skip

RESUME = textwrap.dedent(
    """
    import sys
    import numpy as np
    from confidently import load
    folder = sys.argv[1]
    for name in sys.argv[2:]:
        data = np.load(f"{folder}/{name}.npz")
        regressor = load(f"{folder}/{name}.cw").partial_fit(data["X"], data["y"])
        regressor.save(f"{folder}/{name}.resumed.cw")
    """
)


def new(parameters):
    nested = {name: value for name, value in parameters.items() if "__" in name}
    plain = {name: value for name, value in parameters.items() if name not in nested}
    return OnlineRegressor(**plain).set_params(**nested)


def targets(n):
    return COUNTS if n == 1 else BOTH


@pytest.mark.long("a new process")
def test_exact_resume_in_a_new_process(tmp_path):
    """Training on A, saving, loading elsewhere and training on B equals A then B, bit for bit."""
    whole = {}
    for name, (parameters, n) in CASES.items():
        regressor = new(parameters).partial_fit(X[:70], targets(n)[:70])
        regressor.save(tmp_path / f"{name}.cw")
        np.savez(tmp_path / f"{name}.npz", X=X[70:], y=targets(n)[70:])
        whole[name] = regressor.partial_fit(X[70:], targets(n)[70:])
    subprocess.run([sys.executable, "-c", RESUME, str(tmp_path), *CASES], check=True)
    for name, expected in whole.items():
        resumed = load(tmp_path / f"{name}.resumed.cw")
        assert resumed.learner_.header() == expected.learner_.header(), name
        assert resumed.updates_ > 0
        found = resumed.as_model().arrays()  # without room for more columns
        for entry, array in expected.as_model().arrays().items():
            assert array.tobytes() == found[entry].tobytes(), (name, entry)
        for one, other in zip(resumed.predict(X, return_std=True), expected.predict(X, return_std=True), strict=True):
            assert one.tobytes() == other.tobytes(), name
        assert resumed.predict_interval(X).tobytes() == expected.predict_interval(X).tobytes(), name


@pytest.mark.parametrize("name", CASES)
def test_parameters_are_restored(name, tmp_path):
    parameters, n = CASES[name]
    before = new(parameters).set_params(passes=2, shuffle=True, random_state=3).fit(X, targets(n))
    before.save(tmp_path / "m.cw")
    after = load(tmp_path / "m.cw")
    known, found = before.get_params(), after.get_params()
    for whole, make in (("rule", type(before.learner_.settings.rule)), ("view", type(after.view))):
        assert isinstance(found.pop(whole), make)
        known.pop(whole)
    defaults = {f"rule__{key}": value for key, value in before.learner_.settings.rule.get_params().items()}
    if known["kernel_params"] is None:  # chosen by the first rows
        found["kernel_params"] = None
    assert found == known | defaults
    assert after.fit(X, targets(n)).predict(X).tobytes() == before.fit(X, targets(n)).predict(X).tobytes()


def test_names_and_the_shape_of_targets_are_restored(tmp_path):
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    for y, shape in ((COUNTS, (160,)), (COUNTS[:, None], (160, 1)), (BOTH, (160, 2))):
        OnlineRegressor().fit(frame, y).save(tmp_path / "m.cw")
        again = load(tmp_path / "m.cw")
        assert list(again.feature_names_in_) == list(frame.columns)
        assert again.predict(frame).shape == shape


def test_a_generator_of_random_numbers_is_not_saved(tmp_path):
    OnlineRegressor(random_state=np.random.RandomState(0)).fit(X, COUNTS).save(tmp_path / "m.cw")
    assert load(tmp_path / "m.cw").random_state is None


def test_a_model_of_another_kind_is_refused(tmp_path):
    OnlineRegressor().fit(X, COUNTS).save(tmp_path / "numbers.cw")
    OnlineClassifier().fit(X, COUNTS > 5).save(tmp_path / "classes.cw")
    with pytest.raises(ModelFileError, match="got a regression model"):
        Model.load(tmp_path / "numbers.cw", LINEAR)
    with pytest.raises(ModelFileError, match="classifier"):
        Model.load(tmp_path / "classes.cw", REGRESSION)


def test_training_out_of_range_is_not_saved(tmp_path):
    regressor = OnlineRegressor().fit(X, COUNTS)
    regressor.learner_.state["calibration"][2] = -1.0
    with pytest.raises(ValueError, match="not saved, the model is out of range: the statistics of the targets"):
        regressor.save(tmp_path / "m.cw")


# --- files that do not fit together, with right checksums -----------------------------------------------------------


def of(header, entry, value):
    """A header with another value of an entry, ``settings.rule.name`` for example."""
    first, _, rest = entry.partition(".")
    return header | {first: of(header[first], rest, value) if rest else value}


@pytest.mark.parametrize(("entry", "value"), [
    ("kind", "linear"), ("kind", "topics"), ("settings.rule", {"name": "arow", "parameters": {"r": 1.0}}),
    ("settings.rule.name", "of a later version"), ("settings.rule.parameters", {"r": -1.0}),
    ("settings.rule.parameters", {"r": "a lot"}),
    ("settings.rule", {"name": "poisson", "parameters": {}}),  # which does not center rows
    ("settings.task", "binary"), ("settings.task", "joint"), ("settings.task", "offset-regression"),
    ("settings.covariance", "diag"), ("settings.covariance", "kernel"), ("settings.fit_intercept", True),
    ("settings.prior_variance", 0.0), ("view", []), ("view", [{"name": "standard", "parameters": {}}]),
    ("n_classes", 0), ("n_classes", 2), ("classes", []), ("classes", [0, 1]), ("classes", [None]),
    ("members", [{"kind": "gaussian", "name": "one", "multiclass": None}]), ("estimator.covariance", "diag"),
    ("estimator.covariance", "of a later version"), ("estimator.covariance", 3), ("estimator.calibration", "isotonic"),
    ("estimator.passes", 0), ("estimator.shuffle", "no"), ("estimator.random_state", "seed"),
    ("estimator.one_dimensional", "yes"),
])  # fmt: skip
def test_inconsistent_headers_are_refused(entry, value, tmp_path):
    OnlineRegressor(covariance="full").fit(X, COUNTS).save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    write_contents(tmp_path / "m.cw", of(header, entry, value), arrays)
    with pytest.raises(ModelFileError, match=r"m\.cw: "):
        load(tmp_path / "m.cw")


@pytest.mark.parametrize("at", [0, 1, 2, 3, 4, GAIN, 6, 7, 8, 135])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1e200])
def test_statistics_of_targets_out_of_range_are_refused(at, value, tmp_path):
    OnlineRegressor().fit(X, COUNTS).save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    arrays["calibration"][at] = value
    write_contents(tmp_path / "m.cw", header, arrays)
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "m.cw")


@pytest.mark.parametrize(("name", "change"), [
    ("calibration", lambda a: a[:-1]), ("calibration", lambda a: np.tile(a, 2)),
    ("calibration", lambda a: a.astype(np.float32)), ("weights", lambda a: np.repeat(a, 2, axis=2)),
    ("center.mean", lambda a: a[1:]), ("center.rows", lambda a: -a),
])  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(name, change, tmp_path):
    OnlineRegressor().fit(X, COUNTS).save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    write_contents(tmp_path / "m.cw", header, arrays | {name: change(arrays[name])})
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "m.cw")


def test_a_kernel_model_of_two_numbers_is_refused(tmp_path):
    OnlineRegressor(covariance="kernel").fit(X, COUNTS).save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    two = {"calibration": np.tile(arrays["calibration"], 2), "dual": np.repeat(arrays["dual"], 2, axis=2)}
    write_contents(tmp_path / "m.cw", header | {"n_classes": 2, "classes": [0, 1]}, arrays | two)
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "m.cw")
