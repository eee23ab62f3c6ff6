"""A leader appends what producers send, and tells where it is; or it tells why not, and appends nothing."""

from dataclasses import replace
from uuid import UUID

import pytest

from logstore import LogConfig, TopicPartition
from logstore.batch.batch_attributes import TimestampType
from replication.records.metadata.records import TopicRecord
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import LeaderIdAndEpoch
from replication.wire.messages.produce import ProducedPartition, ProduceRequest
from replication.wire.server.hang_up import HangUpError
from tests.logstore.batches import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL, ZSTD, batch, record, simple_batch
from tests.replication.cluster.broker.requests.small_broker import (
    ELSEWHERE,
    EPOCH,
    ORDERS,
    TOPIC,
    TOPIC_ID,
    UNKNOWN,
    partition_record,
)
from tests.replication.cluster.broker.requests.writing.leading import (
    BY_NAME,
    LOG_CONFIG,
    NEWEST,
    WritingBroker,
    one_batch,
    request,
)

EVERY_VERSION = pytest.mark.parametrize("version", range(3, 14))
BOTH_VERSIONS = pytest.mark.parametrize("version", [BY_NAME, NEWEST])
OFFSETS = TopicPartition("__consumer_offsets", 0)


def values(broker: WritingBroker) -> list[bytes | None]:
    return [each.value for each in broker.log.records()]


# --- what is appended


@EVERY_VERSION
def test_a_batch_is_appended_in_the_leaders_epoch_and_its_offset_told(broker: WritingBroker, version: int) -> None:
    start = 0 if version >= 5 else -1
    assert broker.produce(one_batch(2), version=version) == ProducedPartition(ErrorCode.NONE, 0, -1, start)
    assert broker.produce(one_batch(1), version=version) == ProducedPartition(ErrorCode.NONE, 2, -1, start)
    assert values(broker) == [b"v0", b"v1", b"v0"]
    assert broker.log.epochs.history.latest_epoch == EPOCH


