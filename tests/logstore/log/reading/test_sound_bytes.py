"""What a kernel finds sound of many batches is what `ReadView.batches` and each batch's checksum find."""

from hypothesis import example, given
from hypothesis import strategies as st

from logstore import LogStoreError
from logstore.log.reading.sound_bytes import SOUND_RUNS, SoundBytes
from logstore.segment.read_view import ReadView
from tests.logstore.batches import batch, record

FIRST = 5

Step = tuple[int, int, int]
"""How many offsets a batch leaves out, its leader epoch beside that of the one before, and its last offset's delta."""
STEPS = st.tuples(st.sampled_from([0, 0, 0, 1, 3, -1]), st.sampled_from([0, 0, 0, 1, -1, -9]), st.integers(0, 3))


def log_of(steps: list[Step]) -> bytearray:
    data, offset, epoch = bytearray(), FIRST, 4
    for gap, rise, delta in steps:
        offset, epoch = max(0, offset + gap), max(-1, epoch + rise)
        data += batch(
            records=[record(value=b"v" * 20)], base_offset=offset, leader_epoch=epoch, last_offset_delta=delta
        )
        offset += delta + 1
    return data


def sound_size(view: ReadView) -> int:
    size = 0
    try:
        for each in view.batches():
            each.ensure_valid()
            size = each.position + each.size
    except LogStoreError:
        pass
    return size


@given(st.lists(STEPS, min_size=1, max_size=12), st.none() | st.floats(0, 1, exclude_max=True))
@example([(0, 0, 0)] * 4, 0.4)
@example([(0, 0, 0), (1, 0, 0), (1, 0, 3), (-1, 0, 0)], None)
@example([(0, 0, 0), (0, -9, 0), (0, 0, 3), (-1, 0, 0)], None)
def test_it_is_as_much_as_is_found_one_by_one(steps: list[Step], flipped: float | None) -> None:
    SOUND_RUNS.get()
    data = log_of(steps)
    if flipped is not None:
        bit = int(flipped * len(data) * 8)
        data[bit // 8] ^= 1 << bit % 8
    view = ReadView(int.from_bytes(data[:8]), memoryview(bytes(data)), 0, 0)
    found = SoundBytes.of(view, 0)
    assert found.size == sound_size(view)
    assert (found.fault is None) == (found.size == len(data))
