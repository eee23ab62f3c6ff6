"""What an audit does, before any of it is done: which copies are examined in which tasks, and which are missing."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final
from uuid import uuid4
from zlib import crc32

from logstore.topic_partition import TopicPartition
from logstore.verify.finding import Reporter
from replication.base.chosen_topics import is_chosen
from replication.base.counted import counted
from replication.base.errors import (
    HistoryError,
    MissingBrokersError,
    NotAllowedError,
    NothingChosenError,
    SnapshotChangedError,
)
from replication.base.metadata_partition import METADATA_PARTITION
from replication.copies.audit.examination.copy_examiner import Examiner
from replication.copies.audit.examination.kept.header_cache import UNREADABLE_HISTORY, HeaderCache
from replication.copies.audit.examination.kept.known_verdicts import KnownVerdicts
from replication.copies.audit.examination.kept.rotation import Rotation
from replication.copies.audit.examination.kept.standing_copy import StandingCopies
from replication.copies.audit.judgement.run import Changes, Run
from replication.copies.audit.pipeline.audit_options import AuditOptions
from replication.copies.audit.pipeline.history import History
from replication.copies.audit.pipeline.partition_rows import Missing
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.arguments import ensure_few_tasks, snapshots_in
from replication.copies.audit.snapshots.foretold_election import RUNNING, ForetoldElection
from replication.copies.audit.snapshots.missing_copies import UNNAMED, Expectations, missing_copies, nowhere_findings
from replication.copies.audit.snapshots.registered import Registered, Registrations
from replication.copies.audit.snapshots.remote.traffic import NOTHING, TRAFFIC, Traffic
from replication.copies.audit.snapshots.snapshot import (
    Snapshot,
    expected_in,
    find_snapshots,
    list_snapshots,
    local_directories,
    unread_roots,
)
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import Copy, Job, Task, live_work, plan_work, target_bytes

_MICROSECONDS: Final = 1_000_000
NewExaminer = Callable[[], Examiner]


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """One run of an audit. Planning lists the snapshots, and reads no log."""

    options: AuditOptions
    named: tuple[str | Path, ...]
    """The snapshots as the caller named them."""
    snapshots: tuple[Snapshot, ...]
    copies: tuple[Copy, ...]
    """Those that are examined."""
    tasks: tuple[Task, ...]
    missing: Missing
    registered: Registrations
    """What the cluster's metadata says of the partitions that are judged."""
    findings: tuple[ReplicaFinding, ...]
    """About partitions of which there is no copy, and a history that cannot be used."""
    begun: float
    """When the planning began, in seconds since 1970 UTC."""
    run_id: str
    """Names this run: 32 hexadecimal digits."""
    history: History | None
    run_before: Run | None
    """The last one in the history."""
    rotation: Rotation | None = None
    """Which segments are read again, where some are in each run."""
    fetched_before: Traffic = NOTHING
    """What this process had fetched from object stores before."""

    @property
    def bytes(self) -> int:
        """Bytes of log in all copies that are examined."""
        return sum(copy.bytes for copy in self.copies)

    @property
    def left_out(self) -> int:
        """How many partitions of these snapshots are not looked at, as others were chosen."""
        if not self.options.is_partial:
            return 0
        found = {copy.topic_partition for snapshot in self.snapshots for copy in snapshot.copies()}
        return len(found - _wanted(found, self.options) - {METADATA_PARTITION})

    @property
    def partitions(self) -> set[TopicPartition]:
        """The partitions that are judged."""
        return {copy.topic_partition for copy in self.copies}

    @property
    def batch_options(self) -> Mapping[str, str]:
        """What `kafka-log` is to be asked for, of the snapshots that are named, to give the batches of these copies."""
        return {"partitions": ",".join(sorted(map(str, self.partitions)))} if self.options.is_partial else {}

    def ensure_unchanged(self) -> None:
        """See that the copies have the same `.log` files, as large as they were when the audit was planned.

        The snapshots are listed once more. Raises SnapshotChangedError, and as `list_snapshots` does.
        """
        listed = {
            (copy.root, copy.directory): copy for snapshot in list_snapshots(self.named) for copy in snapshot.copies()
        }
        for copy in self.copies:
            now = listed.get((copy.root, copy.directory))
            if now is None or now.segments != copy.segments:
                place = Storage(copy.root).child(copy.directory)
                raise SnapshotChangedError(place.shown, "its .log files have changed")

    @property
    def begun_microseconds(self) -> int:
        """When the planning began, as a TIMESTAMP."""
        return round(self.begun * _MICROSECONDS)

    def changes(self, run: Run) -> Changes | None:
        """Compare this run, once it is done, with the one before; None where there is none."""
        return Changes.between(self.run_before, run) if self.run_before else None

    @property
    def new_examiner(self) -> NewExaminer:
        """What makes the examiner of a task, wherever that runs."""
        records, read_at, is_live = self.options.records, self.begun_microseconds, self.options.live
        if self.history is None:
            return partial(Examiner, records=records, read_at=read_at, is_live=is_live)
        full, rotation = self.options.full, self.rotation
        cache = HeaderCache(self.history.headers, read_at, records=records, full=full, rotation=rotation)
        if is_live:  # brokers write to the copies: what is found in one is of one moment
            return partial(Examiner, records=records, read_at=read_at, cache=cache, is_live=True)
        standing = StandingCopies(self.history.headers, read_at, records=records, full=full, rotation=rotation)
        return partial(Examiner, records=records, read_at=read_at, cache=cache, standing=standing)

    @property
    def known_verdicts(self) -> KnownVerdicts | None:
        """What spares judging partitions; None without a history."""
        return None if self.history is None else KnownVerdicts(self.history.verdicts, full=self.options.full)

    def __str__(self) -> str:
        names = ", ".join(snapshot.name for snapshot in self.snapshots)
        return f"{names}: {counted(len(self.copies), 'copy', 'copies')}, {counted(self.bytes, 'byte')} of log"


