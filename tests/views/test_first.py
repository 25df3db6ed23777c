"""The view of the first columns, on rows that bring more."""

import numpy as np
import pytest

from confidently import AutoClassifier, First, OnlineClassifier, load, merge
from confidently.data import open_stream
from confidently.models.file import ModelFileError
from confidently.stack.choice import COSINES, FEW_COSINES
from confidently.views.first import KEPT
from tests.model_files import contents_of, write_contents


def rows(n=200, d=6, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_later_columns_are_left_out(covariance):
    X, y = rows()
    seen = OnlineClassifier(covariance=covariance, view=First(n=3)).fit(X, y)
    alone = OnlineClassifier(covariance=covariance, view=None).fit(X[:, :3], y)
    assert np.array_equal(seen.decision_function(X), alone.decision_function(X[:, :3]))
    assert seen.learner_.width == 3


def table(path, names, n=150, seed=0):
    """Write a table that brings a new town every second row."""
    generator = np.random.default_rng(seed)
    lines = ["age,town,label"]
    for i in range(n):
        age = generator.normal()
        lines.append(f"{age:.3f},{names}{i // 2},{'yes' if age > 0 else 'no'}")
    path.write_text("\n".join(lines) + "\n")
    return path


def opened(path):
    return open_stream(str(path), normalize="none", zeros=True, label="label")


def test_columns_of_a_stream_are_counted_as_they_come(tmp_path):
    model, more = OnlineClassifier(covariance="full", view=["standard", First(n=4)]), tmp_path / "more.csv"
    model.fit_stream(opened(table(tmp_path / "rows.csv", "a")))
    assert model.learner_.n_features == 76 and model.learner_.width == 4
    assert len(model.learner_.state["weights"]) == 5
    model.save(tmp_path / "m.cw")
    table(more, "b", seed=1)
    for one, name in ((load(tmp_path / "m.cw"), "again.cw"), (model, "on.cw")):
        one.partial_fit_stream(more).save(tmp_path / name)
    assert (tmp_path / "again.cw").read_bytes() == (tmp_path / "on.cw").read_bytes()


def test_a_merged_model_has_the_columns_of_all(tmp_path):
    models = [
        OnlineClassifier(view=["standard", First(n=3)]).fit_stream(
            opened(table(tmp_path / f"{name}.csv", name, seed=seed))
        )
        for seed, name in enumerate("ab")
    ]
    merged = merge(models)
    assert merged.learner_.width == 5  # age, and two towns of each
    names = list(merged.features_.names)
    kept = [names[j] for j in merged.learner_.view.packed(merged.learner_.state, len(names))[KEPT]]
    assert sorted(kept) == ["age", "town=a0", "town=a1", "town=b0", "town=b1"]


@pytest.mark.parametrize("kept", [[0, 0, 1], [0, 1, 6], [-1, 0, 1]])
def test_columns_that_cannot_be_are_refused(tmp_path, kept):
    X, y = rows()
    OnlineClassifier(view=First(n=3)).fit(X, y).save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    write_contents(tmp_path / "m.cw", header, arrays | {KEPT: np.array(kept, dtype=np.int32)})
    with pytest.raises(ModelFileError, match="must be different features, from 0 to 5"):
        load(tmp_path / "m.cw")


def test_a_matrix_of_a_stack_stays_small_on_a_stream_that_brings_ever_more_columns(tmp_path):
    """The first rows have a hundred columns, all rows over a thousand."""
    lines = ["age,town,label"]
    generator = np.random.default_rng(0)
    for i in range(2900):
        age = generator.normal()
        lines.append(f"{age:.3f},t{i % 100 if i < 1000 else i // 2},{'yes' if age > 0 else 'no'}")
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    model = AutoClassifier().fit_stream(opened(path))
    assert model.learner_.n_features > 1000
    matrices = [member for member in model.learner_.members if getattr(member, "by_products", False)]
    assert [matrix.width for matrix in matrices] == [*[128] * 3, COSINES, COSINES, FEW_COSINES, COSINES]
