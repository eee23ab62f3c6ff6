"""Whether the cleaner may have taken what is missing: then putting it back would bring back what was deleted."""

from collections.abc import Iterable, Iterator

from logstore.batch.any_batch import Batch
from logstore.batch.batches import read_batch
from replication.copies.repair.filling import Run
from replication.copies.repair.scanned_copy import ScannedCopy


def is_never_cleaned(copy: ScannedCopy) -> bool:
    """Whether checkpoint files too show that a topic is not compacted, of which no copy shows that it is."""
    return copy.partition.checkpoints.mentioned


def may_be_cleaned(runs: Iterable[Run]) -> bool:
    """Whether all records of these batches are such as compaction removes: a tombstone, or written again later.

    A record without a key is none: brokers refuse it where they compact. Raises OSError, and LogStoreError for records
    that cannot be decoded.
    """
    for run in runs:
        written: dict[bytes, bytes | None] = {}
        for batch in _batches(run.other, run.first, run.end):
            for record in batch.records():
                if record.key is None:
                    return False
                written[record.key] = record.value
        kept = {key for key, value in written.items() if value is not None}
        for batch in _batches(run.other, run.end, len(run.other.rows)) if kept else ():
            kept -= {record.key for record in batch.records() if record.key is not None}
            if not kept:
                break
        if kept:
            return False
    return True


def _batches(copy: ScannedCopy, first: int, end: int) -> Iterator[Batch]:
    """Read batches whose records compaction judges by their keys: those of transactions may be aborted."""
    for row in range(first, end):
        log = copy.logs[int(copy.rows.segment[row])]
        batch = read_batch(log.data, int(copy.rows.position[row]), str(log.path))
        if not batch.is_transactional:
            yield batch
