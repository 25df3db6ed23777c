"""Training in rounds in one process: what is learned, counted, skipped, shuffled and dropped; no engine is needed."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from confidently import AutoClassifier, OnlineClassifier, OnlineRegressor
from confidently.data import DataError, ReaderOptions, open_stream
from confidently.data.sources.file_range import FileRange
from confidently.entities import EntityModels
from confidently.models.merging import merge_models
from confidently.rounds.entities import begin, check_entities, finished
from confidently.rounds.preparation import check_estimator, grid_of, initial_model, shuffling_of, skipping
from confidently.rounds.rounds import Rounds, groups
from confidently.rounds.survey import survey
from confidently.rounds.tasks import Failure, Job, choose_by_files
from tests.rounds.here import Here


class Files(Here):
    """Trains on ranges of files."""

    def rows(self, cell):
        (piece,) = cell
        return FileRange(self.tables[piece.unit], piece.first, piece.last)


def write(path, n, seed=0, classes=3):
    """Lines of numbered features; every class and every feature is among the first."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 5)), rng.integers(0, classes, n)
    y[:classes] = range(classes)
    X[np.arange(n), y] += 1.5
    lines = (f"{k} " + " ".join(f"{j}:{x:.4f}" for j, x in enumerate(row, 1)) for k, row in zip(y, X, strict=True))
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def training(estimator, path, partitions, rounds, on_error="stop", shuffle=None, seed=0, **options):
    found = survey([path], None, {"format": "svmlight"}, None, skipping(on_error), estimator._is_seen_by_default)
    start, job = initial_model(estimator, found, None), Job(found.reading, found.multilabel, skipping(on_error))
    job = Job(job.reading, job.multilabel, job.on_error, shuffle=shuffle is not None)
    if start.learner.rows_to_prepare:
        start = choose_by_files(start, found.files, job)
    grid = grid_of(found.sizes, found.divisible, partitions, rounds, shuffle, seed)
    return Rounds(Files(found.files), start, grid, job, seed=seed, **options)


def trained(*arguments, **options):
    found = training(*arguments, **options)
    return found, list(found)


def same(one, other):
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert_array_equal(array, other[name], err_msg=name)


def test_one_partition_in_one_round_is_one_stream_and_several_rounds_nearly(tmp_path):
    path = write(tmp_path / "rows.svm", 400)
    alone = OnlineClassifier(view=None).fit_stream(open_stream(path))
    once, (of_all,) = trained(OnlineClassifier(view=None), path, 1, 1)
    same(once.model.learner.state, alone.learner_.state)
    assert (of_all.number, of_all.of, of_all.partitions, of_all.rows, of_all.skipped) == (1, 1, 1, 400, 0)
    thrice, _ = trained(OnlineClassifier(view=None), path, 1, 3)
    assert_allclose(thrice.model.learner.mean(), alone.learner_.mean(), rtol=1e-9)
    assert thrice.model.learner.mistakes == alone.mistakes_


def test_each_round_merges_what_its_cells_have_learned_from_one_base(tmp_path):
    path = write(tmp_path / "rows.svm", 600)
    found = training(OnlineClassifier(view=None), path, 6, 2)
    job, model, engine = found.job, found.model, found.engine
    for row in found.grid:
        parts = [job.advanced(model, job.learn(model, [engine.rows(cell)], True, (0,)).change) for cell in row[1]]
        model = merge_models(parts, "abcdef", model, "base", "rounds")
    summaries = list(found)
    assert_allclose(found.model.learner.mean(), model.learner.mean(), rtol=1e-9, atol=1e-12)
    assert_allclose(found.model.learner.variance(), model.learner.variance(), rtol=1e-9)
    assert [len(group) for group in groups(range(6))] == [4, 2] and len(found) == len(summaries) == 2
    assert groups("abcdefghi") == ["abcd", "efgh", "i"]


