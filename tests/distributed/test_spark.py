"""The recipe for Spark in docs/distributed.md works, where Spark and Java are installed."""

import os
import shutil
import sys
import warnings
from pathlib import Path

import pytest
from sklearn.datasets import load_digits

pytest.importorskip("pyspark", reason="pyspark is not installed")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

PAGE = Path(__file__).parents[2] / "docs" / "distributed.md"


@pytest.mark.filterwarnings("default")  # Spark's own
def test_models_of_partitions_merge(monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    _, _, recipe = PAGE.read_text(encoding="utf-8").partition("## Spark")
    code = recipe.partition("```python\n")[2].partition("```")[0]
    X, y = load_digits(return_X_y=True)
    namespace = {"X": X, "y": y, "__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, os.fspath(PAGE), "exec"), namespace)
    merged = namespace["merged"]
    assert len(namespace["models"]) == 4 and merged.n_seen_ == 1400
    assert merged.score(X[1400:] / 16, y[1400:]) > 0.8
