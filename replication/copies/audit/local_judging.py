"""Judges the partitions of replicas on this machine, all of whose bytes are read, by the audit's functions."""

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from epoch.checkpoint import LEADER_EPOCH_CHECKPOINT
from logstore.errors import LogStoreError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from logstore.files.meta_properties import MetaProperties
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.shown_text import shown
from logstore.topic_partition import TopicPartition
from logstore.verify import Finding, bytes_to_read
from logstore.verify.finding import Reporter
from logstore.verify.root_check import check_checkpoints, check_root
from replication.base.errors import PartitionVanishedError, TopicIdsDifferError
from replication.base.metadata_partition import METADATA_PARTITION
from replication.copies.audit.comparison.examined_copy import ExaminedCopy, in_place
from replication.copies.audit.coordinators.commits import commits_in, read_positions, with_read_positions
from replication.copies.audit.coordinators.consumer_offsets import CONSUMER_OFFSETS, CommittedOffset
from replication.copies.audit.examination.examination import Examination, examine
from replication.copies.audit.judgement.judgement import judge
from replication.copies.audit.judgement.verdict import PartitionVerdict
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.foretelling import (
    BrokerFiles,
    CopyOfMetadata,
    Foretelling,
    RootFiles,
    read_best_metadata,
)
from replication.copies.audit.snapshots.missing_copies import Expectations, missing_copies
from replication.copies.audit.snapshots.newest_metadata import newest_metadata
from replication.copies.audit.snapshots.registered import Registered, Registrations
from replication.copies.planning.failures import PARTITION_ERRORS, OnError, stop
from replication.copies.planning.replica import Replica, ensure_same_topic, held_by_several, holding
from replication.copies.planning.rereading import list_again
from replication.records.coordinator_records.offset_commit import GroupPartition

LOOKS: Final = 3
"""How often a partition is read at most that changes meanwhile; then it is unknown."""

TELLING: Final = (".log", LEADER_EPOCH_CHECKPOINT)
"""How the names of the files end that say what a log holds."""

Copies = dict[str, PartitionDirectory]
State = Mapping[str, tuple[int, int, int]]
Advance = Callable[[int], None]
Missing = Mapping[TopicPartition, tuple[str, ...]]
"""By partition, the replicas that lack a copy of it."""


@dataclass(frozen=True, slots=True)
class JudgedPartition:
    """What was found about a partition."""

    verdict: PartitionVerdict
    findings: tuple[ReplicaFinding, ...]
    """Of each copy by itself, and of their comparison."""
    copies: tuple[ExaminedCopy, ...] = ()
    """Those that were read."""


def judge_replicas(
    replicas: Sequence[Replica],
    *,
    missing: Missing | None = None,
    wanted: Container[TopicPartition] | None = None,
    on_error: OnError = stop,
    progress: Advance = lambda _bytes: None,
) -> Iterator[JudgedPartition]:
    """Read all partitions that two replicas hold, or that one holds and another lacks, and judge them.

    `missing` is the result of `missing_among`, which is called if it is not given. Where some partitions are `wanted`
    the others are left out.

    `on_error` is called if a copy could not be read, which makes its partition `unknown`, and for partitions that are
    not judged: those that were deleted meanwhile, and different topics of one name. `progress` is called with the
    number of bytes of log that were read.

    >>> for each in judge_replicas(open_replicas([Path("broker-1"), Path("broker-2")])):
    ...     print(each.verdict.topic, each.verdict.verdict)
    """
    lacking = missing_among(replicas) if missing is None else missing
    of_offsets = sorted(_offsets_topic(replicas))
    several = held_by_several(replicas).union(lacking)
    chosen = sorted(each for each in several if wanted is None or each in wanted)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        judging = _ReplicasJudging(replicas, lacking, _registered(replicas), threads, on_error, progress)
        known = {each: judging.judge(each) for each in of_offsets}
        commits = (commit for each in known.values() if each for commit in _committed(each))
        judging.registered = with_read_positions(judging.registered, read_positions(commits))
        for each in chosen:
            judged = known[each] if each in known else judging.judge(each)
            if judged:
                yield judged


def _offsets_topic(replicas: Sequence[Replica]) -> set[TopicPartition]:
    """Return the partitions in which groups commit; even a single copy shows how far others were read."""
    return {each for replica in replicas for each in replica.held if each.topic == CONSUMER_OFFSETS}


