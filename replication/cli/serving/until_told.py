"""Stop on SIGINT or SIGTERM."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from replication.base.stop_request import StopRequest


@contextmanager
def until_told() -> Iterator[StopRequest]:
    """Give a request to stop that SIGINT and SIGTERM make; the second signal ends the process at once.

    The first one raises StopRequestedError only where that is asked for: see `StopRequest.breaking_off`.
    """
    told = StopRequest()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def tell(number: int, _: object) -> None:
        signal.signal(number, before[signal.Signals(number)])
        told.make_in_handler()

    for number in before:
        signal.signal(number, tell)
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
