"""Records of a view: the same by kernels as one by one in plain Python, with the same errors in the same places."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.append.encoding import encode_batch
from logstore.batch.batch_order import Surroundings
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.decoding.plain_records import FEWEST_BYTES, PLAIN_RECORDS
from logstore.batch.record import Header, Record
from logstore.errors import LogStoreError
from logstore.indexes.transaction_index import AbortedTransaction
from logstore.segment import view_records
from logstore.segment.read_view import ReadView
from tests.logstore.batch.test_legacy_batch import message
from tests.logstore.batches import LOG_APPEND_TIME, batch, log, record
from tests.logstore.kernels.sizes import EXAMPLES
from tests.logstore.kernels.strategies import CONTENT, LYING_BATCHES, ODD_BATCHES, SOUND_BATCHES, damaged

Outcome = tuple[list[Record], str]

HEADERS = st.lists(st.builds(Header, st.text(max_size=3), CONTENT), max_size=3).map(tuple)
RECORDS = st.builds(Record, st.just(-1), st.integers(0, 2**41), CONTENT, CONTENT, HEADERS)
TEMPLATES = st.builds(
    BatchTemplate,
    codec=st.sampled_from(Codec),
    producer_id=st.integers(0, 2),
    producer_epoch=st.just(0),
    base_sequence=st.just(0),
    is_transactional=st.booleans(),
)
WRITTEN = st.builds(
    lambda records, template: bytes(encode_batch(records, template=template)),
    st.lists(RECORDS, min_size=1, max_size=5),
    TEMPLATES,
)
ABORTED = st.lists(
    st.builds(AbortedTransaction, st.integers(0, 2), st.integers(0, 30), st.integers(0, 60), st.just(0)), max_size=3
)


def placed(batches: list[bytes]) -> bytes:
    """Batches one behind the other in offsets, too, with room between them."""
    return b"".join((7 * number).to_bytes(8) + each[8:] for number, each in enumerate(batches))


OLD = st.builds(message, st.just(0), CONTENT, key=CONTENT, magic=st.sampled_from([0, 1]))
LOGS = st.lists(WRITTEN | OLD | SOUND_BATCHES | ODD_BATCHES, max_size=6).map(placed) | st.lists(
    WRITTEN | SOUND_BATCHES | LYING_BATCHES, max_size=4
).map(b"".join)


def outcome(view: ReadView, *, plain: bool) -> Outcome:
    """What a reader gets: the records up to an error, and the error."""
    found: list[Record] = []
    with (
        patch.object(PLAIN_RECORDS, "records_left", 2**40 if plain else 0),
        patch.object(view_records, "FEWEST_BYTES", 0),
    ):
        try:
            found.extend(view.records())
        except LogStoreError as error:
            return found, f"{type(error).__name__}: {error}"
    return found, ""


def agrees(data: bytes, offset: int = 0, aborted: list[AbortedTransaction] | None = None) -> Outcome:
    def view() -> ReadView:
        made = ReadView(offset, memoryview(data), 0, 1_000)
        made.aborted_transactions = aborted or ()
        return made

    expected = outcome(view(), plain=True)
    # Records before an error are found first, so that nothing of them is lost by the way.
    assert outcome(view(), plain=False) == expected
    return expected


@settings(max_examples=EXAMPLES)
@given(LOGS, st.integers(0, 40), ABORTED)
def test_kernels_find_what_plain_python_finds(data: bytes, offset: int, aborted: list[AbortedTransaction]) -> None:
    agrees(data, offset, aborted)


@settings(max_examples=EXAMPLES)
@given(damaged(LOGS), st.integers(0, 40), ABORTED)
def test_they_find_the_same_in_damaged_logs(data: bytes, offset: int, aborted: list[AbortedTransaction]) -> None:
    agrees(data, offset, aborted)


@pytest.mark.parametrize("codec", Codec)
def test_records_of_all_codecs_are_found_up_to_one_that_is_damaged(codec: Codec) -> None:
    sound = [
        bytes(encode_batch([Record(-1, 5, b"k", b"v" * 90)] * 7, template=BatchTemplate(codec=codec)))
        for _ in range(100)
    ]
    lying = batch(records=[record(value=b"a"), record(offset_delta=1, length=3)], last_offset_delta=6)
    records, error = agrees(placed([*sound, lying, *sound]), 3)
    assert [each.offset for each in records] == list(range(3, 701))
    assert error.startswith("CorruptRecordError: record 1 of 2: ")


def test_nothing_of_a_batch_is_given_whose_checksum_is_wrong() -> None:
    data = bytearray(log(50))
    data[len(log(40)) - 1] ^= 1
    records, error = agrees(bytes(data))
    assert len(records) == 39 * 3
    assert error.startswith("CorruptBatchError: the checksum of the batch of")


def test_offsets_that_do_not_rise_are_told_where_they_begin() -> None:
    records, error = agrees(log(40) + log(1))
    assert len(records) == 120
    assert error.startswith("CorruptBatchError: the batch begins below 120, where the one before it ends")


class Around(Surroundings):
    """Surroundings that note what they are asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def ensure_begin(self, offset: int, base_offset: int) -> None:
        self.asked.append((offset, base_offset))


def test_what_lies_before_a_gap_is_looked_at_once() -> None:
    around = Around()
    data = memoryview(placed([batch(records=[record()])] * 50)[len(batch(records=[record()])) :])
    with patch.object(PLAIN_RECORDS, "records_left", 0):
        view = ReadView(3, data, 0, 1_000, False, around)
        assert len(list(view.records())) == 49
    assert around.asked == [(3, 7)]


def test_times_of_the_leader_and_records_far_apart_are_as_their_headers_say() -> None:
    appended = batch(attributes=LOG_APPEND_TIME, max_timestamp=77, records=[record(timestamp_delta=9)])
    records, _ = agrees(placed([appended, batch(base_timestamp=2**62, records=[record(timestamp_delta=-(2**62))])]))
    assert [each.timestamp for each in records] == [77, 0]


def test_one_who_takes_a_single_record_does_not_check_all_batches() -> None:
    data = log(20_000)
    seen: list[int] = []

    def many(self: view_records.ViewRecords, size: int) -> Iterator[object]:
        seen.append(size)
        return checked(self, size)

    checked = view_records.ViewRecords._check_many
    with patch.object(view_records.ViewRecords, "_check_many", many), patch.object(PLAIN_RECORDS, "records_left", 0):
        records = ReadView(0, memoryview(data)).records()
        assert next(records).offset == 0
        assert seen == [1 << 15]
        assert sum(1 for _ in records) == 59_999
    assert max(seen) == 1 << 20


def test_few_records_load_no_kernel() -> None:
    data = log(2)
    assert len(data) < FEWEST_BYTES
    with (
        patch.object(PLAIN_RECORDS, "records_left", 0),
        patch.object(view_records.ViewRecords, "_check_many", side_effect=AssertionError),
    ):
        assert len(list(ReadView(0, memoryview(data)).records())) == 6


def test_many_records_are_made_by_the_kernel_from_then_on() -> None:
    with patch.object(PLAIN_RECORDS, "records_left", 100):
        assert len(list(ReadView(0, memoryview(log(50))).records())) == 150
        assert PLAIN_RECORDS.is_spent
