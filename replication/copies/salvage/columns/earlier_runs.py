"""What earlier runs of salvage have written to the kept copy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import RecordColumns
from logstore.kernels.digest import digest_contents
from logstore.topic_partition import TopicPartition
from replication.copies.salvage.branch import Branch
from replication.copies.salvage.columns.salvaged_block import headers_of
from replication.copies.salvage.held.provenance import HEADER, Provenance


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """Finds the records of a branch that were written to the kept copy since: its producers did not write those."""

    partition: TopicPartition
    cluster_id: str | None
    """That of the copies; None if they do not say it."""
    branches: Sequence[Branch]

    def wrote(self, records: RecordColumns) -> NDArray[np.bool_]:
        """Return which records of the kept copy are from a branch, as a header says and their content confirms.

        Where an application has read such a record, and written another one with the same headers, that is its own.
        """
        found = np.zeros(len(records), np.bool_)
        headers = list(headers_of(records))
        for number in range(int(records.header_count.max(initial=0))):
            rows = [row for row, each in enumerate(headers) if len(each) > number and each[number].key == HEADER]
            places = [Provenance.parse(headers[row][number].value) for row in rows]
            before = replace(records.take(np.array(rows, np.int64)), header_count=np.full(len(rows), number, np.int32))
            # What follows the header was added later, and the digest is of what was there before it.
            for row, place, digest in zip(rows, places, digest_contents(before).tolist(), strict=True):
                found[row] |= place is not None and self._is_from_here(place) and _fits(place, digest)
        return found

    def _is_from_here(self, place: Provenance) -> bool:
        is_of = place.is_of(self.partition, self.cluster_id)
        return is_of and any(each.may_hold(place.leader_epoch, place.offset) for each in self.branches)


def _fits(place: Provenance, digest: int) -> bool:
    # Of the oldest formats records may have had no time, and got that of sending.
    return place.leader_epoch < 0 or place.digest == digest
