"""Up to where a read may go."""

from enum import Enum


class Isolation(Enum):
    """Up to where a read may go (Kafka: FetchIsolation)."""

    LOG_END = "log_end"
    """Everything: followers."""
    HIGH_WATERMARK = "high_watermark"
    """What all in-sync replicas have: consumers."""
    TXN_COMMITTED = "txn_committed"
    """What belongs to no open transaction: consumers with `isolation.level=read_committed`."""
