"""Full covariance on long streams: does it stay positive definite and close to a reference of higher precision?

A million rows of 200 features with very different scales; the reference (tests/twins/slow_twin.py) sums the inverse of
Sigma in long double and computes Sigma from it every thousand rows.
"""

from __future__ import annotations

import time
from typing import Any

from harness import arguments, machine, table, write_json

from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from tests.twins.slow_twin import RefactoredTwin, correlated_stream, distances

# rule, its parameters, fraction of flipped labels, longest over shortest axis of the rows
STREAMS: list[tuple[str, dict[str, float], float, float]] = [
    ("arow", {"r": 0.1}, 0.1, 1000.0),
    ("cw_stdev", {"phi": 1.0}, 0.0, 10.0),
    ("cw_stdev", {"phi": 1.0}, 0.0, 1000.0),
]


def watched(stream: int, n: int, d: int) -> list[list[Any]]:
    """Return one line per type after 1 %, 10 % and all of the rows."""
    rule, parameters, noise, spread = STREAMS[stream]
    twin, lines, seen, spent = RefactoredTwin(rule, d, **parameters), [], 0, {"float64": 0.0, "float32": 0.0}
    learners = {
        dtype: Learner(Settings(twin.rule_with_parameters(), "full", fit_intercept=False, dtype=dtype), n_features=d)
        for dtype in spent
    }
    for X, y in correlated_stream(n, d, noise, spread=spread, rows=max(1, n // 100)):
        for dtype, learner in learners.items():
            start = time.perf_counter()
            learner.learn(as_matrix(X.astype(dtype)), y)
            spent[dtype] += time.perf_counter() - start
        twin.learn(X, y)
        seen += len(y)
        for dtype, learner in learners.items() if seen in (n // 100, n // 10, n) else ():
            f = distances(learner, twin)
            lines.append([
                rule, f"{noise:g}", f"{spread:g}", dtype, f"{seen:,}", f"{f['least eigenvalue']:.1e}",
                f"{f['condition']:.1e}", f"{f['covariance']:.1e}", f"{f['worst direction']:.1e}", f"{f['mean']:.1e}",
                "{:,} / {:,}".format(*f["mistakes"]), "{:,} / {:,}".format(*f["updates"]),
                f"{seen / spent[dtype]:,.0f}",
            ])  # fmt: skip
            print(*lines[-1], sep="  ", flush=True)
    return lines


def main() -> None:
    options = arguments(
        __doc__,
        ("--rows", {"type": int, "default": 1_000_000, "help": "at least 1000"}),
        ("--features", {"type": int, "default": 200}),
        ("--stream", {"type": int, "choices": range(len(STREAMS)), "action": "append", "help": "default: all"}),
    )
    print(machine())
    lines = []
    for stream in options.stream or range(len(STREAMS)):
        lines += watched(stream, options.rows, options.features)
    head = [
        "rule", "noise", "spread", "type", "rows", "least eigenvalue", "condition", "covariance", "worst direction",
        "mean", "mistakes / reference", "updates / reference", "rows/s",
    ]  # fmt: skip
    print(
        "\nDifferences from the reference: of the largest entry; of the variance in the worst direction; of the mean\n"
    )
    print(table(head, lines))
    if options.json:
        write_json(options.json, {"lines": lines})


if __name__ == "__main__":
    main()