def plan_audit(
    snapshots: Sequence[str | Path],
    options: AuditOptions,
    found: Sequence[Snapshot] | None = None,
    target: Callable[[int], int] = target_bytes,
) -> AuditPlan:
    """List the snapshots, choose what is examined, and divide it into tasks.

    `found` is what `find_snapshots` has returned for the same snapshots, where that was asked already. `target` chooses
    how many bytes a task reads, of so many in all, where the options do not. Raises what
    `find_snapshots` raises, MissingBrokersError, NothingChosenError, WrongTypeError, NotAllowedError.
    """
    begun = time.time()
    before = TRAFFIC.so_far if found is None else NOTHING  # what is known already was asked for by this process
    named, options = snapshots_in(snapshots), options.checked()
    found = find_snapshots(named) if found is None else found
    _ensure_expected(found, options.expected_brokers)
    if options.live:
        _ensure_local(found)
    copies = chosen_copies(found, options)
    total = sum(copy.bytes for copy in copies)
    ensure_few_tasks(options.task_bytes, total)
    expected = expected_in(found, options.replication_factor)
    judged = {copy.topic_partition for copy in copies}
    history = None if options.history is None else History.at(options.history)
    _ensure_usable(history, local_directories(named, found))
    run_before, unusable = _run_before(history)
    jobs = list(_jobs(found, copies))
    return AuditPlan(
        options=options,
        named=tuple(named),
        snapshots=tuple(found),
        copies=tuple(copies),
        tasks=tuple(live_work(jobs) if options.live else plan_work(jobs, options.task_bytes or target(total))),
        missing={each: who for each, who in _missing(found, expected).items() if is_wanted(each, options)},
        registered=_registered(found, expected, judged, is_live=options.live),
        findings=(*_nowhere(found, expected.about(partial(is_wanted, options=options))), *unusable),
        begun=begun,
        run_id=uuid4().hex,
        history=history,
        run_before=run_before,
        rotation=_rotation(history, options.rotate),
        fetched_before=before,
    )


def _missing(found: Sequence[Snapshot], expected: Expectations) -> Missing:
    """Return which copies are missing; what a snapshot holds that could not be listed is not known.

    All partitions count, whatever is chosen: a snapshot without those that are does not hold nothing.
    """
    listed = {snapshot.name: snapshot.held for snapshot in found if snapshot.is_listed}
    missing = missing_copies(listed, expected)
    if len(listed) == len(found):
        return missing
    there = {each: tuple(name for name in who if name in listed) for each, who in missing.items()}
    return {each: who for each, who in there.items() if who}


def _nowhere(found: Sequence[Snapshot], expected: Expectations) -> tuple[ReplicaFinding, ...]:
    """Report partitions without any copy, which are not known where not everything could be listed."""
    if not all(snapshot.is_listed for snapshot in found):
        return ()
    return nowhere_findings({snapshot.name: snapshot.held for snapshot in found}, expected)


