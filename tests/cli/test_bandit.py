"""Training and evaluation on logs of decisions by the command line."""

import json

import pytest

from confidently.bandits import DecisionModel, read_decisions
from tests.cli.test_snapshots import decisions
from tests.command_line import here


@pytest.fixture
def folder(tmp_path):
    for name, text in decisions().items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_model_is_that_of_python(folder):
    found = here("train", "--bandit", "decisions.jsonl", "-o", "m", "--json", cwd=folder)
    assert found.returncode == 0, found.stderr
    model = DecisionModel()
    for one in read_decisions(folder / "decisions.jsonl"):
        if one.reward is not None:
            model.learn(one.context, one.actions[one.chosen], one.reward)
    model.save(folder / "other")
    assert (folder / "m").read_bytes() == (folder / "other").read_bytes()
    assert json.loads(found.stdout)["rewarded"] == 285


def test_training_in_two_parts_is_that_on_all(folder):
    lines = (folder / "decisions.jsonl").read_text().splitlines(keepends=True)
    for name, part in (("first", lines[:100]), ("second", lines[100:])):
        (folder / name).write_text("".join(part))
    for arguments in (
        ["decisions.jsonl", "-o", "whole"], ["first", "second", "-o", "both"], ["first", "-o", "begun"],
        ["second", "--init-model", "begun", "-o", "continued"],
    ):  # fmt: skip
        assert here("train", "--bandit", *arguments, cwd=folder).returncode == 0
    assert len({(folder / name).read_bytes() for name in ("whole", "both", "continued")}) == 1


def test_what_cannot_be_known_is_said(folder):
    one = {"actions": ["a", "b"], "chosen": "a", "probability": 0.01, "reward": 1}
    (folder / "rare").write_text("".join(json.dumps(one) + "\n" for _ in range(20)))
    found = here("train", "--bandit", "rare", "--policy", "lin_ucb", "-o", "m", cwd=folder)
    assert found.returncode == 0
    assert "Do not trust these intervals: 20 rounds say as much" in found.stdout
    (folder / "other").write_text(json.dumps(one | {"chosen": "b", "reward": 0}) + "\n")
    never = here("evaluate", "m", "other", "--policy", "greedy", cwd=folder)
    assert "The policy never chooses what the log did" in never.stdout
    (folder / "m.cw").write_text("no archive")
    wrong = here("evaluate", "m.cw", "other", "--policy", "greedy", cwd=folder)
    assert wrong.returncode == 2 and "--policy: for a model of train --bandit; omit it" in wrong.stderr
