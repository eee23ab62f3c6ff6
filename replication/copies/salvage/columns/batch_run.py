"""Batches that follow each other in one file: their records as columns."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Final, TypeVar

import numpy as np

from logstore.batch.any_batch import Batch
from logstore.batch.batches import read_batch
from logstore.batch.columns import BatchColumns
from logstore.offline.batch_scan import scan_batches
from logstore.offline.columns.column_reader import Chunk
from logstore.offline.columns.decoded_records import Unreadable, decoded_records

MOST_BATCHES: Final = 4_096
"""Of one run: what is decoded at once is bounded, and so are the headers."""

T = TypeVar("T")


def in_runs(items: Iterable[T], place: Callable[[T], tuple[object, ...]]) -> Iterator[list[T]]:
    """Divide items into runs whose `place`, a copy's file, is the same."""
    for _, group in groupby(items, place):
        while run := list(islice(group, MOST_BATCHES)):
            yield run


def decoded(run: Sequence[Batch]) -> Iterator[Chunk]:
    """Decode the records of batches of one file, some thousand at once; they count the batches from 0 on.

    Raises what `Batch.records` raises at a batch of which a record cannot be read.
    """
    first, last = run[0], run[-1]
    data = first.data[: last.position + last.size]
    found = scan_batches(data, first.position, check_crc=False, file=first.file)
    columns = BatchColumns.joined(list(found))
    positions = np.array([batch.position for batch in run], np.int64)
    if len(columns) > len(run):
        columns = columns.where(np.isin(columns.position, positions, assume_unique=True))
    for records in decoded_records(data, columns, np.arange(len(columns))):
        if isinstance(records, Unreadable):
            for _ in read_batch(data, int(positions[records.row]), first.file).records():
                pass  # the record that cannot be says so
            raise records.error
        yield Chunk(records, columns)
