"""Laws of training on the command line: what is learned is what Python learns, whatever the data come from, however
they are cut, interrupted and continued; what is predicted and explained is what the model says in Python."""

import csv
import gzip
import io
import json
import signal
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor, load, merge
from confidently.cli.training.loop import TrainingLoop
from confidently.models.model import Model
from tests.cli.test_snapshots import decisions
from tests.command_line import here, rows, standard_input
from tests.stopping import Stop, stopping_after

pytestmark = pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
N = 400
GENERATOR = np.random.default_rng(4)
X = GENERATOR.normal(size=(N, 3)).round(3) * [1.0, 10.0, 1.0]
X[X == 0.0] = 0.001  # in a table 0 is a number, in an array it is a value that is absent
GROUP = GENERATOR.integers(0, 2, N)
SCORE = (X[:, 0] + X[:, 0] * X[:, 2] + 0.3 * (1 + GROUP) * GENERATOR.normal(size=N)).round(3)
LABELS = {"sea": SCORE > 0, "city": X[:, 0] > 0, "wood": X[:, 2] > 1}
TARGETS = {
    "classes": np.array(["yes", "no"])[(SCORE > 0).astype(int)],
    "several": np.array([*"cab"])[np.digitize(SCORE, [-0.5, 0.5])],
    "labels": [[name for name, relevant in LABELS.items() if relevant[k]] for k in range(N)],
    "numbers": SCORE,
}


class Case(NamedTuple):
    target: str
    options: tuple[str, ...]
    estimator: type
    settings: dict

    @property
    def suffix(self):
        return "jsonl" if self.target == "labels" else "csv"


BY_TOWN = ("--coverage-by", "town")
CASES = {
    "classes": Case("classes", ("--rule=arow",), OnlineClassifier, {}),
    "several classes": Case("several", ("--rule=pa1", "--average"), OnlineClassifier, {"rule": "pa1", "average": True}),
    "labels": Case("labels", ("--rule=arow",), OnlineClassifier, {}),
    "numbers": Case("numbers", ("--rule=ridge",), OnlineRegressor, {}),
    "classes by town": Case("classes", ("--rule=arow", *BY_TOWN), OnlineClassifier, {"coverage_by": "town"}),
    "numbers by town": Case("numbers", ("--rule=ridge", *BY_TOWN), OnlineRegressor, {"coverage_by": "town"}),
    "stack": Case("classes", ("--auto",), AutoClassifier, {}),
    "stack of labels": Case("labels", (), AutoClassifier, {}),
    "stack of numbers": Case("numbers", ("--auto", "--regression"), AutoRegressor, {}),
    "stack by town": Case("several", BY_TOWN, AutoClassifier, {"coverage_by": "town"}),
}
each = pytest.mark.parametrize("name", CASES)


def lines_of(case, rows=slice(N)):
    """Rows as lines of a file, without a header."""
    found = []
    for k in range(*rows.indices(N)):
        row = {
            **dict(zip("abc", X[k].tolist(), strict=True)),
            "town": ("Delft", "Lund")[GROUP[k]],
            "label": TARGETS[case.target][k],
        }
        if case.suffix == "csv":
            found.append(",".join(map(str, row.values())))
        else:
            found.append(json.dumps(row))
    return found


