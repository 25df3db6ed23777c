"""The table of tasks: each is one object, whose calibration begins, grows and merges as it is read; no other code
compares names of tasks."""

import copy
import pickle
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from confidently import AutoClassifier, OnlineClassifier, _core, river
from confidently.covariances.settings import Settings
from confidently.data import open_stream
from confidently.evaluation.comparison import compare
from confidently.learner.recipe import Recipe
from confidently.rules import REGRESSION_RULES, RULES
from confidently.tasks.joint import Joint
from confidently.tasks.names import MULTICLASS_NAMES
from confidently.tasks.table import MULTICLASS, MULTILABEL, TASKS, task_named, task_of_classes, task_of_labels
from tests.compared_names import compared_names
from tests.covariances.test_core_equals_reference import TASKS as WITH_TWINS

NAMES = {*TASKS, *MULTICLASS, *MULTILABEL}
# The same words for something else: how words are counted, scikit-learn's names of targets, kinds of model files.
OTHER_WORDS = {"data/reading.py", "data/memory/labels.py", "cli/options/regression.py"}


def rule_of(task):
    return RULES["logistic"]() if not task.regression else REGRESSION_RULES["ridge"]()


def outputs(task):
    return 2 if task.binary else 3


def test_no_task_is_compared_by_name_outside_their_folder():
    found = [place for place in compared_names("tasks", NAMES) if place.partition(":")[0] not in OTHER_WORDS]
    assert found == []


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_one_object(name):
    task = TASKS[name]
    assert task.name == name == str(task) and task_named(name) is task is task_named(task)
    assert type(task)() is task is copy.deepcopy(task) is pickle.loads(pickle.dumps(task))
    assert (type(task).__doc__ or "").strip()
    with pytest.raises(TypeError, match="compare its name"):
        assert task == name
    assert Settings(rule_of(task), task=name) == Settings(rule_of(task), task=task)
    assert Settings(rule_of(task), task=task).header()["task"] == name


def test_the_compiled_core_has_the_same_tasks():
    assert [task.compiled for task in TASKS.values()] == [_core.Task[name.replace("-", "_")] for name in TASKS]
    assert len(TASKS) == len(list(_core.Task))
    assert tuple(MULTICLASS) == MULTICLASS_NAMES


def test_every_task_of_classes_and_labels_is_held_against_a_twin():
    assert set(WITH_TWINS) == {name for name, task in TASKS.items() if not task.regression}


@pytest.mark.parametrize("name", TASKS)
def test_a_task_predicts_one_thing(name):
    task = TASKS[name]
    assert task.binary + task.several + task.multilabel + task.regression == 1
    assert (task.noun, task.nouns) in (("class", "classes"), ("label", "labels"), ("number", "numbers"))
    columns = np.arange(2.0 * task.columns(outputs(task))).reshape(2, -1)
    expected = (2,) if task.binary else (2, outputs(task))
    assert task.by_output(columns).shape == task.variances_by_output(columns).shape == expected
    assert task.changed_columns(task.columns(outputs(task))) >= 1


@pytest.mark.parametrize("name", TASKS)
def test_outputs_have_names_and_ranks(name):
    task, n = TASKS[name], outputs(TASKS[name])
    assert task.names(["a", "b", "c"][:n]) == ["a", "b", "c"][:n]
    assert task.names(["a"]) == (["a", None] if task.binary else ["a"])
    columns = np.random.default_rng(0).normal(size=(20, task.columns(n)))
    scores = task.by_output(columns)
    ranked = task.ranked(scores, (scores > 0).astype(int))
    assert (np.sort(ranked, axis=1) == np.arange(n)).all()
    by_output = np.column_stack([-scores, scores]) if task.binary else scores
    assert (np.diff(np.take_along_axis(by_output, ranked, axis=1), axis=1) <= 0).all()


def test_streams_of_rows_are_read_as_their_task_asks(tmp_path):
    file = tmp_path / "rows.svm"
    file.write_text("1 1:1\n2 1:2\n", encoding="utf-8")
    for task in TASKS.values():
        with open_stream(file, **task.reading) as stream:
            batch = next(stream)
        found = (batch.targets is not None, batch.label_start is not None)
        assert found == (task.regression, task.multilabel)


