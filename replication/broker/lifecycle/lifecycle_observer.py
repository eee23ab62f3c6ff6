"""Hooks for whoever wants to know how a broker fares: logs, metrics, displays."""

from replication.broker.lifecycle.lifecycle import BrokerState
from replication.quorum.metadata_observer import MetadataObserver


class LifecycleObserver(MetadataObserver):
    """Override what is of interest. Called by the broker's threads, which wait: be quick, and raise nothing."""

    def state_changed(self, state: BrokerState) -> None:
        """Hear where the broker stands now."""

    def registered(self, broker_epoch: int) -> None:
        """Hear that the controller has registered this broker, in this epoch."""

    def fenced(self) -> None:
        """Hear that the controller has fenced this broker though it runs: its session ran out. It comes back itself."""

    def unfenced(self) -> None:
        """Hear that the controller has unfenced this broker."""

    def refused(self, error: Exception) -> None:
        """Hear that the controller answered with an error, or cannot be asked; it is asked again."""
