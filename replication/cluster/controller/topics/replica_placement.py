"""Where the replicas of new partitions go: spread over racks, then over brokers (Kafka: StripedReplicaPlacer)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple

from replication.cluster.controller.refusal import Refusal
from replication.wire.error_code import ErrorCode

_NOBODY: Final = "All brokers are currently fenced, or have all their log directories cordoned."


class UsableBroker(NamedTuple):
    """A broker that may hold replicas."""

    broker_id: int
    rack: str | None
    fenced: bool
    """It gets replicas only where the others do not suffice, and is never the preferred leader."""


def place_replicas(
    brokers: Iterable[UsableBroker], partitions: int, replication_factor: int, random: Random
) -> list[tuple[int, ...]]:
    """Return the replicas of each of so many new partitions, the preferred leader first.

    Racks take turns, and the brokers of a rack take turns, from random starts. Raises Refusal with
    INVALID_REPLICATION_FACTOR where there are too few brokers.
    """
    racks = _Racks(brokers, random)
    racks.check(replication_factor)
    return [racks.place(replication_factor) for _ in range(partitions)]


@dataclass(slots=True)
class _Turns:
    """Brokers that take turns: within one partition each comes once, and the next partition starts one further."""

    brokers: list[int] = field(default_factory=list)
    start: int = 0
    taken: int = 0
    partition: int = 0

    def next(self, partition: int) -> int | None:
        if not self.brokers:
            return None
        if self.partition != partition:
            self.partition = partition
            self.taken = 0
            self.start = (self.start + 1) % len(self.brokers)
        if self.taken == len(self.brokers):
            return None
        self.taken += 1
        return self.brokers[(self.start + self.taken - 1) % len(self.brokers)]


@dataclass(slots=True)
class _Rack:
    unfenced: _Turns = field(default_factory=_Turns)
    fenced: _Turns = field(default_factory=_Turns)

    def next(self, partition: int) -> int | None:
        broker = self.unfenced.next(partition)
        return self.fenced.next(partition) if broker is None else broker


class _Racks:
    def __init__(self, brokers: Iterable[UsableBroker], random: Random) -> None:
        self._random = random
        self._partition = 0
        racks: dict[str | None, _Rack] = {}
        for broker in sorted(brokers, key=lambda broker: broker.broker_id):
            rack = racks.setdefault(broker.rack, _Rack())
            (rack.fenced if broker.fenced else rack.unfenced).brokers.append(broker.broker_id)
        self._racks = [racks[name] for name in sorted(racks, key=lambda name: (name is not None, name or ""))]
        self._unfenced = sum(len(rack.unfenced.brokers) for rack in self._racks)
        self._all = self._unfenced + sum(len(rack.fenced.brokers) for rack in self._racks)
        for turns in self._turns():
            turns.start = random.randrange(len(turns.brokers))
        self._start = random.randrange(len(self._racks)) if self._racks else 0

    def check(self, replication_factor: int) -> None:
        if replication_factor <= 0:
            raise _invalid(f"Invalid replication factor {replication_factor}: it must be positive.")
        if self._unfenced == 0:
            raise _invalid(_NOBODY)
        if replication_factor > self._all:
            raise _invalid(
                f"The target replication factor of {replication_factor} cannot be reached because only {self._all} "
                "broker(s) are registered or some brokers have all their log directories cordoned."
            )

    def place(self, replication_factor: int) -> tuple[int, ...]:
        if self._partition and self._partition % self._unfenced == 0:
            self._shuffle()
        leader, leader_rack = self._place_leader()
        replicas = [leader]
        at = self._start
        skip = leader_rack
        while len(replicas) < replication_factor:
            if at == skip:
                skip = -1  # its turn of the first round is taken by the leader
            else:
                broker = self._racks[at].next(self._partition)
                if broker is not None:
                    replicas.append(broker)
            at = (at + 1) % len(self._racks)
        self._partition += 1
        self._start = (self._start + 1) % len(self._racks)
        return tuple(replicas)

    def _place_leader(self) -> tuple[int, int]:
        """Return the leader, and which rack it is in."""
        for step in range(len(self._racks)):
            at = (self._start + step) % len(self._racks)
            broker = self._racks[at].unfenced.next(self._partition)
            if broker is not None:
                return broker, at
        raise _invalid(_NOBODY)

    def _shuffle(self) -> None:
        """All starts were used once: mix, so that the same placements do not come again."""
        self._random.shuffle(self._racks)
        for turns in self._turns():
            self._random.shuffle(turns.brokers)

    def _turns(self) -> list[_Turns]:
        return [turns for rack in self._racks for turns in (rack.fenced, rack.unfenced) if turns.brokers]


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REPLICATION_FACTOR, message)
