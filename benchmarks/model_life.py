"""The life of a served model: other settings for one with many rows, and a wrong batch that is taken out again.

While a shadow is trained from the log, and until it answers, a client keeps asking and teaching; every answer that is
not a success is counted. The yardstick of the time is ``confidently train`` on the same rows, alone and beside the same
client. The wrong batch are messages of Enron with their labels exchanged.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
from harness import FOLDER, arguments, have_data, machine, table, write_json
from serve import MODEL, ours, process
from serve import rows as made_rows

NDJSON = {"Content-Type": "application/x-ndjson"}
ROWS, WRONG, ASKED = 100_000, 2012, 1000
TEXTS = {"reading": {"text": ["subject", "body", "text"]}}
OTHERS = ({"rule": "scw1"}, {"auto": True})


def lines_of(rows: list[dict[str, Any]]) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows)


def settings_of(version: dict[str, Any]) -> str:
    return json.dumps(version)


def train(rows: list[dict[str, Any]], folder: Path, given: dict[str, Any]) -> float:
    """Return the seconds of ``confidently train`` on rows."""
    path = folder / "rows.jsonl"
    path.write_bytes(lines_of([row["features"] | {"label": row["label"]} for row in rows]))
    options = ["--auto"] if "auto" in given else [f"--{name}={value}" for name, value in given.items()]
    began = time.perf_counter()
    command = [sys.executable, "-m", "confidently", "train", str(path), "-o", str(folder / "m.cw"), "--quiet", *options]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def beside(address: str, row: dict[str, Any], done: threading.Event, counts: Counter[str]) -> None:
    """Ask and teach in turns, and count the answers."""
    with httpx.Client(base_url=address, timeout=60) as client:
        while not done.is_set():
            for path, body in (("predict", {"features": row["features"]}), ("learn", row)):
                answer = client.post(f"{MODEL}/{path}", json=body)
                counts["answered" if answer.status_code == 200 else "refused"] += 1
            time.sleep(0.005)


def other_settings(folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Put other settings to a model with many rows, and promote them."""
    bodies = [json.loads(body) for body in made_rows(labelled=True)]
    rows = [bodies[k % len(bodies)] for k in range(ROWS)]
    folder.mkdir()
    alone = train(rows, folder, given)
    counts, done = Counter[str](), threading.Event()
    with process(ours(str(folder / "served"))) as (address, _), httpx.Client(base_url=address, timeout=600) as client:
        client.put(MODEL, json={}).raise_for_status()
        client.post(f"{MODEL}/learn?wait=learned", content=lines_of(rows), headers=NDJSON).raise_for_status()
        thread = threading.Thread(target=beside, args=(address, bodies[0], done, counts))
        thread.start()
        busy = train(rows, folder, given)
        counts.clear()
        began = time.perf_counter()
        client.put(MODEL, json=given).raise_for_status()
        level = client.post(f"{MODEL}/versions/2/promote?wait=live").raise_for_status().json()
        seconds = time.perf_counter() - began
        done.set()
        thread.join()
        assert level["state"] == "live"
    return {"settings": settings_of(given), "train": alone, "train beside": busy, "level": seconds, **counts}


def wrong_batch(folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Teach messages, then some with exchanged labels; take these out; return errors on other messages."""
    texts = []
    for name in ("enron1", "enron2"):
        with gzip.open(FOLDER / "enron_spam" / f"{name}.jsonl.gz", "rt") as file:
            for line in file:
                row = json.loads(line)
                texts.append({"label": row.pop("label"), "features": row})
    asked, taught, wrong = texts[:ASKED], texts[ASKED:-WRONG], texts[-WRONG:]
    other = {"ham": "spam", "spam": "ham"}
    wrong = [row | {"label": other[row["label"]]} for row in wrong]

    with process(ours(str(folder))) as (address, _), httpx.Client(base_url=address, timeout=600) as client:

        def error() -> float:
            answer = client.post(
                f"{MODEL}/predict", json={"instances": [{"features": row["features"]} for row in asked]}
            )
            found = answer.raise_for_status().json()["predictions"]
            return sum(one["label"] != row["label"] for one, row in zip(found, asked, strict=True)) / len(asked)

        def learn(rows: list[dict[str, Any]], batch: str) -> None:
            url = f"{MODEL}/learn?wait=learned&batch={batch}"
            client.post(url, content=lines_of(rows), headers=NDJSON).raise_for_status()

        client.put(MODEL, json=given | TEXTS).raise_for_status()
        learn(taught, "right")
        errors = [error()]
        learn(wrong, "wrong")
        errors.append(error())
        began = time.perf_counter()
        client.delete(f"{MODEL}/batches/wrong?wait=live").raise_for_status()
        seconds = time.perf_counter() - began
        errors.append(error())
    return {"settings": settings_of(given), "rows": len(taught) + len(wrong), "errors": errors, "seconds": seconds}


def main() -> None:
    """Measure both, and print them."""
    options = arguments(__doc__ or "")
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        found = {"settings": [other_settings(Path(name) / str(k), given) for k, given in enumerate(OTHERS)]}
        if have_data():
            found["batch"] = [wrong_batch(Path(name) / f"b{k}", given) for k, given in enumerate(({}, {"auto": True}))]
    heads = [
        f"new settings, {ROWS:,} rows",
        "train [s]",
        "beside the client",
        "answers after",
        "answers meanwhile",
        "refused",
    ]
    shown = [
        [one["settings"]]
        + [f"{one[name]:.1f}" for name in ("train", "train beside", "level")]
        + [f"{one['answered']:,}", str(one.get("refused", 0))]
        for one in found["settings"]
    ]
    print(table(heads, shown))
    heads = ["model", "rows", "error before", "with the batch", "without it again", "after [s]"]
    shown = [
        [
            one["settings"],
            f"{one['rows']:,}",
            *(f"{100 * error:.1f} %" for error in one["errors"]),
            f"{one['seconds']:.1f}",
        ]
        for one in found.get("batch", ())
    ]
    print(table(heads, shown))
    write_json(options.json, found)


if __name__ == "__main__":
    main()
