"""The streams on which the field prints its figures, in order of time, beside what others print; nothing is tuned.

Each row is predicted before it is learned. Airlines, airports and the day of the week are categories, as their source
declares them. ``as the last`` predicts the label of the row before: where it does well, labels tell of each other and
not the rows. Figures of others are those that the benchmarks of irithyll print (BENCHMARKS.md of its repository, 2026);
of Covertype they are of all 581,012 rows, ours of the first 100,000.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from harness import FOLDER, arguments, have_data, machine, markdown, table, write_json

from confidently import AutoClassifier, OnlineClassifier, progressive_validation

STREAMS = ("electricity", "airlines", "covertype_100k")
CATEGORIES = ("airline", "from", "to", "day_of_week")
PRINTED = {  # errors in percent
    "River ARF, 25 trees": (10.87, 33.25, 11.42),
    "irithyll SGBT, 100 trees": (11.48, 34.42, 5.44),
    "LightGBM, retrained, the best of three windows": (23.68, 35.40, 40.21),
}
LEARNERS: dict[str, Any] = {"AutoClassifier": AutoClassifier, "arow": OnlineClassifier}


def stream(name: str) -> pd.DataFrame:
    """Return the rows of a stream, with the column label."""
    rows = pd.read_csv(FOLDER / "public_streams" / f"{name}.csv.gz")
    return rows.astype({column: str for column in CATEGORIES if column in rows})


def judged(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return error, log-loss and rows per second of processor time of every learner."""
    label = rows["label"].to_numpy()
    found = {"as the last": {"error": float(np.mean(label[1:] != label[:-1]))}}
    for name, kind in LEARNERS.items():
        start = time.process_time()
        curve = progressive_validation(kind(), rows, "label", at=len(rows))
        seconds = time.process_time() - start
        loss = float(curve.log_loss[0, -1] / len(rows))
        found[name] = {"error": float(curve.error[0, -1]), "log_loss": loss, "rows_per_second": len(rows) / seconds}
    return found


def main() -> None:
    """Print a table of all streams."""
    options = arguments(
        __doc__ or "",
        ("--only", {"choices": STREAMS, "nargs": "+", "default": STREAMS, "help": "only these streams"}),
        ("--rows", {"type": int, "help": "only the first rows of each"}),
    )
    if not have_data():
        return
    print(machine(), flush=True)
    found = {}
    for name in options.only:
        found[name] = judged(stream(name)[: options.rows])
        print(name, found[name], flush=True)
    lines = []
    for learner in ("as the last", *LEARNERS):
        own = [of[learner] for of in found.values()]
        lines.append([learner, *(" / ".join([f"{100 * x['error']:.2f}", *_loss(x)]) for x in own)])
    for other, printed in PRINTED.items():
        errors = dict(zip(STREAMS, printed, strict=True))
        lines.append([f"{other} (printed)", *(f"{errors[name]:.2f}" for name in found)])
    head = ["progressive error in % / log-loss", *found]
    print(table(head, lines), markdown(head, lines), sep="\n\n")
    write_json(options.json, {"streams": found})


def _loss(of: dict[str, float]) -> list[str]:
    return [f"{of['log_loss']:.3f}"] if "log_loss" in of else []


if __name__ == "__main__":
    main()
