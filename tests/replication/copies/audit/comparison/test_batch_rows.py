"""Batches as rows: since when and until when their records are."""

from pathlib import Path

import pytest

from logstore.batch.batch_attributes import DELETE_HORIZON_BIT, TIMESTAMP_TYPE_BIT
from logstore.offline.log_file import LogFile
from replication.copies.audit.comparison.batch_rows import OffsetRange, rows_of_batches, rows_of_ranges, times_of
from tests.logstore.batches import batch, record


@pytest.mark.parametrize(
    ("attributes", "times", "expected"),
    [
        (0, (1_000, 5_000), [1_000, 5_000]),
        (0, (-1, 5_000), [5_000, 5_000]),
        (0, (-1, -1), []),
        # The leader set the time of all records, and left the producer's where it was.
        (TIMESTAMP_TYPE_BIT, (9_999, 5_000), [5_000, 5_000]),
        # The cleaner has put there until when tombstones are kept.
        (DELETE_HORIZON_BIT, (86_400_000, 5_000), [5_000, 5_000]),
    ],
)
def test_times_are_those_of_the_records(
    attributes: int, times: tuple[int, int], expected: list[int], tmp_path: Path
) -> None:
    file = tmp_path / f"{0:020d}.log"
    base, largest = times
    file.write_bytes(batch(records=[record()], attributes=attributes, base_timestamp=base, max_timestamp=largest))
    with LogFile.open(file) as log:
        (columns,) = log.scan(0)
        assert times_of(rows_of_batches(columns)) == expected


def test_offsets_without_batches_have_no_time() -> None:
    assert times_of(rows_of_ranges(4, [OffsetRange(3, 9)])) == []
