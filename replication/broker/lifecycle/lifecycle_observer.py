"""Hooks to observe a broker: for logs, metrics, displays."""

from replication.broker.lifecycle.lifecycle import BrokerState
from replication.quorum.metadata_observer import MetadataObserver


class LifecycleObserver(MetadataObserver):
    """Override what is of interest. The broker's threads call these and wait: return quickly, and raise nothing."""

    def state_changed(self, state: BrokerState) -> None:
        """Handle a change of the broker's state."""

    def registered(self, broker_epoch: int) -> None:
        """Handle that the controller has registered this broker, with this broker epoch."""

    def fenced(self) -> None:
        """Handle that the controller has fenced this running broker: its session timed out. It recovers by itself."""

    def unfenced(self) -> None:
        """Handle that the controller has unfenced this broker."""

    def refused(self, error: Exception) -> None:
        """Handle that the controller answered with an error, or cannot be reached; the request is retried."""

    def answered(self) -> None:
        """Handle that the controller has granted a request again, after one that was refused or not answered."""