def _committed(judged: JudgedPartition) -> Iterator[tuple[GroupPartition, CommittedOffset]]:
    """Read what groups have committed, in the copy of a `__consumer_offsets` partition that should lead."""
    for each in judged.copies:
        if each.replica == judged.verdict.recommended:
            yield from commits_in(each).items()


@dataclass(slots=True)
class _ReplicasJudging:
    """Replicas at work, one partition after another."""

    replicas: Sequence[Replica]
    missing: Missing
    registered: Registrations
    threads: ThreadPoolExecutor
    on_error: OnError
    progress: Advance

    def judge(self, topic_partition: TopicPartition) -> JudgedPartition | None:
        """Judge one; None where that cannot be."""
        unread = {replica.name for replica in self.replicas if topic_partition in replica.left_out}
        absent, said = self.missing.get(topic_partition, ()), self.registered.get(topic_partition)
        judging = _Judging(topic_partition, self.threads, self.on_error, self.progress, absent, said, unread)
        try:
            return judging.judge(holding(self.replicas, topic_partition))
        except PARTITION_ERRORS as error:
            self.on_error(topic_partition, error)
            return None


def root_findings(replicas: Sequence[Replica]) -> Iterator[ReplicaFinding]:
    """Check the files of the replicas' roots; of those of single partitions the checkpoint files, such as the HWs."""
    for replica in replicas:
        if replica.is_root:
            found = (finding for root in _roots(replica) for finding in check_root(OfflineLogDirectory.open(root)))
        else:
            found = (finding for each in replica.partitions.values() for finding in _beside(each))
        yield from (ReplicaFinding(replica.name, finding) for finding in found)


def _beside(partition: PartitionDirectory) -> Iterator[Finding]:
    """Check the checkpoint files beside a partition's directory; those within are its own, and checked with it."""
    if partition.own_checkpoints is None:
        yield from check_checkpoints(RootCheckpoints.read(partition.path.parent), Reporter(None))


def bytes_of(replicas: Sequence[Replica], missing: Missing) -> int:
    """Return the bytes of log that `judge_replicas` reads of all partitions."""
    several = held_by_several(replicas).union(missing, _offsets_topic(replicas))
    return sum(
        bytes_to_read(directory)
        for replica in replicas
        for topic_partition, directory in replica.partitions.items()
        if topic_partition in several
    )


def missing_among(replicas: Sequence[Replica], replication_factor: int | None = None) -> Missing:
    """Return which replicas lack a copy that they should have.

    Of a partition that is named by itself, where nothing else is to be compared, that is each root without it.
    """
    if not all(replica.is_root for replica in replicas):
        return {} if held_by_several(replicas) else _missing_beside(replicas)
    held = {replica.name: replica.held for replica in replicas}
    return missing_copies(held, expectations(replicas, replication_factor))


def _missing_beside(replicas: Sequence[Replica]) -> Missing:
    named = sorted({partition for replica in replicas if not replica.is_root for partition in replica.held})
    lacking = {
        each: tuple(replica.name for replica in replicas if replica.is_root and each not in replica.held)
        for each in named
    }
    return {partition: names for partition, names in lacking.items() if names}


def expectations(replicas: Sequence[Replica], replication_factor: int | None = None) -> Expectations:
    """Gather what shows which copies there should be."""
    metadata = [replica.partitions.get(METADATA_PARTITION) for replica in replicas]
    names = {replica.node_id: replica.name for replica in replicas if replica.node_id is not None}
    return Expectations.of(
        newest_metadata(nullcontext(copy.path) for copy in metadata if copy),
        names,
        {replica.name: replica.listed for replica in replicas},
        replication_factor,
    )


def _registered(replicas: Sequence[Replica]) -> Registrations:
    """Return what the cluster's metadata says of partitions, with whom Kafka elects."""
    registered = expectations(replicas).registered
    held = {each for replica in replicas for each in replica.held if each != METADATA_PARTITION}
    said = {each: registered.get(each, Registered(None)) for each in held}
    return foretelling_among(replicas).completed(said)


