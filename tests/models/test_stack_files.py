"""Model files of stacks whose parts do not fit together are damaged."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from confidently import AutoClassifier, AutoRegressor, Ridge, load
from confidently.data.memory.matrix import as_matrix
from confidently.learner.recipe import Recipe
from confidently.models.file import ModelFileError
from confidently.stack.number_stack import NumberStack
from confidently.stack.plan import plan
from tests.estimators.test_auto_classifier import data
from tests.model_files import contents_of, write_contents

DAMAGES = {
    "no settings": (lambda h, a: h["members"][0].pop("settings"), "member 0 has no settings"),
    "unknown kind": (lambda h, a: h["members"][0].update(kind="tree"), "kind"),
    "unknown dtype": (lambda h, a: h["settings"].update(dtype="int8"), "dtype"),
    "a member less": (lambda h, a: h["members"].pop(), "damaged"),
    "a member more": (lambda h, a: h["members"].append(h["members"][-1]), "damaged"),
    "fewer features": (lambda h, a: h.update(n_features=3), "damaged"),
    "more classes": (lambda h, a: h.update(n_classes=3, classes=[0, 1, 2]), "damaged"),
    "a weight that is not finite": (lambda h, a: a["mixture.weights"].fill(np.nan), "mixture.weights"),
    "curvature of other members": (lambda h, a: a.update({"mixture.hessian": np.eye(2)}), "mixture.hessian"),
    "negative counts": (lambda h, a: a["3.frequency"].fill(-1.0), "frequency"),
    "a slope of 0": (lambda h, a: a["3.calibration"].fill(0.0), "slope"),
    "the rest of classes": (lambda h, a: h["members"][-1].update(kind="rest"), "are of numbers, not of classes"),
    "a count missing": (lambda h, a: a.pop("3.rows"), "rows"),
    "moves in the wrong order": (lambda h, a: h.update(moves={"rows": [50, 20], "pending": 0}), "moves of memories"),
    "moves of later rows": (lambda h, a: h.update(moves={"rows": [20, 10**6], "pending": 3}), "moves of memories"),
    "too many rows pending": (lambda h, a: h.update(moves={"rows": [], "pending": 100}), "moves of memories"),
}


@pytest.mark.long("a stack for each damage")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_stack_is_one_error(damage, tmp_path):
    X, y = data("words")
    path = tmp_path / "m.cw"
    AutoClassifier().fit(X, y).save(path)
    header, arrays = contents_of(path)
    change, message = DAMAGES[damage]
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    write_contents(path, header, arrays)
    with pytest.raises(ModelFileError, match=message):
        load(path)


def regression(tmp_path):
    """Header and arrays of a stack of regressions with two members that learn the rest."""
    X, y = make_friedman1(300, n_features=10, noise=1.0, random_state=0)
    AutoRegressor().fit(X, y).save(tmp_path / "m.cw")
    return contents_of(tmp_path / "m.cw")


NUMBER_DAMAGES = {
    "a rest before others": (lambda h, a: h["members"][0].update(kind="rest"), "must come first"),
    "only rests": (lambda h, a: [member.update(kind="rest") for member in h["members"]], "must come first"),
    "only logarithms": (lambda h, a: [member.update(kind="log") for member in h["members"]], "must come first"),
    "a rest as a logarithm": (lambda h, a: h["members"][-2].update(kind="log"), "mixture.share"),
    "a logarithm after a rest": (lambda h, a: h["members"][-1].update(kind="log"), "must come first"),
    "fewer rests": (lambda h, a: h["members"][-2].update(kind="gaussian"), "must come first|mixture.share"),
    "shares of other windows": (lambda h, a: a.update({"mixture.share": np.ones((3, 2))}), "mixture.share"),
    "a share below 0": (lambda h, a: a["mixture.share"].fill(-0.1), "mixture.share"),
    "products of other members": (lambda h, a: a.update({"mixture.products": np.ones((3, 2, 2))}), "mixture.products"),
    "a triangle of other rows": (lambda h, a: a.update({"1.covariance.triangle": np.ones((1, 5))}), "of 66 rows"),
    "a triangle that is no number": (lambda h, a: a["1.covariance.triangle"].fill(np.inf), "not finite"),
}


def test_mixtures_of_other_numbers_are_one_error(tmp_path):
    X, y = make_friedman1(100, n_features=10, random_state=0)
    AutoRegressor().fit(X, np.column_stack([y, -y])).save(tmp_path / "m.cw")
    header, whole = contents_of(tmp_path / "m.cw")
    for name in ("mixture.weights", "mixture.share", "mixture.products", "mixture.rows", "calibration"):
        for fewer in (whole[name][0], whole[name][:1]):
            write_contents(tmp_path / "damaged.cw", header, whole | {name: np.ascontiguousarray(fewer)})
            with pytest.raises(ModelFileError, match=name):
                load(tmp_path / "damaged.cw")


@pytest.mark.long("a stack for each damage")
@pytest.mark.parametrize("damage", NUMBER_DAMAGES)
def test_a_damaged_stack_of_regressions_is_one_error(damage, tmp_path):
    header, arrays = regression(tmp_path)
    change, message = NUMBER_DAMAGES[damage]
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    write_contents(tmp_path / "m.cw", header, arrays)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m.cw")


def test_large_symmetric_matrices_are_halved_and_others_whole(tmp_path):
    _, arrays = regression(tmp_path)
    model = load(tmp_path / "m.cw")
    whole = model.learner_.members[1].state["covariance"]
    assert arrays["1.covariance.triangle"].tolist() == [whole[0][np.tril_indices(66)].tolist()]
    assert (whole == whole.swapaxes(1, 2)).all()
    assert "0.covariance" in arrays
    whole[0, 0, 1] += 1e-9  # as of an earlier version
    model.save(tmp_path / "again.cw")
    assert (load(tmp_path / "again.cw").learner_.members[1].state["covariance"] == whole).all()


def test_a_stack_needs_a_member_that_learns_the_targets():
    recipe = Recipe(Ridge(), "full", targets=True)
    for rests in ([True], [True, False]):
        with pytest.raises(ValueError, match="members that learn targets must come first"):
            NumberStack([plan(recipe, "one", rest=rest) for rest in rests])


def test_a_stack_refuses_lists_of_labels():
    X, y = data("iris")
    stack = AutoClassifier().fit(X, y).learner_
    with pytest.raises(ValueError, match="a stack learns one class per row, got lists of labels"):
        stack.learn(as_matrix(X[:2]), np.array([0, 1], dtype=np.int32), np.array([0, 1, 2]))
