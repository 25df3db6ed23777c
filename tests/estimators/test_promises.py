"""Promises of all estimators: predicting changes nothing, every method works for every task, one thread trains."""

import copy
import pickle
import re
import threading
import types
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from confidently import MIRA, OnlineClassifier, OnlineMedLDA, merge
from confidently.exclusive import ConcurrentUse
from confidently.models.merged_learner import MergeError
from confidently.river import OnlineClassifier as RiverClassifier
from confidently.river import OnlineMultiLabelClassifier as RiverLabels
from tests.tables.tasks import MULTILABEL

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, (60, 5)).astype(float)
Y = {
    "binary": np.array(["ham", "spam"])[RNG.integers(0, 2, 60)],
    "joint": RNG.integers(0, 3, 60),
    "one-vs-rest": RNG.integers(0, 3, 60),
    "softmax": RNG.integers(0, 3, 60),
    **dict.fromkeys(MULTILABEL, RNG.integers(0, 2, (60, 3))),
}
LEARNED_BY = {
    "joint": {"multiclass": "joint"},
    "one-vs-rest": {"multiclass": "one-vs-rest"},
    "softmax": {"rule": "logistic", "multiclass": "softmax"},
    **{task: {"multiclass": multiclass} for task, multiclass in MULTILABEL.items()},
}
ROW, NEW_ROW = {"a": 1.0, "b": 2.0}, {"a": 1.0, "unknown": 3.0}
FRAME = pd.DataFrame([ROW, NEW_ROW]).fillna(0.0)


def classifier(covariance, task):
    return OnlineClassifier(covariance=covariance, average=True, **LEARNED_BY.get(task, {}), view=None).fit(X, Y[task])


def river(task):
    if task in MULTILABEL:
        model = RiverLabels(**LEARNED_BY[task])
        for k in range(12):
            model.learn_one(ROW if k % 2 else {"c": 1.0}, {"x": k % 2 == 0, "y": k % 3 == 0})
        return model
    model = RiverClassifier(**LEARNED_BY.get(task, {}))
    for k in range(12):
        model.learn_one(ROW if k % 2 else {"c": 1.0}, k % (2 if task == "binary" else 3))
    return model


MODELS = {
    **{
        f"{covariance} {task}": partial(classifier, covariance, task)
        for covariance in ("diag", "full", "shared", "kernel") for task in Y
        if covariance != "shared" or not task.endswith("one-vs-rest")
    },
    **{f"mira {task}": partial(lambda task: MIRA().fit(X, Y[task]), task) for task in ("binary", "joint")},
    **{
        f"topics {task}": partial(lambda task: OnlineMedLDA(2, random_state=0).fit(X, Y[task]), task)
        for task in ("binary", "one-vs-rest", "multilabel")
    },
    **{f"river {task}": partial(river, task) for task in Y},
    **{
        f"frozen {task}": partial(lambda task: classifier("diag", task).to_sklearn(), task) for task in Y
    },
}  # fmt: skip


def called(model, name, folder):
    """Call a public method that must not change the model."""
    method = getattr(model, name)
    arguments = {
        "marginal": (getattr(model, "classes_", [None])[-1],), "sample_weights": (2, 0),
        "save": (folder / "m.cw",), "to_sklearn": (), "abstain": (X, 0.99),
        "to_onnx": (), "as_model": (), "top_words": (), "get_feature_names_out": (), "clone": (), "weights": (),
    }  # fmt: skip
    if name.endswith("_one"):
        return method(NEW_ROW)
    if name.endswith("_many"):
        return method(FRAME)
    if name == "score":
        return method(X, model.predict(X))
    return method(*arguments.get(name, (X,)))


# Of scikit-learn and River themselves, those that train, those of streams (below), and a constructor.
OTHERS = re.compile(
    r"(get_params|set_\w+|get_metadata_routing|mutate|fit|partial_fit|fit_transform|learn_\w+|\w+_stream|of)$"
)


def public_methods(model):
    kinds = (types.FunctionType, types.MethodType)
    names = [name for name in dir(type(model)) if not name.startswith("_") and not OTHERS.match(name)]
    return [name for name in names if isinstance(getattr(type(model), name, None), kinds) and hasattr(model, name)]


# What a kind of model cannot do is one ValueError that says why.
REFUSED = {
    "kernel": {"marginal", "sample_weights", "to_sklearn", "to_onnx"},
    "full joint": {"to_sklearn", "to_onnx"},
    "full one-vs-rest": {"to_sklearn", "to_onnx"},
    "full softmax": {"to_sklearn", "to_onnx"},
    "full multilabel-one-vs-rest": {"to_sklearn", "to_onnx"},
    **{f"{covariance} multilabel": {"abstain", "class_shares"} for covariance in ("diag", "full", "shared", "kernel")},
    "topics multilabel": {"abstain"},
}


