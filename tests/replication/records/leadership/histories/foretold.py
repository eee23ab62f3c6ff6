"""What is foretold from the directories of a cluster that is down: who leads, what others cut off, what is lost."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from logstore import TopicPartition
from logstore.errors import CorruptMetadataError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from logstore.files.meta_properties import MetaProperties
from logstore.offline.recovered_log import RecoveredLog
from replication.base.metadata_partition import METADATA_PARTITION
from replication.copies.audit.local.auditing import audit_locally
from replication.copies.planning.plan import plan
from replication.records.leadership.foreseen_election import ForeseenElection, ForeseenElections
from replication.records.leadership.foresight import Foresight, StartingBroker
from replication.records.metadata.loading import load_image
from tests.replication.records.leadership.histories.starts import Starts
from tests.replication.testing.stopped_replicas import loaded

Placed = tuple[int, bytes | None]
"""The offset and value of a record."""


class Foretold:
    """The elections of a cluster whose nodes' directories lie in `copies`, if it starts as `starts` says."""

    def __init__(self, copies: Path, starts: Starts) -> None:
        self.starts = starts
        self._copies = copies
        loaded_image = load_image(copies / "controller" / str(METADATA_PARTITION))
        self.end_offset = loaded_image.end_offset
        """Where the metadata's log ends before the start."""
        starting = [starting_broker(self._root(node), node) for node in starts.order]
        self._foresight = Foresight(loaded_image.image, starting)
        roots = [copies / "controller", *(self._root(node) for node in starts.order)]
        told = audit_locally(roots, records=True, workers=0).document["partitions"]
        self._audited = {TopicPartition(each["topic"], each["partition"]): each for each in told}

    def outcomes(self, partition: TopicPartition) -> Mapping[int | None, set[int]]:
        """Return who may lead, None for nobody, and in which leader epochs: several leaders where nobody can know."""
        foreseen = self._foresight.of(partition)
        assert foreseen is not None, f"{partition} is not in the metadata"
        found: dict[int | None, set[int]] = {}
        for each in foreseen.together if self.starts.together else self._in_order(foreseen):
            found.setdefault(each.leader, set()).update(each.epochs)
        return found or {None: set()}

    def _in_order(self, foreseen: ForeseenElections) -> Iterator[ForeseenElection]:
        """Give what comes of one start after another, until somebody leads for certain."""
        order = [node for node in self.starts.order if node in foreseen.state.replicas]
        ends = {each.started: each.elections for each in foreseen.orders}
        for count in range(1, len(order) + 1):
            elections = ends.get(tuple(order[:count]), ())
            is_last = count == len(order)
            yield from (each for each in elections if is_last or each.leader is not None)
            if elections and elections[-1].leader is not None:
                return

    def end_after_cut(self, partition: TopicPartition, leader: int, follower: int) -> int | None:
        """Return where a follower's log ends once it has cut off what its leader lacks; None where it has no log."""
        followed, led = self.log(partition, follower), self.log(partition, leader)
        if followed is None:
            return None
        return plan(led, followed).truncate_to if led is not None else 0

    def log(self, partition: TopicPartition, node: int) -> RecoveredLog | None:
        """Return what a broker has of a partition before it starts."""
        root = self._root(node)
        return loaded(root, partition) if (root / str(partition)).exists() else None

    def values(self, partition: TopicPartition, node: int) -> list[bytes | None]:
        """Return the values of a broker's records."""
        return values_of(self.log(partition, node))

    def lost(self, partition: TopicPartition, leader: int, acknowledged: Collection[bytes]) -> set[bytes]:
        """Return the values that were acknowledged and are lost under a leader."""
        return set(acknowledged).difference(self.values(partition, leader))

    def audited(self, partition: TopicPartition) -> set[int | None] | None:
        """Return who leads by an audit, once all start at once; None where none of them has the partition."""
        told = self._audited.get(partition)
        return told and {each["leader"] for each in told["election"]["together"]}

    def together(self, partition: TopicPartition) -> set[int | None]:
        """Return who may lead once all start at once."""
        foreseen = self._foresight.of(partition)
        return {each.leader for each in foreseen.together} if foreseen else set()

    def loss(self, partition: TopicPartition, leader: int) -> Mapping[str, Any] | None:
        """Return what an audit says of a leader: `lost` and how much of it is `acknowledged`, or may be."""
        candidates = self._audited[partition]["candidates"] if partition in self._audited else ()
        found = (each for each in candidates if each["replica"] == self._root(leader).name)
        return next((each for each in found if each["lost"] is not None), None)

    def held(self, partition: TopicPartition) -> set[Placed]:
        """Return what any of the brokers has that start."""
        return set().union(*(placed(self.log(partition, node)) for node in self.starts.order))

    def _root(self, node: int) -> Path:
        return self._copies / f"broker-{node}"


def placed(log: RecoveredLog | None) -> set[Placed]:
    """Return a log's records: a producer that was not answered in time writes one twice."""
    return {(record.offset, record.value) for record in log.records()} if log is not None else set()


def values_of(log: RecoveredLog | None) -> list[bytes | None]:
    """Return the values of a log's records."""
    return [record.value for record in log.records()] if log is not None else []


def starting_broker(root: Path, node: int) -> StartingBroker:
    """Say of a broker what its files do."""
    try:
        stop = CleanShutdown.read(root / CLEAN_SHUTDOWN_NAME)
    except (FileNotFoundError, CorruptMetadataError):
        stop = None
    return StartingBroker.of(node, [(MetaProperties.read(root / META_PROPERTIES_NAME).directory_id, stop)])
