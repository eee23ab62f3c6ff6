"""What is wrong with those who connect."""

import logging
from typing import Final

_LOGGER: Final = logging.getLogger("epochlog.server")
_MOST: Final = 10_000
"""After so many, what was reported is reported again: what is kept of strangers is bounded."""


class Complaints:
    """Logs each topic once per address: a client that reconnects does not fill the log."""

    def __init__(self) -> None:
        """Create it with nothing reported."""
        self._told: set[tuple[str, str]] = set()

    def tell(self, address: str, topic: str, reason: str) -> None:
        """Log why a connection from an address was closed, if it is the first time."""
        if (address, topic) in self._told:
            _LOGGER.debug("hung up on %s: %s", address, reason)
            return
        if len(self._told) >= _MOST:
            self._told.clear()
        self._told.add((address, topic))
        _LOGGER.warning("hung up on %s: %s; this is said once", address, reason)
