"""Which partitions a broker has to do with: what a controller would otherwise look through all partitions for."""

from typing import NamedTuple
from uuid import UUID

from replication.metadata.partition import PartitionState
from replication.metadata.records import NO_LEADER


class PartitionKey(NamedTuple):
    """A partition, by its topic's id."""

    topic_id: UUID
    partition_id: int


class PartitionIndex:
    """Partitions by who is in sync, eligible or leading (Kafka: BrokersToIsrs and others). Orders mean nothing.

    An index follows from the partitions: two of the same partitions are equal.
    """

    def __init__(self) -> None:
        self._in_isr: dict[int, set[PartitionKey]] = {}
        self._in_elr: dict[int, set[PartitionKey]] = {}
        self._led: dict[int, set[PartitionKey]] = {}
        self._imbalanced: set[PartitionKey] = set()
        self._reassigning: set[PartitionKey] = set()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionIndex) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def update(self, key: PartitionKey, before: PartitionState | None, after: PartitionState | None) -> None:
        """Take up a partition that is new (`before` is None), changed, or gone (`after` is None)."""
        _move_members(self._in_isr, key, before.isr if before else (), after.isr if after else ())
        _move_members(self._in_elr, key, before.elr if before else (), after.elr if after else ())
        _move_members(self._led, key, (before.leader,) if before else (), (after.leader,) if after else ())
        _mark(self._imbalanced, key, marked=after is not None and after.leader != after.preferred_leader)
        _mark(self._reassigning, key, marked=after is not None and after.is_reassigning)

    def in_isr(self, broker_id: int) -> tuple[PartitionKey, ...]:
        """Return the partitions that a broker is in sync with."""
        return tuple(self._in_isr.get(broker_id, ()))

    def in_elr(self, broker_id: int) -> tuple[PartitionKey, ...]:
        """Return the partitions that a broker is eligible to lead without being in sync."""
        return tuple(self._in_elr.get(broker_id, ()))

    def led_by(self, broker_id: int) -> tuple[PartitionKey, ...]:
        """Return the partitions that a broker leads."""
        return tuple(self._led.get(broker_id, ()))

    def leads(self, broker_id: int) -> bool:
        """Whether a broker leads any partition."""
        return broker_id in self._led

    def leaderless(self) -> tuple[PartitionKey, ...]:
        """Return the partitions that nobody leads."""
        return self.led_by(NO_LEADER)

    def imbalanced(self) -> tuple[PartitionKey, ...]:
        """Return the partitions that another than the preferred leader leads, or nobody."""
        return tuple(self._imbalanced)

    def reassigning(self) -> tuple[PartitionKey, ...]:
        """Return the partitions that are being reassigned."""
        return tuple(self._reassigning)


def _move_members(
    index: dict[int, set[PartitionKey]], key: PartitionKey, before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    if before == after:
        return
    for broker_id in before:
        if broker_id not in after:
            keys = index[broker_id]
            keys.discard(key)
            if not keys:
                del index[broker_id]
    for broker_id in after:
        if broker_id not in before:
            index.setdefault(broker_id, set()).add(key)


def _mark(index: set[PartitionKey], key: PartitionKey, *, marked: bool) -> None:
    if marked:
        index.add(key)
    else:
        index.discard(key)
