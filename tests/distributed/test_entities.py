"""Models of entities trained on files by a cluster."""

import numpy as np
import pytest

from confidently import OnlineClassifier, OnlineRegressor
from confidently.data import DataError
from confidently.distributed import fit_entities
from confidently.entities import EntityModels, merge_entities

HEADER = "label,user,a,b"


@pytest.fixture
def files(tmp_path):
    """Four files, each with users of its own."""
    random = np.random.default_rng(0)
    own = random.normal(size=(40, 2)) * 2
    for k in range(4):
        lines = [HEADER]
        for _ in range(400):
            user, x = 4 * random.integers(10) + k, random.normal(size=2)
            lines.append(f"{int(x @ own[user] + random.normal() > 0)},u{user},{x[0]:.4f},{x[1]:.4f}")
        (tmp_path / f"{k}.csv").write_text("\n".join(lines) + "\n")
    return [str(tmp_path / f"{k}.csv") for k in range(4)]


def test_the_result_is_that_of_merging(client, files):
    found = fit_entities(EntityModels("user"), files, client=client)
    parts = [EntityModels("user").fit_stream(path) for path in files]
    expected = merge_entities(parts)
    assert (found.n_seen_, found.n_entities_, found.keys_) == (1600, 40, expected.keys_)
    assert (found.error_, found.log_loss_) == (expected.error_, expected.log_loss_)
    for one, other in zip(found.predict_stream(files), expected.predict_stream(files), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)  # rounds merge shared models in a way of their own
    for key in found.keys_:
        np.testing.assert_array_equal(found.deviation(key).mean, expected.deviation(key).mean)


def test_rounds_continue_from_a_base(client, files):
    model = EntityModels("user").fit_stream(files[0])
    found = fit_entities(model, files[1:], client=client, rounds=3)
    assert (model.n_seen_, found.n_seen_, found.n_entities_) == (400, 1600, 40)
    for path in files[1:]:
        model.partial_fit_stream(path)
    for one, other in zip(found.predict_stream(files), model.predict_stream(files), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.long("entities of 1,200 rows on a cluster")
@pytest.mark.parametrize("rounds", [1, 3])
def test_numbers_are_those_of_one_stream(client, tmp_path, rounds):
    """However rows are divided: users are in several files, and a column is in the last ones only."""
    random, paths = np.random.default_rng(0), [str(tmp_path / f"{k}.jsonl") for k in range(6)]
    own = random.normal(size=(20, 3))
    for k, path in enumerate(paths):
        with open(path, "w") as file:
            for _ in range(200):
                user, x, late = random.integers(20), random.normal() + 5, k > 2 and random.random() < 0.5
                y = own[user] @ [1, x, late] + 2 * x + 0.3 * random.normal()
                kind = ', "kind": "late"' if late else ""
                file.write(f'{{"label": {y:.5f}, "user": "u{user}", "x": {x:.5f}{kind}}}\n')
    found = fit_entities(EntityModels("user", OnlineRegressor()), paths, client=client, rounds=rounds)
    whole = EntityModels("user", OnlineRegressor()).fit_stream(paths)
    whole._table.settle(1200)
    assert (found.n_seen_, found.n_entities_) == (1200, 20)
    assert found.entity_variance_ == pytest.approx(whole.entity_variance_, rel=1e-3)
    assert found.noise_variance_ == pytest.approx(whole.noise_variance_, rel=1e-5)
    for one, other in zip(found.predict_stream(paths), whole.predict_stream(paths), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)
    for key in found.keys_:
        assert found.deviation(key).rows == whole.deviation(key).rows


def test_what_cannot_be_trained(client, files, tmp_path):
    with pytest.raises(ValueError, match="expected 1 to 4, the number of files, got 5"):
        fit_entities(EntityModels("user"), files, client=client, rounds=5)
    with pytest.raises(ValueError, match="there are no keys; name their column"):
        fit_entities(EntityModels(), files, client=client)
    with pytest.raises(TypeError, match="expected EntityModels, got OnlineClassifier"):
        fit_entities(OnlineClassifier(), files, client=client)
    with pytest.raises(ValueError, match="class_weight: models of entities on files"):
        fit_entities(EntityModels("user", OnlineClassifier(class_weight={"1": 2.0})), files, client=client)
    (tmp_path / "several.csv").write_text(f"{HEADER}\n" + '"1,0",u1,0.5,1\n' * 3)
    with pytest.raises(ValueError, match="rows have several labels"):
        fit_entities(EntityModels("user"), [str(tmp_path / "several.csv")], client=client, multilabel=True)
    with pytest.raises(OSError, match=r"gone\.csv"):
        fit_entities(EntityModels("user"), [str(tmp_path / "gone.csv")], client=client)
    (tmp_path / "bad.csv").write_text(f"{HEADER}\n1,u1,0.5\n")
    with pytest.raises(DataError, match=r"bad\.csv, line 2"):
        fit_entities(EntityModels("user"), [*files, str(tmp_path / "bad.csv")], client=client)


def test_quantiles_of_the_shared_model_are_those_of_all_files(client, files):
    """A view that compares values with the first of their column begins alike in all tasks; classes differ by file."""
    found = fit_entities(EntityModels("user", OnlineClassifier(view="ranks")), files, client=client, rounds=2)
    assert (found.n_seen_, found.shared_.learner_.state["ranks.rows"][0]) == (1600, 1000)
    assert found.error_ < 0.3


def test_a_file_may_have_one_class(client, tmp_path):
    random, paths = np.random.default_rng(1), [str(tmp_path / f"{k}.csv") for k in range(3)]
    for path, labels in zip(paths, (["no"], ["yes"], ["no", "yes", "perhaps"]), strict=True):
        rows = (f"{random.choice(labels)},u{random.integers(5)},{random.normal():.3f},1" for _ in range(200))
        with open(path, "w") as file:
            file.write("\n".join([HEADER, *rows]) + "\n")
    for order in (paths, paths[::-1]):
        found = fit_entities(EntityModels("user"), order, client=client)
        assert (found.n_seen_, found.n_entities_, found.classes_.tolist()) == (600, 5, ["no", "perhaps", "yes"])
        assert np.isfinite(next(found.predict_stream(order))).all()
    two = fit_entities(EntityModels("user"), paths[:2], client=client)
    likely = [np.mean(p[:, 1]) for p in map(next, map(two.predict_stream, paths[:2]))]
    assert likely[0] < 0.6 and likely[1] > 0.4
