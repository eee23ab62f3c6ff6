"""Requests of administrators, at random, of which none changes anything: they are only to be checked, or do nothing."""

import random
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from logstore import TopicPartition
from replication.wire.encoding.kio_messages import request_class
from replication.wire.messages.elect_leaders import ElectionType, ElectLeadersRequest
from replication.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tests.replication.cluster.broker.authorization.random_questions import kio_request

_SECOND: Final = timedelta(seconds=1)
_ALONE: Final = {"timeout": _SECOND, "validate_only": True}
_NAMES_IDS: Final = 6


class RandomAdministration:
    """About the topics that there are, and new ones."""

    def __init__(self, rng: random.Random, topic_ids: Mapping[str, UUID]) -> None:
        self._rng = rng
        self._ids = topic_ids
        self._kinds: dict[int, tuple[range, Callable[[int], Any]]] = {
            19: (range(2, 8), self._create),
            33: (range(3), self._alter),
            37: (range(4), self._enlarge),
            43: (range(3), self._elect),
            44: (range(2), self._change),
            45: (range(2), self._reassign),
            46: (range(1), lambda _: ListPartitionReassignmentsRequest()),
            49: (range(2), self._limit),
            51: (range(1), self._remove_users),
        }

    def any(self, may_delete: Callable[[str], bool]) -> tuple[int, Any, int]:
        """Return an API key, a request and a version; topics that may be deleted are not, but for unknown ones."""
        key = self._rng.choice([*self._kinds, 20])
        if key == 20:
            version = self._rng.choice(range(1, 7))
            return key, self._delete(version, may_delete), version
        versions, make = self._kinds[key]
        version = self._rng.choice(versions)
        return key, make(version), version

    def _topics(self) -> list[str]:
        return self._rng.sample(list(self._ids), self._rng.randint(1, len(self._ids)))

    def _create(self, version: int) -> Any:
        names = self._rng.sample(("new-1", "order-1", "orders-9", "plain-1"), 2)
        made = {"num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
        return kio_request(19, version, {"topics": [{"name": each, **made} for each in names], **_ALONE})

    def _enlarge(self, version: int) -> Any:
        topics = [{"name": each, "count": 3, "assignments": None} for each in self._topics()]
        return kio_request(37, version, {"topics": topics, **_ALONE})

    def _delete(self, version: int, may_delete: Callable[[str], bool]) -> Any:
        names = ["unknown", *(each for each in self._topics() if not may_delete(each))]
        if version < _NAMES_IDS:
            return request_class(20, version)(topic_names=tuple(names), timeout=_SECOND)  # type: ignore[call-arg]
        by_id = [{"name": None, "topic_id": self._ids.get(each, UUID(int=99))} for each in names]
        by_name = [{"name": each, "topic_id": None} for each in names]
        return kio_request(20, version, {"topics": self._rng.choice((by_id, by_name)), **_ALONE})

    def _resources(self) -> list[dict[str, Any]]:
        asked = [(2, each) for each in self._topics()] + self._rng.choice(([], [(4, "1")]))
        return [{"resource_type": kind, "resource_name": name, "configs": ()} for kind, name in asked]

    def _alter(self, version: int) -> Any:
        return kio_request(33, version, {"resources": self._resources(), **_ALONE})

    def _change(self, version: int) -> Any:
        return kio_request(44, version, {"resources": self._resources(), **_ALONE})

    def _limit(self, version: int) -> Any:
        entity = [{"entity_type": "user", "entity_name": self._rng.choice(("alice", None))}]
        removed = {"key": "producer_byte_rate", "value": 0.0, "remove": True}
        entries = [{"entity": entity, "ops": [removed]}]
        return kio_request(49, version, {"entries": entries, "validate_only": self._rng.random() < 0.5})

    def _remove_users(self, version: int) -> Any:
        removed = [{"name": each, "mechanism": 1} for each in self._rng.sample(("nobody", "no-one", "none"), 2)]
        return kio_request(51, version, {"deletions": removed, "upsertions": ()})

    def _elect(self, _: int) -> ElectLeadersRequest:
        partitions = tuple(TopicPartition(each, 0) for each in self._topics())
        return ElectLeadersRequest(election_type=ElectionType.PREFERRED, partitions=partitions)

    def _reassign(self, version: int) -> Any:
        cancelled = [{"partition_index": 0, "replicas": None}]
        topics = [{"name": each, "partitions": cancelled} for each in self._topics()]
        return kio_request(45, version, {"topics": topics, "allow_replication_factor_change": True, **_ALONE})
