"""Which fields of a batch's header contradict each other."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import CODEC_BITS, KNOWN_BITS, LAST_CODEC, TRANSACTIONAL_BIT
from logstore.batch.columns import BatchColumns

Flags = NDArray[np.bool_]


def contradictions(columns: BatchColumns) -> Iterator[tuple[Flags, str]]:
    """Yield which batches state what cannot be; it means something only in sound ones of magic 2."""
    of_transaction = (columns.attributes & TRANSACTIONAL_BIT) != 0
    has_producer = columns.producer_id >= 0
    yield columns.record_count > columns.last_offset - columns.base_offset + 1, "more records than offsets"
    yield columns.attributes & CODEC_BITS > LAST_CODEC, "an unknown codec"
    yield (columns.attributes & ~KNOWN_BITS) != 0, "attributes that have no meaning"
    yield of_transaction & ~has_producer, "a transaction without a producer"
    yield has_producer & (columns.producer_epoch < 0), "a producer without an epoch"
    # Coordinators number their own batches 0, whoever they write for.
    yield ~has_producer & (columns.base_sequence > 0), "a sequence number without a producer"
