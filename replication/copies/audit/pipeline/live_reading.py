"""What an audit of running brokers reports of its passes: what was read again, and what never stood still."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from logstore.topic_partition import TopicPartition


class ReadAgain(NamedTuple):
    """A partition that moved while it was read first, or of which something was wrong and had to be seen twice."""

    topic: str
    partition: int
    reads: int
    """How often it was read in all."""
    moved: tuple[str, ...]
    """The replicas whose copies moved the last time: the partition is unknown. None where all stood still."""


@dataclass(frozen=True, slots=True)
class LiveReading:
    """How an audit of running brokers went."""

    passes: int
    patience: float
    """For how many seconds after the first pass partitions were read again at most."""
    read_again: Sequence[ReadAgain]
    gone: Sequence[TopicPartition]
    """Partitions that were deleted meanwhile: nothing is said of them."""
    bootstrap: str | None = None
    """The brokers that were named, where replicas were read over the network; None where directories were."""

    def as_json(self) -> dict[str, Any]:
        """Return it as `epochlog audit --json` prints it."""
        return {
            "passes": self.passes,
            "patience": self.patience,
            "read_again": [{**each._asdict(), "moved": list(each.moved)} for each in self.read_again],
            "bootstrap": self.bootstrap,
            "gone": [{"topic": each.topic, "partition": each.partition} for each in self.gone],
        }
