"""A session remembers what a client fetches, and tells only news."""

from uuid import UUID

import pytest

from logstore import TopicPartition
from replication.cluster.broker.requests.fetch.fetch_session import FetchSession, next_epoch
from replication.cluster.broker.requests.fetch.fetch_session_cache import FetchSessionCache
from replication.cluster.broker.requests.fetch.fetches import Fetches
from replication.cluster.broker.requests.fetch.pending_fetch import PendingFetch
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from tests.replication.cluster.broker.requests.fetch.fetching import BY_NAME, MUCH, NEWEST, Client
from tests.replication.cluster.broker.requests.small_broker import (
    ELSEWHERE,
    EPOCH,
    ORDERS,
    TOPIC,
    SmallBroker,
    partition_record,
)

VERSIONS = pytest.mark.parametrize("version", [BY_NAME, NEWEST])
SECOND = TopicPartition(TOPIC, 2)
FOLLOWER = 2


class Session(Client):
    """A client with a session."""

    def __init__(self, broker: SmallBroker, version: int = BY_NAME, fetches: Fetches | None = None) -> None:
        super().__init__(broker, version, fetches)
        self.id = self.epoch = 0

    def begin(self, *partitions: TopicPartition, offset: int = 0, **settings: int) -> FetchResponse:
        asked = {each: FetchPartition(offset, MUCH) for each in partitions}
        answer = self.fetch(asked, session_epoch=0, **settings)
        self.id, self.epoch = answer.session_id, 1
        return answer

    def more(self, asked: dict[TopicPartition, FetchPartition] | None = None, **settings: object) -> FetchResponse:
        answer = self.fetch(asked or {}, session_id=self.id, session_epoch=self.epoch, **settings)
        self.epoch += 1
        return answer


@VERSIONS
def test_a_partition_is_told_when_it_has_records_or_another_high_watermark_or_start(
    broker: SmallBroker, version: int
) -> None:
    broker.append(b"a")
    session = Session(broker, version)
    assert session.begin(ORDERS, offset=1).session_id > 0
    assert session.more().partitions == {}
    broker.append(b"b")
    assert session.more().partitions[ORDERS].records
    assert session.more().partitions[ORDERS].records  # as it has not moved on
    assert session.more({ORDERS: FetchPartition(2, MUCH)}).partitions == {}
    broker.log.delete_records(1)
    assert session.more().partitions[ORDERS].log_start_offset == 1
    assert session.more().partitions == {}


@VERSIONS
def test_a_follower_hears_of_the_high_watermark(broker: SmallBroker, version: int) -> None:
    broker.append(b"a", commit=False)
    session = Session(broker, version)
    session.begin(ORDERS, offset=1, replica_id=FOLLOWER)
    assert session.more(replica_id=FOLLOWER).partitions == {}
    broker.log.advance_high_watermark(1)
    assert session.more(replica_id=FOLLOWER).partitions[ORDERS].high_watermark == 1
    assert session.more(replica_id=FOLLOWER).partitions == {}


@VERSIONS
def test_errors_are_told_each_time_and_all_again_once_they_are_over(broker: SmallBroker, version: int) -> None:
    session = Session(broker, version)
    session.begin(ORDERS, ELSEWHERE)
    for _ in range(2):
        assert {each: told.error for each, told in session.more().partitions.items()} == {
            ELSEWHERE: ErrorCode.NOT_LEADER_OR_FOLLOWER
        }
    broker.open(ELSEWHERE)
    assert session.more().partitions == {ELSEWHERE: session.one(0, ELSEWHERE)}
    assert session.more().partitions == {}


def test_partitions_join_and_are_forgotten(broker: SmallBroker) -> None:
    broker.open(SECOND)
    session = Session(broker)
    session.begin(ORDERS)
    assert session.more({SECOND: FetchPartition(0, MUCH)}).partitions.keys() == {SECOND}
    assert session.more(forgotten=(ORDERS,)).partitions == {}
    broker.append(b"a")
    assert session.more().partitions == {}


