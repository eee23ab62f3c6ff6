"""Nodes of a simulated quorum as directories that Kafka reads."""

from pathlib import Path

from replication.base.metadata_partition import METADATA_PARTITION
from tests.replication.copies.quorum_recovery.raft_simulation import Entry, Node
from tests.replication.partitions import ABatch, write_partition

SEGMENT_BATCHES = 4


def write_node(directory: Path, node: Node) -> Path:
    """Write a node's log from the segment on that holds its start, and its snapshots, of which only the names count."""
    first = node.start - node.start % SEGMENT_BATCHES if node.start < node.end else node.end
    kept = list(enumerate(node.log))[first:]
    batches = [ABatch(offset, 1, entry.epoch, str(entry.value)) for offset, entry in kept]
    epochs: dict[int, int] = {}
    for offset, entry in kept:
        epochs.setdefault(entry.epoch, offset)
    partition = write_partition(
        directory,
        batches,
        list(epochs.items()),
        start=first,
        segment_batches=SEGMENT_BATCHES,
        name=str(METADATA_PARTITION),
    )
    for end in node.snapshots:
        write_snapshot_name(partition, node.log[end - 1].epoch, end)
    return partition


def write_snapshot_name(partition: Path, epoch: int, end_offset: int) -> None:
    """Write a snapshot without contents."""
    (partition / f"{end_offset:020d}-{epoch:010d}.checkpoint").touch()


def node_of(epochs: str, *, start: int = 0, snapshots: tuple[int, ...] = ()) -> Node:
    """Make a node whose records were written in these epochs, one digit each."""
    log = [Entry(int(epoch), 10 * offset + int(epoch)) for offset, epoch in enumerate(epochs)]
    return Node(0, log, start, list(snapshots))
