"""Up to where a read may go."""

from enum import Enum, EnumType

from epoch.base.renamed import warn_renamed


class _RenamedMembers(EnumType):
    @property
    def TXN_COMMITTED(cls) -> "Isolation":  # noqa: N802  a member's old name
        """Deprecated: READ_COMMITTED."""
        warn_renamed("Isolation.TXN_COMMITTED", "Isolation.READ_COMMITTED")
        return Isolation.READ_COMMITTED


class Isolation(Enum, metaclass=_RenamedMembers):
    """How far a read may go (Kafka: FetchIsolation)."""

    LOG_END = "log_end"
    """Up to the log end offset: for followers."""
    HIGH_WATERMARK = "high_watermark"
    """Up to the high watermark, what all in-sync replicas have: for consumers."""
    READ_COMMITTED = "read_committed"
    """Up to the last stable offset: for consumers with `isolation.level=read_committed`."""

    @classmethod
    def _missing_(cls, value: object) -> "Isolation | None":
        if value != "txn_committed":
            return None
        warn_renamed('Isolation("txn_committed")', 'Isolation("read_committed")')
        return cls.READ_COMMITTED
