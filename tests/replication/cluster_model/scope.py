"""What a cluster is made of, and how far the model goes in it."""

from dataclasses import dataclass, replace

from replication.cluster.broker.partitions.led_partition import LedPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One cluster to explore; all of what may happen in it happens in any order, as often as the bounds allow."""

    name: str
    replicas: int = 2
    elr: bool = True
    """Keep eligible leader replicas (KIP-966)."""
    min_isr: int = 2
    loses_tails: bool = True
    """A crash keeps any beginning of the log: nothing is taken to be synced."""
    balances: bool = False
    """The controller may bring the leadership back to the first replica."""
    repeats_answers: bool = False
    """The answer to a change of the ISR may reach its leader twice."""
    repeats_requests: bool = False
    """A request to change the ISR may reach the controller twice, the second time after the first was answered."""
    fetches_late: bool = True
    """A fetch may reach its leader after the follower has heard of another, or has fallen."""
    stops: bool = True
    """A broker may also stop in order, and keep all of its log."""
    led: type[LedPartition] = LedPartition
    """What leads; in tests of the model itself, one with a fault."""
    # --- bounds
    records: int = 1
    """Appended by leaders, in all."""
    failures: int = 1
    """Crashes, stops, and brokers fenced although they live, in all."""
    changes: int = 4
    """The last partition epoch: elections, and changes of the ISR."""
    writes_in_epoch: int = 9
    """The last leader epoch in which anything is written."""

    def bounded(self, *, records: int, failures: int, changes: int) -> "Scope":
        """Return the same with other bounds."""
        return replace(self, records=records, failures=failures, changes=changes)
