"""Groups of a cluster whose brokers each coordinate some, in memory (Kafka: GroupCoordinatorService.partitionFor)."""

import logging
from collections.abc import Callable
from datetime import timedelta
from threading import Lock
from typing import Any, Final

from replication.cluster.broker.requests.known_cluster import KnownCluster, node_of
from replication.cluster.node.coordinators.other_coordinators import GROUPS, coordinating_partition
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.encoding.kio_messages import request_classes
from replication.wire.messages.topic_ids import Endpoint
from replication.wire.server.call import Call
from replication.wire.server.served_api import ServedApi

_CREATE_TOPICS: Final = 19
_PARTITIONS: Final = 5
"""Kafka has 50 by default (offsets.topic.num.partitions): these are there to say who coordinates, and stay empty."""
_SECONDS: Final = 5
_log: Final = logging.getLogger(__name__)


class SharedGroups:
    """Which groups are this broker's: those whose partition of `__consumer_offsets` it leads."""

    def __init__(self, known: KnownCluster, create: ServedApi) -> None:
        """`create` is what answers CreateTopics: the topic is made once somebody looks for a coordinator."""
        self._known: Final = known
        self._create: Final = create
        self._lock: Final = Lock()
        self._epochs: Final[dict[int, int]] = {}
        """In which leader epoch each partition was led here when it was last looked at."""
        self.forget: Callable[[Callable[[str], bool]], object] = lambda _: None
        """Called with a predicate for groups that another broker has coordinated since, which are gone."""

    def are_its(self, group_id: str) -> bool:
        """Whether this broker coordinates a group; what was known of it in earlier epochs is forgotten."""
        number, partition = self._partition(group_id)
        if partition is None or partition.leader != self._known.node_id:
            return False
        with self._lock:
            before = self._epochs.get(number)
            self._epochs[number] = partition.leader_epoch
        if before != partition.leader_epoch:
            self._begin(number, partition.leader_epoch)
        return True

    def endpoint(self, group_id: str, call: Call) -> Endpoint | None:
        """Return where the coordinator of a group listens; None where there is none for now."""
        if GROUPS not in self._known.image().topics.by_name:
            self._make_topic(call)
        _, partition = self._partition(group_id)
        brokers = self._known.image().brokers
        node = None if partition is None else node_of(brokers.get(partition.leader), call.caller.listener)
        return None if node is None else Endpoint(node.id, node.host, node.port)

    def _partition(self, group_id: str) -> tuple[int, PartitionRegistration | None]:
        topic = self._known.image().topics.by_name.get(GROUPS)
        if topic is None:
            return -1, None
        number = coordinating_partition(group_id, len(topic.partitions))
        return number, topic.partitions.get(number)

    def _begin(self, number: int, leader_epoch: int) -> None:
        self.forget(lambda group_id: self._partition(group_id)[0] == number)
        if leader_epoch > 0:
            _log.warning(
                "broker %d coordinates the groups of %s-%d in leader epoch %d: what they had committed at another "
                "broker, or before, is gone, and consumers begin where auto.offset.reset says",
                self._known.node_id,
                GROUPS,
                number,
                leader_epoch,
            )

    def _make_topic(self, call: Call) -> None:
        version = self._create.versions.stop - 1
        classes = request_classes(_CREATE_TOPICS, version)
        configs = (classes.CreatableTopicConfig(name="cleanup.policy", value="compact"),)
        topic: Any = classes.CreatableTopic(
            name=GROUPS, num_partitions=_PARTITIONS, replication_factor=-1, assignments=(), configs=configs
        )
        request = classes.CreateTopicsRequest(topics=(topic,), timeout=timedelta(seconds=_SECONDS), validate_only=False)
        self._create.answer(request, call._replace(version=version))
