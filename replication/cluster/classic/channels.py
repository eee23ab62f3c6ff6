"""The channels to all brokers that a controller commands (Kafka: ControllerChannelManager)."""

from typing import Final

from replication.cluster.classic.broker_channel import BrokerChannel
from replication.cluster.classic.guarded_controller import GuardedController
from replication.wire.client.client_settings import ClientSettings


class Channels:
    """One for each registration of a broker; those of a broker that is gone, or of an earlier term, end."""

    def __init__(self, controller: GuardedController, listener: str, settings: ClientSettings) -> None:
        """Create none yet."""
        self._controller: Final = controller
        self._listener: Final = listener
        self._settings: Final = settings
        self._channels: dict[int, BrokerChannel] = {}

    def follow(self) -> None:
        """Begin and end channels as brokers come and go, and send what there is; under the controller's lock."""
        brokers = self._controller.brokers()
        for broker_id, channel in [*self._channels.items()]:
            if broker_id not in brokers or brokers[broker_id][1] is not channel.queue:
                self._channels.pop(broker_id).stop(wait=False)
        for broker_id, (broker, queue) in brokers.items():
            if broker_id not in self._channels:
                channel = BrokerChannel(broker_id, broker, queue, self._controller, self._listener, self._settings)
                self._channels[broker_id] = channel
                channel.start()
            elif len(queue):
                self._channels[broker_id].wake()

    def stop(self) -> None:
        """End them all, whatever is left to send."""
        for channel in self._channels.values():
            channel.stop(wait=False)
        for channel in self._channels.values():
            channel.stop()
        self._channels.clear()
