"""What consumer groups have committed, and which of them stand where a truncation takes the log away."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from epoch import UNDEFINED_EPOCH_OFFSET, EpochEntry, EpochHistory
from logstore.batch.record import Record
from logstore.verify import Finding, Severity
from replication.base.json_object import Json
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.records.coordinator_records.decided_records import DecidedRecords
from replication.records.coordinator_records.offset_commit import (
    GroupPartition,
    read_group_partition,
    read_offset_commit,
)

CONSUMER_OFFSETS: Final = "__consumer_offsets"
"""The topic in which Kafka keeps what groups commit."""


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
    longest_end: int
    """Where the longest copy ends; the offset may lie beyond that too."""

    def as_json(self) -> dict[str, Any]:
        """Return it as `epochlog audit --json` prints it."""
        return {
            "group": self.group,
            "topic": self.topic,
            "partition": self.partition,
            "committed_offset": self.committed_offset,
            "truncate_to": self.truncate_to,
            "replica": self.replica,
            "longest_end": self.longest_end,
        }

    def finding(self) -> ReplicaFinding:
        """Return the finding that describes it."""
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
                f"group {self.group} has committed offset {self.committed_offset}, but the records that it has "
                f"read match {self.replica}'s log only up to {self.truncate_to}: under that leader the group would "
                f"skip records written from {self.truncate_to} on, or be reset; reset it to {self.truncate_to}"
                f"{self._beyond_all()}",
            ),
        )

    def _beyond_all(self) -> str:
        if self.committed_offset <= self.longest_end:
            return ""
        return (
            f". No copy here has what lies from {self.longest_end} on: it was read and is lost, or is elsewhere, or "
            f"this copy is older than that of {CONSUMER_OFFSETS}, or the offset was set by hand"
        )


@dataclass(slots=True)
class CommittedOffsets:
    """Collects what groups commit while the records of a `__consumer_offsets` partition go by, in order."""

    known: dict[GroupPartition, CommittedOffset] = field(default_factory=dict)
    """The last commits that count: those of open or aborted transactions do not."""
    _decided: DecidedRecords = field(default_factory=DecidedRecords)

    def add(self, record: Record, *, producer_id: int, is_transactional: bool, is_control: bool) -> None:
        """Add the next record of the log. Raises CorruptControlRecordError."""
        for each in self._decided.add(
            record, producer_id=producer_id, is_transactional=is_transactional, is_control=is_control
        ):
            self._take(each)

    def _take(self, record: Record) -> None:
        place = read_group_partition(record.key)
        if place is None:
            return
        commit = read_offset_commit(record.value)
        if commit is None:
            self.known.pop(place, None)
        else:
            self.known[place] = CommittedOffset(commit.offset, commit.leader_epoch)


def stranded_by(
    partition: Json, committed: Iterable[tuple[GroupPartition, CommittedOffset]]
) -> Iterator[StrandedOffset]:
    """Yield the offsets committed for a partition that have no place once the recommended replica leads.

    The partition is given as `PartitionVerdict.as_json` does.
    """
    leader = next((branch for branch in partition["branches"] if branch["replica"] == partition["recommended"]), None)
    if leader is None:
        return
    end = leader["log_end_offset"]
    history = EpochHistory(EpochEntry(entry["epoch"], entry["start_offset"]) for entry in leader["lineage"])
    lowest_cut = min([end, *cuts(partition)])
    longest_end = max(branch["log_end_offset"] for branch in partition["branches"])
    for place, (offset, epoch) in committed:
        answer = history.end_offset_for(epoch, end)
        is_older = history.earliest is not None and epoch < history.earliest.epoch
        # Where the group has not said the epoch, or the leader knows nothing of it, the lowest cut must do.
        shared = lowest_cut if is_older or answer.end_offset == UNDEFINED_EPOCH_OFFSET else answer.end_offset
        if offset > shared:
            yield StrandedOffset(*place, offset, shared, leader["replica"], longest_end)


def cuts(partition: Json) -> list[int]:
    """Return where replicas' logs are cut once the recommended one leads."""
    ends = {branch["replica"]: branch["log_end_offset"] for branch in partition["branches"]}
    return [
        pair["truncate_to"]
        for pair in partition["pairs"]
        if pair["leader"] == partition["recommended"]
        and pair["truncate_to"] is not None
        and pair["truncate_to"] < ends[pair["follower"]]
    ]