@pytest.mark.filterwarnings("ignore:rows are sorted by label")
@pytest.mark.filterwarnings("ignore:(abstain|predict_set)")  # topic models score few of these rows
@pytest.mark.parametrize("name", MODELS)
def test_no_method_but_training_changes_a_model(name, tmp_path):
    """Nor does a row with unknown features, which River's dicts may have."""
    model = MODELS[name]()
    refused = set().union(*(methods for kind, methods in REFUSED.items() if name.startswith(kind)))
    methods, before = public_methods(model), pickle.dumps(model)
    assert len(methods) >= 3 and refused <= {*methods, "to_sklearn", "to_onnx", "marginal", "sample_weights"}
    for method in methods:
        if method in refused:
            with pytest.raises((ValueError, AttributeError), match=r"kernel|covariance|several labels"):
                called(model, method, tmp_path)
        else:
            called(model, method, tmp_path)
        assert pickle.dumps(model) == before, method
    assert pickle.dumps(copy.deepcopy(model)) == before


@pytest.mark.parametrize("task", Y)
def test_predicting_a_stream_changes_nothing(task, tmp_path):
    """Whose rows have features and labels that training did not have."""
    multilabel = task in MULTILABEL
    names = ["x", "y,x", ""] if multilabel else ["a", "b"] if task == "binary" else ["a", "b", "c"]
    (tmp_path / "rows.svm").write_text("".join(f"{names[k % len(names)]} {k % 4 + 1}:1\n" for k in range(12)))
    (tmp_path / "new.svm").write_text("b 2:1 9:3\nunknown 50:1\n\n1:1\n".replace("\n\n", "\n"))
    from confidently.data import open_stream

    model = OnlineClassifier(**LEARNED_BY.get(task, {}))
    with open_stream(tmp_path / "rows.svm", multilabel=multilabel) as stream:
        model.fit_stream(stream)
    before = pickle.dumps(model)
    for method in ("predict", "predict_proba", "decision_function", "margin_distribution"):
        list(model.predict_stream(tmp_path / "new.svm", method=method))
        assert pickle.dumps(model) == before, method


@pytest.mark.parametrize("y", [[[1, 2], [2, 1]], [[-1, 1], [1, -1]], [[0, 2], [2, 0]]])
@pytest.mark.parametrize("make", [OnlineClassifier, partial(OnlineMedLDA, 2)])
def test_indicators_are_0_and_1(y, make):
    model = make()
    for labels in (np.array(y), np.array(y, dtype=float)):
        with pytest.raises(ValueError, match=r"values 0 and 1, got|one class per row"):
            model.fit(np.eye(2), labels)
    assert not hasattr(model, "learner_")
    model.fit(np.eye(2), np.eye(2, dtype=bool))


def test_models_without_a_class_in_common_do_not_merge():
    one = OnlineClassifier().fit(X, np.where(Y["binary"] == "ham", -1, 1))
    with pytest.raises(MergeError, match="model 2 and model 1 have no class in common: 'ham', 'spam' and -1, 1"):
        merge([one, OnlineClassifier().fit(X, Y["binary"])])
    third = OnlineClassifier().fit(X, np.where(Y["binary"] == "ham", 5, 1))
    assert list(merge([one, third]).classes_) == [-1, 1, 5]


# --- threads ----------------------------------------------------------------------------------------------------------

TRAINED = {
    "classifier": (lambda: OnlineClassifier().fit(X, Y["binary"]), "_run", lambda m: m.partial_fit(X, Y["binary"])),
    "fit": (lambda: OnlineClassifier().fit(X, Y["binary"]), "_run", lambda m: m.fit(X, Y["binary"])),
    "mira": (lambda: MIRA().fit(X, Y["joint"]), "_learn", lambda m: m.partial_fit(X, Y["joint"])),
    "topics": (
        lambda: OnlineMedLDA(2, random_state=0).fit(X, Y["binary"]), "_learn", lambda m: m.partial_fit(X, Y["binary"])
    ),
}  # fmt: skip


def inside(model, method, train):
    """Begin a training in another thread and stop it inside; return events to go on and its thread."""
    entered, go_on, real = threading.Event(), threading.Event(), getattr(model, method)

    def waiting(*arguments, **options):
        entered.set()
        go_on.wait()
        return real(*arguments, **options)

    setattr(model, method, waiting)
    thread = threading.Thread(target=train)
    thread.start()
    entered.wait()
    delattr(model, method) if method in vars(model) else None
    return go_on, thread


@pytest.mark.parametrize("name", TRAINED)
def test_a_second_thread_that_trains_is_refused(name):
    make, method, train = TRAINED[name]
    model, alone = make(), make()
    go_on, thread = inside(model, method, lambda: train(model))
    try:
        with pytest.raises(ConcurrentUse, match="another thread is training this object"):
            train(model)
        train(make())  # others can be trained, and this one copied
        clone(model)
        pickle.loads(pickle.dumps(make()))
    finally:
        go_on.set()
        thread.join()
    train(alone)
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    train(model)


@pytest.mark.parametrize("task", ["joint", *MULTILABEL])
def test_a_second_thread_that_trains_on_dicts_is_refused(task):
    model = river(task)
    label = {"x": True} if task in MULTILABEL else 1
    go_on, thread = inside(
        model._rows, "grow_features", lambda: model.learn_one({f"n{k}": 1 for k in range(99)}, label)
    )
    try:
        with pytest.raises(ConcurrentUse):
            model.learn_one(ROW, label)
        copied = copy.deepcopy(river(task))
    finally:
        go_on.set()
        thread.join()
    model.learn_one(ROW, label)
    copied.learn_one(ROW, label)
