"""Connecting to a cluster: an existing one, by a client or an address, or processes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any

from dask import config
from distributed import Client, LocalCluster

from ..data.sources.background import processors

NO_DASHBOARD = "no dashboard (it needs bokeh: pip install bokeh)"
WAIT_SECONDS = 60  # for the first worker
DASK_SETTINGS = {  # of a cluster started here
    # Seconds in which a killed worker must come back; on a busy machine Dask's 15 are too few.
    "distributed.deploy.lost-worker-timeout": 600,
    # Dask makes the C library return memory at once, which costs a tenth of the speed of reading files.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}


@contextmanager
def connected(client: Client | str | None = None, workers: int | None = None) -> Iterator[Client]:
    """Yield a client of a cluster; what is started here is stopped here.

    Parameters
    ----------
    client : Client or str, optional
        Of an existing cluster, or the address of its scheduler.
    workers : int, optional
        Otherwise the number of processes to start on this machine, with one thread each; by default one per processor.

    Raises
    ------
    ValueError
        If both are passed, or workers < 1.
    OSError
        If there is no scheduler at the address.
    """
    if client is not None and workers is not None:
        raise ValueError(
            "workers starts processes on this machine, but an existing cluster has its own; use one of the two"
        )
    with ExitStack() as stack:
        if client is None:
            stack.enter_context(config.set(DASK_SETTINGS))
            client = stack.enter_context(Client(stack.enter_context(local_cluster(workers or processors()))))
        elif isinstance(client, str):
            client = stack.enter_context(Client(client))
        yield client


def local_cluster(workers: int) -> LocalCluster:
    """Start processes with one thread each, since training uses one thread."""
    return LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    )  # fmt: skip


def has_dashboard() -> bool:
    """Return whether Dask's dashboard is available."""
    return find_spec("bokeh") is not None


def dashboard(client: Client) -> str:
    """Return the address of the dashboard, or why there is none."""
    info: dict[str, Any] = client.scheduler_info()
    return client.dashboard_link if has_dashboard() and "dashboard" in info["services"] else NO_DASHBOARD


def n_threads(client: Client) -> int:
    """Return the number of threads of all workers, after waiting for the first one.

    Raises
    ------
    TimeoutError
        If no worker appears within a minute.
    """
    client.wait_for_workers(1, timeout=WAIT_SECONDS)
    return sum(client.nthreads().values())
