"""One node's copy of the cluster's metadata, as a controller would start with it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np

from epoch.errors import EpochError
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import CONTROL_BIT
from logstore.errors import LogStoreError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.meta_properties import MetaProperties
from logstore.files.quorum_state import QUORUM_STATE_NAME, QuorumState
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.segment import Segment
from replication.base.errors import ReplicationError
from replication.copies.planning.raft_log import NOWHERE, RaftLog
from replication.copies.quorum_recovery.voter_set import VoterSet
from replication.records.metadata.control_messages import decode_control
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.loading import load_image
from replication.records.metadata.records.control import ControlMessage, LeaderChange, SnapshotHeader, Voters
from replication.records.metadata.snapshot import MetadataSnapshot, snapshot_name

_READ_ERRORS: Final = (LogStoreError, EpochError, ReplicationError, OSError)


class Effect(StrEnum):
    """What a fault of a copy means for whoever restores from it."""

    ENDS_EARLY = "ends early"
    """What its controller once acknowledged may be gone from it."""
    CANNOT_START = "cannot start"
    """No controller starts with it as it is."""
    DOUBTFUL = "doubtful"
    """Its files do not agree with each other."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with a copy."""

    effect: Effect
    message: str

    def as_json(self) -> dict[str, str]:
        """Return the fault as `--json` prints it."""
        return {"effect": self.effect.value, "message": self.message}


class _Told(NamedTuple):
    """What the log and its latest snapshot say beside their records."""

    voters: VoterSet | None
    last_timestamp: int | None


