"""A log that nobody writes, of which no damaged batch is given to anybody."""

from logstore.log.frozen.frozen_log import FrozenLog
from logstore.log.isolation import Isolation
from logstore.log.reading.sound_ranges import SoundRanges
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment
from logstore.offline.recovered_log import RecoveredLog
from logstore.segment.read_view import ReadView


class CheckedLog(FrozenLog):
    """A `FrozenLog` that checks checksums as bytes are read: `read` gives what precedes a batch that is damaged.

    Many clients do not check them, and recovery after a clean stop does not either. What was just read is not checked
    again.
    """

    def __init__(self, environment: LogEnvironment, contents: LogContents, recovered: RecoveredLog) -> None:
        """Read what was loaded; see `open` and `of`."""
        super().__init__(environment, contents, recovered)
        self._sound = SoundRanges(contents)

    def read(
        self, offset: int, max_bytes: int, *, isolation: Isolation = Isolation.LOG_END, min_one_batch: bool = True
    ) -> ReadView:
        """Read as `Log.read` does. Raises also CorruptBatchError where the batch at `offset` is damaged."""
        return self._sound.checked(super().read(offset, max_bytes, isolation=isolation, min_one_batch=min_one_batch))
