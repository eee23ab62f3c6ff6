"""The audit of a running cluster: each replica is fetched from its broker, and all of a partition are compared."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final
from uuid import uuid4

from logstore.files.partition_metadata import format_uuid
from logstore.topic_partition import TopicPartition
from replication.base.errors import NothingChosenError, ReplicationError
from replication.cluster.network_audit.audit_state import AuditState
from replication.cluster.network_audit.broker_reader import SMALLEST_FETCH, BrokerReader
from replication.cluster.network_audit.disk_broker import DiskBroker, disk_brokers
from replication.cluster.network_audit.distributed_look import DistributedLook, Reach, RunTasks
from replication.cluster.network_audit.estimate import Estimate, Sample
from replication.cluster.network_audit.network_look import NetworkLook, troubles_of, unsettled
from replication.cluster.network_audit.range_fetch import RangeFetch
from replication.cluster.network_audit.replica_bounds import SeenEnds
from replication.cluster.network_audit.replicated_partition import ReplicatedPartition, broker_name, partitions_in
from replication.copies.audit.examination.copy_examiner import Examiner, Row
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.local.live_auditing import reading_of, rows_of
from replication.copies.audit.local.live_look import LiveLook, look
from replication.copies.audit.local.live_passes import LivePasses
from replication.copies.audit.local.live_task import LiveTask
from replication.copies.audit.local.local_audit import LocalAudit
from replication.copies.audit.pipeline.audit_options import AuditOptions
from replication.copies.audit.pipeline.audit_plan import AuditPlan, is_wanted
from replication.copies.audit.pipeline.internal_topics import Stranded
from replication.copies.audit.snapshots.snapshot import Root, Snapshot
from replication.copies.audit.snapshots.storage import Storage
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.client.packed_settings import PackedSettings
from replication.wire.messages.describe_configs import DescribeConfigsRequest
from replication.wire.messages.metadata import ClusterMetadata

MOST_READERS: Final = 16
"""Replicas of one partition that are read at once."""
STALE_AFTER: Final = 30.0
"""Seconds after which the metadata is asked for again: leaders may have changed."""
SAMPLED: Final = 20
"""Partitions whose batches are looked at for an estimate."""
TOPICS_AT_ONCE: Final = 1_000
"""Whose settings one request asks for."""
CLEANUP_POLICY: Final = "cleanup.policy"
Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class NetworkAudit:
    """An audit of a cluster that a client reaches."""

    client: ClusterClient
    bootstrap: str
    """As it was named, for commands that are proposed."""
    options: AuditOptions
    bytes_per_second: int | None = None
    """Of records fetched from each broker; None is as fast as it goes."""
    snapshots: Sequence[Snapshot] = ()
    """Copies of brokers' directories: the replicas of these are read from them."""
    run: RunTasks | None = None
    """What carries out tasks elsewhere; None does all of it in this process."""
    tasks_at_once: int = 1
    """How many of these run at once at most: they share what may be read of a broker in a second."""

    def carry_out(self, progress: Advance = lambda _bytes: None, state: Path | None = None) -> LocalAudit:
        """Do the audit; `progress` is called with the bytes that were read, of what is read again only once.

        With `state` what is known of each partition is written to that file, which an audit that was interrupted goes
        on with; it is removed at the end. Raises what `disk_brokers` raises, NothingChosenError, NoBrokerError and
        other errors of connections where the cluster cannot be asked what it has; a broker that cannot be reached
        afterwards makes its partitions `unknown`. Raises NotAllowedError and OSError where the file cannot be used.
        """
        begun = time.time()
        metadata = self.client.metadata(None)
        partitions = self._chosen(metadata)
        disks = self._disks(metadata)
        kept = None if state is None else AuditState.open(state, self._identity(metadata))
        try:
            looks = _known(partitions, kept)
            passes = LivePasses(set(range(len(partitions))) - looks.keys(), self.options.patience)
            self._look(metadata, partitions, disks, passes, looks, progress, kept)
        except BaseException:
            if kept is not None:
                kept.close(is_done=False)
            raise
        if kept is not None:
            kept.close(is_done=True)
        for number in passes.unsettled:
            if passes.reads[number] > 1 and not looks[number].moved:
                looks[number] = unsettled(looks[number])
        rows = [row for number in looks for row in rows_of(looks[number], passes.reads[number])]
        rows += [row for disk in disks.values() for row in _root_rows(disk)]
        judged = [seen.judged for seen in looks.values() if seen.judged is not None]
        by_number = {number: each.partition for number, each in enumerate(partitions)}
        reading = reading_of(by_number, self.options.patience, passes, looks)
        plan = self._plan(begun, metadata, disks, rows)
        return LocalAudit(plan, rows, judged, Stranded(), replace(reading, bootstrap=self.bootstrap))

    def _look(
        self,
        metadata: ClusterMetadata,
        partitions: Sequence[ReplicatedPartition],
        disks: Mapping[int, DiskBroker],
        passes: LivePasses,
        looks: dict[int, LiveLook],
        progress: Advance,
        kept: AuditState | None,
    ) -> None:
        """Make all passes."""
        readers = {each: self._reader(each) for each in metadata.brokers}
        with ThreadPoolExecutor(MOST_READERS, "replica-reader") as executor, self._ended_with(readers.values()):
            compacted = self._compacted({each.partition.topic for each in partitions})
            again = NetworkLook(readers, executor, compacted, self.options.records, disks=disks)
            first = replace(again, progress=progress)
            while turn := passes.next(time.monotonic()):
                time.sleep(turn.pause)
                for reader in readers.values():
                    reader.forget_failure()
                current, network = _Current(self.client), first if turn.number == 1 else again
                due = {number: partitions[number].partition for number in sorted(turn.due)}
                for number, seen in self._looks(due, current, network):
                    looks[number] = seen
                    passes.note(number, moved=bool(seen.moved), troubles=troubles_of(seen))
                    if kept is not None and number not in passes.unsettled and _is_known(seen):
                        kept.note(due[number], seen)

    def _looks(
        self, due: Mapping[int, TopicPartition], current: "_Current", network: NetworkLook
    ) -> Iterator[tuple[int, LiveLook]]:
        """Look at partitions, one after the other or all at once elsewhere; those that are gone have no copies."""
        if self.run is None:
            for number, partition in due.items():
                told = current.of(partition)
                yield number, LiveLook({}) if told is None else network.at(told)
            return
        there = {number: told for number, partition in due.items() if (told := current.of(partition)) is not None}
        yield from ((number, LiveLook({})) for number in due if number not in there)
        rate = self.bytes_per_second and max(self.bytes_per_second // self.tasks_at_once, 1)
        reach = Reach(self.bootstrap, PackedSettings.of(self.client.settings), rate)
        yield from DistributedLook(network, reach, self.run).at(there).items()

    @contextmanager
    def _ended_with(self, readers: Iterable[BrokerReader]) -> Iterator[None]:
        """End what other threads read and wait for where this one is interrupted."""
        try:
            yield
        except BaseException:
            for reader in readers:
                reader.end()
            self.client.close()
            raise

    def _identity(self, metadata: ClusterMetadata) -> Mapping[str, object]:
        """Return what makes two runs the same audit."""
        options = self.options
        copies = sorted(root.storage.uri for snapshot in self.snapshots for root in snapshot.roots)
        about = {"topics": sorted(options.topics), "sample": options.sample, "records": options.records}
        about |= {"copies": copies} if copies else {}
        return {"cluster_id": metadata.cluster_id, **about}

    def estimate(self) -> Estimate:
        """Ask leaders how many offsets they have, and look at some batches of the largest partitions.

        Raises what `carry_out` raises; partitions whose leaders do not answer count as empty.
        """
        metadata = self.client.metadata(None)
        disks = self._disks(metadata)
        partitions = [_without(each, disks) for each in self._chosen(metadata)]
        readers = {each: self._reader(each) for each in metadata.brokers}
        ends = dict(_ends(partitions, readers))
        offsets = {each: max(seen.high_watermark - seen.start, 0) for each, seen in ends.items()}
        largest = sorted(partitions, key=lambda each: -offsets.get(each.partition, 0))[:SAMPLED]
        samples = {}
        for each in largest:
            if offsets.get(each.partition):
                with suppress(ReplicationError):
                    samples[each.partition] = _sample(each, ends[each.partition], readers[each.leader])
        return Estimate.of(partitions, offsets, samples, self.bytes_per_second)

    def _chosen(self, metadata: ClusterMetadata) -> Sequence[ReplicatedPartition]:
        known = [*partitions_in(metadata)]
        chosen = [each for each in known if is_wanted(each.partition, self.options)]
        if not chosen:
            topics = {each.partition.topic for each in known}
            raise NothingChosenError(self.options.topics, topics, sample=self.options.sample)
        return chosen

    def _disks(self, metadata: ClusterMetadata) -> dict[int, DiskBroker]:
        return disk_brokers(self.snapshots, metadata.brokers, metadata.cluster_id, records=self.options.records)

    def _reader(self, broker_id: int) -> BrokerReader:
        connect = partial(self.client.connection_to, broker_id)
        return BrokerReader(broker_name(broker_id), connect, self.bytes_per_second)

    def _compacted(self, topics: Iterable[str]) -> Mapping[str, bool]:
        """Ask which topics are compacted; READ alone does not allow to know, and nothing is said then."""
        names, known = sorted(topics), dict[str, bool]()
        for start in range(0, len(names), TOPICS_AT_ONCE):
            some = names[start : start + TOPICS_AT_ONCE]
            try:
                told = self.client.ask(DescribeConfigsRequest.of_topics(some, (CLEANUP_POLICY,)))
            except ReplicationError:
                return known
            policies = {topic: described.values.get(CLEANUP_POLICY) for topic, described in told.topics.items()}
            known |= {topic: "compact" in policy for topic, policy in policies.items() if policy is not None}
        return known

    def _plan(
        self, begun: float, metadata: ClusterMetadata, disks: Mapping[int, DiskBroker], rows: Sequence[Row]
    ) -> AuditPlan:
        """Return the plan that the results are described by, once all is known that was read."""
        snapshots = tuple(_snapshots(metadata, disks, rows))
        copies = tuple(
            copy
            for snapshot in snapshots
            for copy in snapshot.copies()
            if is_wanted(copy.topic_partition, self.options)
        )
        return AuditPlan(
            options=self.options,
            named=(),
            snapshots=snapshots,
            copies=copies,
            tasks=(),
            missing={},
            registered={},
            findings=(),
            begun=begun,
            run_id=uuid4().hex,
            history=None,
            run_before=None,
        )


def _ends(
    partitions: Sequence[ReplicatedPartition], readers: Mapping[int, BrokerReader]
) -> Iterator[tuple[TopicPartition, SeenEnds]]:
    """Ask each leader for all that it leads at once."""
    for broker_id, reader in readers.items():
        with suppress(ReplicationError):
            yield from reader.led_ends([each.partition for each in partitions if each.leader == broker_id]).items()


def _sample(partition: ReplicatedPartition, seen: SeenEnds, leader: BrokerReader) -> Sample:
    """Look at the first batches of a partition."""
    fetch = RangeFetch(
        partition.partition,
        seen.start,
        seen.high_watermark,
        partition.leader_epoch,
        partition.topic_id,
        max_bytes=SMALLEST_FETCH,
    )
    size = sum(len(piece.data) for piece in leader.fetch_once(fetch))
    return Sample(fetch.next_offset - seen.start, size)


def _is_known(seen: LiveLook) -> bool:
    return seen.judged is not None and Verdict.UNKNOWN.value not in seen.judged["verdicts"]


def _known(partitions: Sequence[ReplicatedPartition], kept: AuditState | None) -> dict[int, LiveLook]:
    """Return what an earlier run has found, by the partitions' numbers; not of topics that were made again since."""
    found = {} if kept is None else kept.found
    looks = {number: found[each.partition] for number, each in enumerate(partitions) if each.partition in found}
    return {number: seen for number, seen in looks.items() if _is_of(seen, partitions[number])}


def _is_of(seen: LiveLook, partition: ReplicatedPartition) -> bool:
    topic_id = format_uuid(partition.topic_id) if partition.topic_id else None
    return seen.judged is not None and seen.judged["topic_id"] == topic_id


class _Current:
    """The cluster's metadata, never much older than now."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client
        self._known: dict[TopicPartition, ReplicatedPartition] = {}
        self._asked_at: float | None = None

    def of(self, partition: TopicPartition) -> ReplicatedPartition | None:
        """Return a partition as it is by now; None where there is none any more."""
        now = time.monotonic()
        if self._asked_at is None or now - self._asked_at > STALE_AFTER:
            first, self._asked_at = self._asked_at is None, now
            with suppress(*() if first else (ReplicationError,)):  # brokers say themselves what has changed
                self._known = {each.partition: each for each in partitions_in(self._client.metadata(None))}
        return self._known.get(partition)


def _root_rows(disk: DiskBroker) -> Iterator[Row]:
    """Check the roots' own files."""
    for job in disk.root_jobs:
        yield from rows_of(look(LiveTask((job,)), partial(Examiner, is_live=True)), 1)


def _without(partition: ReplicatedPartition, disks: Mapping[int, DiskBroker]) -> ReplicatedPartition:
    """Leave out replicas that are read from disks."""
    return replace(partition, replicas=tuple(each for each in partition.replicas if each not in disks))


def _snapshots(metadata: ClusterMetadata, disks: Mapping[int, DiskBroker], rows: Sequence[Row]) -> Iterable[Snapshot]:
    """Return the brokers as what is compared: of each the partitions that it has, and the bytes that were read."""
    read = {(row["replica"], row["topic"], row["partition"]): row["bytes_read"] or 0 for row in rows}
    held: dict[int, dict[str, dict[str, int]]] = {each: {} for each in metadata.brokers}
    for each in partitions_in(metadata):
        for broker_id in each.replicas:
            size = read.get((broker_name(broker_id), *each.partition), 0)
            files = {"00000000000000000000.log": size} if size else {}
            held.setdefault(broker_id, {})[str(each.partition)] = files
    for broker_id, partitions in sorted(held.items()):
        if broker_id in disks:
            yield disks[broker_id].snapshot
            continue
        name = broker_name(broker_id)
        yield Snapshot(name, (Root(Storage(f"kafka://{name}"), partitions, broker_id, metadata.cluster_id),))
