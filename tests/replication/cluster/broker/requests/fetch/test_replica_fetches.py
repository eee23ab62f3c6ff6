"""Fetches of other brokers tell the leader how far these have got."""

from dataclasses import replace

import pytest

from logstore import Log
from replication.base.clock import monotonic_ms
from replication.cluster.broker.partitions.follower_progress import UNKNOWN_OFFSET
from replication.cluster.broker.partitions.leader_settings import LeaderSettings
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.broker.requests.fetch.fetches import Fetches
from replication.cluster.broker.requests.fetch.pending_fetch import PendingFetch
from replication.cluster.fetcher.requests.throttle import Throttle
from replication.records.metadata.nodes import BrokerRegistration
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import IsrChange
from replication.wire.messages.fetch import FetchPartition, FetchResponse
from tests.replication.cluster.broker.requests.fetch.fetching import BY_NAME, MUCH, NEWEST, Client
from tests.replication.cluster.broker.requests.small_broker import (
    BROKER,
    EPOCH,
    ORDERS,
    TOPIC_ID,
    SmallBroker,
    broker_record,
    partition_record,
)

FOLLOWER, FOLLOWER_EPOCH = 2, 2
LAG_MS = 1_000
BY_WHOM = {"replica_id": FOLLOWER, "replica_epoch": FOLLOWER_EPOCH}


class Leading:
    """`orders-0`, led with broker 2 as its follower."""

    def __init__(self, broker: SmallBroker) -> None:
        self.broker = broker
        self.now = 1_000_000
        self.asked: list[IsrChange] = []
        self.state = broker.image.topics.by_id[TOPIC_ID].partitions[0]
        self.hosted = broker.partitions[ORDERS]
        self.led = self.lead()

    def lead(self, **state: object) -> LedPartition:
        log = self.hosted.log
        assert isinstance(log, Log)
        self.state = replace(self.state, **state)  # type: ignore[arg-type]
        self.led = self.hosted.led = LedPartition(
            ORDERS,
            TOPIC_ID,
            log,
            self.state,
            broker_id=BROKER,
            broker_of=self._registered,
            isr_changes=self,
            settings=LeaderSettings(replica_lag_time_max_ms=LAG_MS),
            clock=lambda: self.now,
            wake=self.hosted.wake,
        )
        return self.led

    def ask(self, change: IsrChange) -> None:
        self.asked.append(change)

    def _registered(self, broker_id: int) -> BrokerRegistration | None:
        return self.broker.image.brokers.get(broker_id)

    @property
    def reached(self) -> int:
        progress = self.led.progress_of(FOLLOWER)
        assert progress is not None
        return progress.log_end_offset

    def lag(self) -> bool:
        """Whether the follower has fallen behind, as of now."""
        self.led.check_lag()
        return bool(self.asked)


@pytest.fixture
def leading(broker: SmallBroker) -> Leading:
    return Leading(broker)


def append(broker: SmallBroker, *values: bytes) -> None:
    broker.append(*values, commit=False)


@pytest.mark.parametrize("version", [BY_NAME, 13, 15, NEWEST])
def test_what_a_replica_fetches_from_is_committed(broker: SmallBroker, leading: Leading, version: int) -> None:
    append(broker, b"a", b"b")
    follower = Client(broker, version)
    assert follower.one(0, replica_id=FOLLOWER).high_watermark == 0
    assert leading.reached == 0
    assert follower.one(2, replica_id=FOLLOWER).error is ErrorCode.NONE
    assert broker.log.high_watermark == 2
    assert follower.one(2, replica_id=FOLLOWER).high_watermark == 2


def test_its_log_start_counts_for_the_low_watermark(broker: SmallBroker, leading: Leading) -> None:
    append(broker, b"a", b"b")
    Client(broker).one(2, replica_id=FOLLOWER, log_start_offset=1)
    broker.log.delete_records(2)
    assert leading.led.low_watermark == 1


def test_what_consumers_fetch_moves_nothing(broker: SmallBroker, leading: Leading) -> None:
    append(broker, b"a")
    Client(broker).one(0)
    assert leading.reached == UNKNOWN_OFFSET


def test_what_is_out_of_range_or_diverges_moves_nothing(broker: SmallBroker, leading: Leading) -> None:
    append(broker, b"a")
    follower = Client(broker)
    assert follower.one(9, replica_id=FOLLOWER).error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert follower.one(1, replica_id=FOLLOWER, last_fetched_epoch=EPOCH - 1).diverging_epoch is not None
    assert leading.reached == UNKNOWN_OFFSET


@pytest.mark.parametrize("limit", [MUCH, 0])
def test_a_replica_within_a_batch_lacks_the_batch(broker: SmallBroker, leading: Leading, limit: int) -> None:
    append(broker, b"a")
    append(broker, b"b", b"c", b"d")
    Client(broker).one(3, replica_id=FOLLOWER, max_bytes=limit)
    assert leading.reached == 1


def test_a_replica_of_a_former_life_is_refused(broker: SmallBroker, leading: Leading) -> None:
    append(broker, b"a")
    follower = Client(broker, NEWEST)
    answer = follower.one(1, replica_id=FOLLOWER, replica_epoch=FOLLOWER_EPOCH - 1)
    assert answer.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert leading.reached == UNKNOWN_OFFSET
    assert follower.one(1, **BY_WHOM).error is ErrorCode.NONE


def test_what_is_waited_for_is_not_had(broker: SmallBroker, leading: Leading) -> None:
    follower = Client(broker)
    waiting = follower.send({ORDERS: FetchPartition(0, MUCH)}, replica_id=FOLLOWER, max_wait_ms=60_000)
    assert isinstance(waiting, PendingFetch)
    leading.now += 10
    append(broker, b"a")
    assert waiting.answer() is not None
    progress = leading.led.progress_of(FOLLOWER)
    assert progress is not None
    assert progress.caught_up_at == leading.now - 10


