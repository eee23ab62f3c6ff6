"""Where a broker's producer ids come from."""

from typing import Protocol


class ProducerIdBlocks(Protocol):
    """Gives out ids that nobody has had, also before a restart (Kafka: AllocateProducerIds; blocks of 1,000)."""

    def next_block(self) -> range:
        """Return the next ones, which are remembered as given out before this returns.

        Raises OSError or a ReplicationError where there are none now.
        """
