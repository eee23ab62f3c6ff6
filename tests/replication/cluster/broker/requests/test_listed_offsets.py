"""Offsets are found as far as the asker may read."""

import pytest

from logstore import BatchTemplate, Record
from logstore.errors import CorruptBatchError
from replication.cluster.broker.requests.listed_offsets import ListedOffsets
from replication.wire.error_code import ErrorCode
from replication.wire.messages import list_offsets
from replication.wire.messages.list_offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    ListedOffset,
    ListOffsetsRequest,
    OffsetQuestion,
)
from replication.wire.messages.replica_id import CONSUMER, DEBUGGER
from tests.replication.cluster.broker.requests.small_broker import (
    ELSEWHERE,
    EPOCH,
    ORDERS,
    UNKNOWN,
    SmallBroker,
    call,
    change_leader,
)

NEWEST = 11


def ask(
    broker: SmallBroker, timestamp: int, *, replica_id: int = CONSUMER, version: int = NEWEST, isolation_level: int = 0
) -> ListedOffset:
    request = ListOffsetsRequest(
        partitions={ORDERS: OffsetQuestion(timestamp)}, replica_id=replica_id, isolation_level=isolation_level
    )
    return ListedOffsets(broker.lookup).answer(request, call(version)).partitions[ORDERS]


def test_consumers_may_read_to_the_high_watermark_and_others_to_the_end(broker: SmallBroker) -> None:
    broker.append(b"a", b"b")
    broker.append(b"c", commit=False)
    assert ask(broker, LATEST) == ListedOffset(ErrorCode.NONE, 2, EPOCH)
    assert ask(broker, LATEST, replica_id=2).offset == 3
    assert ask(broker, LATEST, replica_id=DEBUGGER).offset == 3


def test_consumers_of_committed_records_may_read_to_the_last_stable_offset(broker: SmallBroker) -> None:
    broker.append(b"a")
    transactional = BatchTemplate(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    broker.log.append([Record.of(b"b")], leader_epoch=EPOCH, template=transactional)
    broker.log.advance_high_watermark(2)
    assert ask(broker, LATEST, isolation_level=1).offset == 1
    assert ask(broker, LATEST).offset == 2


@pytest.mark.parametrize("timestamp", [EARLIEST, EARLIEST_LOCAL])
def test_the_earliest_offset_is_the_logs_start(broker: SmallBroker, timestamp: int) -> None:
    broker.append(b"a", b"b", leader_epoch=4)
    broker.append(b"c")
    broker.log.delete_records(2)
    assert ask(broker, timestamp) == ListedOffset(ErrorCode.NONE, 2, EPOCH)


def test_a_time_finds_the_first_record_from_then_on(broker: SmallBroker) -> None:
    broker.append(b"a", b"b", b"c", timestamp=1_000)
    assert ask(broker, 1_001) == ListedOffset(ErrorCode.NONE, 1, EPOCH, 1_001)
    assert ask(broker, 1_003) == ListedOffset(ErrorCode.NONE, -1)
    assert ask(broker, MAX_TIMESTAMP) == ListedOffset(ErrorCode.NONE, 2, EPOCH, 1_002)


def test_a_record_that_may_not_be_read_is_not_found(broker: SmallBroker) -> None:
    broker.append(b"a", timestamp=1_000)
    broker.append(b"b", timestamp=2_000, commit=False)
    assert ask(broker, 1_500) == ask(broker, MAX_TIMESTAMP) == ListedOffset(ErrorCode.NONE, -1)
    assert ask(broker, 1_500, replica_id=2) == ListedOffset(ErrorCode.NONE, 1, EPOCH, 2_000)


@pytest.mark.parametrize(
    ("timestamp", "since"),
    [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9), (EARLIEST_PENDING_UPLOAD, 11), (-7, 12)],
)
def test_what_stands_for_a_time_is_known_from_some_version_on(broker: SmallBroker, timestamp: int, since: int) -> None:
    for version in list_offsets.VERSIONS:
        error = ErrorCode.NONE if version >= since else ErrorCode.UNSUPPORTED_VERSION
        assert ask(broker, timestamp, version=version).error == error


def test_nothing_is_tiered(broker: SmallBroker) -> None:
    broker.append(b"a")
    assert ask(broker, LATEST_TIERED).offset == ask(broker, EARLIEST_PENDING_UPLOAD).offset == -1


def test_a_partition_that_is_named_twice_is_refused(broker: SmallBroker) -> None:
    questions = [(0, -1, EARLIEST), (0, -1, LATEST)]
    data = list_offsets.REQUEST.write_fields((CONSUMER, 0, [("orders", questions)], 0), NEWEST)
    request = list_offsets.REQUEST.read(data, NEWEST)
    answered = ListedOffsets(broker.lookup).answer(request, call(NEWEST)).partitions
    assert answered == {ORDERS: ListedOffset(ErrorCode.INVALID_REQUEST, -1)}


def test_partitions_that_are_not_led_here_are_refused_but_for_who_looks_at_copies(broker: SmallBroker) -> None:
    questions = dict.fromkeys((ORDERS, ELSEWHERE, UNKNOWN), OffsetQuestion(LATEST))
    change_leader(broker.partitions[ORDERS], EPOCH, is_leader=False)
    request = ListOffsetsRequest(partitions=questions)
    told = ListedOffsets(broker.lookup).answer(request, call(NEWEST)).partitions
    assert [told[each].error for each in (ORDERS, ELSEWHERE, UNKNOWN)] == [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert ask(broker, LATEST, replica_id=DEBUGGER).error == ErrorCode.NONE


def test_damage_on_the_way_is_told(broker: SmallBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise CorruptBatchError("the checksum does not match")

    monkeypatch.setattr(broker.log, "offset_for_timestamp", fail)
    assert ask(broker, 1_000) == ListedOffset(ErrorCode.KAFKA_STORAGE_ERROR, -1)
