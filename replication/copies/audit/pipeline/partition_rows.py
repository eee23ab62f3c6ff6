"""Rows of examined copies become the verdict of their partition; rows of a copy's parts become the copy's."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from logstore.topic_partition import TopicPartition
from replication.copies.audit.comparison.examined_copy import ExaminedCopy, OpenLogs, in_place
from replication.copies.audit.copy_summary import CopySummary
from replication.copies.audit.examination.copy_examiner import Examiner, Row, copy_of, piece_of
from replication.copies.audit.examination.kept.known_verdicts import KnownVerdicts, digest_of
from replication.copies.audit.examination.range_digests import RangeDigests
from replication.copies.audit.examination.transfers import altered_once
from replication.copies.audit.judgement.findings.doubled_copies import BrokersCopies, doubled
from replication.copies.audit.judgement.judgement import judge
from replication.copies.audit.judgement.verdict import PartitionVerdict, Verdict, worst_first
from replication.copies.audit.pipeline.fetched_logs import FetchedLogs
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.changes import changed_since
from replication.copies.audit.snapshots.registered import Registrations
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import Copy

Missing = Mapping[TopicPartition, tuple[str, ...]]
"""The replicas that lack a copy, as `missing_copies` returns them."""


def judge_rows(
    rows: Sequence[Row], missing: Missing, registered: Registrations, known: KnownVerdicts | None = None
) -> Row:
    """Judge one partition; a copy that could not be read, or that changed meanwhile, makes it `unknown`.

    Where `known` has come to a verdict from the same before, that is taken.
    """
    partition = TopicPartition(rows[0]["topic"], rows[0]["partition"])
    unread = [row["replica"] for row in rows if row["summary"] is None]
    read = [row for row in rows if row["summary"] is not None]
    lacking = missing.get(partition, ())
    if not read:
        return unjudged(partition, lacking, unread)
    said = registered.get(partition)
    judged_from = "" if known is None or unread else digest_of(rows, lacking, said)
    if known and judged_from and (recalled := known.recalled(partition, judged_from)):
        return recalled
    altered: set[tuple[str, str]] = set()
    copies = [examined_copy(row, altered) for row in read]
    twice = list(doubled([*_by_broker(rows, read, copies)]))
    copies = [*_one_a_broker(read, copies, twice)]
    verdict = judge(copies, missing=lacking, unread=unread, registered=said)
    changed: list[ReplicaFinding] = []
    has_read = any(comparison.batches_read for comparison in verdict.comparisons)
    if has_read:
        for row in read:
            summary = CopySummary.from_bytes(row["summary"])
            were_read = [each for each in summary.segments if each.file not in summary.unread_files]
            changed += changed_since(copy_of(row), were_read)
    if changed:
        unread += [finding.replica for finding in changed]
        verdict = judge(copies, missing=lacking, unread=unread, registered=said)
    if twice:
        verdict = replace(verdict, verdicts=worst_first({*verdict.verdicts, Verdict.DAMAGED}))
    on_their_way = (altered_once(copy_of(row), file) for row in read for file in _of_copy(altered, row))
    findings = [*verdict.findings, *changed, *on_their_way, *(each.finding(partition) for each in twice)]
    row = {**verdict.as_json(), "findings": [finding.as_json() for finding in findings]}
    if known and judged_from and not has_read and not verdict.unread:
        known.keep(partition, judged_from, row)
    return row


def unjudged(partition: TopicPartition, missing: Sequence[str], unread: Sequence[str]) -> Row:
    """Return the row of a partition of which no copy could be read."""
    verdict = PartitionVerdict(
        *partition, (Verdict.UNKNOWN,), (), None, (), (), tuple(missing), tuple(sorted(unread)), (), ()
    )
    return {**verdict.as_json(), "findings": []}


def _by_broker(
    rows: Sequence[Row], read: Sequence[Row], copies: Sequence[ExaminedCopy]
) -> Iterator[tuple[str, str, ExaminedCopy | None]]:
    """Give each copy, None for one that was not read, with its broker and its directory."""
    examined = dict(zip((row["replica"] for row in read), copies, strict=True))
    for row in rows:
        copy = copy_of(row)
        yield copy.broker or copy.replica, Storage(copy.root).child(copy.directory).shown, examined.get(copy.replica)


def _one_a_broker(
    read: Sequence[Row], copies: Sequence[ExaminedCopy], twice: Sequence[BrokersCopies]
) -> Iterator[ExaminedCopy]:
    """Yield one copy for each broker, the one that is ahead: the others could not lead."""
    chosen = {each.broker: each.chosen for each in twice}
    for row, copy in zip(read, copies, strict=True):
        known = copy_of(row)
        ahead = chosen.get(known.broker or known.replica)
        if ahead is None:
            yield copy
        elif ahead.directory == copy.directory:
            yield ahead


def finish_rows(rows: Sequence[Row], examiner: Examiner) -> Row:
    """Finish one copy, the findings about whose parts are in the parts' rows."""
    return examiner.finish(copy_of(rows[0]), [piece_of(row) for row in rows])


def _of_copy(altered: Collection[tuple[str, str]], row: Row) -> list[str]:
    return sorted(file for replica, file in altered if replica == row["replica"])


def examined_copy(row: Row, altered: set[tuple[str, str]] | None = None) -> ExaminedCopy:
    """Return what was found in a copy, from its row, and how its files are opened.

    Replicas and files that are altered on their way then are added to `altered`.
    """
    summary, digests = CopySummary.from_bytes(row["summary"]), RangeDigests.from_bytes(row["digests"])
    copy = copy_of(row)
    logs = _logs_of(copy, set() if altered is None else altered)
    return ExaminedCopy(summary, digests, logs, Storage(copy.root).child(copy.directory).shown)


def _logs_of(copy: Copy, altered: set[tuple[str, str]]) -> OpenLogs:
    """Open the logs of a copy alone: what stands beside them was read when it was examined."""
    storage = Storage(copy.root)
    if storage.is_local:
        return in_place(storage.child(copy.directory).path)
    return FetchedLogs(copy, lambda file: altered.add((copy.replica, file))).opened
