"""Model files: training resumes exactly in a new process, sparse models are small, and damage is reported."""

import gzip
import json
import pickle
import re
import subprocess
import sys
import textwrap
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save_file
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, make_multilabel_classification

from confidently import RULES, AutoClassifier, OnlineClassifier, OnlineMedLDA, load, memory
from confidently.models import file as model_file
from confidently.models.file import ModelFileError
from confidently.models.inspection import class_views
from confidently.models.model import Model
from confidently.stack.members import parts_of
from tests.covariance_cases import OVER_WEIGHTS, has_task, known, serves
from tests.model_files import contents_of, write_contents, write_text
from tests.tables.tasks import MULTICLASS, MULTILABEL


def rows(task):
    if task in MULTILABEL:
        X, y = make_multilabel_classification(120, 10, n_classes=4, random_state=0)
        return X / 20, y
    X, y = load_digits(return_X_y=True)
    keep = y < (2 if task == "binary" else 4)
    return X[keep][:120, 18:30] / 16, y[keep][:120]


def new(rule, covariance, task):
    multiclass = task if task in MULTICLASS else MULTILABEL.get(task)
    return OnlineClassifier(rule, covariance, multiclass=multiclass, average=True, prior_variance=0.5)


CASES = [
    (covariance, task)
    for covariance in OVER_WEIGHTS
    for task in ("binary", *MULTICLASS, *MULTILABEL)
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


@pytest.mark.long("new processes")
@pytest.mark.parametrize("part", range(3))
def test_exact_resume_in_a_new_process(tmp_path, part):
    """For every rule, training on A, saving, loading elsewhere and training on B equals A then B bit for bit."""
    whole = {}
    for k, (covariance, task) in enumerate(CASES):
        X, y = rows(task)
        for rule in [rule for rule in RULES if has_task(rule, task)][(part + k) % 3 :: 3]:
            name, classifier = f"{rule} {covariance} {task}", new(rule, covariance, task)
            classifier.partial_fit(X[HALVES[0]], y[HALVES[0]], classes=None if y.ndim == 2 else np.unique(y))
            classifier.save(tmp_path / f"{name}.cw")
            np.savez(tmp_path / f"{name}.npz", X=X[HALVES[1]], y=y[HALVES[1]])
            whole[name] = classifier.partial_fit(X[HALVES[1]], y[HALVES[1]])
    subprocess.run([sys.executable, "-c", RESUME, str(tmp_path), *whole], check=True)
    for name, expected in whole.items():
        resumed = load(tmp_path / f"{name}.resumed.cw")
        assert resumed.learner_.header() == expected.learner_.header(), name
        assert resumed.updates_ > 0
        arrays = known(resumed.learner_)
        for array_name, array in known(expected.learner_).items():
            assert array.tobytes() == arrays[array_name].tobytes(), (name, array_name)


@pytest.mark.parametrize("forget", [0.0, 0.02])
@pytest.mark.parametrize(
    ("covariance", "multiclass", "width"),
    [("shared", "joint", 720), ("full", "joint", 40), ("full", "one-vs-rest", 200), ("full", None, 200)],
)
def test_what_later_rows_continue_is_kept(tmp_path, covariance, multiclass, width, forget):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, width)), np.arange(150) % (2 if multiclass is None else 3)
    whole = OnlineClassifier("arow", covariance, multiclass=multiclass, forget=forget, view=None).fit(X[:20], y[:20])
    assert (whole.learner_.state["block.updates"].sum() > 0) == (width in (720, 40))
    assert whole.learner_.state["pending_rows"] > 0
    whole.save(tmp_path / "m.cw")
    resumed = load(tmp_path / "m.cw")
    for model in (whole, resumed):
        model.partial_fit(X[20:], y[20:])
    for name, array in whole.learner_.state.items():
        assert array.tobytes() == resumed.learner_.state[name].tobytes(), name


