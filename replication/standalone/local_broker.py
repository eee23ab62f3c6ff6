"""A broker whose controller is in its own process."""

from typing import Final

_START_SECONDS: Final = 60.0
_HEARTBEAT_MS: Final = 2_000


class LocalBroker:
    """Leads and follows what its controller gives it, in threads of its own, and answers clients.

    >>> with LocalBroker(controller, directories, ListenerSettings(address=Address("127.0.0.1", 0))) as broker:
    ...     print(broker.address)
    """
