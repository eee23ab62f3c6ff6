"""How many bytes records take in a batch, as `max.message.bytes` counts them."""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.record import Header
from replication.copies.salvage.columns.salvaged_block import SalvagedBlock
from replication.copies.salvage.held.provenance import HEADER, Provenance

_BATCH_HEADER: Final = 61
_LENGTHS: Final = np.array([1 << 6, 1 << 13, 1 << 20, 1 << 27])
"""From which on a length takes one more byte: it is written doubled, seven bits a byte."""

Sizes = NDArray[np.int64]


def batch_sizes(block: SalvagedBlock, cluster_id: str | None) -> Sizes:
    """Return the bytes of an uncompressed batch of each record alone, with the header that is added to it.

    That header counts as the longest in the block: some bytes more than most have.
    """
    records = block.records
    added = _fields(np.array([len(HEADER), len(_longest(block, cluster_id).value)])).sum()
    bodies = (
        3 + _fields(records.key_length) + _fields(records.value_length) + _varints(records.header_count + 1) + added
    )
    if records.header_count.any():
        bodies += np.array([_size_of(each) for each in block.headers()])
    sizes: Sizes = _BATCH_HEADER + _varints(bodies) + bodies
    return sizes


def _longest(block: SalvagedBlock, cluster_id: str | None) -> Provenance:
    epoch, offset = int(block.batches.leader_epoch.max(initial=0)), int(block.records.offset.max(initial=0))
    producer = int(block.batches.producer_id.max(initial=10))  # as long as -1
    return Provenance(cluster_id or "", block.topic_partition, epoch, offset, producer, 0)


def _size_of(headers: Iterable[Header]) -> int:
    lengths = [length for key, value in headers for length in (len(key.encode()), -1 if value is None else len(value))]
    return int(_fields(np.array(lengths, np.int64)).sum())


def _fields(lengths: NDArray[np.signedinteger]) -> Sizes:
    """Return the bytes of fields with their lengths before them; one where there is none, of length -1."""
    there: Sizes = np.maximum(lengths, 0).astype(np.int64)
    return _varints(there) + there


def _varints(lengths: NDArray[np.signedinteger]) -> Sizes:
    more: Sizes = np.searchsorted(_LENGTHS, lengths, "right").astype(np.int64)
    return more + 1
