"""A table with columns of all kinds, as people have it, for the doors through which a frame may come."""

import numpy as np
import pandas as pd


def mixed_table(n=240, seed=0):
    """Return numbers of several types, few and many strings, dates, marks of missing values, and the labels."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**7, n), unit="s").as_unit("us")
    frame = pd.DataFrame({
        "x": rng.normal(size=n),
        "count": rng.integers(0, 9, n),
        "unsigned": rng.integers(0, 2**40, n).astype("uint64"),
        "yes": rng.random(n) < 0.5,
        "town": rng.choice(["rome", "oslo", "bern"], n),
        "level": pd.Categorical(rng.choice(["low", "high"], n)),
        "id": [f"u{k}" for k in rng.integers(0, n // 2, n)],
        "when": days,
        "zoned": days.tz_localize("UTC").tz_convert("Europe/Rome"),
        "day": [f"2024-{month:02}-01" for month in rng.integers(1, 13, n)],
        "mark": np.where(rng.random(n) < 0.1, -999.0, rng.normal(size=n).round(2)),
        "word": rng.choice(["1", "2", "NA"], n),
        "zip": rng.choice(["00501", "94110"], n),
        "maybe": pd.array(np.where(rng.random(n) < 0.2, None, rng.integers(0, 5, n)), dtype="Int64"),
        "flag": pd.array(np.where(rng.random(n) < 0.2, None, rng.random(n) < 0.5), dtype="boolean"),
        "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
    })  # fmt: skip
    score = frame["x"] + (frame["town"] == "rome") + frame["maybe"].fillna(0).astype(float) / 5
    frame["label"] = np.where(score > 0.8, "many", "few")
    frame["price"] = score.astype(float)
    return frame
