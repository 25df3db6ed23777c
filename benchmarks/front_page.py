"""Log-loss on the clicks of the README: AutoClassifier on the raw table, and scikit-learn on prepared columns."""

from __future__ import annotations

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from confidently import AutoClassifier
from confidently.samples import clicks

TRAINING = 8000  # rows of 10,000


def main() -> None:
    """Print a log-loss per classifier."""
    raw = pd.DataFrame(clicks(10_000))
    raw["time"] = pd.to_datetime(raw["time"])
    label, rows = raw.pop("click"), slice(TRAINING)
    prepared = raw.drop(columns="time").assign(hour=raw["time"].dt.hour, weekday=raw["time"].dt.day_of_week)
    for name in prepared.select_dtypes(exclude="number"):
        prepared[name] = prepared[name].astype("category")
    one_hot = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=1000))
    for classifier, X in (
        (AutoClassifier(), raw), (HistGradientBoostingClassifier(categorical_features="from_dtype"), prepared),
        (one_hot, prepared.astype(str)),
    ):  # fmt: skip
        p = classifier.fit(X[rows], label[rows]).predict_proba(X[TRAINING:])
        print(f"{log_loss(label[TRAINING:], p):.3f}  {type(classifier).__name__}")


if __name__ == "__main__":
    main()
