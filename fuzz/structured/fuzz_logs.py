"""Logs of decisions with random changes of what their lines hold: decisions that a model learns from, or one error."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from mutation import changed, mutated_json
from running import run

from confidently.bandits import DecisionModel, read_cb_adf, read_decisions
from confidently.data import DataError

LABEL = {"_labelIndex": 1, "_label_Action": 2, "_label_Cost": -1.0, "_label_Probability": 0.5}
SHARED = {"day": {"warm": 1, "wind": "north"}, "_text": "wet day"}
EVENT = {
    "EventId": "e", "_label_cost": -1.0, "_label_probability": 0.5, "_labelIndex": 0, "a": [1, 2], "p": [0.5, 0.5],
    "pdrop": 0.25, "c": {"FromUrl": [SHARED], "_multi": [{"_tag": "a", "i": {"id": "a"}, "j": [{"f": 1}]}, {"f": 2}]},
}  # fmt: skip
SLOTS = {
    "c": {**SHARED, "_multi": [{"f": 1}, {"f": 2}], "_slots": [{"_inc": [0, 1], "s": 1}, {"_id": "end"}]},
    "_outcomes": [{"_label_cost": -1.0, "_a": [1, 0], "_p": [0.6, 0.4]}, {"_a": [0], "_p": [1]}],
}
OWN = {
    "context": {"age": 3, "tags": ["a", {"b": 1}]}, "chosen": "b", "probability": 0.5, "reward": 1, "id": 7,
    "actions": ["a", {"id": "b", "features": {"x": 2}, "cost": 0.1}, {"id": "c", "excluded": True}],
}  # fmt: skip
LINES: dict[str, Any] = {
    "own": OWN, "dsjson": EVENT, "slots": SLOTS, "json": {**SHARED, **LABEL, "_multi": [{"f": 1}, {"f": "x"}]},
    "label": {"_multi": [{"f": 1, "_label": {"Action": 1, "Cost": 0, "Probability": 1}}, {"_label": "2:1"}]},
    "cb json": {**SHARED, "_label": "1:0.5:0.25 2:1"},
}  # fmt: skip
TEXTS = {
    "adf": "shared 'day | warm:2 wind=north\n0:1:0.5 |dish soup |price :2\na2| bread:0.5\n\n",
    "cb": "1:0:0.5 |guest old:2\n2 3:-1:0.25 'tag |guest young |day hot\n1:1 2:2:1 | x\n",
    "csv": "chosen,probability,reward,position,day,x,city\na,0.5,1,1,2024-01-31,2.5,rome\nb,0.25,,2,2024-02-01,,oslo\n",
}
PARTS = (
    "", " ", "|", ":", "\n", "\n\n", ",", '"', "shared", "ccb", "nan", "inf", "-1", "1e999", "0", "9" * 20,
    "'", "\x00", "\ufeff", "é", "a" * 300, "1:1:1", "\r", ";", "\t",
)  # fmt: skip


def inputs(random: Random, folder: Path) -> Iterator[Path]:
    """Yield files of sound lines, of which a few have random changes."""
    for kind in (*LINES, *TEXTS):
        check(_written(folder, kind, random, lambda content, random: content))  # imports are not measured
    while True:
        kind = random.choice((*LINES, *TEXTS))
        yield _written(folder, kind, random, mutated_json if kind in LINES else mutated_text)


def _written(folder: Path, kind: str, random: Random, mutated: Callable[[Any, Random], Any]) -> Path:
    if kind in LINES:
        path, lines = folder / f"{kind}.json", [LINES[kind]] * 3
        lines[random.randrange(3)] = changed(LINES[kind], mutated, random)
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        text = text if random.random() < 0.8 or mutated is not mutated_json else changed(text, mutated_text, random)
    else:
        path, text = folder / f"{kind}.{'csv' if kind == 'csv' else 'vw'}", changed(TEXTS[kind] * 3, mutated, random)
    path.write_bytes(text.encode(errors="surrogatepass"))
    return path


def mutated_text(text: str, random: Random) -> str:
    """Return text in which a part is another one, twice there or absent."""
    first = random.randrange(len(text) + 1)
    last = min(first + random.choice((0, 1, 1, 3, 20)), len(text))
    return text[:first] + random.choice((random.choice(PARTS), text[first:last] * 2)) + text[last:]


def check(path: Path) -> None:
    """Raise for anything but finite decisions, which a model learns from, and a DataError of one line."""
    actions = 4 if path.stem.startswith("cb") else None
    with warnings.catch_warnings(action="ignore"):
        for on_error in ("stop", "skip", 1):
            try:
                log = read_decisions(path, actions=actions, on_error=on_error)
                found = list(log)
            except DataError as error:
                assert "\n" not in str(error) and 0 < len(str(error)) < 2000, str(error)
                assert str(path) in str(error)
                continue
            assert len(log.skipped_examples) == min(log.skipped, 5) or path.suffix == ".csv"
            model = DecisionModel(reward_range=(-1e6, 1e6))
            for one in found:
                assert 0 < one.probability <= 1 and one.weight > 0
                if one.reward is not None:
                    assert math.isfinite(one.reward)
                    if abs(one.reward) < 1e6:
                        model.learn(one.context, one.actions[one.chosen], one.reward, one.weight)
        if path.suffix == ".vw":
            try:
                list(read_cb_adf(path))
            except DataError as error:
                assert "\n" not in str(error)


if __name__ == "__main__":
    run("logs", inputs, check)
