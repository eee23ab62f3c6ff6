"""The controllers that have a vote, as a copy of the metadata names them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self
from uuid import UUID

from logstore.files.partition_metadata import format_uuid
from logstore.files.quorum_state import QuorumState
from replication.records.metadata.records.control import LeaderChange, Voters
from replication.records.metadata.records.nodes import MIGRATING_DIRECTORY


class VotersSource(StrEnum):
    """What names the voters."""

    VOTERS_RECORD = "voters record"
    """The log itself, or a snapshot (KIP-853): voters may come and go."""
    QUORUM_STATE = "quorum-state"
    """`controller.quorum.voters`, as the controller had it when it wrote the file."""
    LEADER_CHANGE = "leader change"
    """The same, as the latest leader in the log had it."""


@dataclass(frozen=True, slots=True, order=True)
class Voter:
    """A controller that has a vote."""

    node_id: int
    directory_id: str | None = None
    """The disk that has the vote, in URL-safe base64; None where any disk of the node has it."""
    endpoints: tuple[str, ...] = ()

    def is_at(self, node_id: int | None, directory_id: str | None) -> bool:
        """Whether the vote is that of this node with this disk."""
        return node_id == self.node_id and self.directory_id in {None, directory_id}

    def as_json(self) -> dict[str, Any]:
        """Return the voter as `--json` prints it."""
        return {"node_id": self.node_id, "directory_id": self.directory_id, "endpoints": list(self.endpoints)}


@dataclass(frozen=True, slots=True)
class VoterSet:
    """All that have a vote."""

    voters: tuple[Voter, ...]
    source: VotersSource

    @classmethod
    def of_record(cls, record: Voters) -> Self:
        """Create it from a VotersRecord."""
        return cls(
            tuple(
                Voter(
                    each.voter_id,
                    _disk(each.voter_directory_id),
                    tuple(f"{endpoint.name}://{endpoint.host}:{endpoint.port}" for endpoint in each.endpoints),
                )
                for each in sorted(record.voters, key=lambda voter: voter.voter_id)
            ),
            VotersSource.VOTERS_RECORD,
        )

    @classmethod
    def of_leader_change(cls, message: LeaderChange) -> Self | None:
        """Create it from a new leader's message; None where it named no voters."""
        nodes = sorted(each.voter_id for each in message.voters)
        return cls(tuple(map(Voter, nodes)), VotersSource.LEADER_CHANGE) if nodes else None

    @classmethod
    def of_quorum_state(cls, state: QuorumState) -> Self | None:
        """Create it from a quorum-state file; None where it leaves the voters to the log."""
        nodes = sorted(state.current_voters)
        return cls(tuple(map(Voter, nodes)), VotersSource.QUORUM_STATE) if nodes else None

    @property
    def is_dynamic(self) -> bool:
        """Whether voters may come and go while the quorum runs."""
        return self.source is VotersSource.VOTERS_RECORD

    @property
    def majority(self) -> int:
        """How many voters must have a record before it is committed, and how many elect a leader."""
        return len(self.voters) // 2 + 1

    @property
    def sufficient(self) -> int:
        """Of how many voters the logs must be at hand, so that all that was committed is in one of them.

        A majority. Of an even number of voters that never change, half is enough: the other half is no majority.
        Where they may change it is not: without those at hand, the others could have become the only voters.
        """
        return self.majority if self.is_dynamic else len(self.voters) - self.majority + 1

    def as_json(self) -> dict[str, Any]:
        """Return the voters as `--json` prints them."""
        return {"source": self.source.value, "voters": [each.as_json() for each in self.voters]}


_NO_DISK: Final = MIGRATING_DIRECTORY


def _disk(directory_id: UUID) -> str | None:
    return None if directory_id == _NO_DISK else format_uuid(directory_id)
