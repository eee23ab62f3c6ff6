"""A real broker, and ours beside it, each with empty topics of its own: both take the same requests."""

import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka.admin import AdminClient, NewTopic

from logstore import Log, LogConfig, TopicPartition
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.cluster.broker.requests.writing_apis import writing_apis
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import PartitionRecord, TopicRecord
from replication.wire.messages import list_offsets
from replication.wire.messages.api import Api
from replication.wire.messages.list_offsets import ListOffsetsRequest, OffsetQuestion
from replication.wire.messages.metadata import ClusterMetadata, MetadataRequest
from tests.oracle.broker import Broker
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.broker.requests.real_answers import SECONDS, RealAnswers, known_api
from tests.replication.cluster.broker.requests.small_broker import broker_record, call
from tests.replication.cluster.broker.requests.writing.leading import NoChanges

NODE = 1
METADATA = 3
TOPICS: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "compacted": {"cleanup.policy": "compact"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "small": {"max.message.bytes": "200"},
    "timely": {"message.timestamp.after.max.ms": "60000", "message.timestamp.before.max.ms": "60000"},
    "zipped": {"compression.type": "gzip"},
}
"""With their settings."""
_COMMON = {"message.timestamp.before.max.ms": str(2**63 - 1), "retention.ms": "-1"}


class TwoWriters:
    """Both lead each topic's only partition in epoch 0."""

    def __init__(self, directory: Path, release: KafkaRelease) -> None:
        self._directory = directory
        self._broker = Broker(directory, release)
        self.logs: dict[str, Log] = {}

    def __enter__(self) -> Self:
        self._broker.__enter__()
        try:
            admin = AdminClient({"bootstrap.servers": self._broker.address})
            new = [NewTopic(name, 1, 1, config={**_COMMON, **config}) for name, config in TOPICS.items()]
            for created in admin.create_topics(new).values():
                created.result(SECONDS)
            host, port = self._broker.address.split(":")
            self._real = RealAnswers(host, int(port))
            self._lead()
        except BaseException:
            self._broker.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._real.close()
        for log in self.logs.values():
            log.close()
        self._broker.__exit__(kind, error, traceback)

    def ask(self, key: int, request: Any, version: int) -> tuple[Any, Any]:
        """Send a request to the real broker and to ours, and return both answers, each as it was read from bytes."""
        api = known_api(key)
        sent = api.request.write(request, version)
        return self._real.ask(api, sent, version), self._ours(api, sent, version)

    def stored(self, topic: str) -> tuple[bytes, bytes]:
        """Return what both have in the first segment of a topic."""
        name = "00000000000000000000.log"
        theirs = self._broker.root / f"{topic}-0" / name
        return theirs.read_bytes(), (self.logs[topic].directory / name).read_bytes()

    def _await_leader(self) -> None:
        """Wait until the real broker leads all it was told to."""
        api, version = known_api(list_offsets.API_KEY), 9
        asked = dict.fromkeys([TopicPartition(name, 0) for name in TOPICS], OffsetQuestion(list_offsets.LATEST))
        sent = api.request.write(ListOffsetsRequest(partitions=asked), version)
        deadline = time.monotonic() + SECONDS
        while any(each.error for each in self._real.ask(api, sent, version).partitions.values()):
            assert time.monotonic() < deadline, "the real broker does not lead"
            time.sleep(0.1)

    def _ours(self, api: Api, sent: bytes, version: int) -> Any:
        answer = self._apis[api.key].answer(api.request.read(sent, version), call(version))
        answer = answer.expire() if hasattr(answer, "attend") else answer
        return api.response.read(api.response.write(answer, version), version)

    def _lead(self) -> None:
        """Make the same topics here, with the same ids."""
        api, version = known_api(METADATA), 12
        asked = api.request.write(MetadataRequest(topics=tuple(TOPICS)), version)
        metadata: ClusterMetadata = self._real.ask(api, asked, version)
        self._await_leader()
        self.topic_ids = {name: metadata.topics[name].topic_id for name in TOPICS}
        self.image = ClusterImage()
        self.image.replay(broker_record(NODE))
        partitions = HostedPartitions()
        for name, config in TOPICS.items():
            topic_id = self.topic_ids[name]
            state = PartitionRecord(
                partition_id=0,
                topic_id=topic_id,
                replicas=(NODE,),
                isr=(NODE,),
                leader=NODE,
                leader_epoch=0,
                partition_epoch=0,
            )
            self.image.replay_all([TopicRecord(name=name, topic_id=topic_id), state])
            log = self.logs[name] = Log.open(
                self._directory / f"{name}-0", LogConfig.of({**_COMMON, **config}), replicated=True
            )
            led = LedPartition(
                TopicPartition(name, 0),
                topic_id,
                log,
                PartitionRegistration.of(state),
                broker_id=NODE,
                broker_of=self.image.brokers.get,
                isr_changes=NoChanges(),
            )
            partitions[led.partition] = HostedPartition(log, 0, topic_id=topic_id, led=led)
        known = KnownCluster("beside", NODE, lambda: self.image)
        self._apis = {**reading_apis(partitions, known), **writing_apis(partitions, known, producer_ids=_Blocks())}


class _Blocks:
    def next_block(self) -> range:
        return range(1_000)
