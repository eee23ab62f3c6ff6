"""Where each producer stands at the end of a log, and which transactions are still open there."""

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import CONTROL_BIT, LAST_SEQUENCE, TRANSACTIONAL_BIT
from logstore.batch.columns import BatchColumns
from replication.copies.audit.copy_summary import LastMarker, OpenTransaction, ProducerEnd


class ProducerTally:
    """Follows the producers with an id through a log; batches whose checksum does not match are passed over."""

    def __init__(self) -> None:
        self._producers: dict[int, ProducerEnd] = {}
        self._open: dict[int, OpenTransaction] = {}
        self._markers: dict[int, int] = {}
        """Offset of the last one by producer id."""

    @property
    def producers(self) -> tuple[ProducerEnd, ...]:
        """By producer id."""
        return tuple(sorted(self._producers.values()))

    @property
    def open_transactions(self) -> tuple[OpenTransaction, ...]:
        """By producer id."""
        return tuple(sorted(self._open.values()))

    @property
    def last_markers(self) -> tuple[LastMarker, ...]:
        """By producer id."""
        return tuple(LastMarker(*marker) for marker in sorted(self._markers.items()))

    def add(self, columns: BatchColumns) -> None:
        """Add the next batches."""
        rows = ((columns.producer_id >= 0) & columns.crc_valid).nonzero()[0]
        if not len(rows):
            return
        rows = rows[np.argsort(columns.producer_id[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(columns.producer_id[rows], prepend=-1))
        for of_producer in np.split(rows, starts[1:]):
            self._add_rows(columns, of_producer)

    def pass_over(self) -> None:
        """Pass over batches that nobody could read: any transaction may have ended in them."""
        self._open.clear()

    def _add_rows(self, columns: BatchColumns, rows: NDArray[np.int64]) -> None:
        """Add the batches of one producer."""
        attributes = columns.attributes[rows]
        is_data = attributes & CONTROL_BIT == 0
        self._add_data(columns, rows[is_data & (columns.base_sequence[rows] >= 0)])
        transactional = attributes & TRANSACTIONAL_BIT != 0
        self._add_transactions(columns, rows[transactional & is_data], rows[transactional & ~is_data])

    def _add_data(self, columns: BatchColumns, rows: NDArray[np.int64]) -> None:
        if len(rows):
            last = rows[-1]
            length = int(columns.last_offset[last] - columns.base_offset[last])
            self._producers[int(columns.producer_id[last])] = ProducerEnd(
                int(columns.producer_id[last]),
                int(columns.producer_epoch[last]),
                int(columns.base_sequence[last]) + length & LAST_SEQUENCE,
                int(columns.last_offset[last]),
            )

    def _add_transactions(self, columns: BatchColumns, data: NDArray[np.int64], markers: NDArray[np.int64]) -> None:
        if len(markers):
            last = markers[-1]
            self._open.pop(int(columns.producer_id[last]), None)
            self._markers[int(columns.producer_id[last])] = int(columns.base_offset[last])
            data = data[data > markers[-1]]
        if len(data):
            first = data[0]
            producer = int(columns.producer_id[first])
            begun = OpenTransaction(producer, int(columns.producer_epoch[first]), int(columns.base_offset[first]))
            self._open.setdefault(producer, begun)
