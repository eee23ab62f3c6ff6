"""What must not be in a history, and what may: the anomalies by the names that the field gives them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from logstore.shown_text import shown
from replication.testing.history.history import Column, History
from replication.testing.history.operation import Value


class AnomalyKind(StrEnum):
    """The names of Adya, and of Jepsen's tests of logs.

    `INT_` is of one operation, the kind without it of two of one process, one after the other.
    """

    LOST_WRITE = "lost-write"
    """A record was acknowledged, nobody read it, and somebody read what lies behind it."""
    ABORTED_READ = "G1a"
    """Somebody read a record of an operation that failed."""
    INTERMEDIATE_READ = "G1b"
    """Somebody read one record of a transaction and passed over the next of it in the same partition."""
    CIRCULAR_INFORMATION_FLOW = "G1c"
    """Transactions each read what the next one sent, in a circle."""
    CIRCULAR_FLOW_WITH_WRITES = "G1c-ww"
    """The same where some follow another only by the order of their records in a partition."""
    WRITE_CYCLE = "G0"
    """Records of transactions lie in one order in one partition and in another order in the next."""
    FRACTURED_TRANSACTION = "fractured-transaction"
    """Of one transaction some records were read, and others are gone from where they were."""
    PRECOMMITTED_READ = "precommitted-read"
    """A transaction read what it had sent itself."""
    DUPLICATE = "duplicate"
    """What was sent once lies at two offsets."""
    INCONSISTENT_OFFSETS = "inconsistent-offsets"
    """Two records were seen at one offset."""
    UNSENT_READ = "unsent-read"
    """Somebody read what nobody had sent."""
    INT_POLL_SKIP = "int-poll-skip"
    POLL_SKIP = "poll-skip"
    """A consumer passed over a record that others read, and that is of no operation that failed."""
    INT_NONMONOTONIC_POLL = "int-nonmonotonic-poll"
    NONMONOTONIC_POLL = "nonmonotonic-poll"
    """A consumer went back to what lies at or before what it had read."""
    INT_NONMONOTONIC_SEND = "int-nonmonotonic-send"
    NONMONOTONIC_SEND = "nonmonotonic-send"
    """What a producer sent later lies earlier."""
    UNSEEN = "unseen"
    """A record was acknowledged, and nobody has read as far as that."""


NOT_PROMISED: Final = frozenset({AnomalyKind.CIRCULAR_FLOW_WITH_WRITES, AnomalyKind.WRITE_CYCLE, AnomalyKind.UNSEEN})
"""What a sound Kafka does: transactions' records lie between each other's, and readers may not have read to the end."""


@dataclass(frozen=True)
class Anomaly:
    """One thing that is wrong with a history."""

    kind: AnomalyKind
    operations: tuple[int, ...]
    """The numbers of the operations that show it, from 0 on."""
    partition: str | None = None
    offset: int | None = None
    value: Value | None = None

    def __str__(self) -> str:
        place = [] if self.partition is None else [shown(self.partition)]
        place += [] if self.offset is None else [f"offset {self.offset:,}"]
        place += [] if self.value is None else [f"value {self.value!r}"]
        numbers = ", ".join(f"{number + 1:,}" for number in self.operations)
        return f"{self.kind}: {', '.join(place)}{': ' if place else ''}operations {numbers}"


@dataclass(frozen=True)
class Found:
    """All anomalies of one kind, as columns."""

    kind: AnomalyKind
    operations: Column
    """A row each; -1 where a row has fewer."""
    partition: Column | None = None
    offset: Column | None = None
    value: Column | None = None

    def __len__(self) -> int:
        return len(self.operations)

    def anomaly(self, row: int, history: History) -> Anomaly:
        """Return one of them."""
        operations = np.unique(self.operations[row])
        return Anomaly(
            self.kind,
            tuple(operations[operations >= 0].tolist()),
            None if self.partition is None else history.partitions[self.partition[row]],
            None if self.offset is None or self.offset[row] < 0 else int(self.offset[row]),
            None if self.value is None else history.values[self.value[row]],
        )
