"""A real cluster of two brokers, and our answers from a copy of the first one's directory."""

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, NewTopic

from logstore import TopicPartition
from logstore.log.frozen_log import CheckedLog
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.recovered_log import RecoveredLog
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.requests.fetch.pending_fetch import PendingFetch
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.loading import load_image
from replication.wire.messages.api import Api
from tests.oracle.cluster import CLUSTER_ID, KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.broker.requests.real_answers import SECONDS, RealAnswers, known_api
from tests.replication.cluster.broker.requests.small_broker import call

NODE = 1
"""The broker beside which ours answers."""
TOPICS: Mapping[str, list[list[int]]] = {
    "plain": [[1], [2], [1]],
    "pair": [[1, 2]],
    "transactions": [[1]],
    "empty": [[2, 1]],
}
"""The replicas of each partition."""
LATE: Mapping[str, list[list[int]]] = {"late": [[1, 2], [2, 1]]}
"""Of those that are made once the first broker leads none of the others of two."""
SETTINGS = {"log.initial.task.delay.ms": 500, "log.retention.ms": -1}
"""The checkpoint of where logs start is written soon, and old time stamps stay."""


class TwoBrokers:
    """Both brokers run; nobody writes any more."""

    def __init__(self, directory: Path, release: KafkaRelease) -> None:
        self._directory = directory
        self._cluster = KafkaCluster(directory / "cluster", release, 2, SETTINGS)

    def __enter__(self) -> Self:
        self._cluster.__enter__()
        try:
            self._write()
            self._copy()
            self._real = RealAnswers("127.0.0.1", self._cluster.ports[NODE])
        except BaseException:
            self._cluster.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._real.close()
        self._cluster.close()

    def ask(self, key: int, request: Any, version: int, to_ours: Any = None) -> tuple[Any, Any]:
        """Send a request to the real broker and to ours, and return both answers, each as it was read from bytes.

        `to_ours` is the request for ours, where it is another one: a session has another id there.
        """
        api = known_api(key)
        sent = api.request.write(request, version)
        ours = sent if to_ours is None else api.request.write(to_ours, version)
        return self._real.ask(api, sent, version), self._ours(api, ours, version)

    def ask_in_bytes(self, key: int, sent: bytes, version: int) -> tuple[Any, Any]:
        """Do what `ask` does with a request that has been written."""
        return self._real.ask(known_api(key), sent, version), self._ours(known_api(key), sent, version)

    def end(self, partition: TopicPartition) -> int:
        """Return the log end offset of a partition; 0 of one that is not here."""
        hosted = self.partitions.find(partition)
        return 0 if hosted is None else hosted.log.log_end_offset

    def _ours(self, api: Api, sent: bytes, version: int) -> Any:
        answer = self._apis[api.key].answer(api.request.read(sent, version), call(version))
        answer = answer.expire() if isinstance(answer, PendingFetch) else answer
        return api.response.read(api.response.write(answer, version), version)

    # --- what there is to read

    def _write(self) -> None:
        admin = AdminClient({"bootstrap.servers": self._cluster.bootstrap()})
        _create(admin, TOPICS)
        self._produce(0, "pair", "plain")
        # Another leader epoch for each partition; the second broker leads the pair from here on.
        self._cluster.stop(NODE)
        self._cluster.start(NODE)
        _create(admin, LATE)
        self._produce(100, "pair", "plain", "late")
        for deleted in admin.delete_records([Place("plain", 0, 5)]).values():
            deleted.result(SECONDS)

    def _produce(self, first: int, *topics: str) -> None:
        producer = Producer({"bootstrap.servers": self._cluster.bootstrap(), "linger.ms": 0})
        places = [(topic, number) for topic in topics for number, _ in enumerate({**TOPICS, **LATE}[topic])]
        for number in range(first, first + 30):
            for topic, partition in places:
                producer.produce(topic, b"v" * (number % 7 * 50), b"k", partition, timestamp=1_000_000 + number)
            assert producer.flush(SECONDS) == 0
        transactional = Producer({"bootstrap.servers": self._cluster.bootstrap(), "transactional.id": "t"})
        transactional.init_transactions(SECONDS)
        for number in range(6):
            transactional.begin_transaction()
            transactional.produce("transactions", b"in doubt", b"k", 0, timestamp=2_000_000 + first + number)
            assert transactional.flush(SECONDS) == 0
            (transactional.abort_transaction if number % 2 else transactional.commit_transaction)(SECONDS)

    def _copy(self) -> None:
        """Copy what the broker has once nothing changes any more, and open it."""
        time.sleep(3)
        copy = self._directory / "copy"
        shutil.copytree(self._cluster.log_dir(NODE), copy)
        self.image: ClusterImage = load_image(copy / "__cluster_metadata-0").image
        self.partitions = HostedPartitions()
        directories = {each.topic_partition: each for each in OfflineLogDirectory.open(copy).partitions()}
        for topic, number, state in self.image.topics.partitions():
            partition = TopicPartition(topic.name, number)
            if NODE in state.replicas:
                log = CheckedLog.of(RecoveredLog.load(directories[partition]))
                if state.leader == NODE:
                    log.lead(state.leader_epoch)
                self.partitions[partition] = HostedPartition(
                    log,
                    state.leader_epoch,
                    is_leader=state.leader == NODE,
                    topic_id=topic.id,
                    root=str(self._cluster.log_dir(NODE)),
                )
        known = KnownCluster(CLUSTER_ID, NODE, lambda: self.image)
        self._apis = reading_apis(self.partitions, known, [str(self._cluster.log_dir(NODE))])


def _create(admin: AdminClient, topics: Mapping[str, list[list[int]]]) -> None:
    new = [NewTopic(name, num_partitions=len(each), replica_assignment=each) for name, each in topics.items()]
    for created in admin.create_topics(new).values():
        created.result(SECONDS)