def test_settings_and_names_are_restored(tmp_path):
    import pandas as pd

    X, y = rows("joint")
    frame = pd.DataFrame(X, columns=[f"pixel {j}" for j in range(X.shape[1])])
    settings = {"passes": 2, "shuffle": True, "random_state": 3, "class_weight": {"a": 2.0}, "calibration": None}
    before = OnlineClassifier(
        "scw1", dtype="float32", multiclass="one-vs-rest", fit_intercept=False, **settings, view=None
    )
    before.fit(frame, np.array(list("abcd"))[y])
    before.save(tmp_path / "m.cw")
    after = load(tmp_path / "m.cw")
    assert {k: v for k, v in after.get_params().items() if k != "rule"} == {
        k: v for k, v in before.get_params().items() if k != "rule"
    }
    assert list(after.classes_) == list("abcd")
    assert list(after.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(after.predict_proba(frame), before.predict_proba(frame))


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_a_projection_that_was_not_chosen_is_the_default_again(covariance, tmp_path):
    """That of the rule for a diagonal covariance; the others have none to choose."""
    X, y = rows("binary")
    OnlineClassifier("probit", covariance).fit(X, y).save(tmp_path / "m.cw")
    assert load(tmp_path / "m.cw").projection is None


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
    OnlineClassifier("cw_stdev", view=None).fit(X, y).save(path)
    return path


def test_every_truncation_is_rejected(saved):
    content = saved.read_bytes()
    for length in [*range(0, len(content), 97), len(content) - 1]:
        saved.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"m\.cw"):
            load(saved)


@pytest.mark.long("300 damaged files")
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


def deep(n):
    return json.loads("[" * n + "]" * n)


FOREIGN = {
    "later format": (
        lambda h, a: h.update(format=99),
        "unknown format, got 99; this version .* reads formats up to 13",
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
    "header is empty": (lambda h, a: h.clear(), "damaged"),
    "kind is a list": (lambda h, a: h.update(kind=[]), "header.kind: expected text, got"),
    "classes are lists": (lambda h, a: h.update(classes=[[1], [2], [3], [4]]), r"header.classes\[0\]: expected"),
    "a class twice": (lambda h, a: h.update(classes=[1, 2, 3, 1]), "a class is named twice"),
    "a class without a name": (lambda h, a: h.update(classes=[1, 2, 3, None]), "a class has no name"),
    "a class that is half a character": (lambda h, a: h.update(classes=[1, 2, 3, "\ud800"]), "expected"),
    "too many bits": (lambda h, a: h["source"].update(bits=1e9), "bits: expected an integer, got 1000000000"),
    "a format of rows": (lambda h, a: h["source"].update(format="x"), "unknown format 'x'"),
    "closed is a number": (lambda h, a: h["source"].update(closed=7), "source.closed: expected true or false"),
    "settings are a list": (lambda h, a: h.update(settings=[]), "header.settings: expected an object"),
    "nested settings": (lambda h, a: h["settings"].update(task=deep(200)), "damaged"),
    "a huge setting": (lambda h, a: h["settings"].update(prior_variance=10**400), "prior_variance"),
    "a long name": (lambda h, a: h["settings"].update(dtype="x" * 10**6), "damaged"),
    "no scale": (lambda h, a: a["scale"].fill(0), r"scale must be in \(0, 1e\+110\), got 0"),
    "a negative variance": (lambda h, a: a["weights"][:, 1].fill(-1), r"variances of weights must be in .* got -1"),
    "a huge variance": (lambda h, a: a["weights"][:, 1].fill(1e100), "variances of weights must be in"),
    "a huge weight": (lambda h, a: a["weights"][:, 0].fill(1e150), "weights must be in"),
    "negative counts": (lambda h, a: a["counters"].fill(-1), "counters must be in"),
    "a correction that falls": (
        lambda h, a: a["calibration"].__setitem__(slice(8, 10), (3.0, 2.0)),
        r"the fall of the correction must be in \(-inf, 0.95\], got 2",
    ),
    "no slope": (lambda h, a: a["calibration"].fill(0), "slope of the calibration must be in"),
    "more features than memory": (lambda h, a: h.update(n_features=2**31 - 2), "the model needs .* bytes"),
    "rows beyond the features": (lambda h, a: a.update({"weights.rows": np.arange(1, 14)}), "ascend within 0 to 12"),
}  # fmt: skip


@pytest.mark.parametrize("case", FOREIGN)
def test_foreign_headers(case, saved):
    header, arrays = contents_of(saved)
    change, message = FOREIGN[case]
    change(header, arrays)
    write_contents(saved, header, arrays)
    with pytest.raises(ModelFileError, match=message) as error:
        load(saved)
    assert len(str(error.value)) < 1000 and "\n" not in str(error.value)


NAMES = {  # of three features
    "features.key": np.arange(3, dtype=np.uint32), "features.column": np.arange(3, dtype=np.int32),
    "features.text": np.frombuffer(b"abc", np.uint8), "features.start": np.arange(4),
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features.key": np.arange(3)}, "the names of features have the wrong types"),
        ({"features.column": np.zeros((3, 1), np.int32)}, "the names of features have the wrong types"),
        ({"features.column": np.array([0, 2, 1], np.int32)}, "the names of features do not fit together"),
        ({"features.column": np.array([0, 1, 3], np.int32)}, "the names of features do not fit together"),
        ({"features.column": np.array([-1, 1, 2], np.int32)}, "the names of features do not fit together"),
        ({"features.start": np.array([0, 2, 1, 3])}, "names do not fit together"),
        ({"features.start": np.array([0, 1, 2, 4])}, "names do not fit together"),
        ({"features.start": np.array([0, 1, 3])}, "the names of features do not fit together"),
        ({}, r"3 names for \d+ features"),
    ],
)
def test_names_of_features_made_by_hand_are_checked(change, message, saved):
    header, arrays = contents_of(saved)
    assert header["n_features"] != 3
    write_contents(saved, header, arrays | NAMES | change)
    with pytest.raises(ModelFileError, match=message):
        load(saved)


