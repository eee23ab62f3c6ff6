"""Looks at many partitions in tasks elsewhere: some fetch ranges of offsets, others compare what is known of them.

What tasks are given and give back is pickled; what runs them is given from outside, and knows nothing of it.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from replication.base.errors import ReplicationError
from replication.cluster.network_audit.broker_reader import BrokerReader
from replication.cluster.network_audit.errors import ReplicaMovedError
from replication.cluster.network_audit.fetched_copy import Fetched, ReplicaFetch
from replication.cluster.network_audit.network_look import Found, NetworkLook
from replication.cluster.network_audit.replicated_partition import ReplicatedPartition, broker_name
from replication.cluster.network_audit.scanned_range import RangeToScan, ScannedRange
from replication.copies.audit.local.live_look import LiveLook
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.client.packed_settings import PackedSettings

OFFSETS_A_TASK: Final = 1 << 20
"""Of one replica, that are fetched by one task."""


class GroupTask(NamedTuple):
    """What is done by one task of the first step; the results of a group go to one of the second."""

    group: int
    data: bytes


RunTasks = Callable[
    [Sequence[GroupTask], Callable[[bytes], bytes], Callable[[int, Sequence[bytes]], bytes]], Mapping[int, bytes]
]
"""Carries out both steps, wherever that is, and returns what the second has made of each group."""


class _Failure(NamedTuple):
    """Why a range could not be fetched."""

    reason: str
    has_moved: bool


class _Scanned(NamedTuple):
    """What a task has found."""

    task: RangeToScan
    outcome: ScannedRange | _Failure


class _Begun(NamedTuple):
    """A partition whose replicas have been asked for their ends."""

    partition: ReplicatedPartition
    found: Found


@dataclass(frozen=True, slots=True)
class Reach:
    """How tasks reach the brokers."""

    bootstrap: str
    settings: PackedSettings
    bytes_per_second: int | None = None
    """From each broker, of one task."""

    @contextmanager
    def readers(self) -> Iterator[Callable[[int], BrokerReader]]:
        """Return what gives the reader of a broker by its id, for as long as it is entered."""
        with self.settings.unpacked() as settings, ClusterClient(self.bootstrap, settings) as client:
            known: dict[int, BrokerReader] = {}

            def reader(broker_id: int) -> BrokerReader:
                if broker_id not in known:
                    connect = partial(client.connection_to, broker_id)
                    known[broker_id] = BrokerReader(broker_name(broker_id), connect, self.bytes_per_second)
                return known[broker_id]

            yield reader


@dataclass(frozen=True, slots=True)
class _Scanning:
    """Fetches a range."""

    reach: Reach

    def __call__(self, data: bytes) -> bytes:
        task: RangeToScan = _unpickled(data)
        outcome: ScannedRange | _Failure
        try:
            with self.reach.readers() as reader:
                outcome = task.scan(reader(task.broker_id))
        except ReplicaMovedError as error:
            outcome = _Failure(str(error), has_moved=True)
        except (ReplicationError, OSError) as error:
            outcome = _Failure(str(error), has_moved=False)
        return pickle.dumps(_Scanned(task, outcome))


@dataclass(frozen=True, slots=True)
class _Comparing:
    """Compares the replicas of a partition, from what was fetched of them."""

    reach: Reach
    begun: Mapping[int, _Begun]
    """By group."""
    is_compacted: Mapping[str, bool]

    def __call__(self, group: int, results: Sequence[bytes]) -> bytes:
        partition, found = self.begun[group]
        of_brokers: dict[int, list[_Scanned]] = {}
        for each in results:
            scanned: _Scanned = _unpickled(each)
            of_brokers.setdefault(scanned.task.broker_id, []).append(scanned)
        with self.reach.readers() as reader, TemporaryDirectory(prefix="epochlog-") as scratch:
            for broker_id, ranges in sorted(of_brokers.items()):
                directory = Path(scratch) / broker_name(broker_id)
                directory.mkdir()
                _note(found, broker_id, ranges, reader(broker_id), directory)
            with ThreadPoolExecutor(1) as executor:
                return pickle.dumps(NetworkLook({}, executor, self.is_compacted).judged(partition, found))


def _note(found: Found, broker_id: int, ranges: list[_Scanned], reader: BrokerReader, directory: Path) -> None:
    """Note what is known of a replica: nothing where a range of it is not."""
    ranges.sort(key=lambda each: each.task.bounds)
    failures = [each.outcome for each in ranges if isinstance(each.outcome, _Failure)]
    for failure in failures[:1]:
        (found.moved if any(each.has_moved for each in failures) else found.unread)[broker_id] = failure.reason
    if not failures:
        whole = [each.outcome for each in ranges if isinstance(each.outcome, ScannedRange)]
        found.fetched[broker_id] = _fetched(ranges[0].task, whole, reader, directory)


def _fetched(task: RangeToScan, ranges: Iterable[ScannedRange], reader: BrokerReader, directory: Path) -> Fetched:
    return ReplicaFetch(reader, task.replica, task.leader_epoch, task.topic_id, directory).of_ranges(ranges)


@dataclass(frozen=True, slots=True)
class DistributedLook:
    """How partitions are looked at in tasks."""

    network: NetworkLook
    """Asks brokers for the ends of their replicas, and counts what was fetched."""
    reach: Reach
    run: RunTasks
    offsets: int = field(default=OFFSETS_A_TASK)
    """Of a replica, in one task."""

    def at(self, partitions: Mapping[int, ReplicatedPartition]) -> dict[int, LiveLook]:
        """Fetch and compare all replicas of partitions, which are numbered in any way."""
        begun: dict[int, _Begun] = {}
        looks: dict[int, LiveLook] = {}
        tasks: list[GroupTask] = []
        for number, each in partitions.items():
            found = Found()
            ranges = [*self._ranges(each, found)]
            if ranges:
                begun[number] = _Begun(each, found)
                tasks += (GroupTask(number, pickle.dumps(some)) for some in ranges)
            else:
                looks[number] = self.network.judged(each, found)
        compared = self.run(tasks, _Scanning(self.reach), _Comparing(self.reach, begun, self.network.is_compacted))
        looks |= {number: _unpickled(data) for number, data in compared.items()}
        for number in begun:
            self.network.progress(sum(row["bytes_read"] or 0 for row in looks[number].rows.values()))
        return looks

    def _ranges(self, partition: ReplicatedPartition, found: Found) -> Iterator[RangeToScan]:
        try:
            replicas = self.network.replicas(partition, found)
        except ReplicaMovedError as error:
            found.moved = dict.fromkeys(partition.replicas, str(error))
            return
        for broker_id, replica in replicas.items():
            yield from RangeToScan.all_of(broker_id, replica, partition.leader_epoch, partition.topic_id, self.offsets)


def _unpickled(data: bytes) -> Any:
    return pickle.loads(data)  # noqa: S301  the other side is a task of this library's own
