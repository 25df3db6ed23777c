"""Columns and namespaces that are left out, or that alone are read: as if the others were not in the file."""

from __future__ import annotations

import json

import numpy as np
import pytest

import confidently
from confidently import OnlineClassifier
from confidently.data import DataError, open_stream
from tests.command_line import here
from tests.data.tables import write
from tests.data.test_csv import named_rows

NAMES = ["", "a", "b", "ab", "long_name"]
CHOICES = [
    {"drop": ["a"]}, {"only": ["a"]}, {"drop": ["a", "long_name"]}, {"only": ["", "ab"]}, {"drop": [""]},
    {"only": ["a", "b"], "drop": ["ab"]},
]  # fmt: skip


def is_read(name, drop=(), only=()):
    return name not in drop and (not only or name in only)


def vw_rows(seed=0, n=60):
    """Rows as lists of (namespace, text of its features), in which a namespace may occur again."""
    generator = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        spaces = []
        for name in generator.choice(NAMES, size=generator.integers(0, 5)):
            features = " ".join(f"f{generator.integers(4)}:{generator.normal():.3f}" for _ in range(3))
            scale = ":2" if name and generator.random() < 0.3 else ""
            spaces.append((str(name), f"|{name}{scale} {features} :5 word"))
        rows.append((generator.integers(2), spaces))
    return rows


def written(path, rows, chosen=lambda name: True):
    texts = [(label, " ".join(text for name, text in spaces if chosen(name))) for label, spaces in rows]
    path.write_text("".join(f"{label} 2.0 'tag {text or '|'}\n" for label, text in texts))
    return path


def contents(path, **how):
    """Names and values of every row, with labels and weights."""
    batches = list(open_stream(path, vocabulary=True, chunk_bytes=300, keep=["tag"], **how))
    return named_rows(batches), [weight for batch in batches for weight in batch.weights.tolist()]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_namespaces_of_vw_text(choice, tmp_path):
    rows = vw_rows()
    whole = written(tmp_path / "whole.vw", rows)
    without = written(tmp_path / "without.vw", rows, lambda name: is_read(name, **choice))
    assert contents(whole, **choice) == contents(without)
    assert contents(whole, **choice) != contents(whole)


def test_what_is_left_out_is_not_checked(tmp_path):
    path = tmp_path / "rows.vw"
    path.write_text("1 |a x:nonsense:3 |b y\n0 |a:q z |b y:2\n")
    with pytest.raises(DataError):
        list(open_stream(path))
    assert [len(batch.values) for batch in open_stream(path, drop="a")] == [2]


def table(tmp_path, suffix):
    rows = [
        {"a": float(i), "b": {"c": i % 2, "d": float(-i)}, "town": ["Rome", "Oslo"][i % 2], "label": i % 2, "w": 2.0}
        for i in range(1, 9)
    ]
    if suffix == "csv":
        rows = [{"b.c": row["b"]["c"], "b.d": row["b"]["d"]} | row for row in rows]
        rows = [{name: row[name] for name in ("a", "b.c", "b.d", "town", "label", "w")} for row in rows]
    return write(tmp_path / f"rows.{suffix}", {name: [row[name] for row in rows] for name in rows[0]})


def names_of(path, **how):
    [batch] = open_stream(path, vocabulary=True, **how)
    assert (batch.weights == 2.0).all() if "weight" in how else batch.weights is None
    return set(batch.new_features.names)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_columns_of_tables(suffix, tmp_path):
    path, towns = table(tmp_path, suffix), {"town=Rome", "town=Oslo"}
    assert names_of(path, weight="w") == {"a", "b.c", "b.d", *towns}
    assert names_of(path, weight="w", only=["a"]) == {"a"}
    assert names_of(path, weight="w", only=["b", "town"]) == {"b.c", "b.d", *towns}
    assert names_of(path, only=["b.d", "a"]) == {"b.d", "a"}
    assert names_of(path, only=["b"], drop=["b.c"]) == {"b.d"}
    assert names_of(path, only=["b.c"], drop=["b"]) == {"b.c"}
    assert names_of(path, only=["a", "b.c"], category=["b.c", "w"]) == {"a", "b.c=1", "b.c=0"}
    assert names_of(path, only=["town"], text=["town"]) == {"town:rome", "town:oslo"}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_column_to_read_must_be_there_in_training(suffix, tmp_path):
    path = table(tmp_path, suffix)
    with pytest.raises(DataError, match="has no column 'z'; there are a,"):
        names_of(path, only=["z", "a"])
    assert names_of(path, only=["z", "a"], freeze=True, ignore_labels=True) == {"a"}


