"""``confidently demo``: learners of handwritten digits, probabilities, prediction sets, abstention and a plot."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..options.arguments import NONNEGATIVE_INTEGER, json_option
from ..options.command import Command
from ..options.files import OutputFolder
from ..options.plot import can_plot
from ..output.text import say

if TYPE_CHECKING:
    import numpy as np

DEMO_RULES = ("cw_stdev", "arow")
TRAIN = 1200
CURVE_STRIDE = 10  # rows between two points of a learning curve
COVERAGES, SHOWN_COVERAGE = (0.9, 0.95, 0.99), 0.99  # of prediction sets
RISK = 0.02  # largest fraction of the answers that may be wrong
SHOWN = 5  # digits shown of the most and of the least certain
WIDTH = 80  # characters, of text on a wide terminal
INK = 0.45  # pixels darker than this fraction of the darkest are drawn


EXAMPLES = ("confidently demo",)


@click.command(cls=Command, examples=EXAMPLES)
@click.option(
    "--out", default="confidently-demo", metavar="FOLDER", type=OutputFolder(),
    help="Write the model and the plot to this folder.",
)  # fmt: skip
@click.option("--seed", default=0, type=NONNEGATIVE_INTEGER, help="Shuffle the digits with this seed.")
@json_option
def demo(out: Path, seed: int, as_json: bool) -> None:
    """Train on 1,200 digits and predict 597 more, with probabilities, prediction sets and abstention.

    Compares AutoClassifier and two single rules by the progressive validation error (predict each digit, then train on
    it), and with scikit-learn's SGDClassifier by the error on held-out digits. Saves the AutoClassifier, loads it
    again, shows its most and least certain predictions, how often its sets have the true digit, and which answers it
    withholds, and plots learning curves and the weights of a rule. Plots need matplotlib.
    """
    from ...estimators.auto import AutoClassifier
    from ...estimators.loading import load

    data = Digits(seed)
    runs = [_run("AutoClassifier", AutoClassifier(), data), *(_run_rule(rule, data) for rule in DEMO_RULES)]
    peer = {"name": "SGDClassifier", "progressive_error": None, "test_error": _error_of_sgd(data), "updates": None}
    out.mkdir(parents=True, exist_ok=True)
    model_path, plot_path = out / "digits.cw", out / "digits.png"
    runs[0]["classifier"].save(model_path)
    model = load(model_path)
    probabilities = model.predict_proba(data.X_test)
    sets = model.predict_set(data.X_test, SHOWN_COVERAGE)
    order = probabilities.max(axis=1).argsort()
    drawn = can_plot()
    if drawn:
        from ..output.plots import plot_demo, save_plot

        save_plot(plot_demo(runs, runs[1]["classifier"], CURVE_STRIDE), str(plot_path))
    results = {
        "learners": [*({key: run[key] for key in peer} for run in runs), peer],
        "model": str(model_path),
        "plot": str(plot_path) if drawn else None,
        "sets": [_sets(model, data, coverage) for coverage in COVERAGES],
        "abstention": _abstention(model, data),
        "least_certain": [_digit(data, probabilities, sets, i) for i in order[:SHOWN]],
        "most_certain": [_digit(data, probabilities, sets, i) for i in order[::-1][:SHOWN]],
    }
    say(json.dumps(results) if as_json else _report(results, data))


class Digits:
    """scikit-learn's digits, scaled to unit L2 norm and shuffled: training and test set."""

    def __init__(self, seed: int) -> None:
        import numpy as np
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(X))
        X, y = X[order] / np.linalg.norm(X[order], axis=1, keepdims=True), y[order]
        self.X_train, self.X_test, self.y_train, self.y_test = X[:TRAIN], X[TRAIN:], y[:TRAIN], y[TRAIN:]


def _run_rule(rule: str, data: Digits) -> dict[str, Any]:
    from ...estimators.classifier import OnlineClassifier
    from ...rules import RULES

    return _run(RULES[rule].__name__, OnlineClassifier(rule, view=None), data)


def _error_of_sgd(data: Digits) -> float:
    from sklearn.linear_model import SGDClassifier

    peer = SGDClassifier(random_state=0).partial_fit(data.X_train, data.y_train, classes=range(10))  # one pass
    return float((peer.predict(data.X_test) != data.y_test).mean())


def _run(name: str, model: Any, data: Digits) -> dict[str, Any]:
    """Train in one pass; return the learning curve, errors and classifier."""
    from ...evaluation.progressive import progressive_validation

    curve = progressive_validation(model, data.X_train, data.y_train, classes=range(10), at=CURVE_STRIDE)
    classifier = curve.models[0]
    return {
        "name": name,
        "classifier": classifier,
        "curve": curve.error[0],
        "progressive_error": float(curve.error[0, -1]),
        "test_error": float((classifier.predict(data.X_test) != data.y_test).mean()),
        "updates": getattr(classifier, "updates_", None),
    }


