"""What an idempotent producer sends again as it goes on in a later epoch of its own.

A client raises its epoch once it no longer knows what the broker has of the batches that it has sent (KIP-360): it
sends them anew then, with sequence numbers that begin at 0, and what had been written is there twice. No broker can
know.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TypeVar

from logstore.offline.recovered_log import RecoveredLog

_Record = TypeVar("_Record")


def resumed_at(log: RecoveredLog) -> set[int]:
    """Return the offsets at which a producer goes on in a later epoch."""
    epochs: dict[int, int] = {}
    found = set()
    for segment in log.segments:
        for columns in segment.open_log().scan():
            for offset, producer, epoch in zip(
                columns.base_offset.tolist(),
                columns.producer_id.tolist(),
                columns.producer_epoch.tolist(),
                strict=True,
            ):
                if epochs.setdefault(producer, epoch) < epoch:
                    found.add(offset)
                epochs[producer] = epoch
    return found


def without_resent(records: Mapping[int, _Record], resumed: AbstractSet[int]) -> list[_Record]:
    """Return records in their order, without those that were sent again from one of these offsets on.

    What is twice there for another reason stays so.
    """
    kept: list[_Record] = []
    for offset, record in records.items():
        if offset in resumed and record in kept and len(set(kept)) == len(kept):
            del kept[kept.index(record) :]
        kept.append(record)
    return kept
