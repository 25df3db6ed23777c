"""Model files: training resumes exactly in a new process, sparse models are small, and damage is reported."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from safetensors.numpy import save_file
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, make_multilabel_classification

from confidently import RULES, OnlineClassifier, load
from confidently.models import file as model_file
from confidently.models.file import ModelFileError
from confidently.models.model import Model
from tests.covariance_cases import OVER_WEIGHTS, serves


def rows(task):
    if task == "multilabel":
        X, y = make_multilabel_classification(120, 10, n_classes=4, random_state=0)
        return X / 20, y
    X, y = load_digits(return_X_y=True)
    keep = y < {"binary": 2, "joint": 4, "one-vs-rest": 4}[task]
    return X[keep][:120, 18:30] / 16, y[keep][:120]


def new(rule, covariance, task):
    multiclass = task if task in ("joint", "one-vs-rest") else "joint"
    return OnlineClassifier(rule, covariance, multiclass=multiclass, average=True, prior_variance=0.5)


CASES = [
    (covariance, task)
    for covariance in OVER_WEIGHTS
    for task in ("binary", "joint", "one-vs-rest", "multilabel")
    if serves(covariance, task)
]
HALVES = np.arange(0, 60), np.arange(60, 120)

RESUME = textwrap.dedent(
    """
    import sys
    import numpy as np
    from confidently import load
    folder = sys.argv[1]
    for name in sys.argv[2:]:
        data = np.load(f"{folder}/{name}.npz")
        classifier = load(f"{folder}/{name}.cw")
        classifier.partial_fit(data["X"], data["y"])
        classifier.save(f"{folder}/{name}.resumed.cw")
    """
)


@pytest.mark.parametrize(("covariance", "task"), CASES)
def test_exact_resume_in_a_new_process(covariance, task, tmp_path):
    """For every rule, training on A, saving, loading elsewhere and training on B equals A then B bit for bit."""
    X, y = rows(task)
    whole = {}
    for rule in RULES:
        classifier = new(rule, covariance, task)
        classifier.partial_fit(X[HALVES[0]], y[HALVES[0]], classes=None if y.ndim == 2 else np.unique(y))
        classifier.save(tmp_path / f"{rule}.cw")
        np.savez(tmp_path / f"{rule}.npz", X=X[HALVES[1]], y=y[HALVES[1]])
        whole[rule] = classifier.partial_fit(X[HALVES[1]], y[HALVES[1]])
    subprocess.run([sys.executable, "-c", RESUME, str(tmp_path), *RULES], check=True)
    for rule in RULES:
        resumed = load(tmp_path / f"{rule}.resumed.cw")
        assert resumed.learner_.header() == whole[rule].learner_.header()
        assert resumed.updates_ > 0
        for name, array in whole[rule].learner_.state.items():
            assert array.tobytes() == resumed.learner_.state[name].tobytes(), (rule, name)


def test_settings_and_names_are_restored(tmp_path):
    import pandas as pd

    X, y = rows("joint")
    frame = pd.DataFrame(X, columns=[f"pixel {j}" for j in range(X.shape[1])])
    settings = {"passes": 2, "shuffle": True, "random_state": 3, "class_weight": {"a": 2.0}, "calibration": None}
    before = OnlineClassifier("scw1", dtype="float32", multiclass="one-vs-rest", fit_intercept=False, **settings)
    before.fit(frame, np.array(list("abcd"))[y])
    before.save(tmp_path / "m.cw")
    after = load(tmp_path / "m.cw")
    assert {k: v for k, v in after.get_params().items() if k != "rule"} == {
        k: v for k, v in before.get_params().items() if k != "rule"
    }
    assert list(after.classes_) == list("abcd")
    assert list(after.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(after.predict_proba(frame), before.predict_proba(frame))


@pytest.mark.parametrize("classes", [[0, 1], [-1, 1], ["ham", "spam"], [False, True], [1.0, 2.0]])
def test_classes_keep_their_type(classes, tmp_path):
    before = OnlineClassifier().fit([[0.0], [1.0]], classes)
    before.save(tmp_path / "m.cw")
    after = load(tmp_path / "m.cw")
    assert after.classes_.tolist() == before.classes_.tolist()
    assert after.classes_.dtype.kind == before.classes_.dtype.kind


def test_features_at_the_prior_are_not_stored(tmp_path):
    X = csr_matrix((np.ones(4), ([0, 0, 1, 1], [5, 70_000, 900, 99_999])), shape=(2, 100_000))
    classifier = OnlineClassifier("arow").fit(X, [0, 1])
    classifier.save(tmp_path / "m.cw")
    assert (tmp_path / "m.cw").stat().st_size < 5000
    same = load(tmp_path / "m.cw")
    np.testing.assert_array_equal(same.learner_.weights, classifier.learner_.weights)


def test_a_scaled_prior_is_restored(tmp_path):
    """Features at the prior of an ellipsoid whose scale was folded into the stored covariance."""
    classifier = OnlineClassifier("iellip", prior_variance=0.1).set_params(rule__b=0.999, rule__c=0.9, dtype="float32")
    X = csr_matrix((np.ones(200), (np.arange(200), np.arange(200) % 7)), shape=(200, 5000))
    classifier.fit(X, np.arange(200) % 2)
    assert classifier.learner_.state["folded"][0] != 1
    classifier.save(tmp_path / "m.cw")
    np.testing.assert_array_equal(load(tmp_path / "m.cw").variance_, classifier.variance_)


# --- damage ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "m.cw"
    X, y = rows("joint")
    OnlineClassifier("cw_stdev").fit(X, y).save(path)
    return path


def test_every_truncation_is_rejected(saved):
    content = saved.read_bytes()
    for length in [*range(0, len(content), 97), len(content) - 1]:
        saved.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"m\.cw"):
            load(saved)


def test_flipped_bytes_never_crash(saved):
    """A changed bit is rejected or has no effect."""
    content, whole = saved.read_bytes(), load(saved)
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(content), 300):
        damaged = bytearray(content)
        damaged[position] ^= 1 << rng.integers(0, 8)
        saved.write_bytes(bytes(damaged))
        try:
            loaded = load(saved)
        except ModelFileError:
            continue
        assert loaded.learner_.header() == whole.learner_.header()
        for name, array in whole.learner_.state.items():
            assert array.tobytes() == loaded.learner_.state[name].tobytes()


def header_of(path):
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["confidently"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


FOREIGN = {
    "later format": (
        lambda h, a: h.update(format=99),
        "unknown format, got 99; this version .* reads formats up to 3",
    ),
    "unknown rule": (
        lambda h, a: h["settings"]["rule"].update(name="x"),
        "m.cw: unknown rule 'x'; expected one of .*; the file is of a later version of confidently, or damaged$",
    ),
    "unknown covariance": (
        lambda h, a: h["settings"].update(covariance="x"),
        "m.cw: covariance: expected one of .*, got 'x'; the file is of a later version of confidently, or damaged$",
    ),
    "huge sizes": (lambda h, a: h.update(n_features=10**15), "damaged"),
    "negative sizes": (lambda h, a: h.update(n_features=-5), "damaged"),
    "sizes that are strings": (lambda h, a: h.update(n_classes="many"), "damaged"),
    "missing array": (lambda h, a: a.pop("counters"), "counters"),
    "wrong shape": (lambda h, a: a.update(scale=np.ones(7)), "scale is float64"),
    "wrong type": (lambda h, a: a.update(updates=np.ones(1)), "updates is float64"),
    "nan": (lambda h, a: a.update(weights=a["weights"] * np.nan), "not finite"),
    "too few classes": (lambda h, a: h.update(classes=[1]), "classes"),
    "header is a list": (lambda h, a: h.clear(), "damaged"),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_foreign_headers(case, saved):
    header, arrays = header_of(saved)
    header.pop("header_crc32")
    change, message = FOREIGN[case]
    change(header, arrays)
    if header:
        header["crc32"] = {name: model_file._checksum(array) for name, array in arrays.items()}
    text = json.dumps(header)
    save_file(arrays, saved, metadata={"confidently": model_file._signed(text)})
    with pytest.raises(ModelFileError, match=message):
        load(saved)


def test_equal_models_give_equal_files(saved, tmp_path):
    load(saved).save(tmp_path / "again.cw")
    assert (tmp_path / "again.cw").read_bytes() == saved.read_bytes()


def test_a_model_that_has_seen_one_class(tmp_path):
    """A stream may end before the second class appears, and prediction needs a name for it."""
    classifier = OnlineClassifier().fit([[0.0], [1.0]], ["ham", "spam"])
    Model(classifier.learner_, ["ham", None]).save(tmp_path / "m.cw")
    with pytest.raises(ModelFileError, match=r"has seen one class only \('ham'\)"):
        load(tmp_path / "m.cw")


def test_files_of_other_kinds_are_rejected(tmp_path):
    save_file({"x": np.ones(3)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="not a model file of confidently"):
        load(tmp_path / "other.safetensors")
    (tmp_path / "text.cw").write_text("+1 1:0.5\n" * 100)
    with pytest.raises(ModelFileError, match="not a model file, or damaged"):
        load(tmp_path / "text.cw")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.cw")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)


def test_a_failed_write_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()
    monkeypatch.setattr(model_file.os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        OnlineClassifier().fit([[0.0], [1.0]], [0, 1]).save(saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == ["m.cw"]


def test_unsavable_classes_are_rejected(tmp_path):
    classifier = OnlineClassifier().fit([[0.0], [1.0]], [0, 1])
    classifier.classes_ = np.array([(1,), (2,)], dtype=object)
    with pytest.raises(TypeError, match="numbers or strings"):
        classifier.save(tmp_path / "m.cw")
    assert not list(tmp_path.iterdir())