# --- the command line -------------------------------------------------------------------------------------------------


def run(*arguments, status=0):
    done = here(*arguments)
    assert done.returncode == status, done.stderr
    return done


@pytest.mark.parametrize(("options", "choice"), [
    (["--ignore", "a", "--ignore", "b"], {"drop": ["a", "b"]}), (["--keep", "ab", "--keep", ""], {"only": ["ab", ""]}),
])  # fmt: skip
def test_a_model_is_predicted_with_the_namespaces_that_it_was_trained_on(options, choice, tmp_path):
    rows, model = vw_rows(n=200), tmp_path / "model"
    whole = written(tmp_path / "whole.vw", rows)
    without = written(tmp_path / "without.vw", rows, lambda name: is_read(name, **choice))
    run("train", whole, "--rule=arow", "-o", model, *options)
    run("train", without, "--rule=arow", "-o", tmp_path / "other")
    assert confidently.load(model).source_["drop"] == choice.get("drop", [])
    assert confidently.load(model).source_["only"] == choice.get("only", [])
    predicted = run("predict", model, whole, "--proba").stdout
    assert predicted == run("predict", tmp_path / "other", without, "--proba").stdout
    losses = [json.loads(run("evaluate", *pair, "--json").stdout)["log_loss"] for pair in
              ((model, whole), (tmp_path / "other", without))]  # fmt: skip
    assert losses[0] == losses[1]
    again = run("train", whole, "--init-model", model, "-o", tmp_path / "again", *options, status=2)
    assert "omit" in again.stderr  # the model has these options
    run("train", whole, "--init-model", model, "-o", tmp_path / "again")


@pytest.mark.parametrize("option", ["--ignore", "--drop"])
def test_columns_of_tables_on_the_command_line(option, tmp_path):
    path, model = table(tmp_path, "csv"), tmp_path / "model"
    run("train", path, "--rule=arow", "--vocabulary", option, "b", option, "w", "-o", model)
    assert set(confidently.load(model).features_.names) == {"a", "town=Rome", "town=Oslo"}
    for option in ("--keep", "--only"):
        run("train", path, "--rule=arow", "--vocabulary", option, "b.c", option, "town", "-o", model)
        assert set(confidently.load(model).features_.names) == {"b.c", "town=Rome", "town=Oslo"}


def test_a_cache_has_what_was_selected(tmp_path):
    """Where --keep is the column to keep for predictions."""
    path, cache = table(tmp_path, "csv"), tmp_path / "cache"
    run("cache", path, "--only", "a", "--keep", "town", "--vocabulary", "-o", cache)
    run("train", cache, "--rule=arow", "-o", tmp_path / "model")
    assert list(confidently.load(tmp_path / "model").features_.names) == ["a"]
    assert run("predict", tmp_path / "model", cache, "--keep", "town").stdout.split("\n")[1].startswith("Oslo\t")
    done = run("train", cache, "--rule=arow", "--keep", "a", status=2)
    assert "a cache stores how its rows were read; omit --only" in done.stderr


def test_models_of_other_columns_are_not_merged(tmp_path):
    path = table(tmp_path, "csv")
    models = [OnlineClassifier(view=None).fit_stream(open_stream(path, only=[name])) for name in ("a", "b.c")]
    with pytest.raises(ValueError, match=r"only = .*'a'.* in model 1, only = .*'b.c'.* in model 2"):
        confidently.merge(models)