def test_a_session_that_has_lost_its_last_partition_is_closed(broker: SmallBroker) -> None:
    session = Session(broker)
    session.begin(ORDERS)
    assert session.more(forgotten=(ORDERS,)).session_id == 0
    assert session.more().error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_copy_that_takes_anothers_place_is_heard_of(broker: SmallBroker) -> None:
    session = Session(broker)
    session.begin(ORDERS)
    session.more()
    del broker.partitions[ORDERS]
    assert session.more().partitions[ORDERS].error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    broker.host(ORDERS, broker.log)
    assert session.more().partitions[ORDERS].error == ErrorCode.NONE
    assert session.more().partitions == {}
    broker.append(b"a")
    assert session.more().partitions[ORDERS].records


def test_a_topic_that_the_cluster_learns_of_later_is_found_by_its_id(broker: SmallBroker) -> None:
    new_id, new = UUID(int=50), TopicPartition("new", 0)
    session = Session(broker, NEWEST)
    session.ids = {"new": new_id}
    assert session.begin(new).partitions[new].error == ErrorCode.UNKNOWN_TOPIC_ID
    from replication.records.metadata.records import TopicRecord

    broker.tell(TopicRecord(name="new", topic_id=new_id), partition_record(0, 1, topic_id=new_id))
    broker.open(new, topic_id=new_id)
    assert session.more().partitions[new].error == ErrorCode.NONE


def test_who_had_records_comes_last_at_the_next_fetch(broker: SmallBroker) -> None:
    more = broker.open(SECOND)
    for log in (broker.log, more):
        log.append([bytes(1_000)], leader_epoch=EPOCH)
        log.advance_high_watermark(1)
    session = Session(broker)
    session.begin(ORDERS, SECOND, max_bytes=1)
    given = [[each for each, told in session.more(max_bytes=1).partitions.items() if told.records] for _ in range(4)]
    assert given == [[ORDERS], [SECOND], [ORDERS], [SECOND]]


class Sleeper:
    woken = 0

    def wake(self) -> None:
        self.woken += 1


@pytest.mark.parametrize("in_session", [False, True])
def test_a_waiting_follower_is_woken_by_appends_and_not_by_the_high_watermark(
    broker: SmallBroker, in_session: bool
) -> None:
    broker.append(b"a", commit=False)
    session = Session(broker)
    session.begin(ORDERS, offset=1, replica_id=FOLLOWER)
    asked = {} if in_session else {ORDERS: FetchPartition(1, MUCH)}
    settings = {"session_id": session.id, "session_epoch": 1} if in_session else {}
    pending = session.send(asked, max_wait_ms=60_000, replica_id=FOLLOWER, **settings)
    assert isinstance(pending, PendingFetch)
    sleeper = Sleeper()
    pending.attend(sleeper)
    assert pending.answer() is None
    broker.log.advance_high_watermark(1)
    assert not sleeper.woken
    broker.append(b"b", commit=False)
    assert sleeper.woken
    answer = pending.answer()
    assert answer is not None
    assert answer.partitions[ORDERS].high_watermark == 1
    pending.leave(sleeper)


def test_a_waiting_fetch_of_a_session_is_woken_by_each_of_its_partitions(broker: SmallBroker) -> None:
    session = Session(broker)
    session.begin(ORDERS)
    for number in range(1, 4):
        pending = session.send({}, session_id=session.id, session_epoch=number, max_wait_ms=60_000)
        assert isinstance(pending, PendingFetch)
        sleeper = Sleeper()
        pending.attend(sleeper)
        assert pending.answer() is None
        broker.append(b"a")
        assert sleeper.woken
        answer = pending.answer()
        assert answer is not None
        assert answer.partitions[ORDERS].records
        pending.leave(sleeper)
        end = broker.log.log_end_offset
        session.epoch = number + 1
        caught_up = {ORDERS: FetchPartition(end, MUCH)}
        if number < 3:
            session = Session(broker)
            session.begin(*caught_up, offset=end)
            for _ in range(number):
                session.more()


def test_the_epoch_and_the_kind_of_names_must_fit(broker: SmallBroker) -> None:
    session = Session(broker)
    session.begin(ORDERS)
    settings = {"session_id": session.id, "session_epoch": 1}
    assert session.fetch({}, session_id=session.id + 1, session_epoch=1) == FetchResponse(
        error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, partitions={}
    )
    assert session.fetch({}, session_id=session.id, session_epoch=2).error == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    by_id = Client(broker, NEWEST, session.fetches)
    assert by_id.fetch({}, **settings).error == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert session.more().error == ErrorCode.NONE


