"""Which partitions a broker has to do with: what a controller would otherwise look through all partitions for."""

from typing import NamedTuple, TypeAlias
from uuid import UUID

from replication.records.leadership.partition_change import ReplicaIds
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import NO_LEADER


class PartitionKey(NamedTuple):
    """A partition, by its topic's id."""

    topic_id: UUID
    partition_id: int


_Partitions: TypeAlias = dict[UUID, set[int]]
"""Partitions by topic."""


class PartitionIndex:
    """Partitions by who is in sync, eligible or leading (Kafka: BrokersToIsrs and others), topic after topic.

    An index follows from the partitions: two of the same partitions are equal.
    """

    def __init__(self) -> None:
        self._in_isr: dict[int, _Partitions] = {}
        self._in_elr: dict[int, _Partitions] = {}
        self._led: dict[int, _Partitions] = {}
        self._imbalanced: _Partitions = {}
        self._reassigning: _Partitions = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionIndex) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def update(
        self, key: PartitionKey, before: PartitionRegistration | None, after: PartitionRegistration | None
    ) -> None:
        """Index a partition that is new (`before` is None), changed, or gone (`after` is None)."""
        _move(self._in_isr, key, before.isr if before else (), after.isr if after else ())
        _move(self._in_elr, key, before.elr if before else (), after.elr if after else ())
        _move(self._led, key, (before.leader,) if before else (), (after.leader,) if after else ())
        _mark(self._imbalanced, key, _is_imbalanced(before), _is_imbalanced(after))
        _mark(
            self._reassigning,
            key,
            before is not None and before.is_reassigning,
            after is not None and after.is_reassigning,
        )

    def in_isr(self, broker_id: int) -> list[PartitionKey]:
        """Return the partitions that a broker is in sync with."""
        return _keys(self._in_isr.get(broker_id))

    def in_elr(self, broker_id: int) -> list[PartitionKey]:
        """Return the partitions that a broker is eligible to lead without being in sync."""
        return _keys(self._in_elr.get(broker_id))

    def led_by(self, broker_id: int) -> list[PartitionKey]:
        """Return the partitions that a broker leads."""
        return _keys(self._led.get(broker_id))

    def leads(self, broker_id: int) -> bool:
        """Whether a broker leads any partition."""
        return broker_id in self._led

    def leaderless(self) -> list[PartitionKey]:
        """Return the partitions that nobody leads."""
        return self.led_by(NO_LEADER)

    def imbalanced(self) -> list[PartitionKey]:
        """Return the partitions that another than the preferred leader leads, or nobody."""
        return _keys(self._imbalanced)

    def reassigning(self) -> list[PartitionKey]:
        """Return the partitions that are being reassigned."""
        return _keys(self._reassigning)


def _is_imbalanced(state: PartitionRegistration | None) -> bool:
    return state is not None and state.leader != state.preferred_leader


def _keys(partitions: _Partitions | None) -> list[PartitionKey]:
    if partitions is None:
        return []
    return [PartitionKey(topic_id, number) for topic_id, numbers in partitions.items() for number in numbers]


def _move(index: dict[int, _Partitions], key: PartitionKey, before: ReplicaIds, after: ReplicaIds) -> None:
    if before == after:
        return
    for broker_id in before:
        if broker_id not in after:
            _discard(index[broker_id], key)
            if not index[broker_id]:
                del index[broker_id]
    for broker_id in after:
        if broker_id not in before:
            _add(index.setdefault(broker_id, {}), key)


def _mark(index: _Partitions, key: PartitionKey, before: bool, after: bool) -> None:
    if after and not before:
        _add(index, key)
    elif before and not after:
        _discard(index, key)


def _add(partitions: _Partitions, key: PartitionKey) -> None:
    partitions.setdefault(key.topic_id, set()).add(key.partition_id)


def _discard(partitions: _Partitions, key: PartitionKey) -> None:
    numbers = partitions[key.topic_id]
    numbers.discard(key.partition_id)
    if not numbers:
        del partitions[key.topic_id]
