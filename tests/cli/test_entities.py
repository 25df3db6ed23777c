"""Training and predictions of models of entities by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from confidently.entities import EntityModels
from tests.command_line import here


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    lines = ["said,user,genre,price"]
    for _ in range(600):
        user, genre = random.integers(12), random.integers(3)
        liked = (user * 7 + genre) % 3 and random.random() < 0.9
        lines.append(f"{'yes' if liked else 'no'},u{user},g{genre},{user + genre + random.normal():.3f}")
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "first.csv").write_text("\n".join(lines[:301]) + "\n")
    (tmp_path / "second.csv").write_text("\n".join([lines[0], *lines[301:]]) + "\n")
    return tmp_path


def test_the_model_is_that_of_python(folder: Path) -> None:
    given = ["train", "rows.csv", "--label", "said", "--key", "user", "--drop", "price", "-q"]
    found = here(*given, "-o", "m", "--json", cwd=folder)
    assert found.returncode == 0, found.stderr
    model = EntityModels("user").fit_stream(folder / "rows.csv", label="said", drop="price")
    read = EntityModels.load(folder / "m")
    for mine, other in zip(
        read.predict_stream(folder / "rows.csv"), model.predict_stream(folder / "rows.csv"), strict=True
    ):
        np.testing.assert_array_equal(mine, other)
    summary = json.loads(found.stdout)
    assert (summary["rows"], summary["entities"]) == (600, 12)
    assert summary["error"] == model.error_ < 0.3 and summary["log_loss"] == model.log_loss_
    text = here(*given, cwd=folder).stdout
    assert "12 values of user" in text and f"{100 * model.error_:.2f} %" in text


def test_training_continues(folder: Path) -> None:
    given = ["--label", "said", "--drop", "price", "--key", "user", "-q"]
    assert here("train", "first.csv", *given, "-o", "begun", cwd=folder).returncode == 0
    found = here("train", "second.csv", "--key", "user", "--init-model", "begun", "-q", "-o", "m", cwd=folder)
    assert found.returncode == 0 and "warning" not in found.stderr, found.stderr
    model = EntityModels.load(folder / "begun").partial_fit_stream(folder / "second.csv")
    model.save(folder / "other")
    assert model.n_seen_ == 600
    assert (folder / "m").read_bytes() == (folder / "other").read_bytes()


def test_predictions_of_classes_and_of_numbers(folder: Path) -> None:
    here("train", "rows.csv", "--label", "said", "--key", "user", "-q", "-o", "m", cwd=folder)
    found = here("predict", "m", "rows.csv", "--proba", "--keep", "user", "-q", cwd=folder)
    assert found.returncode == 0, found.stderr
    header, first, *rest = found.stdout.splitlines()
    assert header.split("\t") == ["user", "class", "proba:no", "proba:yes"] and len(rest) == 599
    _, label, no, yes = first.split("\t")
    assert float(no) + float(yes) == pytest.approx(1) and label == ("yes" if float(yes) > float(no) else "no")
    here("train", "rows.csv", "--label", "price", "--key", "user", "-q", "-o", "n", cwd=folder)
    found = here("predict", "n", "rows.csv", "--std", "-q", "--json", cwd=folder)
    assert found.returncode == 0, found.stderr
    assert set(json.loads(found.stdout.splitlines()[0])) == {"prediction", "std"}


def test_models_are_inspected(folder: Path) -> None:
    here("train", "rows.csv", "--label", "said", "--key", "user", "--drop", "price", "-q", "-o", "m", cwd=folder)
    found = here("inspect", "m", cwd=folder)
    assert found.returncode == 0 and "12 values of user" in found.stdout, found.stderr
    found = here("inspect", "m", "--key", "u7", "--top", "2", "--json", cwd=folder)
    facts = json.loads(found.stdout)
    expected = EntityModels.load(folder / "m").deviation("u7")
    assert (facts["rows"], facts["n_weights"], len(facts["weights"])) == (expected.rows, 4, 2)
    assert facts["weights"][0]["mean"] == expected.mean[np.argmax(np.abs(expected.mean))]
    text = here("inspect", "m", "--key", "u7", cwd=folder).stdout
    assert "genre=g1" in text and "intercept" in text
    here("train", "rows.csv", "--label", "genre", "--key", "user", "-q", "-o", "g", cwd=folder)
    assert here("inspect", "g", "--key", "u7", cwd=folder).stdout.splitlines()[1].split() == [
        "feature",
        "g0",
        "g1",
        "g2",
    ]


def test_predictions_are_measured(folder: Path) -> None:
    here("train", "first.csv", "--label", "said", "--key", "user", "--drop", "price", "-q", "-o", "m", cwd=folder)
    given = ["evaluate", "m", "second.csv", "-q"]
    found = json.loads(here(*given, "--json", "--by", "user", "--abstain", "0.8", cwd=folder).stdout)
    model, rows = EntityModels.load(folder / "m"), pd.read_csv(folder / "second.csv").drop(columns="price")
    p, said = model.predict_proba(rows.drop(columns="said"))[:, 1], rows["said"] == "yes"
    assert found["rows"] == 300 and found["error"] == pytest.approx(((p > 0.5) != said).mean())
    assert found["log_loss"] == pytest.approx(log_loss(said, p))
    assert found["auc"] == pytest.approx(roc_auc_score(said, p))
    assert len(found["by"]["groups"]) == 12 and found["abstain"]["coverage"] == (np.maximum(p, 1 - p) >= 0.8).mean()
    assert "log-loss" in here(*given, cwd=folder).stdout
    here("train", "first.csv", "--label", "price", "--key", "user", "-q", "-o", "n", cwd=folder)
    found = json.loads(here("evaluate", "n", "second.csv", "-q", "--json", cwd=folder).stdout)
    rows = pd.read_csv(folder / "second.csv")
    model = EntityModels.load(folder / "n")
    mean, (low, high) = model.predict(rows.drop(columns="price")), model.predict_interval(rows.drop(columns="price")).T
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((mean - rows["price"]) ** 2)))
    inside = (low <= rows["price"]) & (rows["price"] <= high)
    assert found["interval"]["coverage"] == pytest.approx(inside.mean()) and 0.8 < inside.mean() < 0.97
