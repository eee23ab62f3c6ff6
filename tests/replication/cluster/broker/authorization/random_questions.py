"""Requests of every API that a broker of ours serves, at random, of which none changes what others are answered."""

import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from logstore import TopicPartition
from replication.cluster.broker.groups.requests.kio_answer import _made
from replication.wire.encoding.kio_messages import request_class
from replication.wire.messages.describe_cluster import DescribeClusterRequest
from replication.wire.messages.describe_configs import DescribeConfigsRequest, Resource
from replication.wire.messages.describe_producers import DescribeProducersRequest
from replication.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from replication.wire.messages.fetch import SINCE_TOPIC_IDS, FetchPartition, FetchRequest
from replication.wire.messages.list_offsets import ListOffsetsRequest, OffsetQuestion
from replication.wire.messages.metadata import MetadataRequest
from replication.wire.messages.offset_for_leader_epoch import EpochQuestion, OffsetForLeaderEpochRequest
from replication.wire.messages.produce import ProduceRequest
from replication.wire.messages.write_txn_markers import TransactionMarker, WriteTxnMarkersRequest
from tests.logstore.batches import TRANSACTIONAL, batch, record

GROUPS: Final = ("g", "g-2", "other")
TRANSACTIONS: Final = ("tx", "tx-2", "other")
_SINCE_IDS: Final = 10
_CREATES_ALWAYS: Final = 4
"""Below this version of Metadata topics are made that are asked about."""
_SECOND: Final = timedelta(seconds=1)


