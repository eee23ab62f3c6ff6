"""The log.dirs of a broker, as whoever runs the broker opens them."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from epoch.filesystem import REAL, FileSystem
from logstore import LogObserver
from logstore.clock import now_ms
from logstore.directory.directory_settings import DirectorySettings
from logstore.directory.log_directories import LogDirectories
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.events.event_counts import EventCounts
from replication.cluster.broker.events.told_recovery import tell_recovery, with_recovery


@dataclass(frozen=True)
class BrokerHome:
    """Opened log.dirs, whose they are, and what was counted while they recovered."""

    directories: LogDirectories
    identity: BrokerIdentity
    counts: EventCounts

    @classmethod
    def open(
        cls,
        stack: ExitStack,
        roots: Sequence[Path],
        settings: DirectorySettings | None,
        observer: LogObserver | None,
        *,
        clock: Callable[[], int] = now_ms,
        filesystem: FileSystem = REAL,
    ) -> Self:
        """Open them until `stack` is closed, and report what recovery did.

        Replicas that are damaged where they were promised are held back, not refused, and a partition may lie in two
        roots: which of the two is stray the metadata says, which is opened before. Raises what `LogDirectories.open`
        and `BrokerIdentity.of` raise.
        """
        counts = EventCounts()
        directories = LogDirectories.open(
            roots,
            duplicates=True,
            replicated=True,
            damage="hold",
            settings=settings,
            clock=clock,
            observer=with_recovery(observer, counts),
            periodic=True,
            filesystem=filesystem,
        )
        stack.callback(directories.close)
        tell_recovery(directories)
        return cls(directories, BrokerIdentity.of(directories), counts)