@pytest.mark.parametrize("name", TASKS)
def test_an_initial_calibration_is_valid_and_may_grow(name):
    task, n = TASKS[name], outputs(TASKS[name])
    initial = np.array(task.initial_calibration(n))
    for about, values, allowed in task.calibration_values(initial):
        assert all(map(allowed.includes, values.ravel().tolist())), about
    assert (task.upgraded_calibration(initial, n) == initial).all()
    assert (task.placed_calibration(initial, np.arange(n), n) == initial).all()
    assert task.merged_calibration([initial, initial], initial) == pytest.approx(initial)
    if not task.regression:  # which has as many numbers from the beginning
        grown = task.grown_calibration(initial, n + 1)
        assert grown.shape == np.shape(task.initial_calibration(n + 1))


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if not task.regression])
def test_probabilities_rise_with_scores_and_decide_as_scores_do_before_training(name):
    task, n = TASKS[name], outputs(TASKS[name])
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(50, task.columns(n)))
    scores, initial = task.by_output(columns), np.array(task.initial_calibration(n))
    p = task.probabilities(scores, initial)
    assert p.shape == (50, n) and ((p > 0) & (p < 1)).all()
    assert task.multilabel or p.sum(axis=1) == pytest.approx(1.0)
    if task.multilabel:
        assert ((p > 0.5) == (scores > 0)).all()
        assert not task.decides_by_probability(initial)
        assert (task.decided(scores, None, initial) == (scores > 0)).all()
    else:
        assert (task.decided(None, p, initial) == task.decided(scores, None, initial)).all()
    likely = task.likely(scores, lambda: np.full(scores.shape, 0.5), rule_of(task).score_noise())
    assert likely.shape == (50, n) and (np.sign(likely[:, 1] - likely[:, 0]) == np.sign(p[:, 1] - p[:, 0])).all()


class Reversed(Joint):
    """Whose columns of weights are not the classes, so that little but predictions of matrices is right."""

    unsupported: ClassVar = {"export": "no class has coefficients of its own"}
    compiled_rows = False

    def by_output(self, columns):
        return columns[..., ::-1]


def test_what_a_task_cannot_do_is_refused_with_the_reason():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 4)), random.integers(0, 3, 60)
    classifier = OnlineClassifier("arow", view=None).fit(X, y)
    classifier.to_sklearn()
    settings = classifier.learner_.settings
    classifier.learner_.settings = replace(settings, task=Reversed())
    for export in (classifier.to_sklearn, classifier.to_onnx):
        with pytest.raises(ValueError, match="no class has coefficients of its own"):
            export()


def test_single_rows_of_a_task_that_the_core_does_not_predict_are_matrices():
    random = np.random.default_rng(0)
    model, other = river.OnlineClassifier("arow"), river.OnlineClassifier("arow")
    rows = [dict(zip("abcd", row, strict=True)) for row in random.normal(size=(60, 4)).tolist()]
    for x, label in zip(rows, random.integers(0, 3, 60).tolist(), strict=True):
        model.learn_one(x, label)
        other.learn_one(x, label)
    of_rows = model._rows
    of_rows.learner.settings = replace(of_rows.learner.settings, task=Reversed())
    of_rows._make_room()
    assert of_rows.as_matrices and not other._rows.as_matrices
    names = of_rows.table.names
    for x in rows:
        found, expected = model.predict_proba_one(x), other.predict_proba_one(x)
        assert [found[name] for name in names] == pytest.approx([expected[name] for name in reversed(names)])
        assert model.predict_one(x) == names[-1 - names.index(other.predict_one(x))]


def test_rules_of_the_other_kind_are_refused_wherever_a_learner_is_made(tmp_path):
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    file = tmp_path / "rows.svm"
    file.write_text("1 1:1\n2 2:1\n" * 4, encoding="utf-8")
    places = (
        lambda: OnlineClassifier(rule="ridge").fit(X, y), lambda: river.OnlineClassifier("ridge"),
        lambda: AutoClassifier([OnlineClassifier(rule="ridge")]).fit(X, y),
        lambda: compare(open_stream(file), ["ridge"]), lambda: Recipe(REGRESSION_RULES["ridge"]()).learner(2),
    )  # fmt: skip
    for place in places:
        with pytest.raises(ValueError, match="the rule 'ridge' predicts numbers; expected one of perceptron"):
            place()
    with pytest.raises(ValueError, match="the rule 'arow' predicts classes; expected one of ridge"):
        Recipe(RULES["arow"](), targets=True).learner(1)


def test_rules_and_data_ask_for_tasks():
    arow, logistic = RULES["arow"](), RULES["logistic"]()
    assert (str(task_of_classes(arow, None)), str(task_of_classes(logistic, None))) == ("joint", "softmax")
    assert str(task_of_labels(arow, None, coupled=False)) == "multilabel-one-vs-rest"
    assert str(task_of_labels(arow, None, coupled=True)) == str(task_of_labels(arow, "joint", coupled=False))
    with pytest.raises(ValueError, match="which the rule 'arow' does not have"):
        task_of_classes(arow, "softmax")
    with pytest.raises(ValueError, match="multilabel rows have any number of labels"):
        task_of_labels(logistic, "softmax", coupled=False)
    with pytest.raises(ValueError, match="task: expected one of 'binary', 'joint'"):
        task_named("jiont")


@pytest.mark.parametrize("name", TASKS)
def test_tasks_refuse_rules_and_numbers_of_outputs_that_they_cannot_have(name):
    task = TASKS[name]
    other = REGRESSION_RULES["ridge"]() if not task.regression else RULES["logistic"]()
    with pytest.raises(ValueError, match=other.name):
        task.check_rule(other)
    task.check_outputs(outputs(task))
    if task.least_outputs:
        with pytest.raises(ValueError, match=name):
            task.check_outputs(task.least_outputs - 1)
