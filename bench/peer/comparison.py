"""One pass over all kinds of work, on both sides."""

from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from typing import Final

from bench.peer.client_works import ClientWorks
from bench.peer.command_works import CommandWorks
from bench.peer.epoch_works import EpochWorks
from bench.peer.files import Logs
from bench.peer.index_works import IndexWorks
from bench.peer.kafka_timer import HEAP_BYTES, KafkaTimer
from bench.peer.log_works import LogWorks
from bench.peer.scan_works import ScanWorks
from bench.peer.store_works import StoreWorks
from bench.peer.turns import Settings
from bench.results import Row
from bench.room import lacking

SUITES: Final = (LogWorks, ScanWorks, EpochWorks, IndexWorks, CommandWorks, ClientWorks, StoreWorks)
GROUPS: Final = tuple(suite.group for suite in SUITES)
COPIES: Final = 4
"""Logs of full size on the disk, and so in the page cache, at a time: the sources, and one of each side."""


def needed(size: int) -> dict[str, int]:
    """Return the room for logs of that size, as `lacking` asks for it."""
    return {"disk": COPIES * size, "memory": COPIES * size + HEAP_BYTES}


def compare(
    settings: Settings,
    *,
    kafka: bool,
    measured: bool = True,
    wanted: Callable[[str], bool] = lambda _name: True,
    groups: Collection[str] = (),
) -> Iterator[Row]:
    """Measure whatever kinds of work are wanted by their name, of `groups` alone if any; `measured` as KafkaTimer's.

    Each suite has a JVM of its own, which ends with it. Raises DifferentAnswersError where the sides disagree.
    """
    logs = Logs(settings.work)
    missing = lacking(**needed(settings.size))
    for suite in SUITES:
        if groups and suite.group not in groups:
            continue
        with closing(KafkaTimer(suite.timer, settings.clock, measured=measured)) as timer:
            works = suite(settings, logs, timer if kafka else None).works()
            for name, measure in works.items():
                if wanted(name):
                    yield Row(name, group=suite.group, skipped=missing) if missing else measure(name)
