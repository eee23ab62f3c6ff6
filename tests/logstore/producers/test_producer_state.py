"""ProducerState: what test_append_against_kafka leaves open, above all its snapshot files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.append.encoding import encode_batch
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.errors import (
    InvalidProducerEpochError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from logstore.files.producer_snapshot import ProducerSnapshot, ProducerStateEntry
from logstore.indexes.transaction_index import AbortedTransaction, TransactionIndex
from logstore.producers.producer_state import ProducerState

DAY_MS = 86_400_000


def batch(
    offset: int, sequence: int = 0, *, producer: int = 1, epoch: int = 0, count: int = 1, txn: bool = False
) -> RecordBatch:
    template = BatchTemplate(
        base_offset=offset, producer_id=producer, producer_epoch=epoch, base_sequence=sequence, is_transactional=txn
    )
    return RecordBatch(memoryview(encode_batch([Record(0, 1_000, None, b"v")] * count, template)))


def marker(
    offset: int, *, producer: int = 1, epoch: int = 0, commit: bool = False, coordinator: int = 0
) -> RecordBatch:
    template = BatchTemplate(
        base_offset=offset, producer_id=producer, producer_epoch=epoch, is_transactional=True, is_control=True
    )
    record = Record(0, 2_000, bytes([0, 0, 0, commit]), bytes(2) + coordinator.to_bytes(4))
    return RecordBatch(memoryview(encode_batch([record], template)))


def append(
    state: ProducerState, data: RecordBatch, origin: AppendOrigin = AppendOrigin.CLIENT, version: int = 1
) -> list[AbortedTransaction]:
    aborted = state.update(state.prepare([data], origin, transaction_version=version))
    state.end_offset = data.last_offset + 1
    return aborted


def snapshots(directory: Path) -> list[int]:
    return sorted(int(path.stem) for path in directory.glob("*.snapshot"))


def test_the_last_five_batches_are_recognised_and_none_before(tmp_path: Path) -> None:
    state = ProducerState(tmp_path)
    for i in range(7):
        append(state, batch(10 + i, i))
    for i in range(2, 7):
        duplicate = state.prepare([batch(99, i)], AppendOrigin.CLIENT).duplicate
        assert duplicate is not None
        assert (duplicate.first_offset, duplicate.last_offset) == (10 + i, 10 + i)
    with pytest.raises(OutOfOrderSequenceError, match="sequence number 1 in epoch 0, but 7 was expected"):
        state.prepare([batch(99, 1)], AppendOrigin.CLIENT)


def test_preparing_changes_nothing(tmp_path: Path) -> None:
    state = ProducerState(tmp_path)
    append(state, batch(0, txn=True))
    before = state.snapshot()
    state.prepare([batch(1, 1, txn=True)], AppendOrigin.CLIENT)
    state.prepare([marker(1)], AppendOrigin.COORDINATOR, transaction_version=1)
    assert (state.snapshot(), state.first_unstable_offset) == (before, 0)


def test_an_ended_transaction_holds_readers_back_until_its_marker_is_replicated(tmp_path: Path) -> None:
    state = ProducerState(tmp_path)
    append(state, batch(5, txn=True))
    append(state, batch(6, producer=2, txn=True))
    assert append(state, marker(7), AppendOrigin.COORDINATOR) == [AbortedTransaction(1, 5, 7, 6)]
    assert (state.first_unstable_offset, state.first_undecided_offset) == (5, 6)
    state.on_high_watermark(7)
    assert state.first_unstable_offset == 5
    state.on_high_watermark(8)
    assert state.first_unstable_offset == 6
    assert append(state, marker(8, producer=2, commit=True), AppendOrigin.COORDINATOR) == []
    state.on_high_watermark(9)
    assert (state.first_unstable_offset, state.first_undecided_offset) == (None, None)


def test_markers_of_an_old_coordinator_or_producer_are_refused(tmp_path: Path) -> None:
    state = ProducerState(tmp_path)
    append(state, marker(0, epoch=3, coordinator=5), AppendOrigin.COORDINATOR)
    with pytest.raises(TransactionCoordinatorFencedError, match="epoch 4"):
        append(state, marker(1, epoch=3, coordinator=4), AppendOrigin.COORDINATOR)
    with pytest.raises(InvalidProducerEpochError):
        append(state, marker(1, epoch=2, coordinator=5), AppendOrigin.COORDINATOR)
    append(state, marker(1, epoch=2, coordinator=4), AppendOrigin.REPLICATION)
    with pytest.raises(ValueError, match="transaction_version"):
        state.prepare([marker(2, epoch=3, coordinator=5)], AppendOrigin.COORDINATOR)


def test_with_an_epoch_for_each_transaction_a_marker_needs_a_newer_one_but_for_retries(tmp_path: Path) -> None:
    state = ProducerState(tmp_path)
    append(state, batch(0, txn=True, epoch=4))
    with pytest.raises(InvalidProducerEpochError):
        append(state, marker(1, epoch=4), AppendOrigin.COORDINATOR, version=2)
    append(state, marker(1, epoch=5), AppendOrigin.COORDINATOR, version=2)
    append(state, marker(2, epoch=5), AppendOrigin.COORDINATOR, version=2)


ENTRY = st.builds(
    ProducerStateEntry,
    st.integers(0, 50),
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 90),
    st.just(0),
    st.integers(0, 2_000),
    st.integers(-1, 3),
    st.integers(-1, 90),
)


@given(st.lists(ENTRY, unique_by=lambda entry: entry.producer_id, max_size=6))
def test_a_snapshot_is_encoded_as_it_is_read(entries: list[ProducerStateEntry]) -> None:
    snapshot = ProducerSnapshot(tuple(entries))
    assert ProducerSnapshot.parse(snapshot.encode()) == snapshot


@given(st.lists(st.builds(AbortedTransaction, *[st.integers(0, 2**63 - 1)] * 4), max_size=5).map(tuple))
def test_a_transaction_index_is_encoded_as_it_is_read(entries: tuple[AbortedTransaction, ...]) -> None:
    index = TransactionIndex(entries, 0)
    assert TransactionIndex.parse(index.encode()) == index


def test_a_snapshot_brings_all_back_but_the_older_batches(tmp_path: Path) -> None:
    state = ProducerState(tmp_path)
    append(state, batch(0, 7, count=2, txn=True))
    append(state, batch(2, 0, producer=2))
    assert state.take_snapshot() == tmp_path / f"{3:020}.snapshot"
    assert state.take_snapshot() is None
    loaded = ProducerState(tmp_path)
    loaded.reload(0, 9, 3_000)
    assert loaded.end_offset == 3
    assert loaded.snapshot() == state.snapshot()
    assert loaded.first_undecided_offset == 0
    assert append(loaded, marker(3), AppendOrigin.COORDINATOR) == [AbortedTransaction(1, 0, 3, 4)]


def test_reloading_goes_back_to_the_latest_good_snapshot_within_the_log(tmp_path: Path) -> None:
    state = ProducerState(tmp_path)
    for offset in range(1, 6):
        append(state, batch(offset - 1, offset - 1))
        state.take_snapshot()
    (tmp_path / f"{3:020}.snapshot").write_bytes(b"damaged")
    state.reload(1, 4, 0)
    assert (state.end_offset, state.latest_snapshot_offset) == (4, 4)
    (tmp_path / f"{4:020}.snapshot").unlink()
    fresh = ProducerState(tmp_path)
    fresh.reload(0, 3, 0)
    assert (fresh.end_offset, snapshots(tmp_path)) == (2, [2])
    assert fresh.producers[1].last_sequence == 1
    assert fresh.replay(batch(2, 2)) == []
    assert (fresh.end_offset, fresh.producers[1].last_sequence) == (3, 2)


def test_without_a_snapshot_the_state_starts_at_the_log_start(tmp_path: Path) -> None:
    state = ProducerState(tmp_path)
    state.reload(40, 90, 0)
    assert (state.end_offset, state.is_empty(), state.take_snapshot()) == (40, True, None)


def test_a_producer_expires_after_a_day_unless_its_transaction_is_open(tmp_path: Path) -> None:
    state = ProducerState(tmp_path)
    append(state, batch(0))
    append(state, batch(1, producer=2, txn=True))
    state.expire(1_000 + DAY_MS - 1)
    assert set(state.producers) == {1, 2}
    state.take_snapshot()
    state.expire(1_000 + DAY_MS)
    assert set(state.producers) == {2}
    loaded = ProducerState(tmp_path)
    loaded.reload(0, 3, 1_000 + DAY_MS)
    assert set(loaded.producers) == {2}


@pytest.mark.parametrize(("bases", "kept"), [([0, 3], [3, 9]), ([0, 3, 10], [3]), ([], [9]), ([0, 3, 5, 9], [3, 5, 9])])
def test_snapshots_without_a_segment_go_but_the_newest_beyond_all(
    tmp_path: Path, bases: list[int], kept: list[int]
) -> None:
    for offset in (3, 5, 9):
        (tmp_path / f"{offset:020}.snapshot").write_bytes(ProducerSnapshot(()).encode())
    (tmp_path / f"{4:020}.snapshot.deleted").touch()
    state = ProducerState(tmp_path)
    state.remove_stray_snapshots(bases)
    assert snapshots(tmp_path) == kept
    assert (state.oldest_snapshot_offset, state.latest_snapshot_offset) == (kept[0], kept[-1])
    state.delete_snapshots_before(9)
    state.delete_snapshot(9)
    state.delete_snapshot(9)
    assert snapshots(tmp_path) == []


def test_truncating_fully_forgets_all(tmp_path: Path) -> None:
    state = ProducerState(tmp_path)
    append(state, batch(0, txn=True))
    state.take_snapshot()
    state.truncate_fully_and_start_at(50)
    assert (state.is_empty(), state.end_offset, state.first_unstable_offset, snapshots(tmp_path)) == (
        True,
        50,
        None,
        [],
    )


def test_the_state_follows_the_log_start(tmp_path: Path) -> None:
    state = ProducerState(tmp_path)
    append(state, batch(0, txn=True))
    append(state, marker(1, commit=True), AppendOrigin.COORDINATOR)
    state.on_log_start_offset(2)
    assert (state.first_unstable_offset, state.end_offset) == (None, 2)
    state.on_log_start_offset(8)
    assert (state.end_offset, state.take_snapshot()) == (8, None)
