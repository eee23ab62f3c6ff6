"""Foretells the elections of all partitions of a cluster from directories of its brokers and controllers."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from epoch.errors import EpochError
from logstore.errors import LogStoreError
from logstore.files.clean_shutdown import UNKNOWN_BROKER_EPOCH, CleanShutdown
from logstore.offline.offline_log_directory import open_offline
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import TopicPartition
from replication.base.errors import ReplicationError
from replication.base.metadata_partition import METADATA_PARTITION
from replication.copies.audit.snapshots.foretold_election import NO_METADATA, ForetoldElection
from replication.copies.audit.snapshots.registered import Registrations
from replication.copies.audit.snapshots.snapshot import Snapshot
from replication.copies.planning.rereading import reread
from replication.copies.quorum_recovery.metadata_copy import MetadataCopy
from replication.copies.quorum_recovery.quorum_advice import QuorumAdvice, advise_quorum
from replication.records.leadership.foresight import Foresight, StartingBroker
from replication.records.metadata.image import ClusterImage

_READ_ERRORS: Final = (LogStoreError, EpochError, ReplicationError, OSError)


class CopyOfMetadata(NamedTuple):
    """Where a node's copy of the metadata can be read, for as long as it is entered."""

    name: str
    directory: AbstractContextManager[Path]


class RootFiles(NamedTuple):
    """What a log directory's own files say of its broker."""

    directory_id: str | None
    clean_stop: CleanShutdown | None
    """None where the broker has not stopped cleanly."""


@dataclass(frozen=True, slots=True)
class BrokerFiles:
    """A broker whose directories are at hand."""

    name: str
    node_id: int | None
    """None where no file says it."""
    roots: Sequence[RootFiles]


@dataclass(frozen=True, slots=True)
class BestMetadata:
    """The best copy of the metadata among those at hand."""

    image: ClusterImage | None = None
    copy: str | None = None
    """Whose it is."""
    is_complete: bool = False
    """Whether it has all that was committed."""
    why_unknown: str = NO_METADATA
    """Why there is no image."""
    end_offset: int = 0
    voters: tuple[int, ...] = ()
    """The controllers that have a vote, as that copy has them."""

    @property
    def controller(self) -> int | None:
        """The controller that will be active, where there is only one."""
        return self.voters[0] if len(self.voters) == 1 else None


def read_best_metadata(copies: Iterable[CopyOfMetadata]) -> BestMetadata:
    """Choose the copy that has most of what was committed, as `quorum_recovery` decides it."""
    with ExitStack() as entered:
        read, failed = [], []
        for each in copies:
            try:
                path = entered.enter_context(each.directory)
                read.append(_copy(each.name, path))
            except _READ_ERRORS as error:
                failed.append(f"the copy of the metadata on {each.name} could not be read: {error}")
        try:
            advice = advise_quorum(read) if read else None
        except _READ_ERRORS as error:
            return BestMetadata(why_unknown=f"the copies of the metadata could not be compared: {error}")
    return _best(advice, failed)


def _copy(name: str, path: Path) -> MetadataCopy:
    opened = open_offline(path)
    if not isinstance(opened, PartitionDirectory):
        raise LogStoreError("this is no directory of a partition", file=path, advice="name a copy of the metadata")
    return reread(opened, partial(MetadataCopy.read, name))


def _best(advice: QuorumAdvice | None, failed: Sequence[str]) -> BestMetadata:
    best = advice.best if advice else None
    if advice is None or best is None or best.copy.image is None:
        cannot_load = ["no copy of the metadata can be loaded"] if advice else []
        return BestMetadata(why_unknown="; ".join([*failed, *cannot_load]) or NO_METADATA)
    voters = [each.node_id for each in advice.voters.voters] if advice.voters else []
    return BestMetadata(
        best.copy.image,
        best.copy.name,
        advice.is_complete,
        end_offset=best.copy.log.end_offset,
        voters=tuple(voters),
    )


def foretelling_in(snapshots: Iterable[Snapshot]) -> "Foretelling":
    """Read what the snapshots of brokers and controllers show of elections."""
    snapshots = [*snapshots]
    name = str(METADATA_PARTITION)
    copies = (
        CopyOfMetadata(snapshot.name, root.storage.local_copy(name, is_agreed=True))
        for snapshot in snapshots
        for root in snapshot.roots
        if name in root.partitions
    )
    return Foretelling(read_best_metadata(copies), map(_of_snapshot, snapshots))


def _of_snapshot(snapshot: Snapshot) -> BrokerFiles:
    node_id = next((root.node_id for root in snapshot.roots if root.node_id is not None), None)
    roots = [RootFiles(root.directory_id, root.clean_stop) for root in snapshot.roots]
    return BrokerFiles(snapshot.name, node_id, roots)


class Foretelling:
    """Foretells elections, of one partition after another."""

    def __init__(self, metadata: BestMetadata, brokers: Iterable[BrokerFiles]) -> None:
        brokers = [*brokers]
        self._metadata = metadata
        self._names = {each.node_id: each.name for each in brokers if each.node_id is not None}
        self._nameless = [each.name for each in brokers if each.node_id is None]
        starting = [
            StartingBroker.of(each.node_id, each.roots) for each in brokers if each.node_id is not None and each.roots
        ]
        self._stopped = {each.id: each.clean_epoch for each in starting if each.clean_epoch != UNKNOWN_BROKER_EPOCH}
        image = metadata.image
        self._foresight = Foresight(image, starting, controller=metadata.controller) if image else None

    def completed(self, said: Registrations) -> Registrations:
        """Add to what the metadata says of partitions their elections, and who has all that was committed."""
        return {
            each: replace(registered, election=self.of(each), complete=self.complete(each))
            for each, registered in said.items()
        }

    def complete(self, partition: TopicPartition) -> tuple[str, ...]:
        """Name the replicas that have all that was committed: in sync or eligible at last, and stopped in order.

        Of one that did not, the machine may have lost what was not yet written.
        """
        image = self._metadata.image
        topic = image.topics.by_name.get(partition.topic) if image else None
        state = topic.partitions.get(partition.partition) if topic else None
        if image is None or state is None or self._nameless or not self._metadata.is_complete:
            return ()
        nodes = (node for node in (*state.isr, *state.elr) if node in self._stopped)
        return tuple(self._names[node] for node in nodes if self._stopped[node] == image.brokers[node].epoch)

    def of(self, partition: TopicPartition) -> ForetoldElection:
        """Foretell a partition's election."""
        if self._foresight is None:
            return ForetoldElection(self._metadata.why_unknown)
        if self._nameless:
            return ForetoldElection(f"which broker's {', '.join(self._nameless)} is, no meta.properties says")
        foreseen = self._foresight.of(partition)
        if foreseen is None:
            return ForetoldElection(f"the metadata, as {self._metadata.copy} has it, has no such partition")
        metadata = self._metadata
        return ForetoldElection(None, metadata.copy, metadata.is_complete, foreseen, self._names, metadata.voters)
