"""AutoClassifier of label sets: arrays and files, exact continuation, merging by label, explanations, commands."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from confidently import (
    AROW,
    AutoClassifier,
    Logistic,
    OnlineClassifier,
    active,
    merge,
    progressive_validation,
    river,
)
from confidently.data import open_stream
from confidently.data.memory.matrix import as_matrix
from confidently.models.merged_learner import MergeError
from confidently.models.model import Model
from confidently.models.stack_explanation import explain_stack
from confidently.stack.label_stack import LABEL_COUNTS

N, D, LABELS = 500, 5, 3
GIVEN = [OnlineClassifier(AROW(r=0.5), view="standard"), OnlineClassifier(Logistic(), multiclass="joint", view="unit")]
NAMES = ["sea", "city", "wood"]


def label_sets(n=N, seed=0):
    """Rows with a label that is linear, one that is a product, and a rare one."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, D)) * [1, 10, 1, 1, 1]
    noise = 0.2 * generator.normal(size=(n, 3))
    return X, (np.column_stack([X[:, 0], X[:, 2] * X[:, 3], X[:, 4] - 1.5]) + noise > 0).astype(int)


def as_text(X, Y, names=NAMES):
    """Rows as JSON lines; strings are labels."""
    lines = []
    for x, relevant in zip(X.tolist(), Y.tolist(), strict=True):
        labels = [name for name, one in zip(names, relevant, strict=True) if one]
        lines.append(json.dumps({"label": labels, **{f"c{j}": v for j, v in enumerate(x)}}))
    return "\n".join(lines) + "\n"


def test_products_of_columns_are_learned():
    X, Y = label_sets(3000)
    model, single = AutoClassifier().fit(X[:2000], Y[:2000]), OnlineClassifier().fit(X[:2000], Y[:2000])
    found, linear = (f1_score(Y[2000:], m.predict(X[2000:]), average="micro") for m in (model, single))
    assert found > linear + 0.1
    assert model.weights_.shape == (LABELS, len(model.members_))
    assert model.classes_.tolist() == [0, 1, 2]
    p = model.predict_proba(X[2000:])
    assert np.array_equal(model.predict(X[2000:]), (p > model.learner_.label_threshold).astype(int))
    assert np.array_equal(model.decision_function(X[2000:]) > 0, p > 0.5)
    losses = [-np.log(np.where(Y[2000:], q, 1 - q)).mean() for q in (p, single.predict_proba(X[2000:]))]
    assert losses[0] < 0.75 * losses[1]


def test_members_are_classifiers_of_label_sets():
    X, Y = label_sets()
    model = AutoClassifier(GIVEN).fit(X, Y)
    assert list(model.members_) == ["1. arow on standard", "2. logistic on unit"]
    for member in model.members_.values():
        assert member.predict(X).shape == (N, LABELS)
    assert [member.learner_.task.multiclass for member in model.members_.values()] == ["one-vs-rest", "joint"]


def test_labels_are_merged_by_name(tmp_path):
    X, Y = label_sets()
    files = [tmp_path / "one.jsonl", tmp_path / "other.jsonl"]
    files[0].write_text(as_text(X[:250], Y[:250]))
    files[1].write_text(as_text(X[250:], Y[250:, ::-1], NAMES[::-1]))
    models = []
    for path in files:
        with open_stream(str(path), normalize="none", zeros=True, multilabel=True) as stream:
            models.append(AutoClassifier(GIVEN).fit_stream(stream))
    merged = merge(models)
    assert merged.classes_.tolist() == sorted(NAMES)
    assert merged.n_seen_ == sum(model.n_seen_ for model in models)
    rows = [model.learner_.state[LABEL_COUNTS][:, 1].max() for model in models]
    assert merged.learner_.state[LABEL_COUNTS][:, 1].max() <= sum(rows)
    order = np.argsort(NAMES)
    for alone in models:
        low, high = (f([m.weights_ for m in models], axis=0) for f in (np.min, np.max))
        assert np.linalg.norm(merged.weights_ - (low + high) / 2) < np.linalg.norm(high - low)
        assert alone.classes_.tolist() == sorted(NAMES)
    rows = pd.DataFrame(X, columns=[f"c{j}" for j in range(D)])
    scores = [f1_score(Y[:, order], _predicted(m, rows, tmp_path), average="micro") for m in (*models, merged)]
    assert scores[2] > min(scores[:2]) - 0.02
    with pytest.raises(MergeError, match="merge stacks of the same members"):
        merge([models[0], AutoClassifier().fit(X, Y)])


def _predicted(model, frame, folder):
    path = folder / "rows.jsonl"
    frame.assign(label="").to_json(path, orient="records", lines=True)
    return np.concatenate(list(model.predict_stream([str(path)])))


