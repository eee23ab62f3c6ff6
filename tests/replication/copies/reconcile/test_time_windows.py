"""Windows of time: each offset is of that of its batch."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from logstore import LogFile, PartitionDirectory
from replication.copies.explain.offset_ranges import ranges
from replication.copies.explain.why import Why
from replication.copies.reconcile.time_windows import NO_WINDOW, BatchTimes, batch_times, by_window
from tests.data.replicas import replicas

batches = st.lists(st.tuples(st.integers(1, 5), st.integers(-1, 60)), max_size=10)


@given(st.integers(0, 5), batches, st.integers(1, 20))
def test_an_offset_is_of_the_window_of_its_batch(begin: int, lengths: list[tuple[int, int]], width: int) -> None:
    expected = [NO_WINDOW] * begin
    bases = []
    for length, time in lengths:
        bases.append(len(expected))
        expected += [NO_WINDOW if time < 0 else time // width * width] * length
    end = len(expected)
    expected += [NO_WINDOW] * 5
    times = BatchTimes(np.array(bases, np.int64), np.array([time for _, time in lengths], np.int64))
    rows, windows = by_window(ranges(0, end + 4, Why.DELIVERED), times, end, width)
    found = [
        window for row, window in zip(rows, windows.tolist(), strict=True) for _ in range(row["first"], row["last"] + 1)
    ]
    assert found == expected


def test_the_times_of_a_copy_are_those_of_its_headers() -> None:
    directory = replicas("diverged") / "broker-3/txns-0"
    times = batch_times(PartitionDirectory.open(directory))
    read = [batch for path in sorted(directory.glob("*.log")) for batch in LogFile.open(path).batches()]
    assert times.base_offset.tolist() == [batch.base_offset for batch in read]
    assert times.max_timestamp.tolist() == [batch.max_timestamp for batch in read]
