"""Rounds on up to 1,000 partitions, simulated with measured constants, with a tree of merges and without.

Measured, in processor time: bytes of a base and of changes, also of those that are merged from 4, 16 and 64; seconds to
merge four changes, and to pickle a base and read it again. Two learners: a diagonal covariance on 2^18 hashed features,
60 per row, and a shared covariance of 1,000 features. Assumed: executors with four slots, as many slots as partitions,
links of 10 Gbit/s in each direction, a millisecond to start a message, and five for the driver to start a task.
Simulated: one round of Spark, in which each level of the tree is a stage that waits for the one before. Nodes that have
the base pass it on. A link has one transfer at a time.
"""

from __future__ import annotations

import heapq
import pickle
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import arguments, machine, markdown, table, write_json

from confidently import AROW, OnlineClassifier
from confidently.data import open_stream
from confidently.models.model import Model
from confidently.rounds.change import advanced
from confidently.rounds.rounds import FAN_IN, groups
from confidently.rounds.tasks import Job, Learned, learn_files, merge_learned

PARTITIONS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
SLOTS, BANDWIDTH, LATENCY, LAUNCH = 4, 1.25e9, 0.001, 0.005  # per executor, bytes per second, seconds, seconds per task
CELLS = 64
HEADER = ["learner", "partitions", "MB moved", "through the driver", "without a tree", "seconds", "without a tree"]


@dataclass
class Costs:
    """What one round costs, by measurement.

    ``change_bytes`` and ``merge_seconds`` are those of changes of 1, 4, 16, ... cells; of more, those of the last.
    """

    base_bytes: int
    pickle_seconds: float
    unpickle_seconds: float
    apply_seconds: float
    change_bytes: list[int]
    merge_seconds: list[float]

    def bytes_at(self, level: int) -> int:
        return self.change_bytes[min(level, len(self.change_bytes) - 1)]

    def seconds_at(self, level: int, n: int) -> float:
        """Return the seconds to merge ``n`` changes of a level."""
        return self.merge_seconds[min(level, len(self.merge_seconds) - 1)] * n / FAN_IN


@dataclass
class Cluster:
    """When each link is free again; node 0 is the driver."""

    n_nodes: int
    moved: float = 0.0
    through_driver: float = 0.0
    out: dict[int, float] = field(default_factory=dict)
    into: dict[int, float] = field(default_factory=dict)

    def send(self, source: int, target: int, n_bytes: float, ready: float) -> float:
        """Return when a message that is ready has arrived."""
        if source == target:
            return ready
        began = max(ready, self.out.get(source, 0.0), self.into.get(target, 0.0))
        ended = self.out[source] = self.into[target] = began + LATENCY + n_bytes / BANDWIDTH
        self.moved += n_bytes
        self.through_driver += n_bytes * (0 in (source, target))
        return ended

    def broadcast(self, n_bytes: float, ready: float) -> list[float]:
        """Return when each node has what the driver has; those that have it pass it on."""
        arrived, holders = [ready], [(ready, 0)]
        for node in range(1, self.n_nodes + 1):
            free, source = heapq.heappop(holders)
            ended = self.send(source, node, n_bytes, free)
            arrived.append(ended)
            for holder in (source, node):
                heapq.heappush(holders, (ended, holder))
        return arrived


