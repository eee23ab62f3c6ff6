"""Where one of our transactions may end: not within one of a producer whose records are salvaged."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from replication.copies.salvage.cluster.needs import SourceTransaction

_PATIENCE: Final = 10
"""Times the size at which it ends at last: transactions that overlap on and on would never let it end.

Of the time, too: the cluster itself would end it soon after, and the next run would come no further.
"""

_TOLERANCE: Final = 1.25
"""Times the size that it has at most where records come thousands at once, and none of them is of a transaction."""


@dataclass(frozen=True, slots=True)
class TransactionSize:
    """How much goes into one transaction; it is at its end soon enough not to run out of time."""

    records: int = 100_000
    bytes: int = 64 << 20
    seconds: float = 15.0
    """Since its first record: what follows may be slow to come, where nearly all of it is left out."""


@dataclass(slots=True)
class Cuts:
    """Follows the records of one partition."""

    size: TransactionSize
    last_of: Mapping[SourceTransaction, int]
    """Which record, counted from 1, is the last one of a source transaction."""
    clock: Callable[[], float] = time.monotonic
    _seen: int = 0
    _begun: set[SourceTransaction] = field(default_factory=set)
    _records: int = 0
    _bytes: int = 0
    _since: float = 0.0
    """When the first of `_records` came."""

    def follow(self, source: SourceTransaction, size: int) -> bool:
        """Count a record of `size` bytes, 0 if it is not written; return whether a transaction should end here.

        `source` is the transaction that it is of, or one that begins at -1.
        """
        self._seen += 1
        self._add(int(size > 0), size)
        if source[1] >= 0:
            if self.last_of.get(source) == self._seen:
                self._begun.discard(source)
            else:
                self._begun.add(source)
        return self.ends()

    def fits(self, records: int, size: int) -> bool:
        """Whether this many records and bytes may be written whole: our transaction is hardly larger."""
        more = self._records + records, self._bytes + size
        return all(
            part <= _TOLERANCE * most for part, most in zip(more, (self.size.records, self.size.bytes), strict=True)
        )

    def follow_plain(self, records: int, size: int) -> bool:
        """Count records of no transaction at once; return whether a transaction should end behind them."""
        self._seen += records
        self._add(records, size)
        return self.ends()

    def ends(self) -> bool:
        """Return whether a transaction should end here, also where there was no record, as time has gone by."""
        if not self._is_full(1) or (self._begun and not self._is_full(_PATIENCE)):
            return False
        self._records = self._bytes = 0
        return True

    def _add(self, records: int, size: int) -> None:
        if not self._records:
            self._since = self.clock()
        self._records += records
        self._bytes += size

    def _is_full(self, times: int) -> bool:
        if not self._records:
            return False
        return (
            self._records >= times * self.size.records
            or self._bytes >= times * self.size.bytes
            or self.clock() - self._since >= times * self.size.seconds
        )
