"""The records in which `__consumer_offsets` keeps what groups commit (Kafka: OffsetCommitKey, OffsetCommitValue).

Their key and their value begin with an int16, the version of what follows.
"""

from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from epoch import UNDEFINED_EPOCH
from replication.records.codec.codec import Since, Tag, Until
from replication.records.codec.fields import NO_ID, Int32, Int64, String, Uuid
from replication.records.coordinator_records.versioned_record import read_versioned

_KEY_VERSIONS: Final = 2
"""Keys of later versions are of the groups themselves."""
_VALUE_VERSIONS: Final = 5
_FIRST_FLEXIBLE: Final = 4


class GroupPartition(NamedTuple):
    """A consumer group and a partition that it reads."""

    group: String
    topic: String
    partition: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommit:
    """What a group commits for a partition."""

    offset: Int64
    """The next offset that the group will read."""
    leader_epoch: Annotated[Int32, Since(3)] = UNDEFINED_EPOCH
    """Of the last record that it has read; -1 where the consumer did not say, as those before Kafka 2.1."""
    metadata: String = ""
    commit_timestamp: Int64 = -1
    """In milliseconds since 1970 UTC."""
    expire_timestamp: Annotated[Int64, Since(1), Until(1)] = -1
    topic_id: Annotated[Uuid, Since(4), Tag(0)] = NO_ID


def read_group_partition(key: bytes | None) -> GroupPartition | None:
    """Read whose offset a record is about; None if it is about something else or cannot be read."""
    return read_versioned(GroupPartition, _KEY_VERSIONS, key, flexible_from=_FIRST_FLEXIBLE)


def read_offset_commit(value: bytes | None) -> OffsetCommit | None:
    """Read a commit; None if it is withdrawn, of a later version, or cannot be read."""
    return read_versioned(OffsetCommit, _VALUE_VERSIONS, value, flexible_from=_FIRST_FLEXIBLE)
