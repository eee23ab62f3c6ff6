"""Judges the copies of one partition: by their bytes how they differ, by `plan` what each follower truncates."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import combinations, permutations

from logstore.files.partition_metadata import PARTITION_METADATA_NAME
from logstore.topic_partition import TopicPartition
from logstore.verify.finding import UNREADABLE, Reporter
from replication.base.errors import CopyUnreadableError
from replication.base.metadata_partition import METADATA_PARTITION
from replication.copies.audit.comparison.comparison import Comparison, compare
from replication.copies.audit.comparison.difference_findings import difference_findings
from replication.copies.audit.comparison.examined_copy import ExaminedCopy
from replication.copies.audit.copy_summary import CopySummary
from replication.copies.audit.judgement.committed_records import committed_findings
from replication.copies.audit.judgement.examined_log import ExaminedLog, LogState
from replication.copies.audit.judgement.findings.absent_replicas import absent_findings
from replication.copies.audit.judgement.findings.cross_checks import cross_findings, stray_replicas
from replication.copies.audit.judgement.findings.lost_beginning import lost_beginnings, with_its_lost_beginning
from replication.copies.audit.judgement.losses import losses
from replication.copies.audit.judgement.recommendation import may_begin_empty, recommend
from replication.copies.audit.judgement.verdict import (
    Branch,
    ForkedPair,
    PairVerdict,
    PartitionVerdict,
    Verdict,
    worst_first,
)
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.foretold_election import UNTOLD
from replication.copies.audit.snapshots.registered import Registered
from replication.copies.planning.failures import PARTITION_ERRORS
from replication.copies.planning.plan import plan, relation
from replication.copies.planning.truncation_plan import Relation, TruncationPlan

Logs = Mapping[str, ExaminedLog]


def judge(
    copies: Sequence[ExaminedCopy],
    *,
    missing: Sequence[str] = (),
    unread: Collection[str] = (),
    registered: Registered | None = None,
) -> PartitionVerdict:
    """Compare all copies of one partition, at least one; `missing` names the replicas that should have one too.

    `unread` names the replicas whose copies could not be read, or changed while they were read: they make the partition
    `unknown`. So does what cannot be read again, which is a finding, `file-unreadable`; the pair is then not judged by
    its bytes. `registered` is what the cluster's metadata says of the partition, where that is known.
    """
    copies = sorted(copies, key=lambda copy: copy.replica)
    election = registered.election if registered else UNTOLD
    strays = stray_replicas([copy.summary for copy in copies], registered)
    partition = copies[0].summary.topic_partition
    beginnings = tuple(lost_beginnings(partition, [copy.summary for copy in copies], registered))
    copies = [_stray(copy) if copy.replica in strays else copy for copy in copies]
    copies = [replace(copy, summary=with_its_lost_beginning(copy.summary, registered)) for copy in copies]
    comparisons: dict[frozenset[str], Comparison] = {}
    findings: list[ReplicaFinding] = []
    unread = {*unread, *(copy.replica for copy in copies if copy.summary.unread)}
    for left, right in combinations(copies, 2):
        try:
            comparisons[frozenset((left.replica, right.replica))] = compare(left, right)
        except CopyUnreadableError as error:
            findings.append(_unreadable(partition, error))
            unread.add(error.replica)
    logs = {copy.replica: ExaminedLog.of_copy(copy) for copy in copies}
    costs = dict(_costs(logs))
    pairs = tuple(
        _pair(
            logs[leader], logs[follower], comparisons.get(frozenset((leader, follower))), costs.get((leader, follower))
        )
        for leader, follower in permutations(logs, 2)
    )
    summaries = [copy.summary for copy in copies]
    found = list(comparisons.values())
    # Of the metadata's copies nobody chooses the one that leads: the quorum does, by epochs, whatever that loses.
    is_chosen = partition != METADATA_PARTITION
    told = losses(copies, comparisons, registered, with_empty=is_chosen and bool(may_begin_empty(election, missing)))
    recommendation = recommend(summaries, found, told, election, missing) if is_chosen else None
    recommended = None if unread or recommendation is None else recommendation.least_loss
    return PartitionVerdict(
        topic=partition.topic,
        partition=partition.partition,
        verdicts=worst_first({*_verdicts(pairs, summaries, missing), *([Verdict.UNKNOWN] if unread else [])}),
        pairs=pairs,
        recommendation=recommendation,
        branches=tuple(map(_branch, copies)),
        forks=tuple(_forks(comparisons.values())),
        missing=tuple(sorted(missing)),
        unread=tuple(sorted(unread)),
        findings=(
            *dict.fromkeys(findings),
            *beginnings,
            *(committed_findings(summaries, recommendation, found, unread) if recommendation else ()),
            *(absent_findings(partition, recommendation.election) if recommendation else ()),
            *difference_findings(partition, summaries, found),
            *cross_findings(
                partition, summaries, found, pairs, recommended=recommended, missing=missing, registered=registered
            ),
        ),
        comparisons=tuple(comparisons.values()),
        topic_id=registered.topic_id if registered else None,
    )


def _stray(copy: ExaminedCopy) -> ExaminedCopy:
    return replace(copy, summary=replace(copy.summary, is_stray=True))


def _unreadable(partition: TopicPartition, error: CopyUnreadableError) -> ReplicaFinding:
    return ReplicaFinding(error.replica, Reporter(partition).error(UNREADABLE, str(error), file=None))


def _costs(logs: Logs) -> Iterator[tuple[tuple[str, str], TruncationPlan]]:
    """Return what each follower truncates under each leader, as far as that can be known: where both logs end is.

    Pairs of copies that count as the same logs have the same plan, as long as nothing is removed, which would be read.
    """
    logs = {replica: log for replica, log in logs.items() if log.copy.summary.end_is_known}
    numbers: dict[LogState, int] = {}
    alike = {replica: numbers.setdefault(log.state, len(numbers)) for replica, log in logs.items()}
    known: dict[tuple[int, int], TruncationPlan] = {}
    for leader, follower in permutations(logs, 2):
        pair = alike[leader], alike[follower]
        if pair not in known:
            try:
                cost = plan(logs[leader], logs[follower])
            except PARTITION_ERRORS:
                continue
            if cost.truncate_to < cost.log_end_offset:
                yield (leader, follower), cost
                continue
            known[pair] = cost
        yield (leader, follower), known[pair]


def _pair(
    leader: ExaminedLog, follower: ExaminedLog, comparison: Comparison | None, cost: TruncationPlan | None
) -> PairVerdict:
    is_read = all(log.copy.summary.end_is_known for log in (leader, follower))
    related = cost.relation if cost else _relation(leader, follower) if is_read else None
    return PairVerdict(
        leader=leader.copy.replica,
        follower=follower.copy.replica,
        relation=related,
        truncate_to=cost.truncate_to if cost else None,
        records_lost=cost.records_lost if cost else None,
        bytes_lost=cost.bytes_lost if cost else None,
        verdicts=worst_first(set(_pair_verdicts(leader.copy.summary, follower.copy.summary, related, comparison))),
        first_difference=comparison.first_difference if comparison else None,
    )


def _relation(leader: ExaminedLog, follower: ExaminedLog) -> Relation:
    try:
        return relation(leader, follower)
    except PARTITION_ERRORS:  # no epoch or offset is left for a leader: only where the logs end tells them apart
        ends = leader.log_end_offset, follower.log_end_offset
        return Relation.IDENTICAL if ends[0] == ends[1] else Relation.AHEAD if ends[0] < ends[1] else Relation.LAGGING


def _pair_verdicts(
    leader: CopySummary, follower: CopySummary, related: Relation | None, comparison: Comparison | None
) -> Iterator[Verdict]:
    if comparison is None or leader.unread or follower.unread:
        yield Verdict.UNKNOWN
    is_stray = leader.is_stray or follower.is_stray
    is_read = not leader.unread_offsets and not follower.unread_offsets
    if leader.errors or follower.errors or is_stray or _topic_ids_differ(leader, follower):
        yield Verdict.DAMAGED
    if leader.expected_start != follower.expected_start:
        yield Verdict.RETENTION
    # Where the copies have offsets in common, bytes tell of a fork; else what is left of the epochs does.
    by_bytes = comparison is not None and bool(comparison.ranges)
    forked = comparison.fork is not None if comparison and by_bytes else related is Relation.FORKED and is_read
    if forked:
        yield Verdict.FORKED
    elif leader.log_end_offset != follower.log_end_offset:
        yield Verdict.LAGGING
    if comparison is None:
        return
    if comparison.divergences:
        yield Verdict.SILENT_DIVERGENCE
    if comparison.missing_left or comparison.missing_right:
        yield Verdict.MISSING
    if comparison.compacted_differently:
        yield Verdict.COMPACTION


def _topic_ids_differ(leader: CopySummary, follower: CopySummary) -> bool:
    is_read = not any(PARTITION_METADATA_NAME in each.unread_files for each in (leader, follower))
    return is_read and leader.topic_id != follower.topic_id


def _verdicts(
    pairs: Sequence[PairVerdict], summaries: Sequence[CopySummary], missing: Sequence[str]
) -> Iterator[Verdict]:
    for pair in pairs:
        yield from pair.verdicts
    if missing:
        yield Verdict.MISSING
    if any(summary.errors or summary.is_stray for summary in summaries):
        yield Verdict.DAMAGED


def _forks(comparisons: Iterable[Comparison]) -> Iterator[ForkedPair]:
    for comparison in comparisons:
        if comparison.fork:
            fork = comparison.fork
            yield ForkedPair(comparison.left, comparison.right, *astuple(fork))


def _branch(copy: ExaminedCopy) -> Branch:
    summary = copy.summary
    return Branch(
        summary.replica,
        copy.directory,
        summary.log_start_offset,
        summary.log_end_offset,
        summary.high_watermark,
        summary.records,
        summary.log_bytes,
        summary.lineage,
        summary.high_watermark_unread,
        summary.open_transactions,
    )
