"""Random histories of a sound cluster: transactions that commit or abort, and consumers that read what is committed."""

from dataclasses import dataclass, field
from random import Random

from replication.testing.history import Operation, Polled, Sent

PARTITIONS = ("orders-0", "orders-1", "payments-0")


@dataclass
class SoundHistory:
    """A log for each partition, and what its clients did."""

    random: Random
    operations: list[Operation] = field(default_factory=list)
    logs: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: {each: [] for each in PARTITIONS})
    ends: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTITIONS, 0))
    positions: dict[tuple[int, str], int] = field(default_factory=dict)
    values: int = 0

    @classmethod
    def of(cls, random: Random, steps: int) -> list[Operation]:
        """Return the operations of some steps, after which a consumer reads all there is."""
        history = cls(random)
        for _ in range(steps):
            random.choice((history.send, history.send, history.poll))()
        polled = [Polled(partition, *each) for partition, log in history.logs.items() for each in log]
        return [*history.operations, Operation("the last", (), polled, "ok", assigned=True)]

    def send(self) -> None:
        outcome = self.random.choice(("ok", "ok", "ok", "failed", "unknown"))
        happened = outcome == "ok" or (outcome == "unknown" and self.random.random() < 0.5)
        sent = []
        for _ in range(self.random.randint(1, 3)):
            partition = self.random.choice(PARTITIONS)
            self.values += 1
            value, offset = f"v{self.values}", self.ends[partition]
            self.ends[partition] += self.random.randint(1, 2)  # a marker may lie behind
            if happened:
                self.logs[partition].append((offset, value))
            told = outcome == "ok" and self.random.random() < 0.9
            sent.append(Sent(partition, offset if told else None, value))
        self.operations.append(Operation(self.random.randint(0, 2), sent, (), outcome))  # type: ignore[arg-type]

    def poll(self) -> None:
        consumer = self.random.randint(3, 5)
        assigned = self.random.random() < 0.1
        polled = []
        for partition in self.random.sample(PARTITIONS, self.random.randint(1, 3)):
            log = self.logs[partition]
            position = self.positions.get((consumer, partition), 0)
            position = self.random.randint(0, len(log)) if assigned else position
            given = log[position : position + 4]
            self.positions[consumer, partition] = position + len(given)
            polled += [Polled(partition, offset, value) for offset, value in given]
        self.operations.append(Operation(consumer, (), polled, "ok", assigned))
