"""Rows for the tests of the server, and what ``confidently train`` makes of them."""

import json
import math
import random

from confidently.bandits import Action, DecisionModel, in_slot
from confidently.cli import run
from confidently.models.model import Model
from confidently.serve.model.learning import Example
from confidently.serve.model.rows import labelled_line
from tests.serve.running import as_lines

WORDS = ["win", "meet", "cash", "noon", "free", "tea"]
RARE = [f"w{k}" for k in range(300)]
FAR = {  # asks for margins that rows of tiny values reach by weights beyond the range only
    "rule": "iellip", "rule_parameters": {"gamma": 1e60}, "fit_intercept": False, "view": "none",
    "reading": {"normalize": "none"},
}  # fmt: skip
FAR_OPTIONS = ("--rule=iellip", "--gamma=1e60", "--no-intercept", "--view=none", "--normalize=none")
KINDS = ("numbers", "text", "categories", "mixed", "late")
KINDS_OF_NUMBERS = ("numbers", "words", "mixed", "late", "prices", "wide")


def made(n, kind="mixed", seed=0):
    """Rows of two classes, or three if they are numbers, as pairs of features and label."""
    chance = random.Random(f"{kind} {seed}")
    return [_row(chance, kind, k) for k in range(n)]


def _row(chance, kind, k):
    spam = chance.random() < 0.5
    label, features = "spam" if spam else "ham", {}
    if kind == "text":
        features["subject"] = " ".join(chance.choices(WORDS if chance.random() < 0.7 else RARE, k=4))
    elif kind != "numbers":
        features["subject"] = chance.choice(WORDS + RARE) + ("x" if spam else "")
    if kind in ("numbers", "mixed") or (kind == "late" and k > 40):
        features |= {"a": chance.gauss(spam, 1), "b": chance.gauss(0, 5), "n": int(spam) + chance.randrange(3)}
    if kind == "numbers" and chance.random() < 0.3:
        label, features["c"] = "other", 3
    return features, label


def numbered(n, kind="mixed", seed=0):
    """Rows with a number each, as pairs of features and label."""
    chance = random.Random(f"{kind} {seed}")
    return [_numbered_row(chance, kind, k) for k in range(n)]


def _numbered_row(chance, kind, k):
    a, b, features = chance.gauss(0, 1), chance.gauss(0, 5), {}
    if kind == "words":
        features["subject"] = " ".join(chance.choices(WORDS if chance.random() < 0.7 else RARE, k=4))
    elif kind == "wide":
        features |= {f"c{j}": 1.0 for j in chance.sample(range(5000), 4)}
    elif kind != "numbers":
        features["subject"] = chance.choice(WORDS)
    if kind in ("numbers", "mixed", "prices") or (kind == "late" and k > 40):
        features |= {"a": a, "b": b, "n": chance.randrange(3)}
    number = 3.0 * a - b + chance.gauss(0, 1) + (10 if features.get("subject") == "win" else 0)
    return features, math.exp(number / 5) if kind == "prices" else number


def examples(rows, weights=None):
    """Rows as a served model learns them."""
    found = []
    for k, (features, label) in enumerate(rows):
        line = labelled_line("label", json.dumps(label).encode(), json.dumps(features).encode())
        found.append(Example(line, 1.0 if weights is None else weights[k], k + 1))
    return found


def trained(folder, rows, *options, weights=None):
    """The bytes of the model file that ``confidently train`` makes of rows."""
    source, target = folder / "rows.jsonl", folder / "trained.cw"
    lines = [
        {"label": label} | ({} if weights is None else {"weight_": weights[k]}) | features
        for k, (features, label) in enumerate(rows)
    ]
    source.write_text(as_lines(lines))
    given = [] if weights is None else ["--weight", "weight_"]
    single = [] if {"--auto", "--init-model", "--regression"} & {*options} else ["--rule=arow"]  # as servers train
    assert run(["train", str(source), "--no-shuffle", *single, "-o", str(target), *options, *given]) == 0
    if weights is not None:  # rows of the server have their weights beside them, not among their columns
        model = Model.load(target)
        model.source["weight"] = None
        model.save(target)
    return target.read_bytes()


def rewarded(folder, rows, **settings):
    """The bytes of the file of a ``DecisionModel`` that learns rows of decisions, with their rewards and weights."""
    model = DecisionModel(**settings)
    for row in rows:
        part = row["features"]
        action = Action(part["arm"], part.get("action"))
        context = in_slot(part.get("context"), part.get("slot"))
        model.learn(context, action, row["label"], row.get("weight", 1.0))
    model.save(folder / "rewarded.cw")
    return (folder / "rewarded.cw").read_bytes()
