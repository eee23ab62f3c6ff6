"""One look at all replicas of a partition over the network: what moved meanwhile does not count."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

from epoch.history import MAX_OFFSET
from logstore.files.partition_metadata import format_uuid
from logstore.topic_partition import TopicPartition
from logstore.verify.finding import UNREADABLE, Reporter
from replication.base.errors import ReplicationError
from replication.cluster.network_audit.broker_reader import BrokerReader
from replication.cluster.network_audit.disk_broker import DiskBroker, Extent, ReadCopy
from replication.cluster.network_audit.errors import ReplicaMovedError, ReplicaUnreadError
from replication.cluster.network_audit.fetched_copy import Fetched, ReplicaFetch
from replication.cluster.network_audit.fetched_log import FetchedReplica
from replication.cluster.network_audit.replica_bounds import SeenEnds, are_behind, bounds_of
from replication.cluster.network_audit.replicated_partition import ReplicatedPartition, broker_name
from replication.copies.audit.examination.copy_examiner import Row, copy_row
from replication.copies.audit.judgement.judgement import judge
from replication.copies.audit.local.live_look import LiveLook
from replication.copies.audit.local.live_passes import Troubles
from replication.copies.audit.pipeline.partition_rows import unjudged
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.foretold_election import RUNNING, ForetoldElection
from replication.copies.audit.snapshots.registered import Registered
from replication.copies.audit.snapshots.work import Copy, Job
from replication.copies.audit.tables import EXAMINED

TOLD_SOON: Final = 0.5
"""Seconds within which a follower in sync hears how far the leader's high watermark is, as long as both are well."""
OTHERWISE: Final = "its broker answers otherwise than before, or not again"
ASKED_AGAIN: Final = 4
"""How often followers are asked that have not."""
Result = TypeVar("Result")


