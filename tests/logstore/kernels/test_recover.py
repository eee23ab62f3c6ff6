"""The recovery pass finds what a plain walk over the same bytes finds."""

from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from logstore.batch.batch import RecordBatch
from logstore.batch.columns import StopReason
from logstore.errors import LogStoreError
from logstore.kernels import recovery_state
from logstore.kernels.recover import recover
from logstore.kernels.recovery_state import RecoveryColumns, Slot, new_state
from logstore.recovery.plain_recovery import recover_plainly
from tests.logstore.batches import batch, record

INTERVAL = 150

BATCHES = st.lists(
    st.tuples(
        st.integers(0, 3),  # epoch, as a step from the one before
        st.integers(0, 200),  # bytes of a value
        st.integers(1, 3),  # records
        st.integers(-1, 50),  # largest timestamp
        st.sampled_from([-1, -1, 7]),  # producer id
    ),
    max_size=30,
)


def written(batches: list[tuple[int, int, int, int, int]], base_offset: int = 100) -> bytes:
    """A segment's bytes."""
    data, offset, epoch = b"", base_offset, 0
    for step, size, count, timestamp, producer_id in batches:
        epoch += step // 3
        data += batch(
            records=[record(offset_delta=i, value=bytes(size)) for i in range(count)],
            base_offset=offset,
            leader_epoch=epoch,
            max_timestamp=timestamp,
            producer_id=producer_id,
        )
        offset += count
    return data


def walk(data: bytes, base_offset: int, *, is_ordered: bool = False) -> dict[str, object]:
    """What there is to find, batch by batch, in plain Python."""
    position, indexed, largest = 0, 0, (-1, -1)
    entries, epochs, producers, last = [], [], [], base_offset - 1
    while position < len(data):
        try:
            each = RecordBatch(memoryview(data), position)
            each.ensure_valid()
        except LogStoreError:
            break
        if not 0 <= each.last_offset - base_offset < 2**31 or (is_ordered and each.base_offset <= last):
            break
        if each.max_timestamp > largest[0]:
            largest = (each.max_timestamp, each.last_offset)
        if position - indexed > INTERVAL:
            entries.append((each.last_offset, position, *largest))
            indexed = position
        if not epochs or epochs[-1][0] != each.leader_epoch:
            epochs.append((each.leader_epoch, each.base_offset))
        producers += [position] if each.producer_id != -1 else []
        last, position = each.last_offset, position + each.size
    return {"valid": position, "last": last, "entries": entries, "epochs": epochs, "producers": producers}


def passed(data: bytes, base_offset: int, *, is_ordered: bool = False) -> tuple[dict[str, object], int]:
    """What the kernel finds, and plain Python too."""
    found = found_by(
        lambda *given, **rest: recover(np.frombuffer(given[0], np.uint8), *given[1:], **rest),
        data,
        base_offset,
        is_ordered=is_ordered,
    )
    assert found_by(recover_plainly, data, base_offset, is_ordered=is_ordered) == found
    return found


def found_by(
    recover: Callable[..., int], data: bytes, base_offset: int, *, is_ordered: bool
) -> tuple[dict[str, object], int]:
    """What one of them finds."""
    state, columns, stop = new_state(base_offset, is_ordered=is_ordered), RecoveryColumns(), StopReason.MORE
    entries, changes, producers = [], [], []
    while stop == StopReason.MORE:
        stop = recover(
            memoryview(data),
            len(data),
            base_offset=base_offset,
            interval=INTERVAL,
            state=state,
            columns=columns,
        )
        rows = state[Slot.INDEX_ROWS]
        entry_columns = (columns.index_offset, columns.index_position, columns.time_timestamp, columns.time_offset)
        entries += zip(*(column[:rows].tolist() for column in entry_columns), strict=True)
        rows = state[Slot.EPOCH_ROWS]
        changes += zip(columns.epoch[:rows].tolist(), columns.epoch_offset[:rows].tolist(), strict=True)
        producers += columns.producer_position[: state[Slot.PRODUCER_ROWS]].tolist()
    epochs = [change for number, change in enumerate(changes) if number == 0 or changes[number - 1][0] != change[0]]
    found = {
        "valid": int(state[Slot.POSITION]),
        "last": int(state[Slot.LAST_OFFSET]),
        "entries": entries,
        "epochs": epochs,
        "producers": producers,
    }
    return found, stop


@given(BATCHES, st.sampled_from([4, 4_096]))
def test_a_whole_segment_is_valid_to_its_end(batches: list[tuple[int, int, int, int, int]], capacity: int) -> None:
    recovery_state.CAPACITY, before = capacity, recovery_state.CAPACITY
    try:
        data = written(batches)
        found, stop = passed(data, 100)
    finally:
        recovery_state.CAPACITY = before
    assert stop == StopReason.END
    assert found == walk(data, 100)
    assert found["valid"] == len(data)


@given(BATCHES, st.data())
def test_the_pass_stops_at_the_first_damage(batches: list[tuple[int, int, int, int, int]], draw: st.DataObject) -> None:
    data = bytearray(written(batches))
    for _ in range(draw.draw(st.integers(0, 2)) if data else 0):
        data[draw.draw(st.integers(0, len(data) - 1))] ^= draw.draw(st.integers(1, 255))
    cut = draw.draw(st.integers(0, len(data)))
    found, _ = passed(bytes(data[:cut]), 100)
    assert found == walk(bytes(data[:cut]), 100)


@given(BATCHES, st.lists(st.tuples(st.integers(0, 29), st.integers(0, 7)), max_size=2))
def test_where_offsets_have_to_rise_the_pass_stops_at_the_first_that_does_not(
    batches: list[tuple[int, int, int, int, int]], flips: list[tuple[int, int]]
) -> None:
    data = bytearray(written(batches))
    for number, bit in flips:
        if number < len(batches):
            data[len(written(batches[:number])) + 7] ^= 1 << bit
    found, stop = passed(bytes(data), 100, is_ordered=True)
    assert found == walk(bytes(data), 100, is_ordered=True)
    without, _ = passed(bytes(data), 100)
    assert without == walk(bytes(data), 100)
    assert (stop == StopReason.OUT_OF_ORDER) == (found != without)


@given(st.binary(max_size=300))
def test_any_bytes_are_gone_over_without_harm(data: bytes) -> None:
    found, _ = passed(data, 0)
    assert 0 <= found["valid"] <= len(data)  # type: ignore[operator]


def test_a_wrong_checksum_and_offsets_of_another_segment_have_their_own_reasons() -> None:
    good = written([(0, 10, 1, 5, -1)])
    assert passed(good + batch(base_offset=101, crc=1), 100)[1] == StopReason.BAD_CRC
    assert passed(good + batch(base_offset=101 + 2**31), 100)[1] == StopReason.OUT_OF_RANGE
    assert passed(good + batch(base_offset=99), 100)[1] == StopReason.OUT_OF_RANGE


def test_runs_of_epochs_are_told_by_their_first_and_last_batches() -> None:
    data = written([(0, 1, 2, 0, -1), (0, 1, 2, 0, -1), (3, 1, 2, 0, -1)])
    state, columns = new_state(100), RecoveryColumns()
    recover(np.frombuffer(data, np.uint8), len(data), base_offset=100, interval=99, state=state, columns=columns)
    assert columns.epoch[: state[Slot.EPOCH_ROWS]].tolist() == [0, 0, 1]
    assert columns.epoch_offset[: state[Slot.EPOCH_ROWS]].tolist() == [100, 102, 104]
