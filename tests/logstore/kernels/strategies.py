"""Logs for Hypothesis: right ones, with every field varied, and damaged ones."""

from hypothesis import strategies as st

from tests.logstore.batches import batch, record

INT8, INT16 = st.integers(-(2**7), 2**7 - 1), st.integers(-(2**15), 2**15 - 1)
INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
CONTENT = st.none() | st.binary(max_size=80) | st.integers(60, 70).map(bytes)
HEADERS = st.lists(st.tuples(st.binary(max_size=5), st.none() | st.binary(max_size=5)), max_size=3)

RECORDS = st.builds(
    record,
    offset_delta=st.integers(0, 200) | INT32,
    timestamp_delta=st.integers(-70, 70) | INT64,
    key=CONTENT,
    value=CONTENT,
    headers=HEADERS,
    attributes=st.integers(0, 255),
)
LYING_RECORDS = st.builds(
    record,
    value=CONTENT,
    headers=HEADERS,
    header_count=st.none() | st.integers(-2, 4) | INT32,
    length=st.none() | st.integers(-2, 90) | INT32,
)


@st.composite
def ascending_records(draw: st.DrawFn) -> list[bytes]:
    """Records as a producer and compaction leave them: with gaps in their offsets."""
    deltas = sorted(draw(st.sets(st.integers(0, 200), max_size=5)))
    return [record(offset_delta=delta, key=draw(CONTENT), value=draw(CONTENT)) for delta in deltas]


def _batches(records: st.SearchStrategy[list[bytes]]) -> st.SearchStrategy[bytes]:
    return st.builds(
        batch,
        records=records,
        base_offset=st.integers(0, 2**40),
        leader_epoch=INT32,
        attributes=st.sampled_from([0, 0, 8, 0x10, 0x30, 0x40]),
        last_offset_delta=st.none() | st.just(200) | st.integers(0, 2**31 - 1),
        base_timestamp=st.integers(0, 2**42) | INT64,
        max_timestamp=INT64,
        producer_id=INT64,
        producer_epoch=INT16,
        base_sequence=INT32,
    )


SOUND_BATCHES = _batches(ascending_records())
ODD_BATCHES = _batches(st.lists(RECORDS | LYING_RECORDS, max_size=4))
LYING_BATCHES = st.builds(
    batch,
    records=st.lists(RECORDS, max_size=3),
    base_offset=INT64,
    magic=st.sampled_from([2, 2, 2, 0, 1]) | INT8,
    attributes=INT16,
    last_offset_delta=INT32,
    record_count=st.integers(-1, 5) | INT32,
    length=st.none() | st.integers(0, 200) | INT32,
    crc=st.none() | st.integers(0, 2**32 - 1),
)
LOGS = st.lists(SOUND_BATCHES | ODD_BATCHES | LYING_BATCHES, max_size=4).map(b"".join)


@st.composite
def damaged(draw: st.DrawFn, logs: st.SearchStrategy[bytes] = LOGS) -> bytes:
    """A log with bits flipped, parts cut out, doubled or overwritten, and often cut off."""
    data = bytearray(draw(logs))
    for _ in range(draw(st.integers(0, 3))):
        start, end = sorted(draw(st.tuples(*[st.integers(0, len(data))] * 2)))
        match draw(st.sampled_from(["flip", "cut", "double", "overwrite"])):
            case "flip" if start < len(data):
                data[start] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[start:end]
            case "double":
                data[start:start] = data[start:end]
            case "overwrite":
                data[start : start + 4] = draw(st.binary(max_size=8))
            case _:
                pass
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)
