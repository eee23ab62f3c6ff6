"""Hooks to observe a broker: for logs, metrics, displays."""

from replication.cluster.broker.lifecycle.lifecycle import BrokerState
from replication.cluster.quorum.metadata_observer import MetadataObserver


class LifecycleObserver(MetadataObserver):
    """Override what is of interest. The broker's threads call these and wait: return quickly, and raise nothing."""

    def state_changed(self, state: BrokerState) -> None:
        """Handle a change of the broker's state."""

    def registered(self, broker_epoch: int) -> None:
        """Handle that the controller has registered this broker, with this broker epoch."""

    def fenced(self) -> None:
        """Handle that the controller has fenced this running broker: its session timed out. It recovers by itself."""

    def late(self, late_ms: int) -> None:
        """Handle that a heartbeat is sent so much later than it was due, as this process or machine was held up."""

    def in_time(self) -> None:
        """Handle that a heartbeat is sent in time."""

    def unfenced(self) -> None:
        """Handle that the controller has unfenced this broker."""

    def refused(self, error: Exception) -> None:
        """Handle that the controller answered with an error, or cannot be reached; the request is retried."""

    def answered(self) -> None:
        """Handle that the controller has granted a request again, after one that was refused or not answered."""
