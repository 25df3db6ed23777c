"""Clusters: the one that is given, by a client or an address, or one of processes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any

from dask import config
from distributed import Client, LocalCluster

from ..data.sources.background import processors

NO_DASHBOARD = "no dashboard: it needs bokeh (pip install bokeh)"
WAIT_SECONDS = 60  # for the first worker
OWN = {  # settings of Dask for a cluster that is begun here
    # seconds that a worker which was killed has to come back in: on a busy machine Dask's 15 are too few
    "distributed.deploy.lost-worker-timeout": 600,
    # Dask has the C library return memory at once, which costs a tenth where files are read, batch by batch
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}


@contextmanager
def connected(client: Client | str | None = None, workers: int | None = None) -> Iterator[Client]:
    """A client of a cluster; what is begun here is ended here.

    Parameters
    ----------
    client : Client or str, optional
        One that is there, or the address of a scheduler.
    workers : int, optional
        Else how many processes to start on this machine, of one thread each; by default one a processor.

    Raises
    ------
    ValueError
        If there are both, or no workers.
    OSError
        If nothing answers at the address.
    """
    if client is not None and workers is not None:
        raise ValueError("workers are for a cluster on this machine: a cluster that is given has its own")
    with ExitStack() as stack:
        if client is None:
            stack.enter_context(config.set(OWN))
            client = stack.enter_context(Client(stack.enter_context(local_cluster(workers or processors()))))
        elif isinstance(client, str):
            client = stack.enter_context(Client(client))
        yield client


def local_cluster(workers: int) -> LocalCluster:
    """Processes of one thread each: learning is one thread's work."""
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    return LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    )  # fmt: skip


def has_dashboard() -> bool:
    """Whether Dask's dashboard can be shown."""
    return find_spec("bokeh") is not None


def dashboard(client: Client) -> str:
    """Where the dashboard is; or why there is none."""
    info: dict[str, Any] = client.scheduler_info()
    return client.dashboard_link if has_dashboard() and "dashboard" in info["services"] else NO_DASHBOARD


def n_threads(client: Client) -> int:
    """Threads of all workers, once there is one.

    Raises
    ------
    TimeoutError
        If there is none for long.
    """
    client.wait_for_workers(1, timeout=WAIT_SECONDS)
    return sum(client.nthreads().values())
