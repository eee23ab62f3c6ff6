"""Reads copies before anybody else does."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from epoch.base.resource_limits import usable_cores
from logstore.errors import LogStoreError
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.serving.frozen_cluster import FrozenCluster

_READ_BYTES: Final = 8 << 20


def check_copies(cluster: FrozenCluster, advance: Callable[[int], object] = lambda _amount: None) -> None:
    """Read every batch that is served and check it; each copy's first damage is in `cluster.damages` then.

    Several copies are read at a time. `advance` is called by their threads with the bytes that were read; what it
    raises ends all.
    """
    copies = [hosted for partitions in cluster.hosted.values() for hosted in partitions.values()]
    with ThreadPoolExecutor(usable_cores(), "epochlog-check") as threads:
        try:
            for done in [threads.submit(_check, hosted, advance) for hosted in copies]:
                done.result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def _check(hosted: HostedPartition, advance: Callable[[int], object]) -> None:
    log = hosted.log
    offset = log.log_start_offset
    try:
        while view := log.read(offset, _READ_BYTES):
            advance(len(view))
            offset = view.next_offset
    except (LogStoreError, OSError) as error:
        hosted.on_failure(error)
