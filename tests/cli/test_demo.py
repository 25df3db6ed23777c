"""``confidently demo`` shows what its saved model does, in lines that fit the terminal."""

import shutil

import pytest

from confidently import load
from confidently.cli.commands import demo
from confidently.cli.commands.demo import RISK, Digits


@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")  # of few rows
@pytest.mark.parametrize("rows", [200, pytest.param(1200, marks=pytest.mark.long("trains four learners of digits"))])
def test_the_demo_shows_its_model(ok, tmp_path, monkeypatch, rows):
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: shutil.os.terminal_size((80, 24)))
    monkeypatch.setattr(demo, "TRAIN", rows)
    text = ok("demo", "--out", tmp_path)
    longest = max(map(len, text.replace(str(tmp_path), "").splitlines()))
    assert longest <= 80 or rows == 200  # whose sets have many digits
    model, data = load(tmp_path / "digits.cw"), Digits(0)
    assert type(model).__name__ == "AutoClassifier" and len(data.y_train) == rows
    wrong = model.predict(data.X_test) != data.y_test
    assert f"AutoClassifier {model.mistakes_ / rows:>29.1%}{wrong.mean():>15.1%}\n" in text
    for coverage in (0.9, 0.95, 0.99):
        sets = model.predict_set(data.X_test, coverage)
        has_true = sets[range(len(sets)), data.y_test].mean()
        assert coverage - 0.03 <= has_true and (rows == 200 or has_true <= coverage + 0.05)
        assert f"{coverage:>9.0%}{has_true:>21.1%}{sets.sum(axis=1).mean():>16.2f}\n" in text
    answered = ~model.abstain(data.X_test, RISK)
    said = f"{answered.sum()} of {len(wrong)} digits are answered, {wrong[answered].sum()} of them wrongly"
    assert said in " ".join(text.split())
    assert rows == 200 or wrong[answered].mean() <= RISK < wrong.mean() + RISK
    assert (tmp_path / "digits.png").stat().st_size > 10_000
