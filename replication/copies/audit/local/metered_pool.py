"""Processes that share an audit's work, with what all of them have fetched from object stores."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from replication.copies.audit.snapshots.remote.traffic import NOTHING, TRAFFIC, Traffic
from replication.copies.workers.worker_pool import WorkerPool

Result = TypeVar("Result")


class MeteredPool:
    """Does calls in the processes of a pool."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self.fetched: Traffic = NOTHING
        """By other processes than this one."""

    def map(self, function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
        """Do a function with each of the arguments; see `WorkerPool.map`."""
        for result, process, fetched in self._pool.map(_metered, ((function, *each) for each in arguments)):
            if process != os.getpid():
                self.fetched = self.fetched.plus(fetched)
            yield result


def _metered(function: Callable[..., Result], *arguments: Any) -> tuple[Result, int, Traffic]:
    before = TRAFFIC.so_far
    result = function(*arguments)
    return result, os.getpid(), TRAFFIC.so_far.since(before)
