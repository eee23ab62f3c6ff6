"""Who asks, as requests carry it."""

from typing import Final

CONSUMER: Final = -1
"""Instead of a broker's id: no replica, so what it may read ends at the high watermark."""

DEBUGGER: Final = -2
"""Instead of a broker's id: who looks at a copy, to its end, whoever leads (Kafka: DEBUGGING_REPLICA_ID)."""
