"""The part of two copies that is common by their epochs: whether it is, as far as its end shows."""

from typing import NamedTuple

from logstore.batch.any_batch import Batch
from logstore.batch.batches import read_batch
from logstore.batch.layout import MAGIC
from logstore.offline.recovered_log import RecoveredLog


class Difference(NamedTuple):
    """Where a copy has another record than the kept one, at the same offset and under the same leader epochs."""

    source: str
    offset: int
    """Of the last common batch, or within it: where the copies begin to differ is not known."""


def difference(kept: RecoveredLog, source: str, log: RecoveredLog, end: int) -> Difference | None:
    """Compare the last batch below the offset `end`, up to where the copies are common by their epochs.

    Copies that began to differ, and went on to be written to, differ there too. A batch that is damaged is compared
    with nothing. Raises OSError.
    """
    ours, theirs = _last_batch(kept, end), _last_batch(log, end)
    if (
        ours is None
        or theirs is None
        or (ours.base_offset, ours.size, ours.crc)
        == (
            theirs.base_offset,
            theirs.size,
            theirs.crc,
        )
    ):
        return None
    if not (ours.is_valid() and theirs.is_valid()):
        return None
    held = {record.offset: record for record in ours.records()}
    differing = (each.offset for each in theirs.records() if held.get(each.offset, each) != each)
    offset = next(differing, None)
    return None if offset is None else Difference(source, offset)


def _last_batch(log: RecoveredLog, end: int) -> Batch | None:
    """Return the last batch below an offset, of the segment that holds what is before it; None where there is none."""
    if end <= log.log_start_offset:
        return None
    for file in log.files_from(end - 1):
        last = -1
        for columns in file.scan(check_crc=False):
            below = columns.position[(columns.last_offset < end) & (columns.magic == MAGIC)]
            last = int(below[-1]) if len(below) else last
        return read_batch(file.data, last, str(file.path)) if last >= 0 else None
    return None
