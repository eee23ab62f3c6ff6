"""TransactionIndex: the aborted transactions of a segment."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.batch.control import ControlRecord, ControlType
from logstore.errors import CorruptIndexError
from logstore.indexes.transaction_index import AbortedTransaction, TransactionIndex
from logstore.offline.log_file import LogFile
from tests.data.replicas import replicas

INT64 = st.integers(-(2**63), 2**63 - 1)


def encode(entries: list[tuple[int, ...]], version: int = 0) -> bytes:
    return b"".join(struct.pack(">hqqqq", version, *entry) for entry in entries)


@given(st.lists(st.tuples(INT64, INT64, INT64, INT64), max_size=20), st.integers(0, 33))
def test_entries_are_read_as_written(entries: list[tuple[int, ...]], odd: int) -> None:
    index = TransactionIndex.parse(encode(entries) + bytes(odd))
    assert index.entries == tuple(AbortedTransaction(*entry) for entry in entries)
    assert index.odd_bytes == odd


def test_an_entry_of_another_version_is_an_error_with_its_place() -> None:
    with pytest.raises(CorruptIndexError) as caught:
        TransactionIndex.parse(encode([(1, 2, 3, 4)]) + encode([(1, 2, 3, 4)], version=1))
    assert caught.value.position == 34


@pytest.mark.parametrize(
    ("label", "base_offset"), [("diverged", 200), ("reconciled", 200), ("diverged-4.4.0", 0), ("reconciled-4.4.0", 0)]
)
@pytest.mark.parametrize("broker", ["broker-1", "broker-2", "broker-3"])
def test_the_replicas_indexes_list_exactly_the_abort_markers(label: str, base_offset: int, broker: str) -> None:
    directory = replicas(label) / broker / "txns-0"
    base = f"{base_offset:020}"
    aborts = [
        (each.producer_id, each.base_offset)
        for each in LogFile.open(directory / f"{base}.log").batches()
        if each.is_control
        for record in each.records()
        if ControlRecord.of(record).type is ControlType.ABORT
    ]
    entries = TransactionIndex.read(directory / f"{base}.txnindex").entries
    assert len(aborts) == 2
    assert [(entry.producer_id, entry.last_offset) for entry in entries] == aborts