def write(path, case, rows=slice(N)):
    header = ["a,b,c,town,label"] if case.suffix == "csv" else []
    path.write_text("\n".join([*header, *lines_of(case, rows)]) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data of each case, and its model."""
    folder = tmp_path_factory.mktemp("laws")
    for name, case in CASES.items():
        write(folder / f"{name}.{case.suffix}", case)
        done = train(folder, name, folder / f"{name}.{case.suffix}", "-o", folder / f"{name}.cw", "--json")
        (folder / f"{name}.json").write_text(done.stdout)
    return folder


def train(folder, name, *arguments):
    done = here("train", *CASES[name].options, "--no-shuffle", "-q", *arguments)
    assert done.returncode == 0, done.stderr
    return done


def data_of(folder, name):
    return folder / f"{name}.{CASES[name].suffix}"


def arrays_of(path):
    return Model.load(str(path)).arrays()


def assert_same(one, other, exactly=True):
    ours, theirs = arrays_of(one), arrays_of(other)
    assert ours.keys() == theirs.keys()
    for key, array in ours.items():
        if exactly:
            np.testing.assert_array_equal(array, theirs[key], err_msg=key)
        else:
            np.testing.assert_allclose(array, theirs[key], rtol=1e-6, atol=1e-6, err_msg=key)


# --- training --------------------------------------------------------------------------------------------------------


@each
def test_the_model_is_that_of_python(folder, tmp_path, name):
    case = CASES[name]
    model = case.estimator(**case.settings).fit_stream(data_of(folder, name))
    model.save(tmp_path / "python.cw")
    assert_same(tmp_path / "python.cw", folder / f"{name}.cw")
    result = json.loads((folder / f"{name}.json").read_text())
    assert (result["rows"], result["model_bytes"]) == (N, (folder / f"{name}.cw").stat().st_size)
    same = (
        {"mistakes": "mistakes_"}
        if case.target in ("classes", "several")
        else {"rmse": "rmse_", "mae": "mae_"}
        if case.target == "numbers"
        else {}
    )
    for ours, theirs in same.items():
        assert result[ours] == pytest.approx(getattr(model, theirs))
    loaded = load(folder / f"{name}.cw")
    assert type(loaded) is case.estimator and loaded.n_seen_ == N
    assert ("members" in result) == ("stack" in name) and ("rule" in result) == ("stack" not in name)
    if "stack" in name:
        assert [member["name"] for member in result["members"]] == list(loaded.members_)


SOURCES = ["gz", "cache", "by the way", "parts", "folder", "init"]


@pytest.mark.parametrize("source", SOURCES)
@each
def test_the_same_is_learned_whatever_the_data_come_from(folder, tmp_path, name, source):
    if (list(CASES).index(name) + SOURCES.index(source)) % 2 and name != "classes":
        return  # each source with some
    case, data, model = CASES[name], data_of(folder, name), tmp_path / "m.cw"
    first, second = (
        write(tmp_path / f"{k}.{case.suffix}", case, part) for k, part in enumerate((slice(250), slice(250, N)))
    )
    if source == "gz":
        (tmp_path / f"rows.{case.suffix}.gz").write_bytes(gzip.compress(data.read_bytes()))
        train(folder, name, tmp_path / f"rows.{case.suffix}.gz", "-o", model)
    elif source == "cache":
        regression = ["--regression"] if case.target == "numbers" else []
        keep = ["--keep", "town"] if "by town" in name else []
        zeros = ["--normalize", "none", "--zeros"] if "stack" in name else []
        assert here("cache", data, *regression, *keep, *zeros, "-o", tmp_path / "rows.cache").returncode == 0
        train(folder, name, tmp_path / "rows.cache", "-o", model)
    elif source == "by the way":
        for _ in range(2):
            train(folder, name, data, "--cache", tmp_path / "own", "-o", model)
    elif source == "parts":
        train(folder, name, first, second, "-o", model)
    elif source == "folder":
        for path in (first, second):
            (tmp_path / "rows").mkdir(exist_ok=True)
            path.rename(tmp_path / "rows" / path.name)
        train(folder, name, tmp_path / "rows", "-o", model)
    else:
        train(folder, name, first, "-o", tmp_path / "begun.cw")
        done = here("train", second, "--init-model", tmp_path / "begun.cw", "-q", "--json", "-o", model)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["rows_seen"] == N
    exactly = not ("stack" in name and source == "init") and not (source == "init" and "numbers" in name)
    if exactly:
        assert_same(model, folder / f"{name}.cw")
    else:  # whose members are chosen by all first rows, or products round by the number of rows
        ours, theirs = (next(load(path).predict_stream(data)) for path in (model, folder / f"{name}.cw"))
        if case.target == "numbers":
            np.testing.assert_allclose(ours, theirs, rtol=0.2, atol=0.05)
        else:
            assert (ours == theirs).mean() > 0.95


PIPED = [
    "train {svm} --rule=arow --no-shuffle -q -o out", "train {svm} --rule=arow --passes 3 --no-shuffle -q -o out",
    "train {csv} --format csv --no-shuffle -q -o out",
    "train {jsonl} --format jsonl --rule=arow --no-shuffle -q -o out", "train --bandit {decisions} -o out",
    "predict m.cw {svm} --proba", "predict m.cw {svm} -q -o out", "evaluate m.cw {svm} --json",
    "convert {svm} -o out.vw", "topics predict t.topics {svm} --json",
    "topics train {svm} --topics 2 --stream --classes=1,-1 -q -o out",
]  # fmt: skip


@pytest.fixture(scope="module")
def piped(folder):
    """Rows in files of several formats, and models of them."""
    (folder / "rows.svm").write_text(rows(300))
    (folder / "decisions.jsonl").write_text(decisions()["decisions.jsonl"])
    assert here("train", "rows.svm", "--rule=arow", "-q", "-o", "m.cw", cwd=folder).returncode == 0
    assert here("topics", "train", "rows.svm", "--topics", "2", "-q", "-o", "t.topics", cwd=folder).returncode == 0
    return {"svm": "rows.svm", "csv": "classes.csv", "jsonl": "labels.jsonl", "decisions": "decisions.jsonl"}


@pytest.mark.parametrize("line", PIPED)
def test_standard_input_is_read_as_a_file_is_plain_and_compressed(folder, piped, tmp_path, line):
    (kind,) = (kind for kind in piped if f"{{{kind}}}" in line)
    (tmp_path / "compressed").write_bytes(gzip.compress((folder / piped[kind]).read_bytes()))
    found = []
    for source in (None, folder / piped[kind], tmp_path / "compressed"):
        name = piped[kind] if source is None else "-"
        arguments = [part.format(**{kind: name}) for part in line.replace("out", str(tmp_path / "out")).split()]
        with standard_input(source or "/dev/null"):
            done = here(*arguments, cwd=folder)
        assert done.returncode == 0, done.stderr
        written = [path.read_bytes() for path in sorted(tmp_path.glob("out*"))]
        found.append((done.stdout if "train" not in line and "convert" not in line else "", written))
    assert all(one == found[0] for one in found)


def test_standard_input_that_comes_again_continues_a_training(folder, piped, tmp_path):
    options, whole, model = ["train", "-", "--rule=arow", "-q", "-o"], tmp_path / "whole.cw", tmp_path / "m.cw"
    with standard_input(folder / "rows.svm"):
        assert here(*options, whole).returncode == 0
    with standard_input(folder / "rows.svm"), pytest.raises(Stop), stopping_after(1):
        here(*options, model, "--checkpoint-every", 100)
    with standard_input(folder / "rows.svm"):
        assert here(*options, model, "--checkpoint-every", 100, "--resume").returncode == 0
    assert model.read_bytes() == whole.read_bytes()


def test_an_interruption_of_a_later_pass_keeps_the_rows_of_standard_input(folder, piped, tmp_path, monkeypatch):
    """Which need not come again."""
    save, saved = TrainingLoop._save_checkpoint, []

    def interrupted(training):
        save(training)
        saved.append(training.position.passes)
        if saved.count(1) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(TrainingLoop, "_save_checkpoint", interrupted)
    options = ["train", "-", "--rule=arow", "--no-shuffle", "--passes", "3", "-q", "-o"]
    with standard_input(folder / "rows.svm"):
        done = here(*options, tmp_path / "m.cw", "--checkpoint-every", 100)
    assert done.returncode == 130 and "resume with" in done.stderr
    kept = {path.name for path in tmp_path.iterdir()}
    monkeypatch.undo()
    with standard_input(folder / "rows.svm"):
        assert here(*options, tmp_path / "m.cw", "--checkpoint-every", 100, "--resume").returncode == 0
    with standard_input(folder / "rows.svm"):
        assert here(*options, tmp_path / "whole.cw").returncode == 0
    assert (tmp_path / "m.cw").read_bytes() == (tmp_path / "whole.cw").read_bytes()
    assert len(kept) > 1 and {path.name for path in tmp_path.iterdir()} == {"m.cw", "whole.cw"}, kept


RESUMED = {
    "one pass": (),
    "passes": ("--passes", "3"), "early stop": ("--passes", "3", "--holdout", "0.2", "--early-stop"),
    "shuffle": ("--shuffle", "--shuffle-buffer", "70", "--seed", "2", "--passes", "2"),
}  # fmt: skip


@pytest.mark.parametrize("after", [1, 4])
@pytest.mark.parametrize("how", RESUMED)
@each
def test_an_interrupted_training_resumes_to_the_same_bytes(folder, tmp_path, name, how, after):
    stack = "stack" in name  # whose later passes are in the tests of checkpoints
    if name in ("several classes", "numbers by town") and how != "early stop":
        return
    if (how == "one pass") != stack or ((after == 4) == stack and name != "classes"):
        return
    data, options = data_of(folder, name), ["train", data_of(folder, name), *CASES[name].options, *RESUMED[how], "-q"]
    assert here(*options, "-o", tmp_path / "whole.cw").returncode == 0
    with pytest.raises(Stop), stopping_after(after):
        here(*options, "-o", tmp_path / "m.cw", "--checkpoint-every", 100)
    assert Model.load(f"{tmp_path}/m.cw.checkpoint").training["position"]["now"]["rows"] > 0
    done = here(*options, "-o", tmp_path / "m.cw", "--checkpoint-every", 100, "--resume", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["rows"] == N, done.stderr
    assert (tmp_path / "m.cw").read_bytes() == (tmp_path / "whole.cw").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"m.cw", "whole.cw"} and data.exists()


# --- predictions -----------------------------------------------------------------------------------------------------


def expected(model, data, case):
    """What Python says of the rows of a file, as JSON lines say it."""

    def said(method, **how):
        return next(model.predict_stream(data, method, **how))

    if case.target == "numbers":
        limits = said("predict_interval", coverage=0.8)
        mean, std = said("predict_std")
        return {
            "prediction": mean, "std": std, "lower": limits[:, 0], "upper": limits[:, 1], "novelty": said("novelty"),
        }  # fmt: skip
    p, classes = said("predict_proba"), np.array(model.classes_)
    sets, order = said("predict_set", coverage=0.8), np.argsort(-p, axis=1, kind="stable")
    if case.target == "labels":
        order = np.tile(np.arange(len(classes)), (len(p), 1))
    found = {"set": [classes[[k for k in best if own[k]]].tolist() for best, own in zip(order, sets, strict=True)]}
    mean, variance = said("margin_distribution")
    for key, values in (("proba", p), ("margin", mean), ("std", np.sqrt(variance)), ("variance", variance)):
        rows = values.tolist()
        found[key] = [dict(zip(classes.tolist(), row, strict=True)) for row in rows] if values.ndim == 2 else rows
    found["novelty"], predicted = said("novelty"), said("predict")
    scores = mean if mean.ndim == 2 else (predicted[:, None] == classes).astype(int)
    found["ranking"] = classes[np.argsort(-scores, axis=1)].tolist()
    if case.target == "labels":
        return found | {"labels": [classes[row == 1].tolist() for row in predicted]}
    left = said("abstain", risk=0.3)
    return found | {"class": [None if leave else name for name, leave in zip(predicted.tolist(), left, strict=True)]}


@each
def test_predictions_are_those_of_python_in_every_format(folder, tmp_path, name):
    case, data, model = CASES[name], data_of(folder, name), folder / f"{name}.cw"
    asked = ["--std", "--novelty"]
    if case.target == "numbers":
        asked += ["--interval", "0.8"]
    else:
        asked += ["--proba", "--set", "0.8", "--margin", "--variance", "--ranking"]
        asked += ["--max-risk", "0.3"] if case.target != "labels" else []
    files = {kind: tmp_path / f"out.{kind}" for kind in ("tsv", "csv", "jsonl", "parquet")}
    for path in files.values():
        assert here("predict", model, data, *asked, "--keep", "a", "-o", path).returncode == 0
    rows = [json.loads(line) for line in files["jsonl"].read_text().splitlines()]
    wanted = expected(load(model), data, case)
    assert next(iter(rows[0])) == "a" and set(rows[0]) == {"a", *wanted} and len(rows) == N
    assert [float(row["a"]) for row in rows] == X[:, 0].tolist()
    for key, values in wanted.items():
        for row, value in zip(rows, values, strict=True):
            if key == "set" and case.target == "labels":
                assert sorted(row[key]) == sorted(value)
            else:
                assert row[key] == (
                    pytest.approx(value, rel=1e-6, abs=1e-9)
                    if not isinstance(value, str | list) and value is not None
                    else value
                ), key
    header, *cells = csv.reader(io.StringIO(files["csv"].read_text()))
    assert [header, *cells] == [line.split("\t") for line in files["tsv"].read_text().splitlines()]
    table = pd.read_parquet(files["parquet"])
    assert list(table.columns) == header and header[0] == "a"
    for j, column in enumerate(header):
        key, _, part = column.partition(":")
        for row, line, value in zip(rows, cells, table[column], strict=True):
            one = row[key][part] if part else row[key]
            text = "-" if one is None else ",".join(one) if isinstance(one, list) else str(one)
            assert (line[j] == text) if not isinstance(one, float) else (float(line[j]) == pytest.approx(one, rel=1e-8))
            assert one is None or (list(value) if isinstance(one, list) else value) == one
    plain = here("predict", model, data).stdout.splitlines()
    if case.target == "numbers":
        np.testing.assert_allclose(np.array(plain, float), wanted["prediction"], rtol=1e-8)
    else:
        names = wanted.get("labels") or next(load(model).predict_stream(data)).tolist()
        assert plain == [",".join(one) if isinstance(one, list) else one for one in names]


@pytest.mark.parametrize("name", ["classes by town", "numbers by town"])
def test_new_rows_need_the_column_of_coverage_for_sets_and_intervals_only(folder, tmp_path, name):
    model, without = folder / f"{name}.cw", tmp_path / "without.csv"
    pd.read_csv(data_of(folder, name)).drop(columns="town").to_csv(without, index=False)
    assert here("predict", model, without).returncode == 0
    asked, measured = (["--interval", "0.9"], []) if "numbers" in name else (["--set", "0.9"], ["--set", "0.9"])
    for command in (["predict", model, *asked], ["evaluate", model, *measured], ["train", "--init-model", model]):
        failed = here(*command, without)
        assert failed.returncode == 2 and "has no column 'town'" in failed.stderr, command


@each
def test_what_is_measured_is_what_is_predicted(folder, name):
    case, data, model = CASES[name], data_of(folder, name), folder / f"{name}.cw"
    options = [] if case.target == "numbers" else ["--set", "0.8"]
    found = json.loads(here("evaluate", model, data, *options, "--by", "town", "--json").stdout)
    wanted, towns = expected(load(model), data, case), np.array(["Delft", "Lund"])[GROUP]
    assert found["rows"] == N and [one["value"] for one in found["by"]["groups"]] == ["Delft", "Lund"]
    if case.target == "numbers":
        inside = (wanted["lower"] <= SCORE) & (wanted["upper"] >= SCORE)
        assert found["rmse"] == pytest.approx(np.sqrt(np.mean((wanted["prediction"] - SCORE) ** 2)), rel=1e-6)
        assert found["mae"] == pytest.approx(np.abs(wanted["prediction"] - SCORE).mean(), rel=1e-6)
        by = {one["value"]: one["mae"] for one in found["by"]["groups"]}
        for town in by:
            assert by[town] == pytest.approx(np.abs(wanted["prediction"] - SCORE)[towns == town].mean(), rel=1e-6)
        assert 0.0 < inside.mean() <= found["interval"]["coverage"] <= 1.0  # of 80 and of 90 %
        return
    truth = TARGETS[case.target]
    if case.target == "labels":
        pairs = [
            (name in own, name in relevant)
            for own, relevant in zip(wanted["set"], truth, strict=True)
            for name in relevant
        ]
        assert found["set"]["coverage"] == pytest.approx(np.mean([a for a, _ in pairs]))
        assert found["subset_accuracy"] == pytest.approx(
            np.mean([sorted(a) == sorted(b) for a, b in zip(wanted["labels"], truth, strict=True)])
        )
    else:
        predicted = next(load(model).predict_stream(data))
        inside = np.array([name in own for name, own in zip(truth, wanted["set"], strict=True)])
        assert found["error"] == pytest.approx((predicted != truth).mean())
        assert found["log_loss"] == pytest.approx(
            -np.mean(np.log([p[name] for p, name in zip(wanted["proba"], truth, strict=True)]))
        )
        assert found["set"]["coverage"] == pytest.approx(inside.mean())
        for one in found["by"]["groups"]:
            own = towns == one["value"]
            assert (one["rows"], one["error"]) == (own.sum(), pytest.approx((predicted != truth)[own].mean()))
            assert one["coverage"] == pytest.approx(inside[own].mean())
    assert found["set"]["mean_size"] == pytest.approx(np.mean([len(own) for own in wanted["set"]]))
    together = next(load(model).predict_stream(data, "predict_set", coverage=0.8, by_class=False))
    options = [*options, "--set-together", "--json"]
    lines = here("predict", model, data, *options).stdout.splitlines()
    names = [load(model).classes_[own].tolist() for own in together]
    assert [sorted(json.loads(line)["set"]) for line in lines] == names != list(map(sorted, wanted["set"]))
    measured = json.loads(here("evaluate", model, data, *options).stdout)["set"]
    assert measured["mean_size"] == pytest.approx(together.sum(axis=1).mean())


@each
def test_the_parts_of_an_explanation_add_up(folder, tmp_path, name):
    case, model, plot = CASES[name], folder / f"{name}.cw", tmp_path / "row.png"
    row = json.dumps({"a": 0.5, "b": 2.0, "c": 1.5, "town": "Lund"})
    about = ["--class", "sea"] if case.target == "labels" else []
    arguments = ["inspect", model, "--row", row, "--top", "1000", *about]
    done = here(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    whole = found["predicted"] if case.target == "numbers" else found["margin"]["mean"]
    for parts in ("members", "features") if "stack" in name else ("contributions",):
        assert sum(part["mean"] for part in found[parts]) + found.get("offset", 0.0) == pytest.approx(whole), parts
    if case.target in ("classes", "several"):
        others = json.loads(here(*arguments, "--json", "--class", found["margin"]["against"]).stdout)
        assert case.target == "several" or others["margin"]["mean"] == pytest.approx(-whole)
    if case.target == "classes":  # of which the second in sorted order is positive
        (margin,), names = load(model).decision_function([json.loads(row)]), load(model).classes_.tolist()
        assert [entry["name"] for entry in found["classes"]] == names
        assert whole == pytest.approx(margin if found["margin"]["for"] == names[1] else -margin)
    if name in ("classes", "stack of labels", "stack of numbers"):
        text = here("inspect", model, "--row", row, "--top", "1", "--plot", plot, *about)
        assert text.returncode == 0 and text.stdout.endswith(f"Plot: {plot}\n") and "others" in text.stdout
        assert plot.read_bytes().startswith(b"\x89PNG")
        assert here("inspect", model, "--plot", plot, *about).returncode == 0
    weights = json.loads(here("inspect", model, "--json", *about).stdout)["weights"]
    estimator = load(model)
    if "stack" in name:
        by_weight = np.abs(np.atleast_2d(estimator.weights_)).max(axis=0)
        named = dict(zip(estimator.members_, by_weight, strict=True))
        assert {entry["member"] for entry in weights} == {
            one for one in named if not ("cosines" in one or "trees" in one)
        }
    elif case.target in ("classes", "numbers"):
        own, learned = {one["feature"]: one for one in weights[0]["top"]}, (estimator.coef_, estimator.variance_)
        for name, mean, variance in zip(estimator.features_.names, *map(np.ravel, learned), strict=True):
            assert own[name]["mean"] == pytest.approx(mean)
            assert own[name]["std"] == pytest.approx(variance**0.5, rel=0.02)  # a little more where noise is not known


@each
def test_models_merge_as_in_python_and_in_any_order(folder, tmp_path, name):
    case, stack = CASES[name], "stack" in name
    if name == "stack of numbers":
        return  # which needs a thousand rows
    models, found = [tmp_path / f"{k}.cw" for k in range(2)], []
    base = [folder / f"{name}.cw"] if stack or name == "several classes" else []  # stacks need one
    for k, model in enumerate(models):
        part = write(tmp_path / f"{k}.{case.suffix}", case, slice(200 * k, 200 * k + 200))
        options = ["train", "--init-model", *base] if base else ["train", *case.options, "--no-shuffle"]
        assert here(*options, part, "-q", "-o", model).returncode == 0
    for order in (models, models[::-1]):
        done = here("merge", *order, *(["--base", *base] if base else []), "-o", tmp_path / "all.cw", "--json")
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        assert (result["rows_seen"], result["base"]) == (2 * N if base else N, str(base[0]) if base else None)
        merge([load(path) for path in order], *map(load, base)).save(tmp_path / "python.cw")
        assert_same(tmp_path / "python.cw", tmp_path / "all.cw")
        found.append(load(tmp_path / "all.cw"))
    if case.target != "numbers":
        assert found[0].classes_.tolist() == found[1].classes_.tolist()
        assert np.array_equal(found[0].mistakes_, found[1].mistakes_)
    for quantity in () if stack else ("coef_", "variance_", "intercept_"):
        by_name = [
            dict(zip(one.features_.names, np.atleast_2d(getattr(one, quantity)).T, strict=False)) for one in found
        ]
        if quantity == "intercept_":
            by_name = [{"": getattr(one, quantity)} for one in found]
        assert by_name[0].keys() == by_name[1].keys()
        for feature, numbers in by_name[0].items():
            np.testing.assert_allclose(by_name[1][feature], numbers, rtol=1e-9, atol=1e-12, err_msg=feature)
    answers = [next(one.predict_stream(data_of(folder, name))) for one in found]
    if case.target == "numbers":
        np.testing.assert_allclose(*answers, rtol=1e-9)
    else:
        assert (answers[0] == answers[1]).all()
        p = [next(one.predict_stream(data_of(folder, name), "predict_proba")) for one in found]
        np.testing.assert_allclose(*p, rtol=1e-9)
    if "by town" in name:
        assert set(found[0].learner_.groups.states) == {"Delft", "Lund"}
