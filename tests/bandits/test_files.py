"""Files of bandits continue with the same decisions; damaged ones are refused by name."""

import json
import zipfile

import numpy as np
import pytest
from scipy.sparse import csr_array

from confidently import OnlineClassifier, OnlineRegressor
from confidently.bandits import ContextualBandit, EpsilonGreedy, LinTS
from confidently.models.file import ModelFileError

ARMS = ["a", "b", 3]
ORDER = [*ARMS, "new"]
LOGISTIC = OnlineClassifier("logistic", prior_variance=3.0)
BANDITS = {
    "ridge": lambda: ContextualBandit(ARMS, LinTS(alpha=0.5), random_state=0),
    "index": lambda: ContextualBandit(ARMS, LinTS(), LOGISTIC, random_state=0),
    "index of ridge": lambda: ContextualBandit(ARMS, LinTS(), OnlineRegressor("ridge", "diag"), random_state=0),
    "per arm": lambda: ContextualBandit(ARMS, EpsilonGreedy(), OnlineClassifier("logistic", "full"), random_state=0),
    "shared": lambda: ContextualBandit(
        ARMS, LinTS(), LOGISTIC, arm_features={arm: [k, 1.0] for k, arm in enumerate(ARMS)}, random_state=0
    ),
    "shared sparse": lambda: ContextualBandit(
        ARMS, LinTS(), LOGISTIC, arm_features={arm: csr_array([[k, 1.0]]) for k, arm in enumerate(ARMS)}, random_state=0
    ),
}
X = np.random.default_rng(0).normal(size=(40, 3)).round(2)


def play(bandit, rows, waits=()):
    arms = []
    for i in rows:
        decision = bandit.decide(X[i], id=i)
        arms.append((decision.arm, decision.propensity))
        if i not in waits:
            bandit.reward(i, float(X[i, 0] > 0.5 * ORDER.index(decision.arm)))
    return arms


@pytest.mark.parametrize("name", BANDITS)
def test_a_saved_bandit_continues_with_the_same_decisions(tmp_path, name):
    whole, part = BANDITS[name](), BANDITS[name]()
    for bandit in (whole, part):
        play(bandit, range(20), waits=(3, 17))
    part.save(tmp_path / "first")
    part = ContextualBandit.load(tmp_path / "first")
    assert part.log == whole.log and part.arms == whole.arms and part.policy == whole.policy and part.n_waiting == 2
    for bandit in (whole, part):
        bandit.reward(17, 1.0)
        bandit.add_arm("new", *([[2.0, 1.0]] if name.startswith("shared") else []))
        bandit.remove_arm("a")
    assert part.log[17].reward == 1.0  # the decision that waited is the one in the log
    np.testing.assert_allclose(part.predict_expectations(X), whole.predict_expectations(X), rtol=1e-12)
    found, expected = (zip(*play(bandit, range(20, 40)), strict=True) for bandit in (part, whole))
    assert next(found) == next(expected)  # arms, and then propensities
    np.testing.assert_allclose(next(found), next(expected), rtol=1e-9)


def test_decisions_are_numbered_on_after_a_file(tmp_path):
    bandit = BANDITS["ridge"]()
    assert [bandit.decide(X[i]).id for i in range(3)] == [0, 1, 2]
    bandit.save(tmp_path / "bandit")
    assert ContextualBandit.load(tmp_path / "bandit").decide(X[3]).id == 3


@pytest.mark.parametrize("name", ["shared", "shared sparse"])
@pytest.mark.parametrize("known", [False, True], ids=["before contexts", "after contexts"])
def test_features_of_removed_arms_are_not_saved(tmp_path, name, known):
    bandit = BANDITS[name]()
    if known:
        play(bandit, range(5))
    bandit.remove_arm("a")
    bandit.add_arm("new", [[2.0, 1.0]])
    play(bandit, range(10, 30))
    bandit.save(tmp_path / "bandit")
    again = ContextualBandit.load(tmp_path / "bandit")
    assert again.arms == ["b", 3, "new"]
    np.testing.assert_allclose(again.predict_expectations(X), bandit.predict_expectations(X), rtol=1e-12)
    alike = bandit.predict_expectations(X)  # arms 3 and new have the same features
    np.testing.assert_allclose(alike[:, 1], alike[:, 2], rtol=1e-12)
    assert not np.allclose(alike[:, 0], alike[:, 1])


def test_equal_bandits_have_equal_files(tmp_path):
    for file in ("first", "second"):
        play(bandit := BANDITS["index"](), range(10))
        bandit.save(tmp_path / file)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_a_bandit_that_saw_nothing_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="the bandit has seen no context"):
        ContextualBandit(["a"]).save(tmp_path / "bandit")
    assert list(tmp_path.iterdir()) == []


def changed(path, **changes):
    """The file with some entries of its header changed; ``drop``: without an entry of the archive."""
    drop = changes.pop("drop", None)
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content["bandit.json"] = json.dumps(json.loads(content["bandit.json"]) | changes).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name in content:
            if name != drop:
                archive.writestr(name, content[name])


@pytest.mark.parametrize(("changes", "message"), [
    ({"format": 2}, "unknown format 2; this version of confidently reads format 1"),
    ({"drop": "prior.cw"}, "damaged file of a bandit"), ({"drop": "bandit.json"}, "damaged file of a bandit"),
    ({"drop": "arm.npy"}, "damaged file of a bandit"), ({"arms": ["a"]}, "out of range"),
    ({"policy": "ucb"}, "unknown policy 'ucb'"), ({"models": "shared"}, "expected models 'index', got 'shared'"),
    ({"waiting": [{}]}, "damaged file of a bandit"), ({"random": {}}, "damaged file of a bandit"),
])  # fmt: skip
def test_damaged_files_are_refused(tmp_path, changes, message):
    play(bandit := BANDITS["index"](), range(10))
    bandit.save(path := tmp_path / "bandit")
    changed(path, **changes)
    with pytest.raises(ModelFileError, match=message) as error:
        ContextualBandit.load(path)
    assert str(error.value).startswith(str(path))


def test_a_damaged_model_in_the_file_is_reported_by_the_name_of_the_file(tmp_path):
    play(bandit := BANDITS["index"](), range(10))
    bandit.save(path := tmp_path / "bandit")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more.cw", b"no model")
    with pytest.raises(ModelFileError) as error:
        ContextualBandit.load(path)
    assert str(error.value).startswith(f"{path}: ")


def test_other_files_are_refused(tmp_path):
    other = tmp_path / "other"
    other.write_text("text")
    with pytest.raises(ModelFileError, match="not the file of a bandit"):
        ContextualBandit.load(other)
    with pytest.raises(FileNotFoundError):
        ContextualBandit.load(tmp_path / "absent")
