"""`quorum-state`: what a KRaft voter remembers of elections (KIP-595, KIP-853; Kafka: FileQuorumStateStore)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from epoch.filesystem import REAL, FileSystem
from logstore.errors import CorruptMetadataError
from logstore.files.clean_shutdown import unique
from logstore.files.partition_metadata import parse_uuid

QUORUM_STATE_NAME: Final = "quorum-state"
UNKNOWN_NODE: Final = -1
_MAX_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class QuorumState:
    """The leader that a voter knows and the vote that it cast, in one epoch; -1 if there is none."""

    leader_id: int
    leader_epoch: int
    voted_id: int
    voted_directory_id: str | None
    """Version 1 alone: the log directory of the candidate voted for, in URL-safe base64."""
    current_voters: tuple[int, ...]
    """Version 0 alone: later versions keep the voters in the log."""
    version: int

    @classmethod
    def read(cls, path: Path) -> "QuorumState":
        """Read the file. Raises CorruptMetadataError, and OSError where it cannot be read."""
        with open(path, "rb") as file:
            return cls.parse(file.read(_MAX_BYTES + 1), path)

    def write(self, path: Path, filesystem: FileSystem = REAL) -> None:
        """Replace the file, atomically and durably, in version 0. Raises OSError."""
        content = {
            "clusterId": "",
            "leaderId": self.leader_id,
            "leaderEpoch": self.leader_epoch,
            "votedId": self.voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": each} for each in self.current_voters],
            "data_version": 0,
        }
        filesystem.write_atomically(path, json.dumps(content).encode())

    @classmethod
    def parse(cls, data: bytes, path: Path = Path(QUORUM_STATE_NAME)) -> "QuorumState":
        """Read the file's bytes: JSON."""
        try:
            return cls._from_json(json.loads(data, object_pairs_hook=unique))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CorruptMetadataError(
                "this is not a quorum-state file",
                file=path,
                advice="the controller cannot start with it; without the file it joins as a voter that knows nothing",
            ) from error

    @classmethod
    def _from_json(cls, content: dict[str, Any]) -> "QuorumState":
        version = _integer(content["data_version"])
        if version not in {0, 1}:
            raise ValueError(f"version {version} is not 0 or 1")
        directory_id = content.get("votedDirectoryId")
        if directory_id is not None:
            parse_uuid(directory_id)
        state = cls(
            leader_id=_integer(content.get("leaderId", UNKNOWN_NODE)),
            leader_epoch=_integer(content["leaderEpoch"]),
            voted_id=_integer(content.get("votedId", UNKNOWN_NODE)),
            voted_directory_id=directory_id,
            current_voters=tuple(_integer(voter["voterId"]) for voter in content.get("currentVoters") or ()),
            version=version,
        )
        nodes = (state.leader_id, state.voted_id)
        if min(*nodes, state.leader_epoch - 1) < UNKNOWN_NODE or any(voter < 0 for voter in state.current_voters):
            raise ValueError("a node or an epoch is negative")
        voters = {UNKNOWN_NODE, *state.current_voters}
        if len(voters) <= len(state.current_voters) or (state.current_voters and not voters.issuperset(nodes)):
            raise ValueError("a voter is listed twice, or the leader or the candidate voted for is not a voter")
        return state


def _integer(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r:.60} is not a whole number")
    return value
