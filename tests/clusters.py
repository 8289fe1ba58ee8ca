"""Dask clusters of this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from command import PATIENCE


@contextmanager
def local_cluster(workers: int, threads: int) -> Iterator[Any]:
    """Yield a cluster of processes that may be slow, each with a number of threads; its tests are marked ``dask``."""
    dask, distributed = (pytest.importorskip(name) for name in ("dask", "distributed"))
    patient = dict.fromkeys(("distributed.comm.timeouts.connect", "distributed.comm.timeouts.tcp"), f"{PATIENCE}s")
    with (
        dask.config.set(patient),
        # At a port of its own: at the usual one there may be that of another test.
        distributed.LocalCluster(n_workers=workers, threads_per_worker=threads, dashboard_address=":0") as cluster,
    ):
        yield cluster
