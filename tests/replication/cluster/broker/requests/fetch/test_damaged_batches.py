"""No damaged batch is sent to anybody, and who asks for one is told so."""

import pytest

from logstore import CorruptBatchError, TopicPartition
from logstore.batch.batches import read_batches
from replication.cluster.broker.events.partition_events import DamageRead
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.replicas.damage.read_damages import ReadDamages
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchPartition
from tests.replication.cluster.broker.requests.fetch.fetching import BY_NAME, NEWEST, Client
from tests.replication.cluster.broker.requests.small_broker import EPOCH, ORDERS, TOPIC_ID, SmallBroker

HEADER_BITS = 21 * 8


class Told:
    """The events of a broker's reads."""

    def __init__(self) -> None:
        self.events: list[DamageRead] = []
        self.damages = ReadDamages(self.events.append)

    def note(self, error: Exception) -> None:
        self.damages.note(ORDERS, error)


@pytest.fixture
def told(broker: SmallBroker) -> Told:
    told = Told()
    for _ in range(6):
        broker.append(b"a", b"b", b"c")
    broker.partitions[ORDERS] = HostedPartition(
        broker.log, EPOCH, topic_id=TOPIC_ID, sound_ranges=broker.log.sound_ranges(0), on_failure=told.note
    )
    return told


def flip(broker: SmallBroker, number: int, bit: int) -> int:
    """Flip a bit of a batch; return the batch's first offset."""
    path = broker.log.segments[0].path
    batch = list(read_batches(memoryview(path.read_bytes())))[number]
    with open(path, "r+b") as file:
        file.seek(batch.position + bit // 8)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1 << bit % 8]))
    return batch.base_offset


@pytest.mark.parametrize("version", [BY_NAME, NEWEST])
def test_who_fetches_it_is_told_and_who_fetches_what_lies_before_gets_that(
    broker: SmallBroker, told: Told, version: int
) -> None:
    damaged = flip(broker, 3, 50 * 8)
    client = Client(broker, version)
    before = client.one(0)
    assert [batch.base_offset for batch in read_batches(memoryview(before.records))] == [0, 3, 6]
    for _ in range(3):
        assert client.one(damaged).error is ErrorCode.CORRUPT_MESSAGE
    [event] = told.events
    assert (event.partition, event.offset) == (ORDERS, damaged)
    assert event.file == str(broker.log.segments[0].path)
    assert "the checksum of the batch" in event.why
    assert client.one(damaged + 3).records


@pytest.mark.parametrize("bit", range(HEADER_BITS))
def test_no_flipped_bit_of_a_header_is_sent_nor_answered_by_an_offset_out_of_range(
    broker: SmallBroker, told: Told, bit: int
) -> None:
    broker.log.assign_epoch(EPOCH, 0)
    sent = broker.log.segments[0].path.read_bytes()
    damaged = flip(broker, 3, bit)
    client, offset = Client(broker), 0
    while True:
        answer = client.one(offset, max_bytes=200)
        assert answer.error in {ErrorCode.NONE, ErrorCode.CORRUPT_MESSAGE}
        if answer.error is ErrorCode.CORRUPT_MESSAGE:
            break
        assert bytes(answer.records) in sent
        offset = list(read_batches(memoryview(answer.records)))[-1].last_offset + 1
        assert offset <= damaged
    assert told.events


def test_other_partitions_of_a_fetch_are_answered(broker: SmallBroker, told: Told) -> None:
    damaged = flip(broker, 3, 50 * 8)
    other = TopicPartition("orders", 2)
    log = broker.open(other)
    log.append([b"x"], leader_epoch=EPOCH)
    log.advance_high_watermark(1)
    asked = {ORDERS: FetchPartition(damaged, 1 << 20), other: FetchPartition(0, 1 << 20)}
    answers = Client(broker).fetch(asked).partitions
    assert answers[ORDERS].error is ErrorCode.CORRUPT_MESSAGE
    assert answers[other].records
    assert [event.offset for event in told.events] == [damaged]


def test_each_place_is_told_once(told: Told) -> None:
    for position in (10, 10, 20):
        told.note(CorruptBatchError("damaged", file="a", position=position))
    told.note(OSError())
    assert [event.position for event in told.events] == [10, 20]
    told.damages.forget(ORDERS)
    told.note(CorruptBatchError("damaged", file="a", position=10))
    assert len(told.events) == 3
