"""Which fields of a batch's header contradict each other."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import CODEC_BITS, KNOWN_BITS, LAST_CODEC, TRANSACTIONAL_BIT
from logstore.batch.columns import BatchColumns

Flags = NDArray[np.bool_]


class Contradiction(NamedTuple):
    """What some headers state that cannot be; it means something only in sound batches of magic 2."""

    found: Flags
    """Of which batches."""
    what: str
    is_accepted: bool = True
    """Whether brokers and consumers take such a batch all the same."""


def contradictions(columns: BatchColumns) -> Iterator[Contradiction]:
    """Yield one by one what no header should state, and which do."""
    of_transaction = (columns.attributes & TRANSACTIONAL_BIT) != 0
    has_producer = columns.producer_id >= 0
    too_many = columns.record_count > columns.last_offset - columns.base_offset + 1
    yield Contradiction(too_many, "more records than offsets")
    yield Contradiction(columns.attributes & CODEC_BITS > LAST_CODEC, "an unknown codec", is_accepted=False)
    yield Contradiction((columns.attributes & ~KNOWN_BITS) != 0, "attributes that have no meaning")
    yield Contradiction(of_transaction & ~has_producer, "a transaction without a producer")
    yield Contradiction(has_producer & (columns.producer_epoch < 0), "a producer without an epoch")
    # Coordinators number their own batches 0, whoever they write for.
    yield Contradiction(~has_producer & (columns.base_sequence > 0), "a sequence number without a producer")