def test_a_fetch_that_was_overtaken_is_told_so(broker: SmallBroker) -> None:
    session = Session(broker)
    session.begin(ORDERS)
    pending = session.send({}, session_id=session.id, session_epoch=1, max_wait_ms=60_000)
    assert isinstance(pending, PendingFetch)
    session.epoch = 2
    assert session.more().error == ErrorCode.NONE
    assert pending.expire().error == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_a_waiting_fetch_of_a_session_hears_that_a_log_was_closed(broker: SmallBroker) -> None:
    session = Session(broker)
    session.begin(ORDERS)
    pending = session.send({}, session_id=session.id, session_epoch=1, max_wait_ms=60_000)
    assert isinstance(pending, PendingFetch)
    assert pending.answer() is None
    broker.log.close()
    answer = pending.answer()
    assert answer is not None
    assert answer.partitions[ORDERS].error is ErrorCode.KAFKA_STORAGE_ERROR


def test_a_full_fetch_closes_the_session_that_it_names(broker: SmallBroker) -> None:
    session = Session(broker)
    session.begin(ORDERS)
    assert session.fetch({}, session_id=session.id, session_epoch=-1).session_id == 0
    assert session.more().error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_epochs_begin_again_at_one() -> None:
    assert [next_epoch(epoch) for epoch in (0, 1, 2**31 - 2, 2**31 - 1)] == [1, 2, 2**31 - 1, 1]


# --- the cache


def new(*, size: int = 1, follower: bool = False) -> FetchSession:
    keys = [TopicPartition(TOPIC, number) for number in range(size)]
    request = FetchRequest(
        partitions={key: FetchPartition(0, 1) for key in keys}, replica_id=FOLLOWER if follower else -1
    )
    return FetchSession(request, {key: FetchedPartition(ErrorCode.NONE, 0) for key in keys}, is_by_id=False)


class Cache(FetchSessionCache):
    def __init__(self, slots: int) -> None:
        self.now = 0.0
        super().__init__(slots, lambda: self.now)

    def use(self, session_id: int, epoch: int = 1) -> object:
        return self.resume(FetchRequest(partitions={}, session_id=session_id, session_epoch=epoch), BY_NAME)


def test_a_full_cache_takes_no_session_that_is_worth_no_more() -> None:
    cache = Cache(2)
    assert all(cache.add(new()) for _ in range(2))
    assert cache.add(new()) == 0
    assert len(cache) == 2


def test_a_session_that_nobody_used_for_two_minutes_goes_first() -> None:
    cache = Cache(2)
    first, second = cache.add(new(size=9)), cache.add(new())
    cache.now = 100
    cache.use(first)
    cache.now = 121
    assert cache.add(new())
    assert cache.use(second) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert isinstance(cache.use(first, 2), FetchSession)


def test_a_follower_takes_a_consumers_place_and_never_the_other_way_round() -> None:
    cache = Cache(2)
    consumer, follower = cache.add(new(size=5)), cache.add(new(follower=True))
    assert cache.add(new(size=99)) == 0
    assert cache.add(new(follower=True))
    assert cache.use(consumer) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert isinstance(cache.use(follower), FetchSession)
    assert cache.add(new(size=99, follower=True)) == 0


def test_of_old_sessions_the_smallest_goes() -> None:
    cache = Cache(2)
    large, small = cache.add(new(size=5)), cache.add(new(size=2))
    cache.now = 119
    cache.use(large), cache.use(small)
    cache.now = 121
    cache.use(large, 2), cache.use(small, 2)
    assert cache.add(new(size=1)) == 0
    assert cache.add(new(size=3))
    assert cache.use(small, 3) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert isinstance(cache.use(large, 3), FetchSession)


def test_a_session_that_was_put_out_hears_no_more(broker: SmallBroker) -> None:
    cache = Cache(1)
    session = Session(broker, fetches=Fetches(broker.lookup, cache))
    session.begin(ORDERS)
    session.more()
    assert len(broker.partitions[ORDERS]._waiters) == 1
    cache.remove(session.id)
    assert not broker.partitions[ORDERS]._waiters
    assert not broker.log._contents.end_waiters