def simulated(costs: Costs, partitions: int, tree: bool) -> tuple[float, Cluster]:
    """Return the seconds of a round besides training, and the cluster with what it has moved."""
    cluster = Cluster(-(-partitions // SLOTS))

    def node_of(k: int) -> int:
        return 1 + k % cluster.n_nodes

    arrived = cluster.broadcast(costs.base_bytes, costs.pickle_seconds)
    ready = [max(arrived[node_of(k)], k * LAUNCH) + costs.unpickle_seconds for k in range(partitions)]
    where, level = [node_of(k) for k in range(partitions)], 0
    while tree and len(ready) > FAN_IN:
        began = max(ready)  # a stage waits for the one before
        following, places = [], []
        for number, group in enumerate(groups(range(len(ready)))):
            place = node_of(number)
            started = began + number * LAUNCH
            there = max(cluster.send(where[k], place, costs.bytes_at(level), started) for k in group)
            following.append(there + costs.seconds_at(level, len(group)))
            places.append(place)
        ready, where, level = following, places, level + 1
    order = sorted(range(len(ready)), key=lambda k: ready[k])
    there = max(cluster.send(where[k], 0, costs.bytes_at(level), ready[k]) for k in order)
    return there + costs.seconds_at(level, len(ready)) + costs.apply_seconds, cluster


def rows_of_words(path: Path, n: int, random: np.random.Generator, columns: int = 2**18) -> None:
    """Write rows of hashed words, whose frequencies fall as those of words do."""
    found = (columns * random.random((n, 60)) ** 4).astype(int) * 40_503 % columns
    labels = random.integers(2, size=n)
    lines = (f"{y} " + " ".join(f"{j + 1}:1" for j in np.unique(row)) for y, row in zip(labels, found, strict=True))
    path.write_text("\n".join(lines) + "\n")


def rows_of_numbers(path: Path, n: int, random: np.random.Generator, columns: int = 1000) -> None:
    """Write dense rows."""
    X, labels = random.normal(size=(n, columns)).round(2), random.integers(2, size=n)
    lines = (
        f"{y} " + " ".join(f"{j}:{x}" for j, x in enumerate(row, 1)) for y, row in zip(labels, X.tolist(), strict=True)
    )
    path.write_text("\n".join(lines) + "\n")


def took(task: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of a task, and its result."""
    began = time.process_time()
    found = task()
    return time.process_time() - began, found


def merged_each(base: Model, in_groups: Sequence[Sequence[Learned]], job: Job) -> list[Learned]:
    return [merge_learned(base, group, job) for group in in_groups]


def measured(classifier: OnlineClassifier, write: Callable[..., None], n_rows: int, folder: Path) -> Costs:
    """Return the costs of rounds with cells of so many rows."""
    random = np.random.default_rng(0)
    paths = [folder / f"{k}.svm" for k in range(CELLS + 1)]
    for path in paths:
        write(path, n_rows, random)
    base: Model = classifier.fit_stream(open_stream(paths[0])).as_model()
    job = Job(open_stream(paths[0]).reading)
    learned: list[Learned] = [learn_files(base, [str(path)], job, True, (0,)) for path in paths[1:]]
    n_bytes, merging = [len(pickle.dumps(learned[0]))], []
    while len(learned) > 1:
        in_groups = groups(learned)
        spent, learned = took(partial(merged_each, base, in_groups, job))
        merging.append(spent / len(in_groups))
        n_bytes.append(len(pickle.dumps(learned[0])))
    pickling, content = took(lambda: pickle.dumps(base, protocol=pickle.HIGHEST_PROTOCOL))
    unpickling, _ = took(lambda: pickle.loads(content))
    applying, _ = took(lambda: advanced(base, learned[0].change))
    return Costs(len(content), pickling, unpickling, applying, n_bytes, merging)


LEARNERS = {
    "diagonal, 2^18 features": (OnlineClassifier(AROW(r=0.1), view=None), rows_of_words, 5000),
    "shared, 1,000 features": (OnlineClassifier(AROW(r=0.1), covariance="shared", view=None), rows_of_numbers, 100),
}


def main() -> None:
    options = arguments(__doc__)
    print(machine())
    rows, result = [], {}
    for name, (classifier, write, n_rows) in LEARNERS.items():
        with tempfile.TemporaryDirectory() as folder:
            costs = measured(classifier, write, n_rows, Path(folder))
        print(name, costs, sep="\n", flush=True)
        result[name] = {"costs": vars(costs), "rounds": []}
        for n in PARTITIONS:
            (with_tree, cluster), (without, plain) = (simulated(costs, n, tree) for tree in (True, False))
            result[name]["rounds"].append(
                [n, cluster.moved, cluster.through_driver, plain.through_driver, with_tree, without]
            )
            moved = [f"{one / 1e6:,.0f}" for one in (cluster.moved, cluster.through_driver, plain.through_driver)]
            rows.append([name, str(n), *moved, f"{with_tree:.2f}", f"{without:.2f}"])
    print(table(HEADER, rows), markdown(HEADER, rows), sep="\n\n")
    write_json(options.json, result)


if __name__ == "__main__":
    main()
