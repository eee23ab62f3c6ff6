"""Several observers of one log."""

from collections.abc import Callable
from typing import Final

from logstore.log.log_observer import LogObserver

_EVENTS: Final = tuple(name for name in vars(LogObserver) if not name.startswith("_"))


class LogObservers(LogObserver):
    """Tells all of them in turn."""

    def __init__(self, *observers: LogObserver) -> None:
        """Take the observers."""
        for event in _EVENTS:
            setattr(self, event, _all_of([getattr(observer, event) for observer in observers]))


def _all_of(calls: list[Callable[..., None]]) -> Callable[..., None]:
    def tell(*what: object) -> None:
        for call in calls:
            call(*what)

    return tell
