"""Records found by time: the same as by reading all of them in plain Python."""

from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.kernels.timestamp import find_record
from tests.logstore.batches import LOG_APPEND_TIME, ZSTD, batch, record
from tests.logstore.kernels import twins
from tests.logstore.kernels.guarded import guarded
from tests.logstore.kernels.sizes import EXAMPLES
from tests.logstore.kernels.strategies import LOGS, damaged

RECORDS = st.builds(
    record,
    offset_delta=st.integers(0, 9),
    timestamp_delta=st.integers(-5, 30),
    value=st.binary(max_size=9) | st.just(bytes(70)),
)
TIMELY_BATCHES = st.builds(
    batch,
    records=st.lists(RECORDS, max_size=5),
    base_offset=st.integers(0, 20) | st.just(2**63 - 10),
    leader_epoch=st.integers(-1, 9),
    attributes=st.sampled_from([0, 0, 0, 0, ZSTD, LOG_APPEND_TIME]),
    base_timestamp=st.integers(0, 60) | st.just(2**63 - 20),
    max_timestamp=st.integers(0, 90) | st.just(2**63 - 1),
)
TIMELY_LOGS = st.lists(TIMELY_BATCHES, max_size=6).map(b"".join)
TIMESTAMPS = st.integers(0, 90) | st.just(2**63 - 1)
OFFSETS = st.integers(0, 30) | st.integers(2**63 - 12, 2**63 - 1)


@settings(max_examples=EXAMPLES)
@given(TIMELY_LOGS | LOGS | damaged(TIMELY_LOGS), TIMESTAMPS, OFFSETS)
def test_the_record_found_is_its_twin_s(data: bytes, timestamp: int, offset: int) -> None:
    position = 0
    while True:
        found = find_record(memoryview(guarded(data)).toreadonly(), position, timestamp, offset)
        assert found == twins.find_record(data, position, timestamp, offset)
        row = find_whole_batch(data, found[0])
        if row is None:
            break
        position = row.position + row.size


def find_whole_batch(data: bytes, position: int) -> twins.BatchRow | None:
    """Go on behind this batch where one can."""
    if position == len(data) or twins.what_follows(data, position) is not None:
        return None
    return twins.read_batch(data, position, check_crc=False)


def test_a_log_without_bytes_has_no_record() -> None:
    assert find_record(memoryview(b""), 0, 5, 0) == (0, 0, -1, 0)
