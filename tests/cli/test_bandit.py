"""Training and evaluation on logs of decisions by the command line."""

import json

import pytest

from confidently.bandits import DecisionModel, read_decisions
from tests.cli.test_snapshots import decisions
from tests.command_line import here, standard_input


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


CB = "1:-1:0.5 |user old\n2:0:0.5 |user new\n9:0:0.5 |user new\n1:-2:half |user old\n2:-2:0.5 |user new\n"


def test_invalid_decisions_are_skipped_with_a_count(tmp_path):
    (tmp_path / "log.vw").write_text(CB)
    train = "train", "--bandit", "log.vw", "--cb", "2", "--reward-range", "0", "2", "-o", "m"
    stopped = here(*train, cwd=tmp_path)
    assert stopped.returncode == 2 and "log.vw, line 3: action 9 is not one of 1 to 2; use --actions" in stopped.stderr
    limited = here(*train, "--on-error", "limit=1", cwd=tmp_path)
    assert limited.returncode == 2 and "more than 1 invalid decision; the first: log.vw, line 3" in limited.stderr
    trained = here(*train, "--on-error", "skip", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    assert "skipped    2 invalid decisions:\n           log.vw, line 3: action 9" in trained.stdout
    evaluated = here("evaluate", "m", "log.vw", "--cb", "2", "--on-error", "skip", "--json", cwd=tmp_path)
    found = json.loads(evaluated.stdout)
    assert (found["decisions"], found["skipped"]) == (3, 2) and len(found["skipped_examples"]) == 2
    predicted = here("predict", "m", "log.vw", "--cb", "2", "--on-error", "skip", cwd=tmp_path)
    assert len(predicted.stdout.splitlines()) == 3
    assert "2 invalid contexts skipped, without a line of output: log.vw, line 3" in predicted.stderr
    assert here("predict", "m", "log.vw", "--cb", "2", cwd=tmp_path).returncode == 2
    (tmp_path / "context.vw").write_text("| user=a\n")
    unnamed = here("predict", "m", "context.vw", cwd=tmp_path)
    assert unnamed.returncode == 2 and "the model knows none of the actions '0'" in unnamed.stderr


@pytest.mark.parametrize(("costs", "proposed"), [
    ((1, 0, 3), "[0, 1]; use --reward-range -3 0, since costs are minus rewards"),
    ((-1, 0, -2.5), "[0, 1]; use --reward-range 0 2.5"), ((2, -4), "use --reward-range -2 4"),
])  # fmt: skip
def test_a_range_of_rewards_is_proposed_that_fits(tmp_path, costs, proposed):
    (tmp_path / "log.vw").write_text("".join(f"1:{cost}:0.5 | x\n" for cost in costs))
    train = "train", "--bandit", "log.vw", "--actions", "2", "-o", "m"
    wrong = here(*train, cwd=tmp_path)
    assert wrong.returncode == 2 and proposed in wrong.stderr and wrong.stderr.count("\n") == 1
    low, high = wrong.stderr.partition("--reward-range ")[2].split(",")[0].split()
    assert here(*train, "--reward-range", low, high, cwd=tmp_path).returncode == 0
    (tmp_path / "other.vw").write_text("1:-99:0.5 | x\n")
    for more in (["evaluate", "m", "other.vw"], ["train", "--bandit", "other.vw", "--init-model", "m", "-o", "n"]):
        other = here(*more, "--actions", "2", cwd=tmp_path)
        assert "train a model with --reward-range 0 99" in other.stderr


def test_logs_of_all_forms_make_one_model(tmp_path):
    """Of the same decisions, whether they are tables, text or JSON; tables also from standard input."""
    rows = [("1", "old", 0.5, 1), ("2", "new", 0.5, 0), ("2", "old", 0.25, 0), ("1", "new", 0.25, 1)] * 5
    table = "item_id,propensity_score,click,user\n" + "".join(f"{a},{p},{r},{u}\n" for a, u, p, r in rows)
    (tmp_path / "log.csv").write_text(table)
    (tmp_path / "log.vw").write_text("".join(f"{a}:{-r}:{p} | user={u}\n" for a, u, p, r in rows))
    (tmp_path / "log.json").write_text("".join(f'{{"_label": "{a}:{-r}:{p}", "user": "{u}"}}\n' for a, u, p, r in rows))
    own = [
        {"context": {"user": u}, "actions": ["1", "2"], "chosen": a, "probability": p, "reward": r}
        for a, u, p, r in rows
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(one) + "\n" for one in own))
    models = []
    for name in ("log.csv", "log.vw", "log.json", "log.jsonl", "-"):
        with standard_input(tmp_path / "log.csv"):
            done = here("train", "--bandit", name, "--cb", "2", "-o", "m", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        models.append((tmp_path / "m").read_bytes())
    assert len(set(models)) == 1