@pytest.mark.parametrize("model", [False, True])
def test_an_array_of_a_type_that_numpy_lacks(saved, tmp_path, model):
    content = saved.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = {"x": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}
    if model:
        header["__metadata__"] = json.loads(content[8 : 8 + size])["__metadata__"]
    text = json.dumps(header).encode()
    (tmp_path / "m.cw").write_bytes(len(text).to_bytes(8, "little") + text + bytes(2))
    message = "it has an array of the unknown type 'BF16'" if model else "but another safetensors file"
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m.cw")


@pytest.mark.parametrize("change", [
    lambda array: array.astype(np.int32), lambda array: array.astype(np.float32), lambda array: array[:1],
    lambda array: array[0], lambda array: array[0, 0, 0],
])  # fmt: skip
@pytest.mark.parametrize("estimator", [OnlineClassifier(), OnlineMedLDA(2, random_state=0)])
def test_stored_rows_have_the_shape_and_type_of_their_table(estimator, change, tmp_path):
    X = csr_matrix(([1.0, 2.0], ([0, 1], [3, 7])), shape=(2, 50))
    estimator.fit(X, [0, 1]).save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    [name] = {"weights", "words"} & arrays.keys()
    write_contents(tmp_path / "m.cw", header, arrays | {name: np.ascontiguousarray(change(arrays[name]))})
    with pytest.raises(ModelFileError, match=rf"{name} is \w+\[.*\], not float64\[\d, "):
        load(tmp_path / "m.cw")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[]", "7", "{}", '{"format": NaN}', "1" * 10_000])
def test_headers_that_are_no_objects(text, saved):
    write_text(saved, text, contents_of(saved)[1])
    with pytest.raises(ModelFileError, match=r"m\.cw: damaged model file"):
        load(saved)


