"""Requests of every API and version that only read, at random."""

import random
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from logstore import TopicPartition
from replication.wire.encoding.kio_messages import request_classes
from replication.wire.messages.describe_cluster import DescribeClusterRequest
from replication.wire.messages.describe_configs import DescribeConfigsRequest, Resource
from replication.wire.messages.describe_producers import DescribeProducersRequest
from replication.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from replication.wire.messages.fetch import SINCE_TOPIC_IDS, FetchPartition, FetchRequest
from replication.wire.messages.list_offsets import ListOffsetsRequest, OffsetQuestion
from replication.wire.messages.metadata import MetadataRequest
from replication.wire.messages.offset_for_leader_epoch import EpochQuestion, OffsetForLeaderEpochRequest

LOG_DIRS = 35
SIZES = (0, 1, 150, 400, 1_000, 5_000, 1 << 20)


class RandomRequests:
    """Asks about partitions that exist, here or elsewhere, and about some that do not."""

    def __init__(self, rng: random.Random, topic_ids: Mapping[str, UUID], end: Callable[[TopicPartition], int]) -> None:
        """`end` gives the end of a partition's log."""
        self._rng = rng
        self._end = end
        self._known = dict(topic_ids)
        self._ids = {**topic_ids, "unknown": UUID(int=99)}

    def any(self) -> tuple[int, Any, int]:
        """Return an API key, a request and a version."""
        rng = self._rng
        key, versions, make = rng.choice(
            [
                (1, range(4, 19), self.fetch),
                (1, range(4, 19), self.fetch),
                (2, range(1, 12), self._list_offsets),
                (2, range(1, 12), self._list_offsets),
                (3, range(14), self._metadata),
                (23, range(2, 5), self._epochs),
                (32, range(1, 5), self._configs),
                (LOG_DIRS, range(1, 6), self._log_dirs),
                (60, range(3), self._cluster),
                (61, range(1), self._producers),
                (75, range(1), self._pages),
            ]
        )
        version = rng.choice(versions)
        return key, make(version), version

    def fetch(self, version: int, **settings: Any) -> FetchRequest:
        """Return a fetch outside of sessions, unless the settings say otherwise."""
        rng = self._rng
        replica_id = rng.choice([-1, -1, -1, -1, 2, -2, 3])
        return FetchRequest(
            **{
                "partitions": {each: self.asked(each) for each in self._partitions()},
                "topic_ids": self._ids if version >= SINCE_TOPIC_IDS else {},
                "replica_id": replica_id,
                "max_wait_ms": 0,
                "min_bytes": rng.choice([0, 1, 500]),
                "max_bytes": rng.choice(SIZES),
                "isolation_level": rng.randrange(2),
                **settings,
            }
        )

    def asked(self, partition: TopicPartition) -> FetchPartition:
        """Return what may be asked of a partition."""
        rng = self._rng
        offset = rng.choice([rng.randint(-1, self._end(partition) + 2), self._end(partition)])
        return FetchPartition(offset, rng.choice(SIZES), self._leader_epoch(), rng.choice([-1, -1, -1, 0, 1, 2, 3, 9]))

    def _partitions(self) -> list[TopicPartition]:
        return list({self._partition(): None for _ in range(self._rng.randrange(4))})

    def _partition(self) -> TopicPartition:
        rng = self._rng
        topic = rng.choice([*self._known, *("plain", "plain", "transactions"), "unknown"])
        return TopicPartition(topic, rng.choice([0, 0, 1, 2, 3]))

    def _leader_epoch(self) -> int:
        return self._rng.choice([-1, -1, -1, -1, 0, 1, 2, 3, 9])

    def _list_offsets(self, _: int) -> ListOffsetsRequest:
        rng = self._rng
        times = [-1, -2, -3, -4, -5, -6, -7, 0, 1_000_000 + rng.randrange(140), 2_000_000 + rng.randrange(120), 2**50]
        return ListOffsetsRequest(
            partitions={each: OffsetQuestion(rng.choice(times), self._leader_epoch()) for each in self._partitions()},
            replica_id=rng.choice([-1, -1, -1, 2, -2]),
            isolation_level=rng.randrange(2),
        )

    def _epochs(self, _: int) -> OffsetForLeaderEpochRequest:
        return OffsetForLeaderEpochRequest(
            partitions={
                each: EpochQuestion(self._leader_epoch(), self._rng.choice([-2, -1, 0, 1, 2, 3, 4, 9]))
                for each in self._partitions()
            },
            replica_id=self._rng.choice([-1, 2]),
        )

    def _metadata(self, version: int) -> MetadataRequest:
        rng = self._rng
        # Below version 4 what is unknown would be made.
        names = [*self._known, *(("unknown", "not legal", "..") if version >= 4 else ())]
        topics = rng.choice([None, (), tuple(rng.choices(names, k=rng.randrange(1, 4)))])
        ids: tuple[UUID, ...] = ()
        if version >= 12 and rng.random() < 0.3:
            topics, ids = (), tuple(rng.choices(list(self._ids.values()), k=rng.randrange(1, 4)))
        return MetadataRequest(
            topics=topics,
            topic_ids=ids,
            allow_auto_topic_creation=version < 4,
            include_topic_authorized_operations=version >= 8 and rng.random() < 0.5,
            include_cluster_authorized_operations=8 <= version <= 10 and rng.random() < 0.5,
        )

    def _configs(self, _: int) -> DescribeConfigsRequest:
        rng = self._rng
        names = [None, ("retention.ms", "segment.bytes", "nothing"), ("cleanup.policy",)]
        resources = [Resource(2, each) for each in (*self._known, "unknown", "not legal")]
        resources += [Resource(4, each) for each in ("1", "", "7", "x")]
        return DescribeConfigsRequest(
            resources={rng.choice(resources): rng.choice(names) for _ in range(rng.randrange(4))},
            include_synonyms=rng.random() < 0.5,
        )

    def _log_dirs(self, version: int) -> Any:
        classes = request_classes(LOG_DIRS, version)
        topics = tuple(
            classes.DescribableLogDirTopic(topic=topic, partitions=(partition,))
            for topic, partition in self._partitions()
        )
        return classes.DescribeLogDirsRequest(topics=self._rng.choice([None, topics]))

    def _cluster(self, version: int) -> DescribeClusterRequest:
        return DescribeClusterRequest(
            include_cluster_authorized_operations=self._rng.random() < 0.5,
            endpoint_type=self._rng.choice([1, 1, 2, 9]) if version else 1,
            include_fenced_brokers=version >= 2 and self._rng.random() < 0.5,
        )

    def _producers(self, _: int) -> DescribeProducersRequest:
        return DescribeProducersRequest(partitions=tuple(self._partitions()))

    def _pages(self, _: int) -> DescribeTopicPartitionsRequest:
        rng = self._rng
        topics = rng.choice([(), tuple(rng.choices([*self._known, "unknown", "not legal"], k=rng.randrange(1, 4)))])
        cursor = None
        if rng.random() < 0.5:
            cursor = Cursor(rng.choice(topics or tuple(self._known)), rng.randrange(3))
        return DescribeTopicPartitionsRequest(
            topics=topics, cursor=cursor, partition_limit=rng.choice([0, 1, 2, 5, 99])
        )
