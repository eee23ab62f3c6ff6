"""What becomes of a request that nobody waits for."""

from typing import Any

from logstore.log.state.waiters import ThreadWaiter
from replication.wire.server.conversation import Waiting


def finish(found: Any) -> None:
    """Wait for nothing: look for an answer, and leave."""
    if not isinstance(found, Waiting):
        return
    waiter = ThreadWaiter()
    found.attend(waiter)
    try:
        found.parts(0.0)
    finally:
        found.leave(waiter)
