"""By which generation of the protocol a follower follows."""

from dataclasses import dataclass, replace
from typing import Final

from epoch import TruncationProtocol

BACK_OFF_MS: Final = 1_000
"""Kafka: replica.fetch.backoff.ms."""
_SINCE_DIVERGING_EPOCH: Final = 12


@dataclass(frozen=True, slots=True)
class FetchRules:
    """How a follower finds what to truncate, and how long it waits after an error.

    Kafka's replicas truncate on fetch since 2.7. A mirror asks: to a consumer's Fetch a leader answers no divergence.
    """

    protocol: TruncationProtocol = TruncationProtocol.KIP_320
    truncate_on_fetch: bool = True
    """The leader finds the divergence in a Fetch (KIP-595), wherever epochs are known."""
    back_off_ms: int = BACK_OFF_MS

    @property
    def asks(self) -> bool:
        """Whether only OffsetForLeaderEpoch shows what to truncate: a fetch does not."""
        return self.protocol is not TruncationProtocol.HIGH_WATERMARK and not self.truncate_on_fetch

    def for_leader(self, fetch_version: int, *, tells_epochs: bool = True) -> "FetchRules":
        """Return the rules to follow a leader by that answers Fetch in this version at most.

        Leaders before Kafka 2.7 find no divergence in a Fetch, those before 0.11 answer no epochs at all.
        """
        if not tells_epochs:
            return replace(self, protocol=TruncationProtocol.HIGH_WATERMARK, truncate_on_fetch=False)
        if fetch_version < _SINCE_DIVERGING_EPOCH:
            return replace(self, truncate_on_fetch=False)
        return self


REPLICA_RULES: Final = FetchRules()
"""A replica's, as of Kafka 2.7 and later."""
MIRROR_RULES: Final = FetchRules(truncate_on_fetch=False)
"""A mirror's: it asks for epochs, in rounds."""