@dataclass(slots=True)
class Found:
    """What came of a partition's replicas, by their brokers' ids."""

    fetched: dict[int, Fetched] = field(default_factory=dict)
    read: dict[int, ReadCopy] = field(default_factory=dict)
    """From disks."""
    lacking: list[int] = field(default_factory=list)
    """Those of whose copies there is none on their disks."""
    moved: dict[int, str] = field(default_factory=dict)
    unread: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NetworkLook:
    """How partitions are looked at."""

    readers: Mapping[int, BrokerReader]
    """By broker id: of those that the cluster's metadata names."""
    executor: Executor
    """In which all replicas of a partition are read at once."""
    is_compacted: Mapping[str, bool]
    """By topic, as far as its settings are known."""
    records: bool = False
    progress: Callable[[int], object] = lambda _bytes: None
    """Called with the number of bytes that were fetched, in any thread."""
    disks: Mapping[int, DiskBroker] = field(default_factory=dict)
    """By broker id: those whose replicas are read from disks."""

    def at(self, partition: ReplicatedPartition) -> LiveLook:
        """Fetch and compare all replicas of a partition."""
        found = Found()
        with TemporaryDirectory(prefix="epochlog-") as scratch:
            try:
                self._fetch(partition, found, Path(scratch))
            except ReplicaMovedError as error:
                found.moved = dict.fromkeys(partition.replicas, str(error))
            seen = self.judged(partition, found)
            moved = {each: why for each, read in found.read.items() if (why := read.movement)}
            if not moved:
                return seen
            found.read = {each: read for each, read in found.read.items() if each not in moved}
            found.moved |= moved
            return self.judged(partition, found)

    def replicas(self, partition: ReplicatedPartition, found: Found) -> dict[int, FetchedReplica]:
        """Ask brokers where their replicas start and end, and return what is to be fetched of each.

        Of those that do not answer is noted why. Raises ReplicaMovedError.
        """
        if partition.leader < 0:
            raise ReplicaMovedError("no broker leads the partition")
        asked = [each for each in partition.replicas if each not in self.disks]
        seen = self._ends(partition, asked, found)
        bounds = bounds_of(seen, partition.isr) if seen else {}
        topic_id = format_uuid(partition.topic_id) if partition.topic_id else None
        is_compacted = self.is_compacted.get(partition.partition.topic)
        return {
            each: FetchedReplica(
                broker_name(each), partition.partition, bounds[each], topic_id, is_compacted, self.records
            )
            for each in seen
        }

    def _fetch(self, partition: ReplicatedPartition, found: Found, scratch: Path) -> None:
        replicas = self.replicas(partition, found)
        if not replicas and any(each not in self.disks for each in partition.replicas):
            return
        end = max((each.bounds.end for each in replicas.values()), default=MAX_OFFSET)
        fetches = {
            each: ReplicaFetch(
                self.readers[each],
                replica,
                partition.leader_epoch,
                partition.topic_id,
                scratch / replica.name,
                self.progress,
            )
            for each, replica in replicas.items()
        }
        for fetch in fetches.values():
            fetch.directory.mkdir()
        fetching = self._begun({each: fetch.fetch for each, fetch in fetches.items()})
        reading = self._begun(dict(self._reading(partition, end, found)))
        found.fetched, found.read = _ended(fetching, found), _ended(reading, found)

    def _reading(
        self, partition: ReplicatedPartition, end: int, found: Found
    ) -> Iterator[tuple[int, Callable[[], ReadCopy]]]:
        """Give what reads each replica that is on a disk; those of which there is none are noted."""
        is_compacted = self.is_compacted.get(partition.partition.topic)
        for each in partition.replicas:
            disk = self.disks.get(each)
            if disk is None:
                continue
            copy = disk.copy_of(partition.partition)
            if copy is None:
                found.lacking.append(each)
                continue
            extent = Extent(end, partition.leader_epoch, each in partition.isr, is_compacted)
            yield each, partial(disk.read, copy, extent)

    def _ends(self, partition: ReplicatedPartition, replicas: Collection[int], found: Found) -> Mapping[int, SeenEnds]:
        """Ask all replicas where they start and end; again, as long as one in sync is about to hear how far it is."""
        for asked in range(ASKED_AGAIN + 1):
            time.sleep(TOLD_SOON if asked else 0)
            found.moved.clear()
            found.unread.clear()
            seen = _ended(self._begun({each: self._asking(each, partition) for each in replicas}), found)
            if not are_behind(seen, partition.leader, partition.isr):
                break
        return seen

    def _asking(self, broker_id: int, partition: ReplicatedPartition) -> Callable[[], SeenEnds]:
        def ends() -> SeenEnds:
            reader = self.readers.get(broker_id)
            if reader is None:
                raise ReplicaUnreadError("the cluster's metadata does not name the broker: it is down")
            return reader.ends(partition.partition, partition.leader_epoch, partition.topic_id)

        return ends

    def _begun(self, calls: Mapping[int, Callable[[], Result]]) -> Mapping[int, Future[Result]]:
        """Call all at once."""
        return {each: self.executor.submit(call) for each, call in calls.items()}

    def judged(self, partition: ReplicatedPartition, found: Found) -> LiveLook:
        """Compare what came of the replicas."""
        copies = [*(each.copy for each in found.fetched.values()), *(each.copy for each in found.read.values())]
        there = [each for each in partition.replicas if each not in found.lacking]
        unread = [self._name(each) for each in (*found.moved, *found.unread)]
        missing = [self._name(each) for each in found.lacking]
        jobs = {each: self._job(partition.partition, each, found) for each in there}
        moved = {jobs[each]: why for each, why in found.moved.items() if each in jobs}
        by_job = {job: self._row(job, each, found) for each, job in jobs.items()}
        if not copies:
            return LiveLook(by_job, unjudged(partition.partition, missing, unread), moved)
        topic_id = format_uuid(partition.topic_id) if partition.topic_id else copies[0].summary.topic_id
        told = Registered(topic_id, election=ForetoldElection(RUNNING))
        verdict = judge(copies, missing=missing, unread=unread, registered=told)
        judged = {**verdict.as_json(), "findings": [finding.as_json() for finding in verdict.findings]}
        again = {each.replica for each in verdict.findings if each.finding.kind == UNREADABLE}
        moved |= {job: OTHERWISE for job in by_job if job.replica in again}
        return LiveLook(by_job, judged, moved)

    def _name(self, broker_id: int) -> str:
        return self.disks[broker_id].name if broker_id in self.disks else broker_name(broker_id)

    def _job(self, partition: TopicPartition, broker_id: int, found: Found) -> Job:
        on_disk = self.disks[broker_id].copy_of(partition) if broker_id in self.disks else None
        copy = _copy(partition, broker_id, found) if on_disk is None else on_disk
        return Job(copy.replica, copy.root, copy)

    def _row(self, job: Job, broker_id: int, found: Found) -> Row:
        """Return what is known of a replica, as `tables.EXAMINED` has it."""
        assert job.copy is not None  # noqa: S101  a job of a replica
        row = {**dict.fromkeys(EXAMINED), **copy_row(job.copy), "is_part": False}
        if broker_id in found.read:
            return {**row, **found.read[broker_id].row}
        if broker_id not in found.fetched:
            message = f"{job.replica}: nothing was compared: {found.unread.get(broker_id)}"
            finding = Reporter(job.copy.topic_partition).error(UNREADABLE, message, file=None)
            told = [ReplicaFinding(job.replica, finding)] if broker_id in found.unread else []
            return {**row, "findings": [finding.as_json() for finding in told]}
        fetched = found.fetched[broker_id]
        return {
            **row,
            "summary": fetched.copy.summary.to_bytes(),
            "digests": fetched.copy.digests.to_bytes(),
            "findings": [ReplicaFinding(job.replica, finding).as_json() for finding in fetched.findings],
            "bytes_read": fetched.copy.summary.log_bytes,
        }


def _ended(futures: Mapping[int, Future[Result]], found: Found) -> dict[int, Result]:
    """Return the results; what fails is noted."""
    results: dict[int, Result] = {}
    for each, future in futures.items():
        try:
            results[each] = future.result()
        except ReplicaMovedError as error:
            found.moved[each] = str(error)
        except (ReplicationError, OSError) as error:
            found.unread[each] = str(error)
    return results


def troubles_of(seen: LiveLook) -> Troubles:
    """Return what is wrong and where: the same in two looks, if it is no matter of the moment.

    The cleaner may remove what a key said last below the end for what it has said behind it since; in the next look
    that counts, too, and something else may be missing.
    """
    findings = seen.judged["findings"] if seen.judged else ()
    places = ((each["replica"], each["kind"], str(each["offset"])) for each in findings if each["offset"] is not None)
    return seen.troubles | ({*places} if seen.troubles else set())


def unsettled(seen: LiveLook) -> LiveLook:
    """Return a look whose result was another one each time: nothing is known."""
    judged = seen.judged and unjudged(
        TopicPartition(seen.judged["topic"], seen.judged["partition"]), (), sorted({job.replica for job in seen.rows})
    )
    return LiveLook(seen.rows, judged, dict.fromkeys(seen.rows, "what differs was something else each time"))


def _copy(partition: TopicPartition, broker_id: int, found: Found) -> Copy:
    name = broker_name(broker_id)
    segments = found.fetched[broker_id].copy.summary.segments if broker_id in found.fetched else ()
    return Copy(name, f"kafka://{name}", str(partition), partition, segments, is_local=False)
