"""Find where a damaged log file can be read again."""

from logstore.batch.layout import MAGIC_AT
from logstore.kernels.data import read_only
from logstore.kernels.scan import CRC_WORK, search_batch
from logstore.offline.holes import written_ranges
from logstore.offline.log_file import LogFile


class BatchSearch:
    """Finds the next batch behind each damage of one file, with one limit to the checksum work of all calls.

    Holes of the file are not read: no batch has its magic byte there.

    >>> search = BatchSearch(log)
    >>> end_of_damage = search.find(position + 1)
    """

    def __init__(self, log: LogFile) -> None:
        """Search in `log`, the whole file."""
        self._path = log.path
        self._data = read_only(log.array)
        self._budget = CRC_WORK * len(self._data)

    def find(self, start: int) -> int:
        """Find the first valid batch at `start` or later, as `find_next_batch` does; -1 where there is none."""
        end = len(self._data)
        for first, stop in written_ranges(self._path, min(start + MAGIC_AT, end), end):
            at, limit = first - MAGIC_AT, stop - MAGIC_AT
            found, budget = search_batch(self._data, at, limit, end, 0, self._budget)
            self._budget = int(budget)
            if found >= 0:
                return int(found)
        return -1
