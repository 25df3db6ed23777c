"""Model files of stacks whose parts do not fit together are damaged."""

from __future__ import annotations

import numpy as np
import pytest

from confidently import AutoClassifier, load
from confidently.data.memory.matrix import as_matrix
from confidently.models.file import ModelFileError
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
    "a count missing": (lambda h, a: a.pop("3.rows"), "rows"),
}


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


def test_a_stack_refuses_lists_of_labels():
    X, y = data("iris")
    stack = AutoClassifier().fit(X, y).learner_
    with pytest.raises(ValueError, match="a stack learns one class per row, got lists of labels"):
        stack.learn(as_matrix(X[:2]), np.array([0, 1], dtype=np.int32), np.array([0, 1, 2]))
