"""What must hold of a compacted partition, of which no two replicas need to have the same batches."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from logstore import LogStoreError, TopicPartition
from logstore.segment.read_view import ReadView
from tests.replication.cluster.node.joining.chaos.compaction.keyed_records import (
    KeyedRecord,
    keyed_record,
    last_writes,
    state_of,
)
from tests.replication.cluster.node.joining.chaos.producer_epochs import without_resent
from tests.replication.cluster.node.joining.chaos.reader import ChaosReader
from tests.replication.cluster.node.joining.chaos.writer import ChaosWriter
from tests.replication.cluster.node.joining.mixed_cluster import MixedCluster
from tests.replication.testing.stopped_replicas import loaded
from tests.replication.waiting import wait_until

SETTINGS: Final = {
    "cleanup_policy": "compact",
    "segment_ms": 2_000,
    "min_cleanable_dirty_ratio": 0.01,
    "delete_retention_ms": 300_000,
}
"""Of its topic. Who is away for longer than tombstones stay may come back with what they have deleted, as in Kafka."""


def check_written(writer: ChaosWriter, there: Mapping[int, KeyedRecord], resumed: AbstractSet[int]) -> None:
    """Check that each key has what was written of it last, and nothing lies where it was not acknowledged.

    The producer went on in a later epoch at the offsets `resumed`. Raises AssertionError.
    """
    assert len(writer.acknowledged) == writer.sent
    misplaced = [
        number
        for number, offset in writer.acknowledged.items()
        if offset is not None and there.get(offset, keyed_record(number)) != keyed_record(number)
    ]
    assert not misplaced, f"{writer.partition}: others lie where records {misplaced[:5]} were acknowledged"
    expected = state_of(map(keyed_record, range(writer.sent)))
    found = state_of(there.values())
    wrong = sorted(str(key) for key in expected.keys() | found.keys() if expected.get(key) != found.get(key))
    assert not wrong, f"{writer.partition}: {wrong[:5]} have not what was written last"
    values = [value for value in without_resent(there, resumed) if value.value is not None]
    assert len(set(values)) == len(values), f"{writer.partition}: records are twice there"


def check_read(reader: ChaosReader, there: Mapping[int, KeyedRecord], count: int) -> None:
    """Check that all that was ever read is still there, or was written anew: of `count` records. AssertionError."""
    assert not reader.changed, reader.changed[:3]
    values = {offset: record.value or b"" for offset, record in there.items()}
    other = [offset for offset, value in reader.seen.items() if values.get(offset, value) != value]
    assert not other, f"{reader.topic}-{reader.partition}: at {other[:5]} is not what was read there"
    kept = {keyed_record(number).value for number in last_writes(count)}
    gone = [offset for offset, value in reader.seen.items() if value in kept and offset not in there]
    assert not gone, f"{reader.topic}-{reader.partition}: what was read at {gone[:5]}, the last of its key, is gone"


@dataclass(frozen=True)
class _Replica:
    """What a replica holds, by offset, each record with its leader epoch."""

    end: int
    compacted_to: int
    records: Mapping[int, tuple[KeyedRecord, int]]

    @property
    def state(self) -> dict[bytes | None, bytes]:
        return state_of(record for record, _ in self.records.values())


def check_replicas(cluster: MixedCluster, partition: TopicPartition, nodes: Sequence[int], count: int) -> None:
    """Wait until all replicas end at one offset and each was compacted, and hold them against each other.

    `count` records were written. Raises AssertionError.
    """
    replicas: list[_Replica] = []

    def are_quiet() -> bool:
        try:
            replicas[:] = [_read(cluster, partition, node) for node in nodes]
        except (LogStoreError, OSError):  # files go as a broker compacts them
            return False
        return len({each.end for each in replicas}) == 1 and all(each.compacted_to for each in replicas)

    wait_until(are_quiet, f"the replicas of {partition} end at one offset, and all of them are compacted")
    expected = state_of(map(keyed_record, range(count)))
    first, *others = replicas
    for node, each in zip(nodes, replicas, strict=True):
        assert each.state == expected, f"{partition} of broker {node} has not the last value of each key"
    for node, each in zip(nodes[1:], others, strict=True):
        common = each.records.keys() & first.records.keys()
        unlike = sorted(offset for offset in common if each.records[offset] != first.records[offset])
        assert not unlike, f"{partition}: brokers {nodes[0]} and {node} differ at offsets {unlike[:5]}"


def _read(cluster: MixedCluster, partition: TopicPartition, node: int) -> _Replica:
    log = loaded(cluster.log_dir(node), partition)
    records = {
        record.offset: (KeyedRecord(record.key, record.value), batch.leader_epoch)
        for file in log.files_from(log.log_start_offset)
        for batch in ReadView(log.log_start_offset, file.data, position=0).batches()
        for record in batch.records()
    }
    return _Replica(log.log_end_offset, log.partition.checkpoints.cleaner_offset or 0, records)
