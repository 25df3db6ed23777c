"""Metrics of the server itself for Prometheus: its threads, queues, disk and process."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ... import __version__
from ..engine.engine import Engine
from ..engine.learner_thread import LearnerThread
from ..engine.log_thread import LogThread
from ..log.log_file import FILE
from ..model.snapshots import snapshots
from ..problems import Problem, tried


def watch_health(engine: Engine, registry: CollectorRegistry) -> None:
    """Register the metrics of an engine that are not about single models."""
    registry.register(HealthMetrics(engine))
    ProcessCollector(registry=registry)
    commits = Histogram(
        "confidently_commit_seconds", "Time to write a transaction to the log and to sync it to the disk",
        registry=registry, buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0),
    )  # fmt: skip
    engine.writer.committed_in = commits.observe


class HealthMetrics(Collector):
    """What is measured when it is asked for."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def collect(self) -> Iterator[Metric]:
        """Yield the families of metrics."""
        engine = self.engine
        yield _gauge("build_info", "The version", "version", {__version__: 1.0})
        yield _gauge("ready", "Whether requests are taken", "", {"": float(not isinstance(_open(engine), Problem))})
        threads: dict[str, LogThread | LearnerThread] = {"log": engine.writer, "learner": engine.learner}
        alive = {name: float(one.is_alive) for name, one in {**threads, "trainer": engine.trainer}.items()}
        yield _gauge("thread_alive", "Whether a thread runs", "thread", alive)
        ages = {name: thread.age for name, thread in threads.items()}
        yield _gauge("queue_age_seconds", "How long the oldest request has waited for a thread", "thread", ages)
        hosted = list(engine.hosted.values())
        yield _gauge(
            "learning_lag_seconds", "How long learning the rows that wait will take", "model",
            {one.name: len(one.waiting) * one.live.row_seconds for one in hosted},
        )  # fmt: skip
        written = {}
        for one in hosted:
            with suppress(IndexError, FileNotFoundError):  # there is none yet, or it was just replaced
                written[one.name] = time.time() - snapshots(one.live.folder)[0].stat().st_mtime
        yield _gauge("snapshot_age_seconds", "Time since the newest snapshot was written", "model", written)
        sizes = {}
        for name in (FILE, f"{FILE}-wal"):
            with suppress(FileNotFoundError):
                sizes[name] = float((engine.folder / name).stat().st_size)
        yield _gauge("log_bytes", "Size of the log", "file", sizes)
        free = shutil.disk_usage(engine.folder).free
        yield _gauge("disk_free_bytes", "Free space where the directory is", "", {"": float(free)})


def _open(engine: Engine) -> Problem | None:
    return tried(engine.check_open)


def _gauge(name: str, text: str, label: str, values: dict[str, float]) -> GaugeMetricFamily:
    """Return a family with a value for each value of a label, or with one value if there is no label."""
    family = GaugeMetricFamily(f"confidently_{name}", text, labels=[label] if label else [])
    for key, value in values.items():
        family.add_metric([key] if label else [], value)
    return family
