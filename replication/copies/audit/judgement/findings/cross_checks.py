"""What copies of a partition say of each other besides their bytes: ids, epochs, transactions, cuts, watermarks."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, permutations
from typing import Final

from epoch.checkpoint import LEADER_EPOCH_CHECKPOINT
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT
from logstore.files.partition_metadata import PARTITION_METADATA_NAME
from logstore.topic_partition import TopicPartition
from logstore.verify.directory_check import TOPIC_ID_MISSING
from logstore.verify.finding import Finding, Reporter
from replication.copies.audit.comparison.comparison import Comparison
from replication.copies.audit.copy_summary import CopySummary, OpenTransaction
from replication.copies.audit.judgement.findings.cuts import cut_findings
from replication.copies.audit.judgement.verdict import PairVerdict
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.missing_copies import UNNAMED
from replication.copies.audit.snapshots.registered import Registered

TOPIC_ID_DIFFERS: Final = "topic-id-differs"


def cross_findings(
    partition: TopicPartition,
    summaries: Sequence[CopySummary],
    comparisons: Sequence[Comparison],
    pairs: Sequence[PairVerdict],
    *,
    recommended: str | None,
    missing: Sequence[str] = (),
    registered: Registered | None = None,
) -> tuple[ReplicaFinding, ...]:
    """Hold the copies of one partition against each other. `missing` names the replicas without a copy."""
    checks = _CrossChecks(Reporter(partition), summaries, _forks(comparisons))
    return (
        *checks.missing_copies(missing),
        *checks.topic_ids(registered),
        *checks.epochs(),
        *checks.transactions(),
        *checks.high_watermarks(),
        *checks.log_starts(),
        *cut_findings(partition, summaries, pairs, recommended),
    )


@dataclass(frozen=True, slots=True)
class _Contradiction:
    """An epoch that cannot have begun as both copies say."""

    replicas: tuple[str, str]
    epoch: int
    starts: tuple[int, int]
    fork: int | None
    """Where the copies had parted before."""


@dataclass(frozen=True, slots=True)
class _CrossChecks:
    report: Reporter
    summaries: Sequence[CopySummary]
    forks: Mapping[frozenset[str], int]
    """The offset where two replicas fork."""

    def missing_copies(self, missing: Sequence[str]) -> Iterator[ReplicaFinding]:
        """Report replicas without a copy."""
        there = ", ".join(summary.replica for summary in self.summaries)
        for replica in missing:
            whose = "no copy of the partition can be read here" if replica != UNNAMED else "a copy is missing somewhere"
            yield ReplicaFinding(
                replica,
                self.report.warning(
                    "replica-missing",
                    f"{whose}, although the cluster's metadata, checkpoint files or the other copies show that there "
                    f"should be one; there is one on {there}: this one was lost, not created yet, or left out of the "
                    "snapshot",
                    file=None,
                ),
            )

    def topic_ids(self, registered: Registered | None) -> Iterator[ReplicaFinding]:
        """Report another id than the cluster or most have: the directory is then another topic's of the same name."""
        ids = {each.replica: each.topic_id for each in self.summaries if each.topic_id is not None}
        told = registered.topic_id if registered else None
        for each in self.summaries:
            is_needed = bool(ids) or _is_stray_without(each, told)
            if is_needed and _has_no_id(each) and not each.errors:
                yield ReplicaFinding(each.replica, self._no_topic_id())
        for replica in _odd(ids) if told is None else _others_than(told, ids):
            others = ", ".join(f"{other} has {ids[other]}" for other in ids if ids[other] != ids[replica])
            others = others if told is None else f"{told} by the cluster's metadata"
            message = (
                f"the topic's id is {ids[replica]} here, but {others}: the directory belongs to another topic of that "
                "name (deleted and created again), or the file was altered; a broker treats such a log as stray"
            )
            finding = self.report.error(TOPIC_ID_DIFFERS, message, file=PARTITION_METADATA_NAME)
            yield ReplicaFinding(replica, finding)

    def _no_topic_id(self) -> Finding:
        return self.report.error(
            TOPIC_ID_MISSING,
            f"{PARTITION_METADATA_NAME} is missing, although other copies have it, or the cluster's metadata has the "
            "topic's id: a KRaft broker treats such a log as stray and drops it; "
            "copy the file from another replica, the broker stopped",
            file=PARTITION_METADATA_NAME,
        )

    def epochs(self) -> Iterator[ReplicaFinding]:
        """Report epochs with two starts, and those shared beyond a fork: an epoch has one leader, one history."""
        found = [each for left, right in combinations(self.summaries, 2) for each in self._contradictions(left, right)]
        times = Counter(replica for each in found for replica in each.replicas)
        most = max(times.values(), default=0)
        told = set()
        for each in found:
            for replica, other, starts in (
                (each.replicas[0], each.replicas[1], each.starts),
                (each.replicas[1], each.replicas[0], each.starts[::-1]),
            ):
                if times[replica] == most and (replica, each.epoch) not in told:
                    told.add((replica, each.epoch))
                    yield ReplicaFinding(replica, self._epoch_finding(each, other, starts))

    def _epoch_finding(self, found: _Contradiction, other: str, starts: tuple[int, int]) -> Finding:
        what = f"epoch {found.epoch} starts at {starts[0]} here and at {starts[1]} on {other}"
        if found.fork is not None:
            what += f", although the two diverge already at offset {found.fork} before"
        return self.report.error(
            "epochs-contradict",
            f"{what}: an epoch has one leader, and a copy with records of it has all records before them, so the "
            "epochs of one copy were altered; take the partition from the replica that is right",
            file=LEADER_EPOCH_CHECKPOINT,
            offset=starts[0],
        )

    def _contradictions(self, left: CopySummary, right: CopySummary) -> Iterator[_Contradiction]:
        if left.errors or right.errors or left.unread_offsets or right.unread_offsets:
            return  # whose own files disagree with each other, or do not tell everything
        fork = self.forks.get(frozenset((left.replica, right.replica)))
        starts = dict(right.lineage)
        for epoch, start in left.lineage:
            pair = start, starts.get(epoch, start)
            parted_before = fork is not None and epoch in starts and min(pair) > fork
            if parted_before or (pair[0] != pair[1] and not _may_start_later(epoch, left, right, pair)):
                told = fork if parted_before else None
                yield _Contradiction((left.replica, right.replica), epoch, pair, told)

    def transactions(self) -> Iterator[ReplicaFinding]:
        """Look for transactions that are open in a copy although another, before the first one's end, has their end."""
        markers = {summary.replica: dict(summary.last_markers) for summary in self.summaries}
        for summary in self.summaries:
            ends = {other: self._common_end(summary, other) for other in markers}
            for left_open in summary.open_transactions:
                told = (
                    (other, marker)
                    for other, offsets in markers.items()
                    if left_open.first_offset < (marker := offsets.get(left_open.producer_id, -1)) < ends[other]
                )
                for other, marker in islice(told, 1):
                    yield ReplicaFinding(summary.replica, self._left_open(left_open, other, marker))

    def _left_open(self, transaction: OpenTransaction, other: str, marker: int) -> Finding:
        whose = f"the transaction of producer {transaction.producer_id} (epoch {transaction.producer_epoch})"
        return self.report.error(
            "transaction-marker-missing",
            f"{whose} from offset {transaction.first_offset} on is still open here, but {other} has its marker at "
            f"{marker}: consumers with read_committed would wait at its first record forever; take the partition from "
            "another replica",
            file=None,
            offset=marker,
        )

    def _common_end(self, summary: CopySummary, other: str) -> int:
        """Return up to where the copy should have what the other has."""
        return min(summary.log_end_offset, self.forks.get(frozenset((summary.replica, other)), summary.log_end_offset))

    def high_watermarks(self) -> Iterator[ReplicaFinding]:
        """Look for committed records on a branch of its own: they are lost unless it goes on."""
        for summary in self.summaries:
            forks = [fork for replicas, fork in self.forks.items() if summary.replica in replicas]
            fork = min(forks, default=None)
            # Not as far as the log goes: what damage cut off was committed too.
            committed = summary.checkpointed_high_watermark
            if fork is None or committed is None or committed <= fork:
                continue
            finding = self.report.info(
                "high-watermark-beyond-fork",
                f"records up to {committed} were committed as far as this broker knew, but the copies "
                f"diverge at offset {fork}: they stay only if this branch is the one that leads",
                file=HIGH_WATERMARK_CHECKPOINT,
                offset=fork,
            )
            yield ReplicaFinding(summary.replica, finding)

    def log_starts(self) -> Iterator[ReplicaFinding]:
        """Report a copy that begins beyond another's end: they have nothing in common."""
        for one, other in permutations(self.summaries, 2):
            if other.log_end_offset >= one.log_start_offset or not other.end_is_known:
                continue
            finding = self.report.warning(
                "log-start-beyond-replica",
                f"the log starts at {one.log_start_offset} here, beyond the end of {other.replica}'s at "
                f"{other.log_end_offset}: whichever leads, the other drops its whole log",
                file=LOG_START_OFFSET_CHECKPOINT,
                offset=one.log_start_offset,
            )
            yield ReplicaFinding(one.replica, finding)