def test_the_start_of_a_log_is_told_and_the_leaders_time_where_it_is_the_records(broker: WritingBroker) -> None:
    config = replace(LOG_CONFIG, message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    broker.lead(ORDERS, config=config)
    broker.produce(one_batch(3))
    broker.log.delete_records(2)
    told = broker.produce(one_batch())
    (*_, last) = broker.log.records()
    assert told == ProducedPartition(ErrorCode.NONE, 3, last.timestamp, 2)
    assert last.timestamp > 1_000


def test_several_partitions_are_answered_each_for_itself(broker: WritingBroker) -> None:
    other = TopicPartition(TOPIC, 5)
    broker.tell(partition_record(5, 1))
    broker.lead(other)
    broken = bytearray(one_batch())
    broken[-1] ^= 1
    asked = {ORDERS: one_batch(), other: bytes(broken), TopicPartition(TOPIC, 9): one_batch()}
    told = broker.send(ProduceRequest(partitions=asked, acks=1, topic_ids={TOPIC: TOPIC_ID})).partitions
    assert {partition: each.error.name for partition, each in told.items()} == {
        ORDERS: "NONE",
        other: "CORRUPT_MESSAGE",
        TopicPartition(TOPIC, 9): "UNKNOWN_TOPIC_OR_PARTITION",
    }
    assert broker.partitions[other].log.log_end_offset == 0


def test_who_wants_no_answer_gets_none_and_is_hung_up_on_for_an_error(broker: WritingBroker) -> None:
    assert broker.send(request(one_batch(), acks=0)) is None
    assert values(broker) == [b"v0"]
    with pytest.raises(HangUpError, match=r"orders-1.*NOT_LEADER_OR_FOLLOWER"):
        broker.send(request(one_batch(), ELSEWHERE, acks=0, version=BY_NAME), BY_NAME)
    with pytest.raises(HangUpError, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
        broker.send(request(one_batch(attributes=TRANSACTIONAL), acks=0))


@pytest.mark.parametrize("acks", [-2, 2, 100])
def test_nobody_knows_other_acks(broker: WritingBroker, acks: int) -> None:
    assert broker.produce(one_batch(), acks=acks) == ProducedPartition(ErrorCode.INVALID_REQUIRED_ACKS)
    assert values(broker) == []


# --- who leads


@EVERY_VERSION
def test_another_leader_is_told_with_its_address(broker: WritingBroker, version: int) -> None:
    answer = broker.send(request(one_batch(), ELSEWHERE, version=version), version)
    told = answer.partitions[ELSEWHERE]
    assert told.error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert told.current_leader == (LeaderIdAndEpoch(2, EPOCH) if version >= 10 else None)
    assert answer.leaders == ({2: Address("broker-2", 9092)} if version >= 10 else {})


def test_a_copy_that_is_only_followed_takes_nothing(broker: WritingBroker) -> None:
    broker.partitions[ORDERS].led = None
    assert broker.produce(one_batch()).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    broker.lead(ORDERS).resign()
    assert broker.produce(one_batch()).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert values(broker) == []


def test_what_is_unknown_or_cannot_be_read_is_refused(broker: WritingBroker) -> None:
    assert broker.produce(one_batch(), UNKNOWN, version=BY_NAME) == ProducedPartition(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    by_id = ProduceRequest(partitions={UNKNOWN: one_batch()}, acks=1, topic_ids={"unknown": UUID(int=99)})
    ((_, told),) = broker.send(by_id).partitions.items()
    assert told == ProducedPartition(ErrorCode.UNKNOWN_TOPIC_ID)
    broker.partitions.offline.add(ELSEWHERE)
    assert broker.produce(one_batch(), ELSEWHERE, version=BY_NAME).error == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_topic_that_was_made_anew_is_not_written_under_its_old_id(broker: WritingBroker) -> None:
    broker.partitions[ORDERS].topic_id = UUID(int=8)
    assert broker.produce(one_batch()).error == ErrorCode.UNKNOWN_TOPIC_ID
    assert values(broker) == []


def test_clients_do_not_write_to_internal_topics(broker: WritingBroker) -> None:
    topic_id = UUID(int=50)
    broker.tell(TopicRecord(name=OFFSETS.topic, topic_id=topic_id), partition_record(0, 1, topic_id=topic_id))
    broker.lead(OFFSETS)
    refused = broker.produce(one_batch(), OFFSETS, version=BY_NAME)
    assert refused == ProducedPartition(ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert broker.partitions[OFFSETS].log.log_end_offset == 0
    told = broker.send(request(one_batch(), OFFSETS, version=BY_NAME), BY_NAME, client_id="__admin_client")
    assert told.partitions[OFFSETS].error == ErrorCode.NONE


# --- batches that are none, or wrong


def mangled(data: bytes, position: int, value: int) -> bytes:
    changed = bytearray(data)
    changed[position] = value
    return bytes(changed)


WRONG: dict[str, tuple[bytes | None, ErrorCode, int]] = {
    "no records": (None, ErrorCode.UNKNOWN_SERVER_ERROR, -1),
    "nothing": (b"", ErrorCode.INVALID_RECORD, -1),
    "a torn batch": (one_batch()[:-1], ErrorCode.INVALID_RECORD, -1),
    "two batches": (one_batch() + one_batch(), ErrorCode.INVALID_RECORD, -1),
    "magic 1": (batch(magic=1, section=bytes(40)), ErrorCode.INVALID_RECORD, -1),
    "magic 3": (one_batch(magic=3), ErrorCode.CORRUPT_MESSAGE, -1),
    "a length too short for any batch": (one_batch(length=13), ErrorCode.CORRUPT_MESSAGE, -1),
    "a checksum that does not match": (mangled(one_batch(), 17, 0), ErrorCode.CORRUPT_MESSAGE, -1),
    "another base offset": (one_batch(base_offset=5), ErrorCode.INVALID_RECORD, 0),
    "control records": (one_batch(attributes=CONTROL), ErrorCode.INVALID_RECORD, 0),
    "a count that is not that of the offsets": (one_batch(record_count=7), ErrorCode.INVALID_RECORD, 0),
    "a producer without sequence number": (one_batch(producer_id=9, producer_epoch=0), ErrorCode.INVALID_RECORD, 0),
    "a record that cannot be read": (batch(section=b"\\x7f", record_count=1), ErrorCode.INVALID_RECORD, 0),
}


@BOTH_VERSIONS
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_sound_batch_is_refused_with_kafkas_code(broker: WritingBroker, wrong: str, version: int) -> None:
    records, error, start = WRONG[wrong]
    told = broker.produce(records, version=version)
    assert told._replace(error_message=None) == ProducedPartition(error, log_start_offset=start)
    assert broker.log.size == 0


def test_a_batch_that_is_none_spoils_the_whole_request(broker: WritingBroker) -> None:
    asked = {ORDERS: one_batch(), ELSEWHERE: one_batch(magic=9)}
    told = broker.send(ProduceRequest(partitions=asked, acks=1), BY_NAME).partitions
    assert {(each.error, each.error_message) for each in told.values()} == {
        (ErrorCode.CORRUPT_MESSAGE, "no batch begins in what was sent for orders-1")
    }
    assert values(broker) == []


def test_zstd_is_for_those_who_are_said_to_know_it(broker: WritingBroker) -> None:
    data = one_batch(attributes=ZSTD)
    assert broker.produce(data, version=6) == ProducedPartition(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    assert broker.produce(data, version=7).error == ErrorCode.UNKNOWN_SERVER_ERROR  # it is not compressed at all
    assert values(broker) == []


def test_too_large_a_batch_is_refused(broker: WritingBroker) -> None:
    broker.lead(ORDERS, config=replace(LOG_CONFIG, max_message_bytes=100))
    assert broker.produce(one_batch(20)) == ProducedPartition(ErrorCode.MESSAGE_TOO_LARGE)
    broker.lead(ORDERS, config=replace(LOG_CONFIG, segment_bytes=100))
    assert broker.produce(one_batch(20)) == ProducedPartition(ErrorCode.RECORD_LIST_TOO_LARGE)


def test_a_log_that_cannot_be_written_is_a_failed_disk(broker: WritingBroker) -> None:
    broker.log.abandon()
    assert broker.produce(one_batch()) == ProducedPartition(ErrorCode.KAFKA_STORAGE_ERROR)


# --- records for which a batch is refused


def timed(*times: int, attributes: int = 0) -> bytes:
    records = [record(offset_delta=each, timestamp_delta=time, key=b"k") for each, time in enumerate(times)]
    return batch(records=records, base_timestamp=0, max_timestamp=max(times), attributes=attributes)


@EVERY_VERSION
def test_the_records_of_a_wrong_time_are_named(broker: WritingBroker, version: int) -> None:
    broker.lead(ORDERS, config=replace(LOG_CONFIG, message_timestamp_after_max_ms=1))
    told = broker.produce(timed(5, 2**45, 6, 2**46), version=version)
    assert (told.error, told.log_start_offset) == (ErrorCode.INVALID_TIMESTAMP, 0 if version >= 5 else -1)
    assert [each.batch_index for each in told.record_errors] == ([1, 3] if version >= 8 else [])
    assert (told.error_message is not None) == (version >= 8)
    assert all(each.message and "time" in each.message for each in told.record_errors)
    assert values(broker) == []


def test_the_records_without_a_key_are_named_where_it_is_compacted_by_key(broker: WritingBroker) -> None:
    broker.lead(ORDERS, config=LogConfig(cleanup_policy=frozenset({"compact"}), message_timestamp_after_max_ms=1))
    told = broker.produce(simple_batch(values=[b"a", b"b"]))
    assert told.error == ErrorCode.INVALID_RECORD
    assert [(each.batch_index, "key" in (each.message or "")) for each in told.record_errors] == [(0, True), (1, True)]
    both = batch(records=[record(), record(offset_delta=1, key=b"k", timestamp_delta=2**45)], max_timestamp=2**45)
    told = broker.produce(both)
    assert (told.error, [each.batch_index for each in told.record_errors]) == (ErrorCode.INVALID_TIMESTAMP, [0, 1])
    told = broker.produce(simple_batch(base_offset=4))
    assert (told.error, told.record_errors) == (ErrorCode.INVALID_RECORD, ())


def test_the_leaders_time_is_not_the_producers_to_say(broker: WritingBroker) -> None:
    config = replace(LOG_CONFIG, message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    broker.lead(ORDERS, config=config)
    told = broker.produce(timed(5, 6, attributes=LOG_APPEND_TIME))
    assert (told.error, [each.batch_index for each in told.record_errors]) == (ErrorCode.INVALID_TIMESTAMP, [0, 1])


# --- idempotent producers


def sent(sequence: int, count: int = 1, *, epoch: int = 0) -> bytes:
    return one_batch(count, producer_id=9, producer_epoch=epoch, base_sequence=sequence)


def test_what_is_sent_again_is_appended_once_and_has_its_first_offsets(broker: WritingBroker) -> None:
    assert broker.produce(sent(0, 2)).base_offset == 0
    assert broker.produce(sent(2, 3)).base_offset == 2
    assert broker.produce(sent(0, 2)) == ProducedPartition(ErrorCode.NONE, 0, 1_000, 0)
    assert broker.log.log_end_offset == 5


@pytest.mark.parametrize(
    ("again", "error"),
    [
        (sent(3, epoch=3), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (sent(1, epoch=3), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (sent(5, epoch=4), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (sent(2, epoch=2), ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
    ids=["gap", "overlap", "new epoch, not from 0 on", "old epoch"],
)
def test_a_producer_out_of_turn_is_refused(broker: WritingBroker, again: bytes, error: ErrorCode) -> None:
    broker.produce(sent(0, 2, epoch=3))
    assert broker.produce(again) == ProducedPartition(error, log_start_offset=0)
    assert broker.log.log_end_offset == 2


def test_an_unknown_codec_is_refused(broker: WritingBroker) -> None:
    assert broker.produce(one_batch(attributes=7)).error != ErrorCode.NONE
    assert values(broker) == []
