"""Records of topics and their partitions."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from replication.records.codec.codec import Since, Tag
from replication.records.codec.fields import Int8, Int32, Int32s, OptionalInt32s, OptionalUuids, String, Uuid, Uuids
from replication.records.metadata.records.record import MetadataRecord

NO_LEADER: Final = -1
NO_LEADER_CHANGE: Final = -2


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecord(MetadataRecord):
    """A topic exists."""

    API_KEY: ClassVar[int] = 2

    name: String
    topic_id: Uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTopicRecord(MetadataRecord):
    """A topic and all its partitions are gone."""

    API_KEY: ClassVar[int] = 9

    topic_id: Uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecord(MetadataRecord):
    """A partition exists, in this state."""

    API_KEY: ClassVar[int] = 3
    LATEST_VERSION: ClassVar[int] = 2

    partition_id: Int32
    topic_id: Uuid
    replicas: Int32s
    """Broker ids, the preferred leader first."""
    isr: Int32s
    removing_replicas: Int32s = ()
    adding_replicas: Int32s = ()
    leader: Int32
    """A broker id, or NO_LEADER."""
    leader_recovery_state: Annotated[Int8, Tag(0)] = 0
    """A LeaderRecoveryState (KIP-704)."""
    leader_epoch: Int32
    partition_epoch: Int32
    directories: Annotated[Uuids, Since(1)] = ()
    """For each replica the directory that holds it (KIP-858)."""
    eligible_leader_replicas: Annotated[OptionalInt32s, Since(2), Tag(1)] = None
    """KIP-966."""
    last_known_elr: Annotated[OptionalInt32s, Since(2), Tag(2)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecord(MetadataRecord):
    """Something about a partition has changed; what has its default has not."""

    API_KEY: ClassVar[int] = 5
    LATEST_VERSION: ClassVar[int] = 2

    partition_id: Int32
    topic_id: Uuid
    isr: Annotated[OptionalInt32s, Tag(0)] = None
    leader: Annotated[Int32, Tag(1)] = NO_LEADER_CHANGE
    """A broker id, NO_LEADER or NO_LEADER_CHANGE."""
    replicas: Annotated[OptionalInt32s, Tag(2)] = None
    removing_replicas: Annotated[OptionalInt32s, Tag(3)] = None
    adding_replicas: Annotated[OptionalInt32s, Tag(4)] = None
    leader_recovery_state: Annotated[Int8, Tag(5)] = -1
    """A LeaderRecoveryState, or -1."""
    directories: Annotated[OptionalUuids, Since(1), Tag(8)] = None
    eligible_leader_replicas: Annotated[OptionalInt32s, Since(2), Tag(6)] = None
    last_known_elr: Annotated[OptionalInt32s, Since(2), Tag(7)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearElrRecord(MetadataRecord):
    """All eligible leader replicas are forgotten: of one topic, or of all where the name is empty (KIP-966)."""

    API_KEY: ClassVar[int] = 28

    topic_name: String = ""