def _sets(model: Any, data: Digits, coverage: float) -> dict[str, float]:
    """Return how often the sets of held-out digits have the true one, and how large they are."""
    sets = model.predict_set(data.X_test, coverage)
    has_true = sets[range(len(sets)), data.y_test]  # the classes are the digits in order
    return {"asked": coverage, "coverage": float(has_true.mean()), "size": float(sets.sum(axis=1).mean())}


def _abstention(model: Any, data: Digits) -> dict[str, Any]:
    """Return how many held-out digits are answered, and how many of the answers are wrong."""
    answered = ~model.abstain(data.X_test, RISK)
    wrong = model.predict(data.X_test)[answered] != data.y_test[answered]
    return {"risk": RISK, "answered": int(answered.sum()), "wrong": int(wrong.sum())}


def _digit(data: Digits, probabilities: np.ndarray, sets: np.ndarray, i: int) -> dict[str, Any]:
    guess = int(probabilities[i].argmax())
    return {
        "row": int(i),
        "predicted": guess,
        "true": int(data.y_test[i]),
        "probability": float(probabilities[i, guess]),
        "set": sets[i].nonzero()[0].tolist(),
    }


def _report(results: dict[str, Any], data: Digits) -> str:
    lines = [
        f"Handwritten digits: one pass over {TRAIN:,}, {len(data.y_test)} held out",
        "",
        f"{'learner':<16}{'progressive validation error':>29}{'held-out error':>16}{'updates':>9}",
    ]
    for run in results["learners"]:
        updates = "" if run["updates"] is None else f"{run['updates']:,}"
        progressive = "" if run["progressive_error"] is None else f"{run['progressive_error']:.1%}"
        lines.append(f"{run['name']:<16}{progressive:>28}{run['test_error']:>15.1%}{updates:>10}".rstrip())
    lines += ["", _filled(f"Saved {results['model']} (AutoClassifier) and loaded it again.")]
    lines += ["", "Its most certain predictions of held-out digits, with their probabilities:"]
    lines += _gallery(results["most_certain"], data, lambda digit: f"{digit['predicted']} {digit['probability']:.0%}")
    lines += [
        _filled(
            f"The least certain ones, with the digits that cannot be excluded (such a set has the true one with a "
            f"probability of {SHOWN_COVERAGE:.0%}) and, where the prediction is wrong, the true one:"
        )
    ]
    lines += _gallery(results["least_certain"], data, lambda digit: "/".join(map(str, digit["set"])) or "none")
    lines += ["Sets of all held-out digits:", "", f"{'asked for':>9}{'with the true digit':>21}{'digits per set':>16}"]
    lines += [f"{one['asked']:>9.0%}{one['coverage']:>21.1%}{one['size']:>16.2f}" for one in results["sets"]]
    of, plot = results["abstention"], results["plot"]
    lines += ["", _filled(
        f"If at most {of['risk']:.0%} of the answers may be wrong, {of['answered']} of {len(data.y_test)} digits are "
        f"answered, {of['wrong']} of them wrongly, and the others are left to a person."
    )]  # fmt: skip
    lines += [
        "",
        _filled(f"Plot: {plot}" if plot else "No plot: matplotlib is not installed; run pip install matplotlib"),
    ]
    return "\n".join(lines)


def _filled(text: str) -> str:
    """Return text in lines that fit the terminal, cut between words."""
    width = min(WIDTH, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def _gallery(digits: list[dict[str, Any]], data: Digits, caption: Callable[[dict[str, Any]], str]) -> list[str]:
    """Digits side by side in half blocks, as many per line as the terminal fits; wrong captions have the true one."""
    width = 16
    per_line = max(1, min(len(digits), shutil.get_terminal_size().columns // width))
    lines = []
    for start in range(0, len(digits), per_line):
        some = digits[start : start + per_line]
        art = [_half_blocks(data.X_test[digit["row"]]) for digit in some]
        lines += ["", *("".join(f"{digit[k]:<{width}}" for digit in art).rstrip() for k in range(4))]
        wrong = ["" if digit["predicted"] == digit["true"] else f" (is {digit['true']})" for digit in some]
        captions = [caption(digit) + mark for digit, mark in zip(some, wrong, strict=True)]
        lines.append("".join(f"{text:<{width}}" for text in captions).rstrip())
    return [*lines, ""]


def _half_blocks(pixels: np.ndarray) -> list[str]:
    """An 8 x 8 image in four lines: each character is two pixels, one above the other."""
    dark = pixels.reshape(8, 8) > INK * pixels.max()
    blocks = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
    return [
        "".join(blocks[bool(a), bool(b)] for a, b in zip(dark[k], dark[k + 1], strict=True)) for k in range(0, 8, 2)
    ]