def of_many_classes(path):
    """Save a model whose classes have a word each, and a stack of such models; return both."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, 80, 400)
    columns = np.stack([y, generator.integers(80, 300, 400)], axis=1).ravel()
    X = csr_matrix((np.ones(800), (np.repeat(np.arange(400), 2), columns)))
    found = OnlineClassifier("arow", view="unit").fit(X, y), AutoClassifier().fit(X, y)
    for k, model in enumerate(found):
        model.save(path / f"{k}.cw")
    return X, y, found


def test_single_numbers_at_the_prior_are_left_out(tmp_path):
    X, y, found = of_many_classes(tmp_path)
    for k, model in enumerate(found):
        header, arrays = contents_of(tmp_path / f"{k}.cw")
        assert header["format"] == 13
        names = ["weights"] if k == 0 else ["0.weights", "1.frequency"]
        for name in names:
            assert arrays[name].ndim == 1
            assert len(arrays[f"{name}.places"]) == len(arrays[name])
        loaded = load(tmp_path / f"{k}.cw")
        for one, other in zip(parts_of(model.learner_), parts_of(loaded.learner_), strict=True):
            for name, array in other.state.items():
                own = one.state[name][: len(array)]
                assert (own.view(np.uint8) == array.view(np.uint8)).all(), name
        more = [one.partial_fit(X, y).decision_function(X) for one in (model, loaded)]
        assert np.array_equal(*more)


@pytest.mark.parametrize("change", [
    lambda places: places[::-1], lambda places: places + 10**9, lambda places: places - 1 - places[0],
    lambda places: places[:-1], lambda places: places.astype(np.int32), lambda places: places[:, None],
])  # fmt: skip
@pytest.mark.parametrize("name", ["0.weights", "1.frequency"])
def test_places_that_are_not_those_of_the_numbers(name, change, tmp_path):
    of_many_classes(tmp_path)
    header, arrays = contents_of(tmp_path / "1.cw")
    changed = np.ascontiguousarray(change(arrays[f"{name}.places"]))
    write_contents(tmp_path / "1.cw", header, arrays | {f"{name}.places": changed})
    with pytest.raises(ModelFileError, match=r"1\.cw: damaged model file"):
        load(tmp_path / "1.cw")


def bomb(path, rule, n_features=2 * 10**8, view=None):
    """Write a model of few touched features among many; return its size."""
    OnlineClassifier(rule, view=view).fit(csr_matrix(([1.0, 2.0], ([0, 1], [3, 7])), shape=(2, 50)), [0, 1]).save(path)
    header, arrays = contents_of(path)
    assert "weights.rows" in arrays
    write_contents(path, header | {"n_features": n_features}, arrays)
    return path.stat().st_size


def looked_at(path, ok):
    """What ``inspect`` shows of a model, and the most memory that it took."""
    tracemalloc.start()
    try:
        shown = json.loads(ok("inspect", path, "--json"))
        return shown, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("rule", "view"), [("arow", None), ("pa", None), ("arow", "unit")])
def test_looking_at_a_small_file_takes_little_memory(rule, view, tmp_path, ok):
    """Whatever number of features it declares."""
    assert bomb(tmp_path / "m.cw", rule, view=view) < 6000
    shown, peak = looked_at(tmp_path / "m.cw", ok)
    assert peak < 30e6
    assert shown["features"] == 2 * 10**8
    assert sorted(str(w["feature"]) for w in shown["weights"][0]["top"]) == ["(intercept)", "3", "7"]


@pytest.mark.parametrize("kernel", ["poly", "rbf", "cosine"])
def test_looking_at_a_small_kernel_model_takes_little_memory(kernel, tmp_path, ok):
    X = csr_matrix(([1.0, 2.0], ([0, 1], [3, 7])), shape=(2, 50))
    OnlineClassifier(covariance="kernel", kernel=kernel).fit(X, [0, 1]).save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    write_contents(tmp_path / "m.cw", header | {"n_features": 2 * 10**8}, arrays)
    ok("inspect", tmp_path / "m.cw", "--json")  # what this imports is no part of what is measured
    shown, peak = looked_at(tmp_path / "m.cw", ok)
    assert peak < 2e6 and shown["features"] == 2 * 10**8


@pytest.mark.parametrize("view", [None, "unit"])
def test_what_is_shown_does_not_depend_on_the_features_left_out(tmp_path, ok, view):
    bomb(tmp_path / "m.cw", "arow", 1000, view)
    found = class_views(Model.load_touched(tmp_path / "m.cw"))
    assert found == class_views(Model.load(tmp_path / "m.cw"))


def test_a_model_beyond_memory_is_one_error(tmp_path, call, monkeypatch):
    bomb(tmp_path / "m.cw", "arow")
    (tmp_path / "new.svm").write_text("1 1:1\n")
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**9)
    code, out, err = call("train", tmp_path / "new.svm", "--init-model", tmp_path / "m.cw", "-o", tmp_path / "n.cw")
    assert code == 2 and out == ""
    assert re.search(r"m\.cw: the model needs 3,200,01[0-9],[0-9]{3} bytes and 1,000,000,000 are available; use", err)


def numbers_in(value):
    """Return all numbers of a value of JSON, in order."""
    if isinstance(value, dict | list):
        return [x for one in (value.values() if isinstance(value, dict) else value) for x in numbers_in(one)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize("task", ["binary", "joint", "one-vs-rest", *MULTILABEL])
def test_a_model_beyond_memory_predicts_without_the_features_at_the_prior(task, tmp_path, ok, monkeypatch):
    random = np.random.default_rng(0)
    seen, labels = np.sort(random.choice(900, 12, replace=False)), random.integers(0, 3, 60)
    X = np.zeros((60, 1000))
    X[:, seen] = random.normal(size=(60, 12)) * (random.random((60, 12)) < 0.5)
    y = labels % 2 if task == "binary" else np.eye(3, dtype=int)[labels] if task in MULTILABEL else labels
    multiclass = "one-vs-rest" if task.endswith("one-vs-rest") else "joint"
    OnlineClassifier("arow", prior_variance=0.3, multiclass=multiclass).fit(csr_matrix(X), y).save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    write_contents(tmp_path / "large.cw", header | {"n_features": 2 * 10**8}, arrays)
    rows = random.normal(size=(40, 1100)) * (random.random((40, 1100)) < 0.01)  # seen features, others, and later ones
    rows[3:, seen[::2]] = random.normal(size=(37, 6))
    rows[0] = 0.0
    (tmp_path / "new.svm").write_text(
        "".join(f"{labels[i]} {' '.join(f'{j + 1}:{x[j]}' for j in np.flatnonzero(x))}\n" for i, x in enumerate(rows))
    )
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**9)
    for command, *options in (("predict", "--proba", "--margin", "--variance"), ("evaluate",)):
        of_all, of_seen = (
            ok(command, tmp_path / model, tmp_path / "new.svm", *options, "--json") for model in ("m.cw", "large.cw")
        )
        found, expected = (numbers_in([json.loads(line) for line in out.splitlines()]) for out in (of_seen, of_all))
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        assert len(found) > 1


def test_equal_models_give_equal_files(saved, tmp_path):
    load(saved).save(tmp_path / "again.cw")
    assert (tmp_path / "again.cw").read_bytes() == saved.read_bytes()


def test_a_model_that_has_seen_one_class(tmp_path):
    """A stream may end before the second class appears, and prediction needs a name for it."""
    classifier = OnlineClassifier().fit([[0.0], [1.0]], ["ham", "spam"])
    Model(classifier.learner_, ["ham", None]).save(tmp_path / "m.cw")
    with pytest.raises(ModelFileError, match=r"has seen one class only \('ham'\)"):
        load(tmp_path / "m.cw")


def test_a_binary_model_has_two_classes(tmp_path):
    OnlineClassifier().fit([[0.0], [1.0]], ["ham", "spam"]).save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    for classes in (["ham"], ["ham", "spam"], ["ham", "spam", "eggs"]):
        for n in {1, 3} & {len(classes), len(classes) + 1}:
            write_contents(tmp_path / "m.cw", header | {"n_classes": n, "classes": classes}, arrays)
            with pytest.raises(ModelFileError, match=rf"damaged .*{n} classes for a task of two"):
                load(tmp_path / "m.cw")


OTHER_FILES = [
    ("rows.svm", b"+1 1:0.5\n" * 1000, "svmlight data"),
    ("rows.csv.gz", gzip.compress(b"label,x\na,1\n"), r"CSV data \(gzip\)"),
    ("rows.gz", gzip.compress(b"label,x\na,1\n"), "gzip data"), ("short", b"a", "text"),
    ("cut.txt", ("ab" * 2047 + "\xe9\xe9").encode()[:4095], "plain text data"), ("nothing.cw", b"", "an empty file"),
    ("model.joblib", pickle.dumps({"x": 1}), "a pickle"), ("arrays.npz", b"PK\x03\x04" + bytes(100), "NumPy arrays"),
    ("rows.parquet", b"PAR1" + bytes(100), "Parquet data"),
    ("rows.cache", b"\x89confidently\r\n\x1a\n" + bytes(100), "a cache"),
    ("odd.cw", bytes(range(1, 200)), "a file of an unknown kind"),
]  # fmt: skip


def test_files_of_other_kinds_are_rejected(tmp_path):
    save_file({"x": np.ones(3)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="not a model file of confidently"):
        load(tmp_path / "other.safetensors")
    for name, content, what in OTHER_FILES:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(
            ModelFileError, match=rf"{name}: not a model file, but {what}; expected a file that save or"
        ):
            load(tmp_path / name)
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


def test_errors_of_saving_name_the_folder_and_no_temporary_file(tmp_path):
    classifier = OnlineClassifier().fit([[0.0], [1.0]], [0, 1])
    folder = tmp_path / "missing"
    with pytest.raises(FileNotFoundError) as found:
        classifier.save(folder / "m.cw")
    assert f"the folder {folder} does not exist" in str(found.value) and str(folder / "m.cw") in str(found.value)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError) as found:
        classifier.save(tmp_path / "file" / "m.cw")
    assert f"{tmp_path / 'file'} is not a folder" in str(found.value)
    assert found.value.filename == str(tmp_path / "file" / "m.cw")


def test_unsavable_classes_are_rejected(tmp_path):
    classifier = OnlineClassifier().fit([[0.0], [1.0]], [0, 1])
    classifier._class_order.names = [(1,), (2,)]
    with pytest.raises(TypeError, match="numbers or strings"):
        classifier.save(tmp_path / "m.cw")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("entry", "change", "problem"), [
    ("support.start", lambda a: a + 1, "the support rows do not fit together"),
    ("support.start", lambda a: a[[0, 2, 1, *range(3, len(a))]], "the support rows do not fit together"),
    ("support.columns", lambda a: a + 1, "the support rows do not fit together"),
    ("support.columns", lambda a: a - 1, "the support rows do not fit together"),
    ("support.columns", lambda a: a[[1, 0, *range(2, len(a))]], "columns of a support row do not ascend"),
    ("support.sides", lambda a: a + 9, "a support row has an unknown class"),
    ("support.sides", lambda a: a - 1, "a support row has an unknown class"),
])  # fmt: skip
def test_support_rows_of_a_kernel_are_checked(tmp_path, entry, change, problem):
    rng = np.random.default_rng(0)
    OnlineClassifier("arow", "kernel").fit(rng.normal(size=(20, 3)), np.arange(20) % 3).save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    arrays[entry] = np.ascontiguousarray(change(arrays[entry]))
    write_contents(tmp_path / "m.cw", header, arrays)
    with pytest.raises(ModelFileError, match=f"damaged .*{problem}"):
        load(tmp_path / "m.cw")


def test_the_limits_of_a_container_and_of_the_process_count(tmp_path, monkeypatch):
    (tmp_path / "limit").write_text("12345\n")
    (tmp_path / "none").write_text("max\n")
    unlimited = memory.available_bytes()
    monkeypatch.setattr(memory, "CGROUP_LIMITS", (str(tmp_path / "none"), str(tmp_path / "missing")))
    assert memory.available_bytes() >= unlimited > 12345
    monkeypatch.setattr(memory, "CGROUP_LIMITS", (str(tmp_path / "none"), str(tmp_path / "limit")))
    assert memory.available_bytes() == 12345
