"""A partition of which a broker has a copy."""

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from logstore import LogStoreError
from logstore.log.readable_log import ReadableLog
from logstore.log.reading.sound_ranges import SoundRanges
from logstore.log.state.waiters import Waiter, Waiters
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.broker.partitions.partition_traffic import PartitionTraffic
from replication.cluster.broker.partitions.transaction_guards import TransactionGuards


def _ignore(_: Exception) -> None:
    pass


@dataclass(slots=True, weakref_slot=True, eq=False)
class HostedPartition:
    """A copy, and whether its broker leads the partition with it (Kafka: Partition)."""

    log: ReadableLog
    leader_epoch: int
    """The epoch in which the partition is led, as far as this broker knows."""
    is_leader: bool = True
    topic_id: UUID | None = None
    """None of topics that have none, as those of Kafka before 2.8."""
    damage: LogStoreError | None = None
    """What ends the log before its files do: whoever reads up to there gets KAFKA_STORAGE_ERROR."""
    root: str = ""
    """The entry of log.dirs that it is in."""
    led: LedPartition | None = None
    """The replicas, while this broker leads them; None of a copy that is followed, or only read."""
    guards: TransactionGuards = field(default_factory=TransactionGuards, repr=False)
    """By which it appends what is transactional."""
    traffic: PartitionTraffic = field(default_factory=PartitionTraffic, repr=False)
    sound_ranges: SoundRanges | None = field(default=None, repr=False)
    """What checks what is sent; None where the log does so by itself."""
    on_failure: Callable[[Exception], object] = field(default=_ignore, repr=False)
    """Called with what reading the log has raised, each time that KAFKA_STORAGE_ERROR is answered for it."""
    _waiters: Waiters = field(default_factory=Waiters, init=False, repr=False)
    """Those who wait for a change of who leads; the log has its own."""

    def replace_log(self, log: ReadableLog, root: str) -> None:
        """Go on with a log of another directory, which holds the same."""
        self.log, self.root = log, root
        if self.sound_ranges is not None:
            self.sound_ranges = log.sound_ranges(self.sound_ranges.max_age_ms)
        # After that: who attends meanwhile attends to one of them, and is woken.
        for waiter in self._waiters.living():
            log.attend(waiter)
        self.wake()

    def attend(self, waiter: Waiter, *, end: bool = True, watermark: bool = True) -> None:
        """Wake it from now on when the log or who leads changes, or the copy is given up (see `ReadableLog.attend`)."""
        self._waiters.add(waiter)
        self.log.attend(waiter, end=end, watermark=watermark)

    def leave(self, waiter: Waiter) -> None:
        """Wake it no more."""
        self.log.leave(waiter)
        self._waiters.remove(waiter)

    def wake(self) -> None:
        """Make all waiters check again."""
        self._waiters.wake()
