"""What a wheel is tested with: python tests/installed.py, with the package installed, outside its sources."""

import subprocess
import sys
import tempfile
from importlib.metadata import files, version
from pathlib import Path

import numpy as np

import confidently
from confidently import OnlineClassifier, load, merge


def train_and_predict(folder: Path) -> None:
    """The command line, from rows to predictions."""
    rows = folder / "rows.svm"
    rows.write_text("1 1:1 2:0.5\n-1 2:1\n1 1:0.9\n-1 2:0.8 3:1\n" * 50)
    command = [sys.executable, "-m", "confidently"]
    subprocess.run([*command, "train", rows, "--rule=arow", "-q", "-o", folder / "model.cw"], check=True)
    done = subprocess.run([*command, "predict", folder / "model.cw", rows], check=True, capture_output=True, text=True)
    assert done.stdout.split()[:4] == ["1", "-1", "1", "-1"], done.stdout


def learn(folder: Path) -> None:
    """Every covariance, a file of a model, merging."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5))
    y = np.where(X @ [1.0, -1.0, 0.5, 0.0, 0.0] > 0, "yes", "no")
    for covariance in ("diag", "full", "shared", "low_rank", "kernel"):
        assert OnlineClassifier("arow", covariance).fit(X, y).score(X, y) > 0.9
    classifier = OnlineClassifier().fit(X, y)
    classifier.save(folder / "model.cw")
    again = load(folder / "model.cw")
    assert np.array_equal(again.coef_, classifier.coef_)
    assert merge([classifier, again]).n_seen_ == 600


def contents() -> None:
    """The package and nothing else, with what type checkers look for."""
    names = {str(file) for file in files("confidently") or ()}
    strangers = {name for name in names if not name.startswith(("confidently/", "confidently-", "../"))}
    assert not strangers, strangers
    assert "confidently/py.typed" in names
    assert version("confidently") == confidently.__version__


if __name__ == "__main__":
    contents()
    with tempfile.TemporaryDirectory() as folder:
        train_and_predict(Path(folder))
        learn(Path(folder))
    print(f"confidently {confidently.__version__}, Python {sys.version.split()[0]}: works as installed")
