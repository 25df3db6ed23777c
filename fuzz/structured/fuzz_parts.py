"""Files of bandits, decisions and entities with random changes and right checksums: finite answers, or one error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from fuzz_models import MOST_COLUMNS, Content, mutated, read_content, write
from mutation import changed
from running import bounded, run

from confidently import OnlineClassifier, OnlineRegressor
from confidently.bandits import Action, ContextualBandit, DecisionModel, LinTS
from confidently.covariances.state import OutOfRange
from confidently.entities import EntityModels
from confidently.models.file import BANDIT, DECISIONS, ModelFileError, kind_of

ARMS, PART = ["a", "b", "c"], "model."
X = np.random.default_rng(0).integers(0, 4, (40, 3)).astype(float)
KEYS = [f"user {k % 7}" for k in range(40)]


def models() -> Iterator[Any]:
    """Yield a model of every kind, trained a little."""
    features = {arm: [k, 1.0] for k, arm in enumerate(ARMS)}
    for estimator, of_arms in (
        (None, None), (None, features), (OnlineClassifier("logistic"), None),
        (OnlineClassifier("logistic", "full", average=True), None),
    ):  # fmt: skip
        bandit = ContextualBandit(ARMS, LinTS(), estimator, arm_features=of_arms, random_state=0)
        for k, row in enumerate(X):
            bandit.decide(row, id=k, arms=ARMS[: k % 3] or None)
            if k % 5:
                bandit.reward(k, k % 2)
        yield bandit
    for shared in (False, True):
        model = DecisionModel(shared=shared, seed=1)
        for k in range(40):
            model.learn({"visitor": f"v{k % 3}", "age": k}, Action(ARMS[k % 3], {"size": k % 3}), k % 2)
        yield model
    yield EntityModels().fit(X, np.arange(40) % 3, key=KEYS)
    yield EntityModels(shared=OnlineRegressor(), max_age=30).fit(X, X @ [1.0, 2.0, 3.0], key=list(range(10)) * 4)


def inputs(random: Random, folder: Path) -> Iterator[Path]:
    """Yield files with random changes, also inside the models that they have."""
    sound, path = [], folder / "parts"
    for model in models():
        model.save(path)
        sound.append(read_content(path))
        load(path)  # what this imports is no part of what is measured

    def inside(content: Content, random: Random) -> Content:
        names = [name for name in content.arrays if name.startswith(PART) and content.arrays[name].size]
        if not names or random.random() < 0.7:
            return mutated(content, random)
        name, part = random.choice(names), folder / "part"
        try:
            part.write_bytes(bytes(content.arrays[name].astype(np.uint8)))
            write(part, mutated(read_content(part), random))
        except Exception:  # changed before, so that it is no model file any more
            return mutated(content, random)
        return Content(content.header, content.arrays | {name: np.frombuffer(part.read_bytes(), np.uint8)})

    while True:
        write(path, changed(random.choice(sound), inside, random))
        yield path


def load(path: Path) -> Any:
    """Return the model of a file."""
    kinds: dict[str | None, Any] = {BANDIT: ContextualBandit, DECISIONS: DecisionModel}
    return kinds.get(kind_of(path), EntityModels).load(path)


def check(path: Path) -> None:
    """Raise for anything but finite answers and a ModelFileError of one line."""
    try:
        with bounded(path):
            model = load(path)
    except ModelFileError as error:
        assert "\n" not in str(error) and len(str(error)) < 1000, str(error)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(OutOfRange):  # of large values that one more example makes larger
            answer(model)


def answer(model: Any) -> None:
    """Let a model decide or predict, and learn."""
    if isinstance(model, DecisionModel):
        actions = [Action(arm, {"size": k}) for k, arm in enumerate([*ARMS, "new"])]
        choice = model.decide({"visitor": "v1", "age": 3, "new": 1}, actions, id="x")
        assert np.isfinite(choice.probabilities).all() and abs(choice.probabilities.sum() - 1) < 1e-6
        model.learn({"visitor": "v1"}, actions[0], model.low)
    elif isinstance(model, ContextualBandit):
        n = model._models.n_features
        if n <= MOST_COLUMNS:
            found = model.propensities(np.ones((2, n)))
            assert np.isfinite(found).all() and np.allclose(found.sum(axis=1), 1)
    elif model.n_features_in_ <= MOST_COLUMNS:
        rows = np.resize(X, (12, model.n_features_in_))
        keys = (model.keys_ or KEYS)[:1] * 12
        for found in (
            model.predict(rows, key=keys),
            *([model.predict_proba(rows, key=keys)] if hasattr(model, "predict_proba") else []),
        ):
            assert found.dtype.kind in "OU" or np.isfinite(found).all()


if __name__ == "__main__":
    run("parts", inputs, check)
