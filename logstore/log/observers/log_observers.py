"""Several observers of one log."""

from collections.abc import Callable
from typing import Final

from logstore.log.observers.log_observer import LogObserver

_EVENTS: Final = tuple(name for name in vars(LogObserver) if not name.startswith("_"))


class LogObservers(LogObserver):
    """Passes each event on to all of them in turn."""

    def __init__(self, *observers: LogObserver) -> None:
        """Create an observer that passes each event on to these."""
        for event in _EVENTS:
            calls = [getattr(observer, event) for observer in observers if hears(observer, event)]
            if calls:
                setattr(self, event, calls[0] if len(calls) == 1 else _all_of(calls))


def hears(observer: LogObserver, event: str) -> bool:
    """Whether an observer does anything at this event: appends are not to pay for observers that ignore them."""
    return getattr(getattr(observer, event), "__func__", None) is not getattr(LogObserver, event)


def _all_of(calls: list[Callable[..., None]]) -> Callable[..., None]:
    def tell(*what: object) -> None:
        for call in calls:
            call(*what)

    return tell
