"""covariance="full" of three or more classes is shared by them, unless their task is chosen."""

import numpy as np
import pytest

from confidently import AutoClassifier, OnlineClassifier, load, make_rule, merge, river
from confidently.covariances.settings import Settings
from confidently.covariances.table import of_classes, with_classes
from confidently.learner.learner import Learner
from confidently.models.merged_learner import MergeError
from confidently.tasks.table import TASKS
from tests.model_files import contents_of, write_contents

D = 6
CHOSEN = [("arow", "joint", (3 * D + 3,) * 2), ("arow", "one-vs-rest", (3, D + 1, D + 1)),
          ("logistic", "softmax", (3, D + 1, D + 1))]  # fmt: skip


def rows(n=90, classes="abc", seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(len(classes), size=n)
    X = random.normal(size=(n, D)) / np.sqrt(D)
    X[np.arange(n), y] += 1.0
    return X, np.array(list(classes))[y]


def stored(classifier):
    return {name: array.tobytes() for name, array in classifier.learner_.state.items()}


def kind(classifier):
    return classifier.learner_.settings.covariance, classifier.learner_.task.name


@pytest.mark.parametrize(("rule", "multiclass", "shape"), CHOSEN)
def test_classes_share_a_matrix_unless_their_task_is_chosen(rule, multiclass, shape):
    X, y = rows()
    unasked, shared, asked = (
        OnlineClassifier(rule, covariance, multiclass=task).fit(X, y)
        for covariance, task in (("full", None), ("shared", None), ("full", multiclass))
    )
    assert kind(unasked) == kind(shared) == ("shared", make_rule(rule).multiclass)
    assert stored(unasked) == stored(shared)
    assert unasked.covariance_.shape == (D + 1, D + 1)
    assert kind(asked) == ("full", multiclass)
    assert asked.covariance_.shape == shape


def test_two_classes_and_labels_have_matrices_of_their_own():
    X, y = rows()
    two = OnlineClassifier("arow", "full").fit(X, y == "a")
    assert kind(two) == ("full", "binary")
    labels = OnlineClassifier("arow", "full").fit(X, (y[:, None] == list("abc")).astype(int))
    assert kind(labels) == ("full", "multilabel-one-vs-rest")
    assert labels.covariance_.shape == (3, D + 1, D + 1)


@pytest.mark.parametrize("rows_per_product", [None, 8])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rule", ["arow", "cw_stdev", "iellip", "pa", "logistic"])
def test_a_third_class_turns_a_full_covariance_into_a_shared_one(rule, dtype, rows_per_product):
    """Bit for bit, as if it had been shared from the start; in arrays and in dicts."""
    X, y = rows(60, "ab")
    more, z = rows(60)
    settings = {"dtype": dtype, "rows_per_product": rows_per_product, "average": True}
    full, shared = (OnlineClassifier(rule, covariance, **settings).fit(X, y) for covariance in ("full", "shared"))
    assert kind(full)[0] == "full"
    assert stored(full) == stored(shared)
    for classifier in (full, shared):
        classifier.partial_fit(more, z, classes=list("abc"))
    assert kind(full) == kind(shared) == ("shared", make_rule(rule).multiclass)
    assert stored(full) == stored(shared)
    dicts = [river.OnlineClassifier(rule, covariance, average=True) for covariance in ("full", "shared")]
    for x, label in [*zip(X, y, strict=True), *zip(more, z, strict=True)]:
        for classifier in dicts:
            classifier.learn_one(dict(enumerate(x.tolist())), label)
    one, other = (classifier._rows.learner for classifier in dicts)
    assert one.settings == other.settings
    assert {name: array.tobytes() for name, array in one.state.items()} == {
        name: array.tobytes() for name, array in other.state.items()
    }


@pytest.mark.parametrize(("rule", "multiclass", "shape"), CHOSEN)
def test_a_third_class_keeps_the_covariance_that_was_asked_for(rule, multiclass, shape):
    classifier = OnlineClassifier(rule, "full", multiclass=multiclass).fit(*rows(60, "ab"))
    classifier.partial_fit(*rows(), classes=list("abc"))
    assert kind(classifier) == ("full", multiclass)
    assert classifier.covariance_.shape == shape


@pytest.mark.parametrize("multiclass", [None, "joint", "one-vs-rest"])
def test_a_saved_model_of_two_classes_continues_in_the_same_way(multiclass, tmp_path):
    whole = OnlineClassifier("arow", "full", multiclass=multiclass).fit(*rows(60, "ab"))
    whole.save(tmp_path / "two.cw")
    loaded = load(tmp_path / "two.cw")
    assert (loaded.covariance, loaded.multiclass) == ("full", multiclass)
    for name, classifier in (("whole.cw", whole), ("loaded.cw", loaded)):
        classifier.partial_fit(*rows(), classes=list("abc"))
        classifier.save(tmp_path / name)
    assert kind(loaded) == (("full", multiclass) if multiclass else ("shared", "joint"))
    assert (tmp_path / "whole.cw").read_bytes() == (tmp_path / "loaded.cw").read_bytes()
    again = load(tmp_path / "whole.cw")
    assert kind(again) == kind(whole)
    again.partial_fit(*rows(seed=1))
    assert stored(again) == stored(whole.partial_fit(*rows(seed=1)))


@pytest.mark.parametrize("estimator", [{"multiclass": "joint"}, {}])
@pytest.mark.parametrize("classes", ["ab", "abc"])
def test_earlier_files_keep_the_matrix_of_all_weights(classes, estimator, tmp_path):
    """They have the task, whether or not it was chosen."""
    classifier = OnlineClassifier("arow", "full", multiclass="joint").fit(*rows(60, classes))
    classifier.save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    write_contents(tmp_path / "m.cw", header | {"estimator": estimator}, arrays)
    loaded = load(tmp_path / "m.cw")
    assert (loaded.covariance, loaded.multiclass) == ("full", "joint")
    loaded.partial_fit(*rows(), classes=list("abc"))
    assert kind(loaded) == ("full", "joint")
    assert stored(loaded) == stored(classifier.partial_fit(*rows(), classes=list("abc")))


def test_the_choice_cannot_change_after_training():
    classifier = OnlineClassifier("arow", "full").fit(*rows())
    classifier.set_params(covariance="shared").partial_fit(*rows())
    with pytest.raises(ValueError, match="cannot change after training has begun"):
        classifier.set_params(covariance="full", multiclass="joint").partial_fit(*rows())


@pytest.mark.parametrize("classes", ["ab", "abc"])
@pytest.mark.parametrize("order", [1, -1])
def test_models_that_become_the_same_are_merged(classes, order):
    """A full covariance of two classes is a shared one; whoever of them has seen a third class."""
    parts = [(rows(40, "ab"), "full"), (rows(40, classes, seed=1), "shared")][::order]
    mixed = merge([OnlineClassifier("arow", covariance).fit(*seen) for seen, covariance in parts])
    plain = merge([OnlineClassifier("arow", "shared").fit(*seen) for seen, _ in parts])
    assert kind(mixed) == ((parts[0][1], "binary") if classes == "ab" else ("shared", "joint"))
    assert stored(mixed) == stored(plain)
    both = [model.partial_fit(*rows(seed=2), classes=list("abc")) for model in (mixed, plain)]
    assert kind(both[0]) == ("shared", "joint")
    assert stored(both[0]) == stored(both[1])


def test_models_of_two_classes_merge_to_one_of_three():
    parts = [OnlineClassifier("arow", "full").fit(*rows(40, classes)) for classes in ("ab", "cb")]
    assert kind(merge(parts)) == ("shared", "joint")
    asked = [OnlineClassifier("arow", "full", multiclass="joint").fit(*rows(40, classes)) for classes in ("ab", "cb")]
    assert kind(merge(asked)) == ("full", "joint")


@pytest.mark.parametrize(("settings", "message"), [
    ({"covariance": "full", "multiclass": "joint"}, "multiclass = default in model 1, multiclass = joint in model"),
    ({"covariance": "diag"}, "covariance = full in model 1, covariance = diag in model 2"),
])  # fmt: skip
def test_models_that_become_different_are_not_merged(settings, message):
    parts = [{"covariance": "full"}, settings]
    with pytest.raises(MergeError, match=message):
        merge([OnlineClassifier("arow", **own).fit(*rows(40, "ab")) for own in parts])


def test_the_members_of_a_stack_follow_the_same_rule():
    X, y = rows()
    members = [OnlineClassifier("arow", "full"), OnlineClassifier("arow", "full", multiclass="one-vs-rest")]
    stack = AutoClassifier(members).fit(X, y)
    late = AutoClassifier(members).fit(*rows(60, "ab"))
    assert [(own.covariance, own.multiclass) for own in late.members_.values()] == [
        ("full", None), ("full", "one-vs-rest")
    ]  # fmt: skip
    late.partial_fit(X, y, classes=list("abc"))
    for model in (stack, late):
        assert [kind(own) for own in model.members_.values()] == [("shared", "joint"), ("full", "one-vs-rest")]


def test_settings_follow_from_the_classes():
    full = Settings("arow", "full")
    assert with_classes(full, None, 2) == full
    assert with_classes(full, None, 3) == Settings("arow", "shared", "joint")
    assert with_classes(full, "one-vs-rest", 3) == Settings("arow", "full", "one-vs-rest")
    assert with_classes(full, None, 3, multilabel=True) == Settings("arow", "full", "multilabel-one-vs-rest")
    assert of_classes(full.rule, "diag", None) == ("diag", TASKS["joint"])
    with pytest.raises(ValueError, match='use multiclass="joint"'):
        with_classes(Settings("arow", "shared"), "one-vs-rest", 2)
    learner = Learner(full, 2, D)
    learner.grow(n_classes=4)
    assert learner.settings == Settings("arow", "shared", "joint", projection=learner.settings.projection)
