"""What is found, only by reading, to be damaged in copies that are served."""

from collections.abc import Callable
from threading import Lock
from typing import Final

from logstore.errors import LogClosedError, LogStoreError
from logstore.topic_partition import TopicPartition
from replication.cluster.serving.unserved import Unserved


class Damages:
    """Notes each damage once, however many read it; any thread may call."""

    def __init__(self) -> None:
        """Know of none."""
        self.observer: Callable[[Unserved], object] | None = None
        """Called with each new one, by the thread that has come upon it."""
        self._lock: Final = Lock()
        self._found: dict[object, Unserved] = {}

    @property
    def found(self) -> list[Unserved]:
        """All until now."""
        with self._lock:
            return list(self._found.values())

    def note(self, partition: TopicPartition, broker: str, error: Exception) -> None:
        """Note the error of reading a copy."""
        if isinstance(error, LogClosedError):
            return
        unserved = Unserved(partition, broker, error, is_partly_served=True)
        with self._lock:
            is_new = self._found.setdefault(_place_of(unserved), unserved) is unserved
        if is_new and self.observer is not None:
            self.observer(unserved)


def _place_of(unserved: Unserved) -> object:
    """Return what is the same however a damage is come upon: those who read ask for different offsets in a batch."""
    error = unserved.error
    if isinstance(error, LogStoreError) and error.position is not None:
        return error.file, error.position
    return unserved.partition, unserved.broker, str(error)
