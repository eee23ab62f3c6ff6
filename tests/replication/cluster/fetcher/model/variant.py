"""What is modelled: the protocol that replicas follow by, what a crash may take, and how far the model goes."""

from dataclasses import dataclass, replace

from replication.cluster.fetcher.decisions.fetch_rules import FetchRules


@dataclass(frozen=True, slots=True)
class Variant:
    """One cluster to explore; all of what may happen in it happens in any order, as often as the bounds allow."""

    name: str
    rules: FetchRules
    fences: bool = True
    """Leaders refuse who believes in another leader epoch (KIP-320)."""
    loses_tails: bool = False
    """A crash keeps any beginning of the log: nothing is taken to be synced."""
    registers: bool = False
    """A crashed replica is a new incarnation: it leaves ISR and ELR, and leads in no epoch that it led before."""
    elects_uncleanly: bool = False
    """Any replica may be elected at any time: there is no ISR then, and nothing is acknowledged."""
    min_isr: int = 1
    """With 2 or more, ELR as in KIP-966: the high watermark stands still while the ISR is smaller."""
    # --- bounds
    epochs: int = 3
    records: int = 4
    """Appended by leaders, in all."""
    restarts: int = 2
    records_per_fetch: int = 1
    delays_answers: bool = False
    """An answer is taken in a step of its own, or else at once or never: see `Model._exchanging`."""
    forgets_high_watermarks: bool = True
    """Only leaders remember theirs. No decision by epochs may need a follower's; one that did would find 0."""
    hears_late: bool = False
    """A replica may hear of an election after the next one."""
    fetches_late: bool = False
    """A fetch may reach its leader after the follower has heard of another, or has restarted."""
    without: frozenset[str] = frozenset()
    """Kinds of violation not to look for, to find the next."""

    def bounded(self, *, epochs: int, records: int, restarts: int) -> "Variant":
        """Return the same with other bounds."""
        return replace(self, epochs=epochs, records=records, restarts=restarts)
