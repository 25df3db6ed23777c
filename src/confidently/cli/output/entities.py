"""Text about models of entities."""

from __future__ import annotations

from typing import Any

from ...wording import counted
from .text import digits, percent, shown, table


def entities_text(result: dict[str, Any]) -> str:
    """Return a summary of a model."""
    lines = [
        ["rows", f"{result['rows']:,}"],
        ["entities", f"{result['entities']:,} values of {result['key']}"],
        ["features", f"{result['features']:,}"],
    ]
    if "error" in result:
        lines += [
            ["progressive validation error", percent(result["error"])],
            ["log-loss", f"{result['log_loss']:.4f} per row"],
        ]
    else:
        lines += [["progressive RMSE", digits(result["rmse"])], ["progressive MAE", digits(result["mae"])]]
    if "variance_weights" in result:
        shares = ", ".join(f"{variance}: {share:.2f}" for variance, share in result["variance_weights"].items())
        lines.append(["weights of variances", shares])
    else:
        own = ", ".join(f"{shown(name)}: {digits(one**0.5)}" for name, one in result["entity_variance"].items())
        lines += [["standard deviation of the noise", digits(result["noise_variance"] ** 0.5)], ["of entities", own]]
    if "model_bytes" in result:
        lines.append(["saved", f"{result['model']} ({result['model_bytes']:,} bytes)"])
    return table(lines, align=str.ljust)


def deviation_text(result: dict[str, Any]) -> str:
    """Return what an entity deviates from the shared model by."""
    rows, age, n = counted(result["rows"], "row"), counted(result["rows_ago"], "row"), result["n_weights"]
    title = f"{result['key']}: {rows}, the last one {age} ago; the largest of {counted(n, 'deviation')}"
    if result["classes"] is None:
        lines = [["feature", "mean", "std"]]
        lines += [[one["feature"], f"{one['mean']:+.4g}", f"{one['std']:.4g}"] for one in result["weights"]]
    else:
        lines = [["feature", *result["classes"]]]
        lines += [[one["feature"], *(f"{mean:+.4g}" for mean in one["mean"])] for one in result["weights"]]
    return f"{shown(title)}\n{table(lines)}"
