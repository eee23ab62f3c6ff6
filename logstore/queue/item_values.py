"""The values of a queue's items, read from its log a piece at a time."""

from typing import Final

from logstore.errors import CorruptRecordError
from logstore.log.log import Log

_PIECE_BYTES: Final = 64 << 10
_MOST_KEPT: Final = 4 << 20


class ItemValues:
    """Keeps what was put last, and what was read along with an item: the next ones that are asked for, mostly."""

    def __init__(self, log: Log) -> None:
        """Read nothing yet."""
        self._log = log
        self._kept: dict[int, bytes] = {}
        self._size = 0

    def keep(self, place: int, value: bytes) -> None:
        """Keep a value that was just written, as long as there is room."""
        if self._size + len(value) <= _MOST_KEPT:
            self._kept[place] = value
            self._size += len(value)

    def take(self, place: int) -> bytes:
        """Return a value, and keep it no longer. Raises what `Log.read` and `ReadView.records` raise."""
        if place not in self._kept:
            self._read(place)
        value = self._kept.pop(place, None)
        if value is None:
            raise CorruptRecordError(
                "the queue's log has no item where it was written",
                file=self._log.directory,
                offset=place,
                advice="open the queue anew, which reads all of its log",
            )
        self._size -= len(value)
        return value

    def _read(self, place: int) -> None:
        records = self._log.read(place, _PIECE_BYTES).records()
        self._kept = {record.offset: record.value or b"" for record in records if record.offset >= place}
        self._size = sum(map(len, self._kept.values()))
