"""``confidently demo`` shows what its saved model does, in lines that fit the terminal."""

import shutil

import pytest

from confidently import load
from confidently.cli.commands.demo import RISK, Digits


@pytest.mark.long("trains and validates several learners of digits")
def test_the_demo_shows_its_model(ok, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: shutil.os.terminal_size((80, 24)))
    text = ok("demo", "--out", tmp_path)
    assert max(map(len, text.replace(str(tmp_path), "").splitlines())) <= 80
    model, data = load(tmp_path / "digits.cw"), Digits(0)
    assert type(model).__name__ == "AutoClassifier"
    wrong = model.predict(data.X_test) != data.y_test
    assert f"AutoClassifier {model.mistakes_ / 1200:>29.1%}{wrong.mean():>15.1%}\n" in text
    for coverage in (0.9, 0.95, 0.99):
        sets = model.predict_set(data.X_test, coverage)
        has_true = sets[range(len(sets)), data.y_test].mean()
        assert coverage - 0.03 <= has_true <= coverage + 0.05  # the 120 rows of a class count as 34
        assert f"{coverage:>9.0%}{has_true:>21.1%}{sets.sum(axis=1).mean():>16.2f}\n" in text
    answered = ~model.abstain(data.X_test, RISK)
    said = f"{answered.sum()} of 597 digits are answered, {wrong[answered].sum()} of them wrongly"
    assert said in " ".join(text.split()) and wrong[answered].mean() <= RISK < wrong.mean() + RISK
    assert (tmp_path / "digits.png").stat().st_size > 10_000
