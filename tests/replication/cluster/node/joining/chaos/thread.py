"""What goes on in a thread during a round of chaos."""

from abc import ABC, abstractmethod
from threading import Event, Thread
from typing import Final

_STOP_SECONDS: Final = 600.0
"""Longer than any client waits for what it was asked to do last."""


class ChaosThread(ABC):
    """Runs until it is stopped; who stops it is told what has ended it before."""

    def start(self) -> None:
        """Begin."""
        self._stopped = Event()
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._watched, daemon=True)
        self._thread.start()

    def stop(self, seconds: float = _STOP_SECONDS) -> None:
        """End it; may be called again. Raises what it has failed with; AssertionError where it does not end."""
        self._stopped.set()
        self._thread.join(seconds)
        assert not self._thread.is_alive(), f"{self} has not ended within {seconds} s"
        if self._failure is not None:
            raise self._failure

    @abstractmethod
    def _run(self) -> None:
        """Do it until `_stopped` is set."""

    def _watched(self) -> None:
        try:
            self._run()
        except BaseException as error:  # noqa: BLE001  who stops it raises it
            self._failure = error