def _registered(
    found: Sequence[Snapshot], expected: Expectations, judged: Collection[TopicPartition], *, is_live: bool
) -> Registrations:
    """Complete what the cluster's metadata says of the partitions that are judged by whom Kafka elects."""
    said = {each: expected.registered.get(each, Registered(None)) for each in judged if each != METADATA_PARTITION}
    if is_live:
        return {each: replace(one, election=ForetoldElection(RUNNING)) for each, one in said.items()}
    if not any(str(METADATA_PARTITION) in root.partitions for snapshot in found for root in snapshot.roots):
        return said
    from replication.copies.audit.snapshots.foretelling import foretelling_in  # noqa: PLC0415  start-up time

    return foretelling_in(found).completed(said)


def chosen_copies(snapshots: Sequence[Snapshot], options: AuditOptions) -> list[Copy]:
    """List the copies to be examined. Raises NothingChosenError."""
    copies = [copy for snapshot in snapshots for copy in snapshot.copies()]
    wanted = _wanted([copy.topic_partition for copy in copies], options)
    if not wanted:
        topics = {copy.topic_partition.topic for copy in copies}
        raise NothingChosenError(options.topics, topics, sample=options.sample)
    return [copy for copy in copies if copy.topic_partition in wanted]


def _ensure_usable(history: History | None, copies: Iterable[Path]) -> None:
    """Raise NotAllowedError where the history is no directory, or would be written into what is audited."""
    if history is None or not history.place.is_local:
        return
    place = history.place.path.resolve()
    if place.exists() and not place.is_dir():
        raise NotAllowedError("history", history.place.shown, "a directory, which need not exist yet")
    for copy in copies:
        if place.is_relative_to(copy.resolve()):
            allowed = f"a directory outside of {copy}, which is only read"
            raise NotAllowedError("history", history.place.shown, allowed)


def _run_before(history: History | None) -> tuple[Run | None, tuple[ReplicaFinding, ...]]:
    """Read the last run of a history; where that cannot be, nothing is said to be new."""
    try:
        return (history.latest_run() if history else None), ()
    except HistoryError as error:
        message = f"what is new since the last audit is not known: {error}"
        return None, (ReplicaFinding(UNNAMED, Reporter(None).warning(UNREADABLE_HISTORY, message, file=None)),)


def _rotation(history: History | None, runs: int | None) -> Rotation | None:
    """Return which segments are due; all where it is not known which runs there were, as a finding says then."""
    if history is None or runs is None:
        return None
    try:
        return history.rotation(runs)
    except HistoryError:
        return Rotation(1, 0, 0)


def _jobs(snapshots: Sequence[Snapshot], copies: Sequence[Copy]) -> Iterator[Job]:
    for snapshot in snapshots:
        for root in snapshot.roots:
            yield Job(snapshot.name, root.storage.uri)
    for copy in copies:
        yield Job(copy.replica, copy.root, copy)


def _ensure_local(snapshots: Sequence[Snapshot]) -> None:
    """Raise NotAllowedError where a snapshot is not on this machine, so that no broker writes to it."""
    for snapshot in snapshots:
        for root in snapshot.roots:
            if not root.storage.is_local:
                raise NotAllowedError("live", True, f"False, as {root.storage.shown} is no directory of this machine")


def _wanted(partitions: Iterable[TopicPartition], options: AuditOptions) -> set[TopicPartition]:
    return {partition for partition in partitions if is_wanted(partition, options)}


def is_wanted(partition: TopicPartition, options: AuditOptions) -> bool:
    """Choose by topics, and a share by names' checksums, so that each run and each broker has the same."""
    return is_chosen(partition.topic, options.topics) and crc32(str(partition).encode()) < options.sample * 2**32


def _ensure_expected(found: Sequence[Snapshot], brokers: Sequence[str | int]) -> None:
    """Raise MissingBrokersError where a broker is not among the snapshots, by their names or their node.id."""
    there = {snapshot.name for snapshot in found}
    there |= {str(root.node_id) for snapshot in found for root in snapshot.roots if root.node_id is not None}
    lacking = [str(broker) for broker in brokers if str(broker) not in there]
    if lacking:
        raise MissingBrokersError(lacking, [snapshot.name for snapshot in found], unread_roots(found))
