"""What consumer groups have committed, and which of them stand where a truncation takes the log away."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct, error
from typing import Any, Final, NamedTuple

from epoch import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET, EpochHistory
from logstore.batches import Batch
from logstore.control import ControlRecord, ControlType
from logstore.errors import LogStoreError
from logstore.log_file import LogFile
from logstore.record import Record
from logstore.verify import Finding, Severity
from replication.audit.replica_finding import ReplicaFinding
from replication.audit.verdict import PartitionVerdict

CONSUMER_OFFSETS: Final = "__consumer_offsets"
"""The topic in which Kafka keeps what groups commit."""

_SHORT: Final = Struct(">h")
_INT: Final = Struct(">i")
_OFFSET: Final = Struct(">hq")
_OFFSET_AND_EPOCH: Final = Struct(">hqi")
_COMMIT_KEYS: Final = (0, 1)
"""Versions of keys of committed offsets; others are of the groups themselves."""
_FIRST_WITH_EPOCH: Final = 3
_NEWEST: Final = 4


class GroupPartition(NamedTuple):
    """Whose place, and where."""

    group: str
    topic: str
    partition: int


class CommittedOffset(NamedTuple):
    """The next offset that a group will read, and the epoch of the last record that it has read."""

    offset: int
    leader_epoch: int
    """-1 where the consumer did not say, as those before Kafka 2.1."""


@dataclass(frozen=True, slots=True)
class StrandedOffset:
    """A committed offset beyond what the partition's next leader shares with the log that the group has read."""

    group: str
    topic: str
    partition: int
    committed_offset: int
    truncate_to: int
    replica: str
    """The leader, in whose log the offset has no place."""

    def as_json(self) -> dict[str, Any]:
        """Return it as `epochlog audit --json` prints it."""
        return {
            "group": self.group,
            "topic": self.topic,
            "partition": self.partition,
            "committed_offset": self.committed_offset,
            "truncate_to": self.truncate_to,
            "replica": self.replica,
        }

    def finding(self) -> ReplicaFinding:
        """Say what it means."""
        return ReplicaFinding(
            self.replica,
            Finding(
                "consumer-offset-beyond-truncation",
                Severity.WARNING,
                self.topic,
                self.partition,
                None,
                None,
                self.committed_offset,
                f"group {self.group} has committed offset {self.committed_offset}, but what it has read agrees with "
                f"{self.replica}'s log only up to {self.truncate_to}: under that leader the group would skip what is "
                f"written from {self.truncate_to} on, or be reset; set it back to {self.truncate_to}",
            ),
        )


@dataclass(slots=True)
class CommittedOffsets:
    """Collects what groups commit while the batches of a `__consumer_offsets` partition go by."""

    known: dict[GroupPartition, CommittedOffset] = field(default_factory=dict)
    """The last commits that count: those of open or aborted transactions do not."""
    _pending: dict[int, list[Record]] = field(default_factory=dict)

    def add(self, batch: Batch) -> None:
        """Take the next batch of the log. Raises LogStoreError where its records cannot be read."""
        if batch.is_control:
            self._end_transaction(batch)
        elif batch.is_transactional:
            self._pending.setdefault(batch.producer_id, []).extend(batch.records())
        else:
            self._take(batch.records())

    def _end_transaction(self, batch: Batch) -> None:
        pending = self._pending.pop(batch.producer_id, [])
        if any(ControlRecord.of(record).type is ControlType.COMMIT for record in batch.records()):
            self._take(pending)

    def _take(self, records: Iterable[Record]) -> None:
        for record in records:
            place = _place(record.key)
            if place is None:
                continue
            committed = _committed(record.value)
            if committed is None:
                self.known.pop(place, None)
            else:
                self.known[place] = committed


def read_committed(logs: Iterable[Path]) -> dict[GroupPartition, CommittedOffset]:
    """Read a partition's `.log` files, in order; where one is damaged, on with the next: `verify` tells of damage."""
    offsets = CommittedOffsets()
    for path in logs:
        try:
            with LogFile.open(path) as log:
                for batch in log.batches():
                    offsets.add(batch)
        except (LogStoreError, OSError):
            continue
    return offsets.known


def stranded_by(
    verdict: PartitionVerdict, committed: Iterable[tuple[GroupPartition, CommittedOffset]]
) -> Iterator[StrandedOffset]:
    """Yield the offsets committed for a partition that have no place once the recommended replica leads."""
    leader = next((branch for branch in verdict.branches if branch.replica == verdict.recommended), None)
    if leader is None:
        return
    history = EpochHistory(leader.lineage)
    ends = {branch.replica: branch.log_end_offset for branch in verdict.branches}
    cuts = [
        pair.truncate_to
        for pair in verdict.pairs
        if pair.leader == leader.replica and pair.truncate_to is not None and pair.truncate_to < ends[pair.follower]
    ]
    lowest_cut = min([leader.log_end_offset, *cuts])
    for place, (offset, epoch) in committed:
        answer = history.end_offset_for(epoch, leader.log_end_offset)
        # Where the leader has never heard of the epoch, or the group has not said it, the lowest cut must do.
        shared = lowest_cut if answer.end_offset == UNDEFINED_EPOCH_OFFSET else answer.end_offset
        if offset > shared:
            yield StrandedOffset(*place, offset, shared, leader.replica)


def _place(key: bytes | None) -> GroupPartition | None:
    """Read whose offset a record is about; None where it is about something else."""
    try:
        data = key or b""
        (version,) = _SHORT.unpack_from(data)
        if version not in _COMMIT_KEYS:
            return None
        group, position = _string(data, _SHORT.size)
        topic, position = _string(data, position)
        (partition,) = _INT.unpack_from(data, position)
    except (error, UnicodeDecodeError):
        return None
    return GroupPartition(group, topic, partition)


def _string(data: bytes, position: int) -> tuple[str, int]:
    (length,) = _SHORT.unpack_from(data, position)
    start = position + _SHORT.size
    if not 0 <= length <= len(data) - start:
        raise error
    return data[start : start + length].decode(), start + length


def _committed(value: bytes | None) -> CommittedOffset | None:
    """Read a commit; None where it is withdrawn, or of a version that nobody knows."""
    try:
        data = value or b""
        (version,) = _SHORT.unpack_from(data)
        if not 0 <= version <= _NEWEST:
            return None
        if version < _FIRST_WITH_EPOCH:
            return CommittedOffset(_OFFSET.unpack_from(data)[1], UNDEFINED_EPOCH)
        return CommittedOffset(*_OFFSET_AND_EPOCH.unpack_from(data)[1:])
    except error:
        return None