def test_what_members_and_features_add_is_the_score_of_a_label(tmp_path):
    X, Y = label_sets()
    path = tmp_path / "rows.jsonl"
    path.write_text(as_text(X, Y))
    with open_stream(str(path), normalize="none", zeros=True, multilabel=True) as stream:
        model = AutoClassifier().fit_stream(stream)
    model.save(tmp_path / "m.cw")
    saved = Model.load(tmp_path / "m.cw")
    with open_stream(str(path), normalize="none", zeros=True, features=saved.features, multilabel=True) as stream:
        batch = next(iter(stream)).rows(7, 8)
    scores = model.learner_.decision(batch.matrix)[0]
    for number, name in enumerate(saved.classes):
        found = explain_stack(saved, batch, name)
        assert (found.supported, found.rival) == (name, None)
        assert found.mean == pytest.approx(scores[number])
        assert sum(part.mean for part in found.members) == pytest.approx(found.mean)
        assert sum(part.mean for part in found.features) == pytest.approx(found.mean)
    predicted = model.learner_.predict(batch.matrix)[0]
    assert found.predicted == [name for name, one in zip(saved.classes, predicted, strict=True) if one]


def test_rows_to_ask_about_are_those_on_which_members_disagree():
    X, Y = label_sets()
    model = AutoClassifier().fit(X, Y)
    assert active.certainty(model, X).shape == (N,)
    assert np.argmin(active.certainty(model, X, "disagreement")) == model.learner_.disagreement(as_matrix(X)).argmax()


def test_progressive_validation_predicts_every_row_before_it_is_learned():
    X, Y = label_sets()
    curve = progressive_validation(AutoClassifier(), X, Y, at=N)
    model = AutoClassifier(passes=1, shuffle=False).fit(X, Y)
    assert curve.mistakes[0, -1] == model.mistakes_
    assert curve.models[0].predict_proba(X) == pytest.approx(model.predict_proba(X))


@pytest.mark.parametrize("model", [river.AutoClassifier(), river.OnlineClassifier()], ids=["auto", "one"])
def test_a_dict_of_labels_is_no_class_of_a_dict(model):
    for known in range(3):
        with pytest.raises(TypeError, match=r"a row has one class, got .*; use OnlineMultiLabelClassifier"):
            model.learn_one({"a": 1.0}, {"sea": True, "city": False})
        model.learn_one({"a": float(known)}, "xy"[known % 2])
    with pytest.raises(TypeError, match="unhashable"):
        model.learn_one({"a": 1.0}, ["sea"])


def relevant_in(y):
    return {name: True for name, one in zip(NAMES, y, strict=True) if one}


@pytest.mark.long("a thousand dicts of a stack")
def test_dicts_with_labels_are_learned_as_the_rows_of_a_file(tmp_path):
    X, Y = label_sets(1010)
    Y[0] = 1  # so that both know all labels from the first row on
    here = river.AutoMultiLabelClassifier()
    assert (here.predict_one({"c0": 1.0}), here.predict_proba_one({"c0": 1.0}), here.members) == ({}, {}, {})
    records = [{f"c{j}": v for j, v in enumerate(x)} for x in X.tolist()]
    for x, y in zip(records, Y.tolist(), strict=True):
        here.learn_one(x, relevant_in(y))
    (tmp_path / "rows.jsonl").write_text(as_text(X, Y), encoding="utf-8")
    with open_stream(str(tmp_path / "rows.jsonl"), normalize="none", zeros=True, label="label") as stream:
        there = AutoClassifier().fit_stream(stream)
    stack = there.learner_
    assert here.members == dict(zip(stack.names, stack.member_weights.tolist(), strict=True))
    expected = dict(zip(there.classes_.tolist(), there.predict_proba(X[:1])[0].tolist(), strict=True))
    assert {name: p[True] for name, p in here.predict_proba_one(records[0]).items()} == pytest.approx(expected)
    assert set(here.predict_one(records[0])) == set(NAMES)


@pytest.mark.long("a hundred dicts of stacks of labels")
def test_dicts_bring_labels_and_an_error_takes_them_back():
    X, Y = label_sets(130)
    model = river.AutoMultiLabelClassifier()
    for i, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True)):
        model.learn_one(
            {f"c{j}": v for j, v in enumerate(x)}, relevant_in(y) | ({"late": i % 2 == 0} if i > 50 else {})
        )
    before = model.predict_proba_one({"c0": 1.0})
    assert set(before) == {*NAMES, "late"}
    again = pickle.loads(pickle.dumps(model))
    for bad in ({"c0": float("inf"), "new": 1.0}, {"new": [1]}, {"new": 1e101}):
        with pytest.raises(ValueError, match=r"."):
            model.learn_one(bad, {"other": True})
    assert model.predict_proba_one({"c0": 1.0}) == before == again.predict_proba_one({"c0": 1.0})
    assert model._rows.core.size == D
