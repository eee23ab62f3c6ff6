"""The entries of the files beside the log: indexes, snapshots, checkpoints and what a broker says of itself.

Each function reads one kind of file and gives its entries in order. All raise OSError, and LogStoreError or EpochError
where the file is damaged, after the entries that can be read.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from epoch.checkpoint import LeaderEpochCheckpoint
from logstore.errors import CorruptIndexError
from logstore.file_name import FileName
from logstore.files.clean_shutdown import CleanShutdown
from logstore.files.meta_properties import MetaProperties
from logstore.files.offset_checkpoint import OffsetCheckpoint
from logstore.files.partition_metadata import PartitionMetadata, format_uuid
from logstore.files.producer_snapshot import ProducerSnapshot
from logstore.files.quorum_state import QuorumState
from logstore.indexes.transaction_index import TransactionIndex
from replication.cli.dumping.printer import Fields

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHUNK: Final = 65_536
"""Index entries that are Python objects at once."""

ZERO_TAIL: Final = "zero_tail"
"""The kind of an entry that stands for all the preallocated, unused ones."""


class Entry(NamedTuple):
    """One entry: what it is, its fields, and the first and last offset that it is about, if any."""

    kind: str
    fields: Fields
    offsets: tuple[int, int] | None = None


def offset_index_entries(path: Path, name: FileName) -> Iterator[Entry]:
    """Read an `.index`."""
    from logstore.files.index_slots import OFFSET_SLOT
    from logstore.indexes.offset_index import OffsetIndex  # NumPy loads only where there is an index

    index = OffsetIndex.read(path, name.base_offset or 0)
    for last_offset, position in _rows(index.last_offset, index.position):
        fields = {"last_offset": last_offset, "position": position}
        yield Entry("offset_index_entry", fields, (last_offset, last_offset))
    yield from _zero_tail(len(index) * OFFSET_SLOT, index.zero_slots * OFFSET_SLOT)
    _refuse_odd_bytes(path, index.slots * OFFSET_SLOT, index.odd_bytes)


def time_index_entries(path: Path, name: FileName) -> Iterator[Entry]:
    """Read a `.timeindex`."""
    from logstore.files.index_slots import TIME_SLOT
    from logstore.indexes.time_index import TimeIndex

    index = TimeIndex.read(path, name.base_offset or 0)
    for timestamp, offset in _rows(index.timestamp, index.offset):
        yield Entry("time_index_entry", {"timestamp": timestamp, "offset": offset}, (offset, offset))
    yield from _zero_tail(len(index) * TIME_SLOT, index.zero_slots * TIME_SLOT)
    _refuse_odd_bytes(path, index.slots * TIME_SLOT, index.odd_bytes)


def transaction_index_entries(path: Path, _name: FileName) -> Iterator[Entry]:
    """Read a `.txnindex`."""
    index = TransactionIndex.read(path)
    for aborted in index.entries:
        yield Entry("aborted_transaction", aborted._asdict(), (aborted.first_offset, aborted.last_offset))
    _refuse_odd_bytes(path, path.stat().st_size - index.odd_bytes, index.odd_bytes)


def producer_snapshot_entries(path: Path, _name: FileName) -> Iterator[Entry]:
    """Read a producer `.snapshot`."""
    for producer in ProducerSnapshot.read(path).entries:
        yield Entry("producer_state", producer._asdict())


def leader_epoch_entries(path: Path, _name: FileName) -> Iterator[Entry]:
    """Read a `leader-epoch-checkpoint`."""
    for entry in LeaderEpochCheckpoint(path.parent).read():
        yield Entry("leader_epoch", entry._asdict())


def offset_checkpoint_entries(path: Path, _name: FileName) -> Iterator[Entry]:
    """Read one of the offset checkpoints in a root."""
    for topic_partition, offset in OffsetCheckpoint.read(path).items():
        yield Entry("offset_checkpoint_entry", {**topic_partition._asdict(), "offset": offset})


def partition_metadata_entries(path: Path, _name: FileName) -> Iterator[Entry]:
    """Read a `partition.metadata`."""
    yield Entry("partition_metadata", {"topic_id": format_uuid(PartitionMetadata.read(path).topic_id)})


def meta_properties_entries(path: Path, _name: FileName) -> Iterator[Entry]:
    """Read a `meta.properties`."""
    meta = MetaProperties.read(path)
    yield Entry(
        "meta_properties",
        {
            "version": meta.version,
            "cluster_id": meta.cluster_id,
            "node_id": meta.node_id,
            "directory_id": meta.directory_id,
        },
    )


def clean_shutdown_entries(path: Path, _name: FileName) -> Iterator[Entry]:
    """Read a `.kafka_cleanshutdown`."""
    yield Entry("clean_shutdown", {"broker_epoch": CleanShutdown.read(path).broker_epoch})


def quorum_state_entries(path: Path, _name: FileName) -> Iterator[Entry]:
    """Read a `quorum-state`."""
    state = QuorumState.read(path)
    yield Entry(
        "quorum_state",
        {
            "version": state.version,
            "leader_id": state.leader_id,
            "leader_epoch": state.leader_epoch,
            "voted_id": state.voted_id,
            "voted_directory_id": state.voted_directory_id,
            "current_voters": list(state.current_voters),
        },
    )


def _rows(first: "NDArray[np.int64]", second: "NDArray[np.int64]") -> Iterator[tuple[int, int]]:
    """Give two columns as pairs, not all of them as Python objects at once."""
    for start in range(0, len(first), CHUNK):
        chunk = slice(start, start + CHUNK)
        yield from zip(first[chunk].tolist(), second[chunk].tolist(), strict=True)


def _zero_tail(position: int, size: int) -> Iterator[Entry]:
    if size:
        yield Entry(ZERO_TAIL, {"position": position, "size": size})


def _refuse_odd_bytes(path: Path, position: int, odd_bytes: int) -> None:
    if odd_bytes:
        raise CorruptIndexError(
            f"{odd_bytes} bytes after the last whole entry",
            file=path,
            position=position,
            advice="Kafka refuses such an index, and builds it again from the log",
        )
