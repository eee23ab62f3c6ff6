"""Batches of metadata records, as a log holds them."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from logstore.batch.any_batch import Batch
from logstore.errors import CorruptRecordError, DecompressionError
from replication.records.metadata.errors import DamagedMetadataError, MetadataError
from replication.records.metadata.framing import decode
from replication.records.metadata.records import MetadataRecord

RECOVER_ADVICE: Final = (
    "nothing from here on can be trusted: find the damage with `epochlog verify`, and truncate it with `epochlog "
    "recover --all`; a controller then fetches what is missing from the quorum's leader"
)


class MetadataBatch(NamedTuple):
    """Records that became part of the log at once."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    timestamp: int
    """When the controller wrote it, in milliseconds since 1970 UTC."""
    records: tuple[MetadataRecord, ...]
    """None in a batch of Kafka's control records, whose offsets count all the same."""


def metadata_batch(batch: Batch) -> MetadataBatch:
    """Decode a batch, whose checksum is looked at too.

    Raises DamagedMetadataError where the batch is damaged, InvalidMetadataRecordError and UnknownMetadataRecordError
    where one of its records cannot be read; all name file, position and offset.
    """
    ensure_sound(batch)
    records = () if batch.is_control else tuple(_decoded(batch))
    return MetadataBatch(batch.base_offset, batch.last_offset, batch.leader_epoch, batch.max_timestamp, records)


def ensure_sound(batch: Batch) -> None:
    """Raise DamagedMetadataError unless the batch is of magic 2 and its checksum is valid."""
    if batch.magic != 2:
        fault = f"a batch of magic {batch.magic}, which no metadata log has"
    elif not batch.is_valid():
        fault = f"the checksum of a batch of {batch.size:,} bytes does not match"
    else:
        return
    raise DamagedMetadataError(fault, file=batch.file, position=batch.position, advice=RECOVER_ADVICE)


def _decoded(batch: Batch) -> Iterator[MetadataRecord]:
    offset = batch.base_offset
    try:
        for record in batch.records():
            offset = record.offset
            yield decode(record.value)
    except MetadataError as error:
        raise error.with_position(file=batch.file, position=batch.position, offset=offset) from error
    except (CorruptRecordError, DecompressionError) as error:
        raise DamagedMetadataError(
            error.what, file=batch.file, position=batch.position, offset=offset, advice=RECOVER_ADVICE
        ) from error
