"""Writers of formats with one row per line: svmlight, VW text, JSON lines."""

from __future__ import annotations

import json
import re
from typing import Any

from ..batch import DataError
from .rows import LABEL, TAG, WEIGHT, Row, number

NOT_IN_VW = re.compile(r"[\s:|]")
NOT_IN_LABELS = re.compile(r"[\s,:|#']")


def svmlight_line(row: Row) -> str:
    """``labels [cost:weight] index:value ...``"""
    cost = [] if row.weight == 1.0 else [f"cost:{number(row.weight)}"]
    return " ".join([_joined(row.labels, "svmlight"), *cost, *(f"{j}:{number(x)}" for j, x in row.features)]) + "\n"


def vw_line(row: Row) -> str:
    """``[labels [weight]] ['tag]| name[:value] ...``"""
    labels = _joined(row.labels, "VW text")
    weight = "" if row.weight == 1.0 else number(row.weight)
    if weight and not labels:
        raise DataError("VW text cannot hold a weight without a label; write JSON lines (--to jsonl)")
    head = " ".join(part for part in (labels, weight) if part)
    features = [_vw_name(name) + ("" if x == 1.0 else f":{number(x)}") for name, x in row.features]
    tag = f"'{_vw_name(row.tag)}" if row.tag else ""
    return " ".join([*([head] if head else []), f"{tag}|", *features]) + "\n"


def _vw_name(name: Any) -> str:
    text = str(name)
    if not text or NOT_IN_VW.search(text):
        raise DataError(
            f"VW text cannot hold the name {text!r}, which is empty or has spaces, colons or bars; write JSON "
            "lines (--to jsonl)"
        )
    return text


def _joined(labels: Any, where: str) -> str:
    """Return labels as in svmlight and VW text."""
    texts = [str(label) for label in (labels if isinstance(labels, list) else [] if labels is None else [labels])]
    for text in texts:
        if not text or NOT_IN_LABELS.search(text):
            raise DataError(f"{where} cannot hold the label {text!r}; write JSON lines (--to jsonl)")
    return ",".join(texts)


def json_line(row: Row) -> str:
    """``{"label": ..., "weight": ..., name: value, ...}``"""
    found: dict[str, Any] = {} if row.labels is None else {LABEL: row.labels}
    if row.weight != 1.0:
        found[WEIGHT] = row.weight
    if row.tag:
        found[TAG] = row.tag
    features = {str(name): int(x) if x == int(x) and abs(x) < 1e15 else x for name, x in row.features}
    if clash := found.keys() & features.keys():
        raise DataError(f"a feature is called {clash.pop()!r}, like another key of the row; rename it")
    return json.dumps(found | features, ensure_ascii=False) + "\n"
