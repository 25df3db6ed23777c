"""Logs: written and read as JSON lines, and as arrays for estimators."""

import json

import numpy as np
import pytest

from confidently.bandits import ContextualBandit, Decision, LinTS, contexts_of, feedback, read_log, write_log

X = np.array([[0.0, 1.5, 0.0], [1.0, 0.0, 2.0], [0.0, 0.0, 0.0]])


def log():
    bandit = ContextualBandit(["a", "ü"], LinTS(), random_state=0)
    for i, x in enumerate(X):
        bandit.decide(x, id=f"visit {i}")
    bandit.reward("visit 1", 1)
    return bandit.log


def test_a_log_is_json_lines(tmp_path):
    write_log(log(), path := tmp_path / "log.jsonl")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [list(one) for one in records] == [["id", "arm", "propensity", "reward", "context"]] * 3
    assert records[1]["context"] == {"shape": 3, "columns": [0, 2], "values": [1.0, 2.0]}
    assert read_log(path) == log()
    np.testing.assert_array_equal(contexts_of(read_log(path)).toarray(), X)


def test_an_empty_log(tmp_path):
    write_log([], path := tmp_path / "log.jsonl")
    assert read_log(path) == []
    assert contexts_of([]).shape == (0, 0)


def test_feedback_refuses_unknown_arms():
    with pytest.raises(ValueError, match=r"decision 'visit 1' chose .*, which is not in arms"):
        feedback(log(), ["b"])


SOUND = {
    "id": 1, "arm": "a", "propensity": 0.5, "reward": 1.0, "context": {"shape": 2, "columns": [1], "values": [1.0]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "Expecting"),
        ("[]", "expected an object with id, arm, propensity, reward, context"),
        (SOUND | {"propensity": 0}, r"propensity must be in \(0, 1\], got 0"),
        (SOUND | {"propensity": "1"}, "propensity must be in"),
        (SOUND | {"reward": "1"}, "reward must be a finite number or null"),
        (SOUND | {"reward": float("nan")}, "reward must be a finite number or null"),
        (SOUND | {"context": {"shape": 1, "columns": [1], "values": [1.0]}}, "do not fit together"),
        (SOUND | {"context": {"shape": 2, "columns": [1], "values": []}}, "do not fit together"),
        (SOUND | {"context": {}}, "context has no"),
        (SOUND | {"context": SOUND["context"] | {"values": ["x"]}}, "expected a finite number"),
        (SOUND | {"arm": [1]}, "id and arm"),
        (SOUND | {"more": 1}, "expected an object"),
        (SOUND | {"arms": ["b"]}, "arm 'a' is not among arms"),
        (SOUND | {"arms": [["a"]]}, "arms"),
        (SOUND | {"arms": "ab"}, "arms"),
    ],
)
def test_lines_that_are_no_decisions_are_refused(tmp_path, line, message):
    text = line if isinstance(line, str) else json.dumps(line)
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(SOUND) + "\n" + text + "\n")
    with pytest.raises(ValueError, match=f"log.jsonl, line 2: not a decision .*{message}"):
        read_log(path)


def test_sound_lines_are_read(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(SOUND) + "\n")
    assert read_log(path) == [Decision(1, "a", 0.5, 1.0, SOUND["context"])]
    path.write_text(json.dumps(SOUND | {"arms": [2, "a"]}) + "\n")
    assert read_log(path) == [Decision(1, "a", 0.5, 1.0, SOUND["context"], [2, "a"])]
