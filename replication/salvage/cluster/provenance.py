"""Where the records of a block are from, which is written with them."""

from collections.abc import Iterator

from logstore.kernels.digest import digest_contents
from replication.salvage.columns.salvaged_block import SalvagedBlock
from replication.salvage.held.provenance import Provenance, value_form


def provenances(block: SalvagedBlock, cluster_id: str | None) -> Iterator[Provenance]:
    """Say of each record where it was found, in copies of that cluster."""
    return (Provenance(cluster_id or "", block.topic_partition, *numbers) for numbers in _numbers(block))


def header_values(block: SalvagedBlock, cluster_id: str | None) -> Iterator[bytes]:
    """Yield the header's value of each record: the same as of its provenance, sooner."""
    return map(value_form(cluster_id or "", block.topic_partition).__mod__, _numbers(block))


def _numbers(block: SalvagedBlock) -> Iterator[tuple[int, int, int, int]]:
    return zip(
        block.of_batch(block.batches.leader_epoch).tolist(),
        block.records.offset.tolist(),
        block.of_batch(block.batches.producer_id).tolist(),
        digest_contents(block.records).tolist(),
        strict=True,
    )
