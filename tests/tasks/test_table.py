"""The table of tasks: each is one object, whose calibration begins, grows and merges as it is read; no other code
compares names of tasks."""

import copy
import pickle

import numpy as np
import pytest

from confidently import _core
from confidently.covariances.settings import Settings
from confidently.rules import REGRESSION_RULES, RULES
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
def test_an_initial_calibration_is_valid_and_may_grow(name):
    task, n = TASKS[name], outputs(TASKS[name])
    initial = np.array(task.initial_calibration(n))
    for about, values, allowed in task.calibration_values(initial):
        assert all(map(allowed.includes, values.ravel().tolist())), about
    assert (task.upgraded_calibration(initial, n) == initial).all()
    assert (task.placed_calibration(initial, np.arange(n), n) == initial).all()
    if not task.regression:  # which has as many numbers from the beginning, and merges statistics with those of a base
        grown = task.grown_calibration(initial, n + 1)
        assert grown.shape == np.shape(task.initial_calibration(n + 1))
        assert task.merged_calibration([initial, initial]) == pytest.approx(initial)


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
