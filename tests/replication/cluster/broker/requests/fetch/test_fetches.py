"""Records are given as far as the asker may read, and errors where it may not."""

from uuid import UUID

import pytest

from epoch import EndOffset
from logstore import BatchTemplate, Record, TopicPartition
from logstore.batch.batches import read_batches
from logstore.errors import CorruptBatchError
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import (
    AbortedTransaction,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
)
from replication.wire.messages.replica_id import DEBUGGER
from tests.replication.cluster.broker.requests.fetch.fetching import BY_NAME, MUCH, NEWEST, Client
from tests.replication.cluster.broker.requests.small_broker import (
    ELSEWHERE,
    EPOCH,
    ORDERS,
    UNKNOWN,
    SmallBroker,
    call,
    change_leader,
)

FOLLOWER = 2
BOTH_WAYS = pytest.mark.parametrize("version", [4, 5, 6, 7, 9, 11, BY_NAME, 13, 15, NEWEST])


def values(answer: FetchedPartition) -> list[bytes | None]:
    return [record.value for batch in read_batches(memoryview(answer.records)) for record in batch.records()]


@BOTH_WAYS
def test_consumers_read_to_the_high_watermark(broker: SmallBroker, version: int) -> None:
    broker.append(b"a", b"b")
    broker.append(b"c", commit=False)
    answer = Client(broker, version).one(0)
    assert values(answer) == [b"a", b"b"]
    assert (answer.high_watermark, answer.last_stable_offset) == (2, 2)
    assert answer.log_start_offset == (0 if version >= 5 else -1)


def test_followers_read_to_the_end_and_who_looks_at_copies_as_consumers_do(broker: SmallBroker) -> None:
    broker.append(b"a")
    broker.append(b"b", commit=False)
    assert values(Client(broker).one(0, replica_id=FOLLOWER)) == [b"a", b"b"]
    assert values(Client(broker).one(0, replica_id=DEBUGGER)) == [b"a"]


def test_the_records_are_those_of_the_log_without_a_copy(broker: SmallBroker) -> None:
    broker.append(bytes(100_000))
    request = FetchRequest(partitions={ORDERS: FetchPartition(0, MUCH)})
    answer = Client(broker).fetches.answer(request, call(BY_NAME))
    assert isinstance(answer, FetchResponse)
    records = answer.partitions[ORDERS].records
    assert isinstance(records, memoryview)
    assert records.obj is broker.log.read(0, MUCH).data.obj


def test_committed_records_come_with_the_transactions_to_skip(broker: SmallBroker) -> None:
    broker.append(b"a")
    for sequence, commit in enumerate((False, None)):
        template = BatchTemplate(producer_id=9, producer_epoch=0, base_sequence=sequence, is_transactional=True)
        broker.log.append([Record.of(b"in doubt")], leader_epoch=EPOCH, template=template)
        if commit is not None:
            broker.log.append_end_transaction(9, 0, commit=commit, leader_epoch=EPOCH)
    broker.log.advance_high_watermark(broker.log.log_end_offset)
    answer = Client(broker).one(0, isolation_level=1)
    assert answer.aborted_transactions == (AbortedTransaction(9, 1),)
    assert (answer.high_watermark, answer.last_stable_offset) == (4, 3)
    assert [batch.base_offset for batch in read_batches(memoryview(answer.records))] == [0, 1, 2]
    assert Client(broker).one(3, isolation_level=1).aborted_transactions == ()
    assert Client(broker).one(0).aborted_transactions is None