class RandomQuestions:
    """Of topics that are there, and some that are not."""

    def __init__(self, rng: random.Random, topic_ids: Mapping[str, UUID]) -> None:
        self._rng = rng
        self._ids = {**topic_ids, "unknown": UUID(int=99)}
        self._kinds = {
            0: (range(3, 14), self._produce),
            1: (range(4, 19), self._fetch),
            2: (range(1, 12), self._list_offsets),
            3: (range(14), self._metadata),
            8: (range(2, 11), self._commit),
            9: (range(1, 11), self._committed),
            10: (range(7), self._find),
            11: (range(10), self._join),
            12: (range(5), self._heartbeat),
            13: (range(6), self._leave),
            14: (range(6), self._sync),
            15: (range(7), self._describe_groups),
            16: (range(6), self._list_groups),
            21: (range(3), self._delete),
            22: (range(5), self._producer_id),
            23: (range(2, 5), self._epochs),
            27: (range(1, 2), self._markers),
            32: (range(1, 5), self._configs),
            35: (range(1, 6), self._log_dirs),
            42: (range(3), self._delete_groups),
            47: (range(1), self._delete_offsets),
            48: (range(2), self._quotas),
            50: (range(1), self._users),
            60: (range(3), self._cluster),
            61: (range(1), self._producers),
            75: (range(1), self._pages),
        }

    def any(self) -> tuple[int, Any, int]:
        """Return an API key, a request and a version."""
        key = self._rng.choice([*self._kinds, 0, 1, 3, 8, 9])
        versions, make = self._kinds[key]
        version = self._rng.choice(versions)
        return key, make(version), version

    # --- topics

    def _topics(self) -> list[str]:
        return self._rng.sample(list(self._ids), self._rng.randint(1, len(self._ids)))

    def _partitions(self) -> list[TopicPartition]:
        return [TopicPartition(topic, self._rng.choice((0, 0, 0, 1))) for topic in self._topics()]

    def _named(self, partitions: Any, *, by_id: bool) -> dict[str, Any]:
        """Return what a request says of partitions: by name, or by id, which then stands in place of a name."""
        ids = {topic: self._ids[topic] for topic, _ in partitions} if by_id else {}
        return {"partitions": partitions, "topic_ids": ids}

    def _produce(self, version: int) -> ProduceRequest:
        is_transactional = self._rng.random() < 0.2
        attributes, producer = (TRANSACTIONAL, 7) if is_transactional else (0, -1)
        sent = batch(
            records=[record(value=b"a")],
            attributes=attributes,
            producer_id=producer,
            producer_epoch=min(producer, 0),
            base_sequence=min(producer, 0),
        )
        return ProduceRequest(
            **self._named(dict.fromkeys(self._partitions(), sent), by_id=version >= SINCE_TOPIC_IDS),
            acks=self._rng.choice((1, -1)),
            transactional_id=self._rng.choice((*TRANSACTIONS, None)) if is_transactional else None,
        )

    def _fetch(self, version: int) -> FetchRequest:
        asked = {each: FetchPartition(0, 1_000) for each in self._partitions()}
        return FetchRequest(
            **self._named(asked, by_id=version >= SINCE_TOPIC_IDS),
            replica_id=self._rng.choice((-1, -1, -1, 2)),
            max_wait_ms=0,
        )

    def _list_offsets(self, _: int) -> ListOffsetsRequest:
        return ListOffsetsRequest(partitions=dict.fromkeys(self._partitions(), OffsetQuestion(-2)))

    def _metadata(self, version: int) -> MetadataRequest:
        rng = self._rng
        topics = tuple(each for each in self._topics() if each != "unknown" or version >= _CREATES_ALWAYS)
        names = rng.choice((topics, topics, None))
        ids = tuple(self._ids[each] for each in topics) if version >= 12 and rng.random() < 0.3 else ()
        may_create = version >= _CREATES_ALWAYS and not ids and names is not None and rng.random() < 0.2
        if may_create:
            names = (*topics, f"new-{rng.getrandbits(60)}", f"order-{rng.getrandbits(60)}")
        return MetadataRequest(
            topics=() if ids else names,
            topic_ids=ids,
            allow_auto_topic_creation=may_create or version < _CREATES_ALWAYS,
            include_topic_authorized_operations=version >= 8 and rng.random() < 0.7,
            include_cluster_authorized_operations=version in {8, 9, 10} and rng.random() < 0.7,
        )

    def _epochs(self, _: int) -> OffsetForLeaderEpochRequest:
        return OffsetForLeaderEpochRequest(partitions=dict.fromkeys(self._partitions(), EpochQuestion(-1, 0)))

    def _producers(self, _: int) -> DescribeProducersRequest:
        return DescribeProducersRequest(partitions=tuple(self._partitions()))

    def _pages(self, _: int) -> DescribeTopicPartitionsRequest:
        rng = self._rng
        return DescribeTopicPartitionsRequest(
            topics=rng.choice(((), tuple(self._topics()))),
            cursor=rng.choice((None, None, Cursor("orders-2", 0))),
            partition_limit=rng.choice((1, 2, 2_000)),
        )

    def _delete(self, version: int) -> Any:
        asked = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 0}]} for topic in self._topics()]
        return kio_request(21, version, {"topics": asked, "timeout": _SECOND})

    # --- the cluster

    def _configs(self, _: int) -> DescribeConfigsRequest:
        topics = [Resource(2, topic) for topic in self._topics()]
        asked = self._rng.choice((topics, [*topics, Resource(4, "1"), Resource(4, "")]))
        return DescribeConfigsRequest(resources=dict.fromkeys(asked, ("retention.ms",)))

    def _log_dirs(self, version: int) -> Any:
        asked = [{"topic": topic, "partitions": (0,)} for topic in self._topics()]
        return kio_request(35, version, {"topics": self._rng.choice((None, asked))})

    def _cluster(self, _: int) -> DescribeClusterRequest:
        return DescribeClusterRequest(include_cluster_authorized_operations=self._rng.random() < 0.8)

    def _users(self, _: int) -> Any:
        # Nobody is everybody, as null is: to who may not know and asks so, Kafka's broker does not answer at all.
        named = self._rng.choices(("alice", "bob"), k=self._rng.randint(0, 3))
        return kio_request(50, 0, {"users": [{"name": each} for each in named]})

    def _quotas(self, version: int) -> Any:
        kinds = self._rng.choices(("user", "user", "client-id", "ip", "", "other"), k=self._rng.randint(0, 2))
        names = ("alice", None)
        components = [
            {"entity_type": each, "match_type": self._rng.choice((0, 1, 2, 3)), "match": self._rng.choice(names)}
            for each in kinds
        ]
        return kio_request(48, version, {"components": components, "strict": self._rng.random() < 0.5})

    def _producer_id(self, version: int) -> Any:
        asked = {"transaction_timeout": _SECOND, "producer_id": -1, "producer_epoch": -1}
        return kio_request(22, version, asked | {"transactional_id": self._rng.choice((*TRANSACTIONS, None, None))})

    def _markers(self, _: int) -> WriteTxnMarkersRequest:
        marker = TransactionMarker(9, 0, is_commit=False, partitions=tuple(self._partitions()))
        return WriteTxnMarkersRequest(markers=(marker,))

    # --- groups

    def _group(self) -> dict[str, Any]:
        return {"group_id": self._rng.choice(GROUPS), "group_instance_id": None}

    def _commit(self, version: int) -> Any:
        part = {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": ""}
        topics = [self._reference(topic, version) | {"partitions": [part]} for topic in self._topics()]
        alone = {"generation_id_or_member_epoch": -1, "member_id": "", "retention_time": _SECOND}
        return kio_request(8, version, self._group() | alone | {"topics": topics})

    def _committed(self, version: int) -> Any:
        def topics() -> Any:
            named = [self._reference(topic, version) | {"partition_indexes": (0, 1)} for topic in self._topics()]
            return self._rng.choice((named, named, None)) if version >= 2 else named

        asked: dict[str, Any] = {"require_stable": False}
        if version < 8:
            return kio_request(9, version, asked | self._group() | {"topics": topics()})
        groups = [
            {"group_id": each, "member_id": None, "member_epoch": -1, "topics": topics()}
            for each in self._rng.sample(GROUPS, 2)
        ]
        return kio_request(9, version, asked | {"groups": groups})

    def _find(self, version: int) -> Any:
        return kio_request(
            10,
            version,
            {"key": self._rng.choice(GROUPS), "key_type": 0, "coordinator_keys": self._rng.sample(GROUPS, 2)},
        )

    def _join(self, version: int) -> Any:
        nobody = {"member_id": "", "protocol_type": "consumer", "protocols": (), "reason": None}
        times = {"session_timeout": timedelta(0), "rebalance_timeout": timedelta(0)}  # which nobody may have
        return kio_request(11, version, self._group() | nobody | times)

    def _heartbeat(self, version: int) -> Any:
        return kio_request(12, version, self._group() | {"generation_id": 1, "member_id": "nobody"})

    def _leave(self, version: int) -> Any:
        members = [{"member_id": "nobody", "group_instance_id": None, "reason": None}]
        return kio_request(13, version, self._group() | {"member_id": "nobody", "members": members})

    def _sync(self, version: int) -> Any:
        nobody = {"generation_id": 1, "member_id": "nobody", "assignments": ()}
        protocol = {"protocol_type": "consumer", "protocol_name": "range"}
        return kio_request(14, version, self._group() | nobody | protocol)

    def _describe_groups(self, version: int) -> Any:
        return kio_request(15, version, {"groups": self._rng.sample(GROUPS, 2), "include_authorized_operations": True})

    def _list_groups(self, version: int) -> Any:
        return kio_request(16, version, {"states_filter": (), "types_filter": ()})

    def _delete_groups(self, version: int) -> Any:
        return kio_request(42, version, {"groups_names": self._rng.sample(GROUPS, 2)})

    def _delete_offsets(self, version: int) -> Any:
        topics = [{"name": topic, "partitions": [{"partition_index": 0}]} for topic in self._topics()]
        return kio_request(47, version, self._group() | {"topics": topics})

    def _reference(self, topic: str, version: int) -> dict[str, Any]:
        return {"name": topic, "topic_id": self._ids[topic]} if version < _SINCE_IDS else {"topic_id": self._ids[topic]}


def kio_request(key: int, version: int, content: Mapping[str, Any]) -> Any:
    """Make a request of kio's, without the fields that the version does not have."""
    return _made(request_class(key, version), content)