def stray_replicas(summaries: Sequence[CopySummary], registered: Registered | None) -> set[str]:
    """Name the replicas whose brokers take their logs for stray by the topic's id, as far as that is known."""
    ids = {each.replica: each.topic_id for each in summaries if each.topic_id is not None}
    if registered is not None and registered.topic_id is not None:
        without = {each.replica for each in summaries if _is_stray_without(each, registered.topic_id)}
        return {*_others_than(registered.topic_id, ids), *without}
    odd = {*_odd(ids)}
    return odd if odd != ids.keys() else set()


def _is_stray_without(summary: CopySummary, told: str | None) -> bool:
    """Whether a log has records and no topic id, although the cluster's metadata has one."""
    return told is not None and bool(summary.records) and _has_no_id(summary)


def _has_no_id(summary: CopySummary) -> bool:
    return summary.topic_id is None and PARTITION_METADATA_NAME not in summary.unread_files


def _others_than(topic_id: str, ids: Mapping[str, str]) -> Iterator[str]:
    return (replica for replica, each in ids.items() if each != topic_id)


def _forks(comparisons: Sequence[Comparison]) -> dict[frozenset[str], int]:
    return {frozenset((each.left, each.right)): each.fork.offset for each in comparisons if each.fork}


def _may_start_later(epoch: int, left: CopySummary, right: CopySummary, starts: tuple[int, int]) -> bool:
    """Whether retention, which moves the first epoch's start, or the cleaner explains that an epoch starts later."""
    later = left if starts[0] > starts[1] else right
    return later.lineage[0].epoch == epoch or min(starts) < max(left.cleaned_to, right.cleaned_to)


def _odd(values: Mapping[str, str]) -> Iterator[str]:
    """Name the replicas that do not have what most have; all of them where most do not agree."""
    counts = Counter(values.values())
    if len(counts) < 2:
        return
    value, times = counts.most_common(1)[0]
    yield from (name for name in values if 2 * times <= len(values) or values[name] != value)
