"""train --coverage-by: sets of predict and evaluate by a column, checkpoints, caches, and clear errors."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.command_line import here

TOWNS = np.array(["Delft", "Lund", "Porto"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows of three towns; the labels of the third are hardly foreseeable."""
    folder, generator = tmp_path_factory.mktemp("towns"), np.random.default_rng(0)
    town = generator.integers(0, 3, 4000)
    frame = pd.DataFrame(generator.normal(size=(4000, 3)).round(3), columns=["a", "b", "c"]).assign(town=TOWNS[town])
    noise = np.array([0.0, 0.5, 3.0])[town] * generator.normal(size=4000)
    frame["label"] = np.where(frame["a"] + frame["b"] + noise > 0, "yes", "no")
    frame[:2500].to_csv(folder / "old.csv", index=False)
    frame[2500:].to_csv(folder / "new.csv", index=False)
    frame[2500:].drop(columns="town").to_csv(folder / "without.csv", index=False)
    frame.assign(label=frame["a"] + 0.5).to_csv(folder / "numbers.csv", index=False)
    (folder / "rows.svm").write_text("+1 1:2\n-1 1:3\n" * 30)
    lines = ({"label": ["x", "y"][: 1 + k % 2], "town": "Lund", "a": k % 3} for k in range(60))
    (folder / "labels.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_new_rows_need_the_column_for_sets_only(ok, folder, tmp_path):
    ok("train", folder / "old.csv", "--rule", "arow", "--coverage-by", "town", "-q", "-o", tmp_path / "m.cw")
    assert here("predict", tmp_path / "m.cw", folder / "without.csv").returncode == 0
    for command in (["predict", "--set"], ["evaluate", "--set"]):
        failed = here(command[0], tmp_path / "m.cw", folder / "without.csv", command[1], "0.9")
        assert failed.returncode == 2 and "has no column 'town'" in failed.stderr
    failed = here("train", folder / "without.csv", "--init-model", tmp_path / "m.cw", "-o", tmp_path / "more.cw")
    assert failed.returncode == 2 and "has no column 'town'" in failed.stderr
