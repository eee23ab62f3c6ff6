"""A broker that leads, and producers that send to it as bytes."""

from pathlib import Path
from typing import Any

from logstore import Log, LogConfig, TopicPartition
from replication.cluster.broker.partitions.leader_settings import LeaderSettings
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.broker.requests.writing_apis import writing_apis
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.messages import produce
from replication.wire.messages.alter_partition import IsrChange
from replication.wire.messages.apis import api_with
from replication.wire.messages.produce import SINCE_TOPIC_IDS, ProducedPartition, ProduceRequest, ProduceResponse
from replication.wire.server.call import Call, Caller
from replication.wire.server.pending import Pending
from tests.logstore.batches import batch, record
from tests.replication.cluster.broker.requests.small_broker import BROKER, EPOCH, ORDERS, TOPIC, TOPIC_ID, SmallBroker

BY_NAME, NEWEST = 12, 13
FOLLOWER = 2
LOG_CONFIG = LogConfig(retention_ms=-1, segment_ms=2**62)
VERSIONS = (BY_NAME, NEWEST)


class NoChanges:
    """Nobody answers a leader that wants another ISR."""

    def ask(self, change: IsrChange) -> None:
        """Forget it."""


class WritingBroker(SmallBroker):
    """Leads `orders-0` alone, unless told otherwise."""

    def __init__(self, directory: Path, **seams: Any) -> None:
        super().__init__(directory)
        self.seams = seams
        self.led = self.lead(ORDERS)

    def lead(
        self, partition: TopicPartition, *replicas: int, min_insync_replicas: int = 1, config: LogConfig | None = None
    ) -> LedPartition:
        """Lead a partition with these followers in sync; with `config` one more, with an empty log."""
        if partition not in self.partitions:
            self.open(partition)
        hosted = self.partitions[partition]
        assert isinstance(hosted.log, Log)
        if config is not None:
            hosted.log.config = config
        every = (BROKER, *replicas)
        hosted.led = LedPartition(
            partition,
            TOPIC_ID,
            hosted.log,
            PartitionRegistration(replicas=every, isr=every, leader=BROKER, leader_epoch=EPOCH),
            broker_id=BROKER,
            broker_of=self.image.brokers.get,
            isr_changes=NoChanges(),
            settings=LeaderSettings(min_insync_replicas=min_insync_replicas),
            wake=hosted.wake,
        )
        if partition == ORDERS:
            self.led = hosted.led
        return hosted.led

    def follow(self, offset: int, *, log_start_offset: int = 0, partition: TopicPartition = ORDERS) -> None:
        """Let the follower fetch from an offset on."""
        led = self.partitions[partition].led
        assert led is not None
        led.fetched(FOLLOWER, FOLLOWER, offset, log_start_offset)

    def exchange(self, key: int, request: Any, version: int, client_id: str = "test") -> Any:
        """Send a request as bytes; return the answer as it is read from bytes, or what waits for it."""
        api = api_with(key)
        assert api is not None
        received = api.request.read(api.request.write(request, version), version)
        served = writing_apis(self.partitions, self.cluster, **self.seams)[key]
        answer = served.answer(received, Call(version, Caller("127.0.0.1"), client_id))
        if answer is None or hasattr(answer, "attend"):
            return answer
        return api.response.read(api.response.write(answer, version), version)

    def send(self, request: ProduceRequest, version: int = NEWEST, client_id: str = "test") -> Any:
        """Send a Produce; topics have their names in what is returned."""
        answer = self.exchange(produce.API_KEY, request, version, client_id)
        return by_name(answer) if isinstance(answer, ProduceResponse) else answer

    def produce(
        self, records: bytes | None, partition: TopicPartition = ORDERS, *, version: int = NEWEST, **settings: Any
    ) -> ProducedPartition:
        """Send a batch to one partition, and return what is answered at once."""
        answer = self.send(request(records, partition, version=version, **settings), version)
        assert isinstance(answer, ProduceResponse)
        return answer.partitions[partition]

    def pending(self, *args: Any, **settings: Any) -> Pending:
        """Send a batch whose answer has to wait."""
        answer = self.send(request(*args, **settings), settings.get("version", NEWEST))
        assert hasattr(answer, "attend")
        waits: Pending = answer
        return waits


def request(
    records: bytes | None, partition: TopicPartition = ORDERS, *, version: int = NEWEST, **settings: Any
) -> ProduceRequest:
    """What a producer sends to one partition, by default with acks=1."""
    ids = {partition.topic: TOPIC_ID} if version >= SINCE_TOPIC_IDS else {}
    return ProduceRequest(**{"partitions": {partition: records}, "acks": 1, "topic_ids": ids, **settings})


def by_name(answer: ProduceResponse) -> ProduceResponse:
    """An answer with the topic's name in place of its id."""
    partitions = {
        TopicPartition(TOPIC if key.topic in answer.topic_ids else key.topic, key.partition): told
        for key, told in answer.partitions.items()
    }
    return ProduceResponse(partitions=partitions, leaders=answer.leaders)


def one_batch(count: int = 1, **header: Any) -> bytes:
    """A batch of records with keys."""
    return batch(records=[record(offset_delta=each, key=b"k", value=b"v%d" % each) for each in range(count)], **header)


def shrink(broker: WritingBroker) -> None:
    """Let the metadata have the leader alone in sync."""
    broker.led.update(PartitionRegistration(replicas=(1, 2), isr=(1,), leader=1, leader_epoch=EPOCH, partition_epoch=1))