class TestSessions:
    """A session's fetches name only what changes: those of idle partitions count too."""

    def begin(self, broker: SmallBroker, offset: int = 0) -> tuple[Client, int]:
        follower = Client(broker, NEWEST)
        answer = follower.fetch({ORDERS: FetchPartition(offset, MUCH)}, session_epoch=0, **BY_WHOM)
        return follower, answer.session_id

    def again(self, follower: Client, session_id: int, epoch: int) -> FetchResponse:
        return follower.fetch({}, session_id=session_id, session_epoch=epoch, **BY_WHOM)

    def test_an_idle_follower_does_not_lag_when_the_first_record_comes(
        self, broker: SmallBroker, leading: Leading
    ) -> None:
        follower, session_id = self.begin(broker)
        for epoch in range(1, 5):
            leading.now += LAG_MS
            assert self.again(follower, session_id, epoch).partitions == {}
        append(broker, b"a")
        assert not leading.lag()
        leading.now += LAG_MS + 1
        assert leading.lag()

    def test_an_idle_follower_joins_once_its_broker_is_active(self, broker: SmallBroker, leading: Leading) -> None:
        leading.lead(isr=(BROKER,))
        broker.tell(broker_record(FOLLOWER, fenced=True))
        follower, session_id = self.begin(broker)
        self.again(follower, session_id, 1)
        assert leading.asked == []
        broker.tell(broker_record(FOLLOWER))
        self.again(follower, session_id, 2)
        assert [change.broker_ids for change in leading.asked] == [(BROKER, FOLLOWER)]

    def test_an_idle_follower_of_a_former_life_is_refused(self, broker: SmallBroker, leading: Leading) -> None:
        follower, session_id = self.begin(broker)
        assert self.again(follower, session_id, 1).partitions == {}
        leading.broker.tell(replace(broker_record(FOLLOWER), broker_epoch=FOLLOWER_EPOCH + 1))  # type: ignore[call-arg,type-var]
        answer = self.again(follower, session_id, 2)
        assert answer.partitions[ORDERS].error is ErrorCode.NOT_LEADER_OR_FOLLOWER

    def test_a_session_of_a_consumer_moves_nothing(self, broker: SmallBroker, leading: Leading) -> None:
        broker.tell(partition_record(0, BROKER))
        consumer = Client(broker, NEWEST)
        answer = consumer.fetch({ORDERS: FetchPartition(0, MUCH)}, session_epoch=0)
        consumer.fetch({}, session_id=answer.session_id, session_epoch=1)
        assert leading.reached == UNKNOWN_OFFSET


class TestThrottle:
    """A follower that is not in sync waits while its partition's rate is exceeded; nobody else does."""

    @pytest.fixture
    def throttle(self) -> Throttle:
        return Throttle(1, {ORDERS})

    @pytest.fixture
    def follower(self, broker: SmallBroker, throttle: Throttle) -> Client:
        append(broker, b"a" * 100)
        return Client(broker, NEWEST, Fetches(broker.lookup, throttle=throttle))

    def test_what_it_was_given_counts_and_is_the_last_until_the_rate_is_kept_or_lifted(
        self, leading: Leading, follower: Client, throttle: Throttle
    ) -> None:
        leading.lead(isr=(BROKER,))
        assert follower.one(0, **BY_WHOM).records
        assert throttle.is_exceeded(monotonic_ms())
        held_back = follower.one(0, **BY_WHOM)
        assert (held_back.error, bytes(held_back.records)) == (ErrorCode.NONE, b"")
        throttle.bytes_per_second = None
        assert follower.one(0, **BY_WHOM).records

    def test_what_it_has_is_known_all_the_same(self, broker: SmallBroker, leading: Leading, follower: Client) -> None:
        leading.lead(isr=(BROKER,))
        follower.one(0, **BY_WHOM)
        append(broker, b"b")
        follower.one(1, **BY_WHOM)
        assert leading.reached == 1

    def test_a_session_is_given_what_was_held_back(
        self, leading: Leading, follower: Client, throttle: Throttle
    ) -> None:
        leading.lead(isr=(BROKER,))
        throttle.record(ORDERS, 1 << 20, monotonic_ms())
        first = follower.fetch({ORDERS: FetchPartition(0, MUCH)}, session_epoch=0, **BY_WHOM)
        assert not first.partitions[ORDERS].records
        again = follower.fetch({}, session_id=first.session_id, session_epoch=1, **BY_WHOM)
        assert again.partitions == {}
        throttle.bytes_per_second = None
        lifted = follower.fetch({}, session_id=first.session_id, session_epoch=2, **BY_WHOM)
        assert lifted.partitions[ORDERS].records

    def test_a_follower_in_sync_and_a_consumer_do_not_wait(
        self, leading: Leading, follower: Client, throttle: Throttle
    ) -> None:
        throttle.record(ORDERS, 1 << 20, monotonic_ms())
        assert FOLLOWER in leading.led.isr
        assert follower.one(0, **BY_WHOM).records
        leading.lead(isr=(BROKER,))
        assert follower.one(0).records

    def test_a_partition_that_is_not_named_does_not_wait(self, broker: SmallBroker, leading: Leading) -> None:
        leading.lead(isr=(BROKER,))
        append(broker, b"a")
        throttle = Throttle(1, set())
        others = Client(broker, NEWEST, Fetches(broker.lookup, throttle=throttle))
        for _ in range(2):
            assert others.one(0, **BY_WHOM).records
        assert not throttle.is_exceeded(monotonic_ms())
