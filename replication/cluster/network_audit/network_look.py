"""One look at all replicas of a partition over the network: what moved meanwhile does not count."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

from logstore.files.partition_metadata import format_uuid
from logstore.topic_partition import TopicPartition
from logstore.verify import Finding
from logstore.verify.finding import UNREADABLE, Reporter
from replication.base.errors import ReplicationError
from replication.cluster.network_audit.broker_reader import BrokerReader
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
class _Found:
    """What came of the replicas, by their brokers' ids."""

    fetched: dict[int, Fetched] = field(default_factory=dict)
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

    def at(self, partition: ReplicatedPartition) -> LiveLook:
        """Fetch and compare all replicas of a partition."""
        found = _Found()
        with TemporaryDirectory(prefix="epochlog-") as scratch:
            try:
                self._fetch(partition, found, Path(scratch))
            except ReplicaMovedError as error:
                found.moved = dict.fromkeys(partition.replicas, str(error))
            return self._judged(partition, found)

    def _fetch(self, partition: ReplicatedPartition, found: _Found, scratch: Path) -> None:
        if partition.leader < 0:
            raise ReplicaMovedError("no broker leads the partition")
        seen = self._ends(partition, found)
        if not seen:
            return
        bounds = bounds_of(seen, partition.isr)
        topic_id = format_uuid(partition.topic_id) if partition.topic_id else None
        is_compacted = self.is_compacted.get(partition.partition.topic)
        fetches = {
            each: ReplicaFetch(
                self.readers[each],
                FetchedReplica(
                    broker_name(each), partition.partition, bounds[each], topic_id, is_compacted, self.records
                ),
                partition.leader_epoch,
                partition.topic_id,
                scratch / broker_name(each),
                self.progress,
            )
            for each in seen
        }
        for fetch in fetches.values():
            fetch.directory.mkdir()
        found.fetched = self._of_all({each: fetch.fetch for each, fetch in fetches.items()}, found)

    def _ends(self, partition: ReplicatedPartition, found: _Found) -> Mapping[int, SeenEnds]:
        """Ask all replicas where they start and end; again, as long as one in sync is about to hear how far it is."""
        for asked in range(ASKED_AGAIN + 1):
            time.sleep(TOLD_SOON if asked else 0)
            found.moved.clear()
            found.unread.clear()
            seen = self._of_all({each: self._asking(each, partition) for each in partition.replicas}, found)
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

    def _of_all(self, calls: Mapping[int, Callable[[], Result]], found: _Found) -> dict[int, Result]:
        """Call all at once; what fails is noted."""
        futures = {each: self.executor.submit(call) for each, call in calls.items()}
        results: dict[int, Result] = {}
        for each, future in futures.items():
            try:
                results[each] = future.result()
            except ReplicaMovedError as error:
                found.moved[each] = str(error)
            except (ReplicationError, OSError) as error:
                found.unread[each] = str(error)
        return results

    def _judged(self, partition: ReplicatedPartition, found: _Found) -> LiveLook:
        copies = [each.copy for each in found.fetched.values()]
        unread = [broker_name(each) for each in (*found.moved, *found.unread)]
        rows = {each: _row(partition.partition, each, found) for each in partition.replicas}
        moved = {_job(partition.partition, each, found): why for each, why in found.moved.items()}
        by_job = {_job(partition.partition, each, found): row for each, row in rows.items()}
        if not copies:
            return LiveLook(by_job, unjudged(partition.partition, (), unread), moved)
        told = Registered(copies[0].summary.topic_id, election=ForetoldElection(RUNNING))
        verdict = judge(copies, unread=unread, registered=told)
        judged = {**verdict.as_json(), "findings": [finding.as_json() for finding in verdict.findings]}
        again = {each.replica for each in verdict.findings if each.finding.kind == UNREADABLE}
        moved |= {job: OTHERWISE for job in by_job if job.replica in again}
        return LiveLook(by_job, judged, moved)


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


def _row(partition: TopicPartition, broker_id: int, found: _Found) -> Row:
    """Return what is known of a replica, as `tables.EXAMINED` has it."""
    row = {**dict.fromkeys(EXAMINED), **copy_row(_copy(partition, broker_id, found)), "is_part": False}
    if broker_id not in found.fetched:
        return {**row, "findings": [finding.as_json() for finding in _unread(partition, broker_id, found)]}
    fetched = found.fetched[broker_id]
    return {
        **row,
        "summary": fetched.copy.summary.to_bytes(),
        "digests": fetched.copy.digests.to_bytes(),
        "findings": [_of(broker_id, finding).as_json() for finding in fetched.findings],
        "bytes_read": fetched.copy.summary.log_bytes,
    }


def _unread(partition: TopicPartition, broker_id: int, found: _Found) -> Iterator[ReplicaFinding]:
    if broker_id in found.unread:
        message = f"{broker_name(broker_id)}: nothing was compared: {found.unread[broker_id]}"
        yield _of(broker_id, Reporter(partition).error(UNREADABLE, message, file=None))


def _of(broker_id: int, finding: Finding) -> ReplicaFinding:
    return ReplicaFinding(broker_name(broker_id), finding)


def _job(partition: TopicPartition, broker_id: int, found: _Found) -> Job:
    copy = _copy(partition, broker_id, found)
    return Job(copy.replica, copy.root, copy)


def _copy(partition: TopicPartition, broker_id: int, found: _Found) -> Copy:
    name = broker_name(broker_id)
    segments = found.fetched[broker_id].copy.summary.segments if broker_id in found.fetched else ()
    return Copy(name, f"kafka://{name}", str(partition), partition, segments, is_local=False)
