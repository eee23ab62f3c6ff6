"""What a call has added to a log, and how that is taken back where the call is broken off."""

from epoch.base.resource_limits import is_limit
from epoch.entry import EpochEntry
from epoch.history import EpochHistory
from logstore.file_name import FileFate, FileKind, file_name
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment


class Undo:
    """Goes back to the log end that readers know, from whatever a call has left."""

    def __init__(self, environment: LogEnvironment, contents: LogContents) -> None:
        """Begin with nothing to take back."""
        self._directory = environment.directory
        self._filesystem = environment.filesystem
        self._contents = contents
        self.begun_segment: int = -1
        """Base offset of the segment that a call began last, and may not have come to use."""
        self._history_before: tuple[EpochHistory, EpochEntry | None, int] | None = None
        """The leader epochs before a call, which was kept for the next leader, and where the log ended.

        Who led counts from the batch on that it wrote.
        """

    def begin(self) -> None:
        """Remember who led: a call begins that may add to that."""
        epochs = self._contents.epochs
        self._history_before = epochs.history, epochs.last_reserved, self._contents.end[0]

    def end(self) -> None:
        """Keep who leads: the call has come to its end, or there is no way back."""
        self._history_before = None

    def take_back(self) -> None:
        """Restore the log end offset that readers know. Raises OSError."""
        contents = self._contents
        self._remove_unused_segment()
        end_offset, base_offset, position = contents.end
        active = contents.segments.active
        if active.base_offset == base_offset:
            active.take_back(position, end_offset)
        contents.set_end(end_offset)
        contents.producers.end_offset = end_offset
        contents.current_epoch = -1
        self._restore_epochs(end_offset)

    def _restore_epochs(self, end_offset: int) -> None:
        if self._history_before is not None and self._history_before[2] == end_offset:
            try:
                self._contents.epochs.restore(*self._history_before[:2])
            except OSError as error:
                if not is_limit(error):
                    raise
                # Memory is as it was, and the file gets it before the next batch.
        self._history_before = None

    def _remove_unused_segment(self) -> None:
        """Remove the file of a segment that was begun: found by recovery, it would end the log where it begins."""
        begun = self.begun_segment
        if begun >= 0 and begun not in self._contents.segments.base_offsets:
            for fate in (FileFate.LIVE, FileFate.BEGUN):
                path = self._directory / file_name(FileKind.LOG, begun, fate)
                if path.exists():
                    self._filesystem.unlink(path)
            self.begun_segment = -1