def foretelling_among(replicas: Sequence[Replica]) -> Foretelling:
    """Read what the replicas' files show of whom Kafka elects.

    >>> foretelling_among(open_replicas([Path("broker-1"), Path("broker-2")])).of(TopicPartition("orders", 0)).leader
    """
    copies = (
        CopyOfMetadata(replica.name, nullcontext(copy.path))
        for replica in replicas
        if (copy := replica.partitions.get(METADATA_PARTITION))
    )
    return Foretelling(read_best_metadata(copies), map(_broker_files, replicas))


def _broker_files(replica: Replica) -> BrokerFiles:
    return BrokerFiles(replica.name, replica.node_id, [_root_files(root) for root in _roots(replica)])


def _root_files(root: Path) -> RootFiles:
    directory_id, stop = None, None
    with suppress(LogStoreError, OSError):
        directory_id = MetaProperties.read(root / META_PROPERTIES_NAME).directory_id
    with suppress(LogStoreError, OSError):
        stop = CleanShutdown.read(root / CLEAN_SHUTDOWN_NAME)
    return RootFiles(directory_id, stop)


def _roots(replica: Replica) -> list[Path]:
    return sorted({directory.path.parent for directory in replica.partitions.values()})


@dataclass(slots=True)
class _Judging:
    """One partition at work."""

    topic_partition: TopicPartition
    threads: ThreadPoolExecutor
    on_error: OnError
    progress: Advance
    missing: Sequence[str]
    registered: Registered | None
    unread: set[str]
    vanished: set[str] = field(default_factory=set)

    def judge(self, copies: Copies) -> JudgedPartition | None:
        """Read the copies, again where they change meanwhile, and judge them; None where the partition is deleted.

        Raises TopicIdsDifferError, and what cannot be read of a directory that is there.
        """
        progress = self.progress
        for look in range(LOOKS):
            if look:
                copies, progress = self._listed_again(copies), _untold
            self._ensure_same_topic(copies)
            before = {name: _state(copy) for name, copy in copies.items()}
            examined = self._examined(copies, progress)
            if not examined or (self.vanished and len(examined) < 2):
                return None
            judged = self._judged(copies, examined, self.unread | self.vanished)
            changed = {name for name in examined if _state(copies[name]) != before[name]}
            if not changed:
                return judged
        return self._judged(copies, examined, self.unread | self.vanished | changed)

    def _judged(self, copies: Copies, examined: Mapping[str, Examination], unread: set[str]) -> JudgedPartition:
        of_copies = [
            ExaminedCopy(found.summary, found.digests, in_place(path), shown(str(path.absolute())))
            for found, path in ((found, copies[name].path) for name, found in examined.items())
        ]
        verdict = judge(of_copies, missing=self.missing, unread=unread, registered=self.registered)
        findings = (finding for found in examined.values() for finding in found.findings)
        return JudgedPartition(verdict, (*findings, *verdict.findings), tuple(of_copies))

    def _examined(self, copies: Copies, progress: Advance) -> dict[str, Examination]:
        """Examine all copies at once; those that cannot be are left out, and noted."""
        coming = {name: self.threads.submit(examine, copy, name, progress=progress) for name, copy in copies.items()}
        examined = {}
        for name, each in coming.items():
            try:
                examined[name] = each.result()
            except PARTITION_ERRORS as error:
                self._note(name, error)
        return examined

    def _listed_again(self, copies: Copies) -> Copies:
        listed = {}
        for name, copy in copies.items():
            try:
                listed[name] = list_again(copy)
            except PARTITION_ERRORS as error:
                self._note(name, error)
        return listed

    def _note(self, name: str, error: Exception) -> None:
        (self.vanished if isinstance(error, PartitionVanishedError) else self.unread).add(name)
        self.on_error(self.topic_partition, error)

    def _ensure_same_topic(self, copies: Copies) -> None:
        try:
            ensure_same_topic(copies)
        except TopicIdsDifferError:
            raise
        except (LogStoreError, OSError):
            pass  # that a file has no id is a finding


def _state(copy: PartitionDirectory) -> State:
    """Return the files of the directory that determine the log's contents, with their current sizes and times."""
    try:
        with os.scandir(copy.path) as entries:
            stats = {entry.name: entry.stat() for entry in entries if entry.name.endswith(TELLING)}
    except OSError:
        return {}
    return {name: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


def _untold(_bytes: int) -> None:
    """Count the bytes that are read once more."""
