"""What compaction keeps of a batch, decision by decision; sequences of them are compared with Kafka's cleaner."""

from dataclasses import replace

import pytest

from logstore.append.encoding import encode_batch, encode_end_transaction
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression import codec as codecs
from logstore.batch.compression.codec import Codec
from logstore.batch.control import ControlType, EndTransactionMarker
from logstore.batch.record import Header, Record
from logstore.compaction.batch_cleaner import BatchCleaner, LastBatch
from logstore.compaction.offset_map import OffsetMap
from logstore.compaction.seen_transactions import SeenTransactions

NOW = 1_000_000
RETENTION = 500
PRODUCER = 7


def cleaner(latest: dict[bytes, int], *, end: int = 100, now: int = NOW, kept_end: int = -1) -> BatchCleaner:
    """Rules where the log was looked at up to `end`, and each key has its latest record at an offset."""
    offsets = OffsetMap()
    for key, offset in latest.items():
        offsets.put(key, offset)
    offsets.latest_offset = end
    return BatchCleaner(offsets, SeenTransactions(), now, RETENTION, kept_end)


def batch(*records: Record, **fields: object) -> RecordBatch:
    template = replace(BatchTemplate(base_offset=10, leader_epoch=3), **fields)  # type: ignore[arg-type]
    return RecordBatch(memoryview(encode_batch(list(records), template)))


def record(key: bytes | None, value: bytes | None = b"v", timestamp: int = 5) -> Record:
    return Record.of(value, key, timestamp=timestamp, headers=[("h", b"x")])


def kept(rules: BatchCleaner, given: RecordBatch, *, last: LastBatch | None = None) -> RecordBatch | None:
    data = rules.clean(given, {} if last is None else {PRODUCER: last})
    return None if data is None else RecordBatch(memoryview(data))


def marker() -> RecordBatch:
    data = encode_end_transaction(EndTransactionMarker(ControlType.COMMIT, 0, 0), PRODUCER, 2, 5)
    return RecordBatch(memoryview(data))


def test_a_batch_of_which_all_is_kept_keeps_its_bytes() -> None:
    given = batch(record(b"a"), record(b"b"))
    assert cleaner({b"a": 10, b"b": 11}).clean(given, {}) == given.data


@pytest.mark.parametrize("codec", Codec)
def test_what_is_left_of_a_batch_keeps_its_offsets_times_headers_and_codec(codec: Codec) -> None:
    given = batch(record(b"a"), record(b"b", timestamp=9), record(b"a", timestamp=7), codec=codec)
    left = kept(cleaner({b"a": 12, b"b": 11}), given)
    assert left is not None
    assert left.is_valid()
    assert [(each.offset, each.timestamp, each.headers) for each in left.records()] == [
        (11, 9, (Header("h", b"x"),)),
        (12, 7, (Header("h", b"x"),)),
    ]
    assert (left.base_offset, left.last_offset, left.codec, left.leader_epoch) == (10, 12, codec, 3)
    assert (left.base_timestamp, left.max_timestamp) == (9, 9)


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec])
def test_a_batch_that_is_too_much_to_be_decompressed_at_once_is_cleaned_as_any_other(
    monkeypatch: pytest.MonkeyPatch, codec: Codec
) -> None:
    given = batch(*(record(b"%d" % (number % 7), bytes(number)) for number in range(60)), codec=codec)
    latest = {b"%d" % key: 40 + key for key in range(7)}
    expected = cleaner(latest, end=50).clean(given, {})
    monkeypatch.setattr(codecs, "decompression_limit", lambda _: 0)
    assert cleaner(latest, end=50).clean(given, {}) == expected


def test_what_lies_behind_the_map_stays() -> None:
    given = batch(record(None), record(b"unknown"))
    assert cleaner({}, end=9).clean(given, {}) == given.data


def test_records_without_keys_go() -> None:
    assert kept(cleaner({}), batch(record(None))) is None


def test_a_tombstone_begins_to_wait_when_it_is_first_met_and_then_goes() -> None:
    given = batch(record(b"a", None), record(b"b"))
    waiting = kept(cleaner({b"a": 10, b"b": 11}), given)
    assert waiting is not None
    assert waiting.has_delete_horizon
    assert waiting.base_timestamp == NOW + RETENTION
    assert list(waiting.records()) == list(given.records())
    before = cleaner({}, now=NOW + RETENTION - 1).clean(waiting, {})
    assert before == waiting.data
    left = kept(cleaner({}, now=NOW + RETENTION), waiting)
    assert left is not None
    assert [each.key for each in left.records()] == [b"b"]
    assert left.has_delete_horizon


def test_the_batch_at_the_high_watermark_is_kept_empty() -> None:
    left = kept(cleaner({b"a": 50}, kept_end=11), batch(record(b"a")))
    assert left is not None
    assert (left.record_count, left.last_offset, left.base_timestamp) == (0, 10, -1)
    assert kept(cleaner({b"a": 50}, kept_end=12), batch(record(b"a"))) is None


def test_the_last_batch_of_a_producer_is_kept_empty() -> None:
    given = batch(record(b"a"), record(b"a"), producer_id=PRODUCER, producer_epoch=2, base_sequence=40)
    left = kept(cleaner({b"a": 50}), given, last=LastBatch(11, 2))
    assert left is not None
    assert (left.producer_id, left.producer_epoch, left.last_sequence) == (PRODUCER, 2, 41)
    assert kept(cleaner({b"a": 50}), given, last=LastBatch(30, 2)) is None
    assert kept(cleaner({b"a": 50}), given) is None


def test_a_marker_waits_and_goes_unless_its_producer_wrote_nothing_later() -> None:
    waiting = kept(cleaner({}), marker())
    assert waiting is not None
    assert waiting.has_delete_horizon
    late = cleaner({}, now=NOW + RETENTION)
    assert kept(late, waiting) is None
    assert kept(late, waiting, last=LastBatch(None, 3)) is None
    left = kept(late, waiting, last=LastBatch(None, 2))
    assert left is not None
    assert (left.record_count, left.is_control, left.producer_epoch) == (0, True, 2)
    assert kept(late, left) is None, "an empty one was dropped before"


def test_a_marker_stays_while_its_transaction_has_records() -> None:
    rules = cleaner({b"a": 10})
    rules.clean(batch(record(b"a"), producer_id=PRODUCER, producer_epoch=2, base_sequence=0, is_transactional=True), {})
    given = marker()
    assert rules.clean(given, {}) == given.data
