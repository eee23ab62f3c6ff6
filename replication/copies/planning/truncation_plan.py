"""What a follower would truncate under a leader, and how their logs relate."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from epoch import TruncationProtocol
from epoch.truncation import Round
from logstore.topic_partition import TopicPartition
from replication.copies.planning.damage import Damage
from replication.copies.planning.raft_log import LogPosition


class Relation(StrEnum):
    """How a follower's log relates to its leader's, by who led which offsets."""

    IDENTICAL = "identical"
    LAGGING = "lagging"
    """The follower only lacks records at its end."""
    AHEAD = "ahead"
    """The follower only has extra records at its end."""
    FORKED = "forked"
    """Each has records at its end that the other lacks."""


@dataclass(frozen=True, slots=True)
class TruncationPlan:
    """What one partition's follower does when it starts to follow. Records and bytes are of whole batches."""

    topic: str
    partition: int
    protocol: TruncationProtocol
    rounds: tuple[Round, ...]
    truncate_to: int
    log_end_offset: int
    """The follower's, before it truncates."""
    relation: Relation
    records_lost: int
    bytes_lost: int
    leader_damage: Damage | None = None
    follower_damage: Damage | None = None
    snapshot: LogPosition | None = None
    """Of the metadata's partition: the leader's, which takes the place of all that the follower has."""
    committed_end: int | None = None
    """Of the metadata's partition: up to where the follower's own snapshots prove that its records were committed."""

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def is_costly(self) -> bool:
        """Whether records are lost, or will be once a newer protocol finds the fork."""
        return self.records_lost > 0 or self.relation is Relation.FORKED

    @property
    def takes_back_what_is_committed(self) -> bool:
        """Whether the leader lacks metadata that was committed: it must not lead."""
        end = self.truncate_to if self.snapshot is None else self.snapshot.end_offset
        return self.committed_end is not None and end < self.committed_end

    def as_json(self) -> dict[str, Any]:
        """Return the plan as `epochlog plan --json` prints it."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "protocol": self.protocol.value,
            "rounds": [
                {
                    "requested_epoch": round_.requested_epoch,
                    "answer_epoch": round_.answer.epoch,
                    "answer_end_offset": round_.answer.end_offset,
                }
                for round_ in self.rounds
            ],
            "truncate_to": self.truncate_to,
            "log_end_offset": self.log_end_offset,
            "relation": self.relation.value,
            "records_lost": self.records_lost,
            "bytes_lost": self.bytes_lost,
            "leader_damage": self.leader_damage and self.leader_damage.as_json(),
            "follower_damage": self.follower_damage and self.follower_damage.as_json(),
            "snapshot": self.snapshot and self.snapshot._asdict(),
            "committed_end": self.committed_end,
        }