@dataclass(frozen=True, slots=True)
class MetadataCopy:
    """A node's log of the metadata with its snapshots, its vote, and the files that show whose it is."""

    name: str
    log: RaftLog
    node_id: int | None
    """By `meta.properties` beside the partition's directory, as are the next two; None where it does not say it."""
    directory_id: str | None
    cluster_id: str | None
    quorum_state: QuorumState | None
    voters: VoterSet | None
    """As its log has them at its end; None where nothing names them."""
    last_timestamp: int | None
    """When its last batch was written, in milliseconds since 1970 UTC. The controller that leads writes one each half
    second, if nothing else: this is when the node was last in touch with the quorum."""
    faults: tuple[Fault, ...]
    image: ClusterImage | None
    """What the metadata says at the copy's end; None where no controller can load it."""

    @classmethod
    def read(cls, name: str, partition: PartitionDirectory) -> Self:
        """Read all of a copy, under a name of the caller's. Nothing is written.

        Raises EpochError where the leader-epoch checkpoint cannot be parsed, and OSError: FileNotFoundError where a
        controller that is running has deleted a segment since the directory was listed.
        """
        log = RaftLog.load(partition)
        properties = _properties(partition.path.parent / META_PROPERTIES_NAME)
        faults = list(_faults_of(log))
        quorum_state = _quorum_state(partition, log, faults)
        told = _told(log, quorum_state, faults)
        image = _image(log, faults)
        return cls(
            name,
            log,
            properties.node_id if properties else None,
            properties.directory_id if properties else None,
            properties.cluster_id if properties else None,
            quorum_state,
            told.voters,
            told.last_timestamp,
            tuple(faults),
            image,
        )

    @property
    def path(self) -> Path:
        """The partition's directory."""
        return self.log.partition.path

    @property
    def is_whole(self) -> bool:
        """Whether all is in it that its controller ever acknowledged, as far as its files show."""
        return not any(each.effect is Effect.ENDS_EARLY for each in self.faults)

    @property
    def led_its_last_epoch(self) -> bool:
        """Whether its own node led the epoch of its last record: all that was committed in that epoch is in it."""
        state = self.quorum_state
        return (
            state is not None
            and self.node_id is not None
            and self.is_whole
            and (state.leader_id, state.leader_epoch) == (self.node_id, self.log.position.epoch)
        )

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints of the copy itself."""
        state = self.quorum_state
        return {
            "replica": self.name,
            "node_id": self.node_id,
            "directory_id": self.directory_id,
            "last_epoch": self.log.position.epoch,
            "log_start_offset": self.log.start_offset,
            "log_end_offset": self.log.end_offset,
            "last_timestamp": self.last_timestamp,
            "snapshots": [each._asdict() for each in self.log.snapshots],
            "quorum_state": state
            and {"leader_id": state.leader_id, "leader_epoch": state.leader_epoch, "voted_id": state.voted_id},
            "voters": self.voters and self.voters.as_json(),
            "faults": [fault.as_json() for fault in self.faults],
        }


def _properties(path: Path) -> MetaProperties | None:
    try:
        return MetaProperties.read(path)
    except (LogStoreError, OSError):
        return None


def _faults_of(log: RaftLog) -> Iterator[Fault]:
    if log.damage is not None:
        yield Fault(Effect.ENDS_EARLY, f"its log counts as ending at offset {log.end_offset:,}: {log.damage}")
    elif log.snapshots and log.snapshots[-1].end_offset > log.end_offset:
        yield Fault(
            Effect.ENDS_EARLY,
            f"its log ends at offset {log.end_offset:,}, and a snapshot has {log.snapshots[-1]}: its end was lost",
        )
    if log.position == NOWHERE:
        yield Fault(Effect.ENDS_EARLY, "its log is empty, as that of a controller is whose disk was lost or formatted")
    if log.beginning_is_lost:
        yield Fault(
            Effect.CANNOT_START,
            f"its log begins at offset {log.start_offset:,}, and no snapshot has what was before; put one that "
            "reaches that far beside it",
        )
    if log.last_epoch != log.position.epoch:
        yield Fault(
            Effect.DOUBTFUL,
            f"its leader-epoch-checkpoint ends with epoch {log.last_epoch}, its records with {log.position.epoch}: "
            "remove that file before a controller starts with it, which then rebuilds it",
        )


def _quorum_state(partition: PartitionDirectory, log: RaftLog, faults: list[Fault]) -> QuorumState | None:
    path = partition.listing.files.get(QUORUM_STATE_NAME)
    try:
        state = QuorumState.read(path) if path else None
    except (LogStoreError, OSError) as error:
        faults.append(Fault(Effect.DOUBTFUL, str(error)))
        return None
    if state is not None and state.leader_epoch < log.position.epoch:
        faults.append(
            Fault(
                Effect.DOUBTFUL,
                f"its quorum-state is of epoch {state.leader_epoch}, its log ends in {log.position.epoch}: the two "
                "were not copied together",
            )
        )
    return state


def _told(log: RaftLog, state: QuorumState | None, faults: list[Fault]) -> _Told:
    voters = last_timestamp = None
    elected: LeaderChange | None = None
    try:
        for message, timestamp in _messages(log):
            last_timestamp = timestamp
            match message:
                case Voters():
                    voters = VoterSet.of_record(message)
                case LeaderChange():
                    elected = message
                case SnapshotHeader():
                    last_timestamp = message.last_contained_log_timestamp
                case _:
                    pass
    except _READ_ERRORS as error:
        faults.append(Fault(Effect.DOUBTFUL, f"its voters are not known: {error}"))
    static = VoterSet.of_quorum_state(state) if state else None
    return _Told(voters or static or (VoterSet.of_leader_change(elected) if elected else None), last_timestamp)


def _messages(log: RaftLog) -> Iterator[tuple[ControlMessage | None, int | None]]:
    """Give what control records say, in order, and the time of each batch; the snapshot's that is loaded first."""
    if log.snapshots:
        path = log.partition.path / snapshot_name(log.snapshots[-1].end_offset, log.snapshots[-1].epoch)
        for message in MetadataSnapshot.at(path).control_messages():
            yield message, None
    if not log.is_superseded:
        for segment in log.recovered.segments:
            yield from _of_segment(segment, log)


def _of_segment(segment: Segment, log: RaftLog) -> Iterator[tuple[ControlMessage | None, int | None]]:
    limit = log.recovered.valid_bytes if segment is log.recovered.segments[-1] else segment.size
    with segment.open_log() as file:
        for columns in file.scan(check_crc=False):
            valid = columns.where(columns.position < limit)
            for row in np.flatnonzero(valid.attributes & CONTROL_BIT).tolist():
                for record in RecordBatch(file.data, int(valid.position[row])).records():
                    yield decode_control(record), int(valid.max_timestamp[row])
            if len(valid):
                yield None, int(valid.max_timestamp[-1])


def _image(log: RaftLog, faults: list[Fault]) -> ClusterImage | None:
    try:
        image = load_image(log.partition.path, log.end_offset).image
    except _READ_ERRORS as error:
        if not log.beginning_is_lost:
            faults.append(Fault(Effect.CANNOT_START, str(error)))
        return None
    return image.frozen()