def test_summaries_add_up_and_later_passes_do_not_calibrate(tmp_path):
    path = write(tmp_path / "rows.svm", 500)
    once, first = trained(OnlineClassifier(view=None), path, 2, 2)
    twice, both = trained(OnlineClassifier(view=None), path, 2, 2, passes=2)
    learner = twice.model.learner
    assert [(one.number, one.of, one.partitions) for one in both] == [(k, 4, 2) for k in (1, 2, 3, 4)]
    for name, total in (
        ("rows", 1000),
        ("learned", 1000),
        ("mistakes", learner.mistakes),
        ("updates", learner.updates),
    ):
        assert sum(getattr(one, name) for one in both) == total
    assert [one.log_loss for one in both[:2]] == [one.log_loss for one in first] and not both[2].log_loss
    assert_array_equal(learner.state["calibration"], once.model.learner.state["calibration"])
    races = []

    class Recorded(Job):
        def race(self, model, before):
            races.append(before)

    again = training(OnlineClassifier(view=None), path, 2, 2, passes=2)
    again.job = Recorded(**vars(again.job))
    assert len(list(again)) == 4 and races == [0, first[0].rows]
    never, unsaid = trained(OnlineClassifier(view=None), path, 2, 2, calibrate=False)
    assert not any(one.log_loss for one in unsaid)
    assert not np.array_equal(never.model.learner.state["calibration"], learner.state["calibration"])
    one = both[0]
    assert str(one).startswith(f"round 1 of 4: {one.rows} rows in 2 partitions, progressive validation error 0.")
    assert f"error {one.mistakes / one.learned:.4f}" in str(one) and str(one).endswith(
        f"{one.bytes_moved:,} bytes moved"
    )


def test_invalid_rows_are_skipped_and_counted_in_the_first_pass(tmp_path):
    path = write(tmp_path / "rows.svm", 300)
    with open(path, "a") as file:
        file.write("1 1:x\n2 1:y\n")
    found, summaries = trained(OnlineClassifier(view=None), path, 2, 2, "skip", passes=2)
    assert sum(one.skipped for one in summaries) == 4 and found.skipped == 2 and found.model.learner.n_seen == 600
    assert all("is not a number" in text for one in summaries for text in one.skipped_examples)
    assert trained(OnlineClassifier(view=None), path, 2, 2, "skip", max_skipped=2)[0].skipped == 2
    with pytest.raises(DataError, match=r"^more than 1 invalid row; some of them: .*rows.svm.*not a number"):
        trained(OnlineClassifier(view=None), path, 2, 2, "skip", max_skipped=1)
    path = write(tmp_path / "later.svm", 300)
    found = training(OnlineClassifier(view=None), path, 2, 2)
    (tmp_path / "later.svm").write_text((tmp_path / "later.svm").read_text()[:-4] + "xxx\n")
    with pytest.raises(DataError, match=r"later.svm, .*line \d+, .*not a number"):
        list(found)
    with open(path, "w") as file:
        file.write("1 1:x\n")
    assert isinstance(survey([path], None, {}, None, "stop", False), Failure)


def test_rows_are_shuffled_by_seed_round_and_cell(tmp_path):
    path = write(tmp_path / "rows.svm", 300)
    means = [
        trained(OnlineClassifier(view=None), path, 1, 2, shuffle="within", seed=seed)[0].model.learner.mean()
        for seed in (0, 0, 1)
    ]
    assert_array_equal(means[0], means[1])
    assert not np.array_equal(means[0], means[2])
    assert not np.array_equal(means[0], trained(OnlineClassifier(view=None), path, 1, 2)[0].model.learner.mean())
    for asked, expected in ((None, None), ("between", "between")):
        assert shuffling_of(OnlineClassifier(shuffle=False), asked) == expected
    assert shuffling_of(OnlineClassifier(shuffle=True), None) == "within" != shuffling_of(OnlineClassifier(), None)


def test_a_stack_drops_members_after_a_round_and_begins_to_follow(tmp_path):
    """By all rows of the round: no partition drops any."""
    path = write(tmp_path / "rows.svm", 3800, classes=2)
    found = training(AutoClassifier(), path, 2, 3)
    names, seen = found.model.learner.names, []
    for one in found:
        learner = found.model.learner
        seen.append((learner.n_seen, len(learner.names)))
        assert learner.n_seen == one.rows + sum(n for n, _ in seen[-2:-1])
    assert [number for _, number in seen[:2]] == [len(names)] * 2 and seen[0][0] < seen[1][0] < 3000 < seen[2][0]
    assert 0 < len(learner.dropped) == len(names) - seen[2][1] and set(learner.dropped.values()) == {3800}
    assert set(learner.names) | learner.dropped.keys() == set(names)
    fitted = AutoClassifier().fit(np.eye(4)[[0, 1, 2, 3] * 5], [0, 1] * 10).as_model()
    assert fitted.learner.later is not None and Job().begun(fitted).learner.later is None
    assert fitted.learner.later is not None


TASTES = np.random.default_rng(7).normal(0, 2, 12)


