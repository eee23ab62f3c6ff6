"""The heads of batches, as the kernel and plain Python collect them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from logstore.kernels.heads import gather_heads
from logstore.segment import batch_heads
from logstore.segment.batch_heads import HEAD_SIZE
from tests.logstore.batches import batch, record
from tests.logstore.golden import LEGACY
from tests.logstore.kernels.guarded import guarded

BATCHES = st.one_of(
    st.binary(max_size=200).map(lambda value: batch(records=[record(value=value)])),
    st.sampled_from([batch(length=each) for each in (-1, 0, 13, 14, 48, 2**31 - 1)]),
    st.sampled_from([(LEGACY / name).read_bytes() for name in ("magic0-none.log", "magic1-none.log")]),
)


def heads(data: bytes, start: int, limit: int) -> tuple[bytes, int]:
    """In plain Python that shares no code with either."""
    found, limit = b"", min(limit, len(data))
    while start < limit and len(data) - start >= 26:
        length = int.from_bytes(data[start + 8 : start + 12], signed=True)
        if length < 14 or start + 12 + length > len(data):
            break
        found, start = found + data[start : start + 21], start + 12 + length
    return found, start


@given(batches=st.lists(BATCHES, max_size=5), cut=st.sampled_from([0] * 4 + [1, 30]), limit=st.integers(0, 900))
def test_the_kernel_and_plain_python_collect_the_same(batches: list[bytes], cut: int, limit: int) -> None:
    data = b"".join(batches)
    data = data[: len(data) - cut]
    expected = heads(data, 0, limit)
    out = np.zeros(len(expected[0]) + HEAD_SIZE - 1, np.uint8)  # no room for one more
    rows, end = gather_heads(guarded(data).data, 0, limit, out)
    assert (out[: rows * HEAD_SIZE].tobytes(), end) == expected
    assert batch_heads._gather_plainly(memoryview(data), 0, limit) == expected
