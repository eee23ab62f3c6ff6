"""Of batches with more records than their headers have offsets for no offset is handed out twice."""

from itertools import count as counted
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logstore import Log
from logstore.batch.compression.codec import Codec, compress
from tests.logstore.batches import batch, record

DIRECTORIES = counted()
Given = list[tuple[int, int, Codec]]
"""How many records each batch has, for how many of them its header has offsets, and its codec."""
BATCHES = st.lists(
    st.tuples(st.integers(1, 5), st.integers(1, 6), st.sampled_from([Codec.NONE, Codec.ZSTD])), min_size=1, max_size=12
)


def written(directory: Path, given: Given) -> list[tuple[int, bytes]]:
    """Write a log; return what Kafka's consumer gives of it: what is not below the offset after the one before."""
    directory.mkdir(parents=True, exist_ok=True)
    parts, base, expected, following = [], 0, list[tuple[int, bytes]](), 0
    for number, (count, offsets, codec) in enumerate(given):
        values = [b"%d-%d" % (number, each) for each in range(count)]
        section = b"".join(record(offset_delta=each, value=value) for each, value in enumerate(values))
        shape = {"attributes": codec, "record_count": count, "last_offset_delta": offsets - 1}
        parts.append(batch(section=compress(codec, section), base_offset=base, **shape))
        for offset, value in enumerate(values, base):
            if offset >= following:
                expected.append((offset, value))
                following = offset + 1
        base += offsets
    (directory / f"{0:020d}.log").write_bytes(b"".join(parts))
    return expected


def check(directory: Path, expected: list[tuple[int, bytes]]) -> None:
    with Log.reader(directory) as log:
        assert [(each.offset, each.value) for each in log.records()] == expected
    with Log.open(directory) as log:
        assert [(each.offset, each.value) for each in log.records()] == expected
        in_columns = np.concatenate([each.offset for each in log.columns(0)])
        assert in_columns.tolist() == [offset for offset, _ in expected]
        tail = log.tail(log.log_start_offset)
        assert [(each.offset, each.value) for each in islice(tail, len(expected))] == expected


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given=BATCHES)
def test_no_offset_is_handed_out_twice(tmp_path: Path, given: Given) -> None:
    directory = tmp_path / str(next(DIRECTORIES)) / "t-0"
    check(directory, written(directory, given))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_so_it_is_where_kernels_read(tmp_path: Path, codec: Codec) -> None:
    given = [(5, 2 if number % 50 == 7 else 5, codec) for number in range(2_000)]
    expected = written(tmp_path / "t-0", given)
    for _ in range(3):
        check(tmp_path / "t-0", expected)


def test_a_reader_waits_at_the_end_of_a_log_that_ends_with_such_a_batch(tmp_path: Path) -> None:
    expected = written(tmp_path / "t-0", [(3, 1, Codec.NONE)])
    with Log.open(tmp_path / "t-0") as log:
        tail = iter(log.tail(0))
        assert [(each.offset, each.value) for each in islice(tail, 3)] == expected
        log.append([b"passed over", b"too", b"read"])
        assert next(tail).value == b"read"
