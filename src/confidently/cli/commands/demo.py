"""``confidently demo``: several rules on handwritten digits, probabilities, a saved model, a plot."""

from __future__ import annotations

import json
import shutil
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

DEMO_RULES = ("cw_stdev", "arow", "gibbs_pa", "pa", "iellip")
PRIOR_VARIANCE = {"iellip": 0.1}  # as in its paper's experiments
TRAIN = 1200
CURVE_STRIDE = 10  # rows between two points of a learning curve
SHOWN = 10  # digits shown of the most and of the least certain
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
    """Train on 1,200 digits and predict 597 more with probabilities.

    Compares five rules with scikit-learn's SGDClassifier: the progressive validation error (predict each digit, then
    train on it) and the error on held-out digits. Saves the CW-Stdev model, loads it again, shows the most and least
    certain predictions, and plots learning curves and weights. Plots need matplotlib.
    """
    from ...estimators.loading import load

    data = Digits(seed)
    runs = [_run_rule(rule, data) for rule in DEMO_RULES]
    runs.append(_run_sgd(data))
    out.mkdir(parents=True, exist_ok=True)
    model_path, plot_path = out / "digits.cw", out / "digits.png"
    runs[0]["classifier"].save(model_path)
    model = load(model_path)
    probabilities = model.predict_proba(data.X_test)
    order = probabilities.max(axis=1).argsort()
    drawn = can_plot()
    if drawn:
        from ..output.plots import plot_demo, save_plot

        save_plot(plot_demo(runs, model, CURVE_STRIDE), str(plot_path))
    results = {
        "rules": [{key: run[key] for key in ("name", "progressive_error", "test_error", "updates")} for run in runs],
        "model": str(model_path),
        "plot": str(plot_path) if drawn else None,
        "least_certain": [_digit(data, probabilities, i) for i in order[:SHOWN]],
        "most_certain": [_digit(data, probabilities, i) for i in order[::-1][:SHOWN]],
    }
    say(json.dumps(results) if as_json else _report(results, data, order))


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

    return _run(
        RULES[rule].__name__, OnlineClassifier(rule, prior_variance=PRIOR_VARIANCE.get(rule, 1.0), view=None), data
    )


def _run_sgd(data: Digits) -> dict[str, Any]:
    from sklearn.linear_model import SGDClassifier

    run = _run("SGDClassifier", SGDClassifier(random_state=0), data)
    del run["classifier"]
    return run | {"updates": None}


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


def _digit(data: Digits, probabilities: np.ndarray, i: int) -> dict[str, Any]:
    guess = int(probabilities[i].argmax())
    return {
        "row": int(i),
        "predicted": guess,
        "true": int(data.y_test[i]),
        "probability": float(probabilities[i, guess]),
    }


def _report(results: dict[str, Any], data: Digits, order: np.ndarray) -> str:
    lines = [
        f"Handwritten digits: one pass over {TRAIN:,}, {len(data.y_test)} held out",
        "",
        f"{'learner':<16}{'progressive validation error':>29}{'held-out error':>16}{'updates':>9}",
    ]
    for run in results["rules"]:
        updates = "" if run["updates"] is None else run["updates"]
        lines.append(f"{run['name']:<16}{run['progressive_error']:>28.1%}{run['test_error']:>15.1%}{updates:>10}")
    lines += ["", f"Saved {results['model']} (CWStdev) and loaded it again. Its most certain held-out predictions:"]
    lines += _gallery(results["most_certain"], data)
    lines += ["Its least certain ones:"]
    lines += _gallery(results["least_certain"], data)
    lines += ["Each caption is the predicted digit, its probability and, where that is wrong, the true digit."]
    plot = results["plot"]
    lines += ["", f"Plot: {plot}" if plot else "No plot: matplotlib is not installed; run pip install matplotlib"]
    return "\n".join(lines)


def _gallery(digits: list[dict[str, Any]], data: Digits) -> list[str]:
    """Digits side by side in half blocks, as many per line as the terminal fits."""
    width = 14
    per_line = max(1, min(len(digits), shutil.get_terminal_size().columns // width))
    lines = []
    for start in range(0, len(digits), per_line):
        some = digits[start : start + per_line]
        art = [_half_blocks(data.X_test[digit["row"]]) for digit in some]
        lines += ["", *("".join(f"{digit[k]:<{width}}" for digit in art).rstrip() for k in range(4))]
        lines.append("".join(f"{_caption(digit):<{width}}" for digit in some).rstrip())
    return [*lines, ""]


def _caption(digit: dict[str, Any]) -> str:
    text = f"{digit['predicted']} {digit['probability']:.0%}"
    return text if digit["predicted"] == digit["true"] else f"{text} (is {digit['true']})"


def _half_blocks(pixels: np.ndarray) -> list[str]:
    """An 8 x 8 image in four lines: each character is two pixels, one above the other."""
    dark = pixels.reshape(8, 8) > INK * pixels.max()
    blocks = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
    return [
        "".join(blocks[bool(a), bool(b)] for a, b in zip(dark[k], dark[k + 1], strict=True)) for k in range(0, 8, 2)
    ]