@pytest.mark.parametrize("offset", [-1, 0, 5, 99])
def test_an_offset_outside_of_the_log_is_refused(broker: SmallBroker, offset: int) -> None:
    broker.append(b"a", b"b", b"c", b"d")
    broker.log.delete_records(2)
    answer = Client(broker).one(offset)
    assert answer == FetchedPartition(ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_an_offset_between_the_high_watermark_and_the_end_is_none_of_a_consumers_business(broker: SmallBroker) -> None:
    broker.append(b"a")
    broker.append(b"b", b"c", commit=False)
    answer = Client(broker).one(2)
    assert (answer.error, answer.records) == (ErrorCode.NONE, b"")


def test_a_log_that_departs_from_the_leaders_is_told_where(broker: SmallBroker) -> None:
    broker.append(b"a", b"b", leader_epoch=3)
    broker.append(b"c")
    told = Client(broker).one(3, replica_id=FOLLOWER, last_fetched_epoch=4)
    assert told.diverging_epoch == EndOffset(3, 2)
    assert told.records == b""
    assert Client(broker).one(2, replica_id=FOLLOWER, last_fetched_epoch=3).diverging_epoch is None
    unknown = Client(broker).one(3, replica_id=FOLLOWER, last_fetched_epoch=9)
    assert unknown.error == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("current", "error"),
    [(-1, 0), (-9, 0), (EPOCH, 0), (EPOCH - 1, ErrorCode.FENCED_LEADER_EPOCH), (9, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_who_believes_in_another_epoch_is_refused(broker: SmallBroker, current: int, error: int) -> None:
    assert Client(broker).one(0, current_leader_epoch=current).error == error


def test_who_leads_is_told_with_the_refusal(broker: SmallBroker) -> None:
    client = Client(broker, NEWEST)
    answer = client.fetch({ELSEWHERE: FetchPartition(0, MUCH)})
    told = answer.partitions[ELSEWHERE]
    assert told.error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert told.current_leader == LeaderIdAndEpoch(2, EPOCH)
    assert answer.leaders == {2: Address("broker-2", 9092)}
    assert client.fetch({ELSEWHERE: FetchPartition(0, MUCH)}, replica_id=FOLLOWER).leaders == {}
    fenced = client.one(0, current_leader_epoch=1)
    assert fenced.current_leader == LeaderIdAndEpoch(1, EPOCH)


def test_consumers_read_from_followers_since_they_may(broker: SmallBroker) -> None:
    broker.append(b"a")
    change_leader(broker.partitions[ORDERS], EPOCH, is_leader=False)
    errors = {version: Client(broker, version).one(0).error for version in (10, 11, NEWEST)}
    assert errors == {10: ErrorCode.NOT_LEADER_OR_FOLLOWER, 11: 0, NEWEST: 0}
    assert Client(broker).one(0, replica_id=FOLLOWER).error == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_broker_without_a_replica_is_no_follower(broker: SmallBroker) -> None:
    client = Client(broker)
    assert client.one(0, replica_id=3).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert client.one(0, replica_id=3, current_leader_epoch=EPOCH).error == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_topics_that_nobody_knows_are_refused_by_name_and_by_id(broker: SmallBroker) -> None:
    assert Client(broker).one(0, UNKNOWN).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    client = Client(broker, NEWEST)
    client.ids = {"unknown": UUID(int=99)}
    assert client.one(0, UNKNOWN).error == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_copy_of_another_topic_of_that_name_is_refused(broker: SmallBroker) -> None:
    broker.host(ORDERS, broker.log, topic_id=UUID(int=8))
    assert Client(broker, NEWEST).one(0).error == ErrorCode.INCONSISTENT_TOPIC_ID


def test_the_first_batch_comes_whole_and_no_other_is_cut_off(broker: SmallBroker) -> None:
    for _ in range(3):
        broker.append(bytes(1_000))
    second = TopicPartition("orders", 2)
    more = broker.open(second)
    more.append([bytes(1_000)], leader_epoch=EPOCH)
    more.advance_high_watermark(1)
    both = {ORDERS: FetchPartition(0, MUCH), second: FetchPartition(0, MUCH)}

    def given(**settings: int) -> list[int]:
        partitions = Client(broker).fetch(both, **settings).partitions
        return [len(list(read_batches(memoryview(partitions[each].records)))) for each in both]

    assert given() == [3, 1]
    assert given(max_bytes=0) == given(max_bytes=1) == given(max_bytes=2_000) == [1, 0]
    assert given(max_bytes=2_500) == [2, 0]
    assert given(max_bytes=4_500) == [3, 1]
    both = {each: asked._replace(max_bytes=1) for each, asked in both.items()}
    assert given() == [1, 0]


def test_a_partition_is_given_to_its_damage_and_then_it_is_told(broker: SmallBroker) -> None:
    broker.append(b"a")
    broker.partitions[ORDERS].damage = CorruptBatchError("the checksum does not match")
    assert values(Client(broker).one(0)) == [b"a"]
    assert Client(broker).one(1).error == ErrorCode.KAFKA_STORAGE_ERROR
    assert Client(broker, 5).one(1).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert Client(broker).one(2).error == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_log_that_cannot_be_read_is_told(broker: SmallBroker) -> None:
    broker.append(b"a")
    broker.log.close()
    assert Client(broker).one(0).error == ErrorCode.KAFKA_STORAGE_ERROR
    broker.partitions.offline.add(ELSEWHERE)
    assert Client(broker).one(0, ELSEWHERE).error == ErrorCode.KAFKA_STORAGE_ERROR


def test_nonsense_sizes_are_refused(broker: SmallBroker) -> None:
    broker.append(b"a")
    assert Client(broker).one(0, max_bytes=-1).error == ErrorCode.UNKNOWN_SERVER_ERROR
