"""What the control records of a metadata log and its snapshots say (KIP-595, KIP-630, KIP-853).

Their key has the type (`logstore.ControlRecord`); their value is the message alone, which begins with its version.
"""

from dataclasses import dataclass
from typing import Annotated

from replication.records.codec.codec import Since, Struct, Structs
from replication.records.codec.fields import Int16, Int32, Int64, String, UInt16, Uuid
from replication.records.metadata.records.nodes import MIGRATING_DIRECTORY


class ControlMessage:
    """The value of a control record."""

    __slots__ = ()

    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotHeader(ControlMessage):
    """A snapshot begins (Kafka: SnapshotHeaderRecord)."""

    version: Int16 = 0
    last_contained_log_timestamp: Int64
    """Of the last record that the snapshot contains, in milliseconds since 1970 UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFooter(ControlMessage):
    """A snapshot ends (Kafka: SnapshotFooterRecord)."""

    version: Int16 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionVoter:
    """A voter, as the message of a change of leaders names it."""

    voter_id: Int32
    voter_directory_id: Annotated[Uuid, Since(1)] = MIGRATING_DIRECTORY


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChange(ControlMessage):
    """Another controller leads the quorum (Kafka: LeaderChangeMessage)."""

    version: Int16
    leader_id: Int32
    voters: Annotated[tuple[ElectionVoter, ...], Structs(ElectionVoter)]
    granting_voters: Annotated[tuple[ElectionVoter, ...], Structs(ElectionVoter)]


@dataclass(frozen=True, slots=True, kw_only=True)
class KRaftVersion(ControlMessage):
    """Whether voters may come and go (Kafka: KRaftVersionRecord)."""

    version: Int16 = 0
    k_raft_version: Int16


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterEndpoint:
    """Where a voter listens."""

    name: String
    host: String
    port: UInt16


@dataclass(frozen=True, slots=True, kw_only=True)
class KRaftVersionRange:
    """The levels of `kraft.version` that a voter can work at, both ends included."""

    min_supported_version: Int16
    max_supported_version: Int16


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """A controller that has a vote."""

    voter_id: Int32
    voter_directory_id: Uuid
    endpoints: Annotated[tuple[VoterEndpoint, ...], Structs(VoterEndpoint)]
    k_raft_version_feature: Annotated[KRaftVersionRange, Struct(KRaftVersionRange)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Voters(ControlMessage):
    """Who has a vote (Kafka: VotersRecord)."""

    version: Int16 = 0
    voters: Annotated[tuple[Voter, ...], Structs(Voter)]