def write_people(path, n=600):
    rng = np.random.default_rng(1)
    user, x = rng.integers(12, size=n), rng.normal(size=n)
    y = np.where(TASTES[user] * x + rng.logistic(size=n) > 0, "yes", "no")
    price = 3.0 + TASTES[user] * x + 0.1 * rng.normal(size=n)
    rows = sorted(zip(user.tolist(), x.tolist(), y.tolist(), price.tolist(), strict=True))
    rows = [(12, 0.5, "yes", 3.5), *rows]  # of whom there is the first row only
    path.write_text(
        "".join(json.dumps({"user": f"u{u}", "x": a, "label": b, "price": p}) + "\n" for u, a, b, p in rows)
    )
    return str(path), np.append(np.bincount(user), 1)


@pytest.mark.parametrize("label", ["label", "price"])
def test_entities_in_rounds_have_all_their_rows_and_one_cell_is_one_stream(label, tmp_path):
    path, rows = write_people(tmp_path / "people.jsonl")
    shared = OnlineRegressor(view="standard") if label == "price" else OnlineClassifier(view="standard")
    model = EntityModels("user", shared)
    check_entities(model)
    how, new = (
        {"label": label, "drop": "label" if label == "price" else "price"},
        [{"user": f"u{k}", "x": 1.0} for k in range(12)],
    )
    models, logs = {}, {}
    for partitions, rounds in ((1, 1), (3, 2)):
        base, job = begin(model, [path], dict(how))
        size = len((tmp_path / "people.jsonl").read_bytes())
        engine = Files([path])
        grid = grid_of([size], [True], partitions, rounds, None, 0)
        found = Rounds(engine, base, grid, job)
        logs[partitions] = list(found)
        models[partitions] = finished(model, found.model)
    alone = EntityModels("user", shared).fit_stream(path, **how)
    if label == "label":
        same(models[1]._table.state() | {"swept": 0}, alone._table.state() | {"swept": 0})
    else:  # whose variances have been learned again at the end
        assert_allclose(models[1].predict(new), alone.predict(new), atol=0.15)
    assert models[1].keys_ == alone.keys_
    one, several = models[1], models[3]
    assert sorted(several.keys_) == sorted(one.keys_) and several.n_seen_ == sum(o.rows for o in logs[3]) == 601
    assert [several.deviation(f"u{k}").rows for k in range(13)] == rows.tolist()
    losses = [sum(o.log_loss for o in logs[k]) for k in (1, 3)]
    expected = [0.0, 0.0] if label == "price" else [m.log_loss_ * 601 for m in (one, several)]
    assert losses == pytest.approx(expected)
    assert sum(o.mistakes for o in logs[3]) == (0 if label == "price" else round(601 * several.error_))
    truth = 3.0 + TASTES if label == "price" else np.where(TASTES > 0, "yes", "no")
    assert min(model.score(new, truth) for model in (one, several)) > 0.7


def test_what_cannot_be_trained_in_rounds():
    for estimator, kind, message in [
        (OnlineClassifier(encoder=len), ValueError, "encoder: not supported on a cluster"),
        (OnlineClassifier(coverage_by="a"), ValueError, "coverage_by is not supported"),
        (AutoClassifier([OnlineClassifier(forget=0.1)]), ValueError, "use forget=0"),
        (OnlineClassifier(covariance="kernel"), ValueError, "kernel"), (EntityModels("a"), TypeError, "EntityModels"),
    ]:  # fmt: skip
        with pytest.raises(kind, match=message):
            check_estimator(estimator)
    for counts in ({"rounds": 0}, {"partitions": 1.5}, {"rounds": -1}):
        with pytest.raises(ValueError, match=f"{next(iter(counts))} must be an integer >= 1"):
            check_estimator(OnlineClassifier(), **counts)
    check_estimator(OnlineClassifier(), "between", rounds=1, partitions=None)
    with pytest.raises(ValueError, match="shuffle"):
        check_estimator(OnlineClassifier(), "all")
    with pytest.raises(ValueError, match="there are no keys"):
        check_entities(EntityModels())
    with pytest.raises(ValueError, match="no weights of classes"):
        check_entities(EntityModels("a", OnlineClassifier(class_weight={0: 2.0})))
    with pytest.raises(TypeError, match="expected EntityModels"):
        check_entities(OnlineClassifier())
    assert isinstance(begin(EntityModels("user"), ["/nowhere"], {"reading": ReaderOptions()}), Failure)
