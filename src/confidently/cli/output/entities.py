"""Text about models of entities."""

from __future__ import annotations

from typing import Any

from .text import digits, percent, table


def entities_text(result: dict[str, Any]) -> str:
    """Return a summary of training."""
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
    shares = ", ".join(f"{variance}: {share:.2f}" for variance, share in result["variance_weights"].items())
    lines.append(["weights of variances", shares])
    if "model_bytes" in result:
        lines.append(["saved", f"{result['model']} ({result['model_bytes']:,} bytes)"])
    return table(lines, align=str.ljust)
