"""Which leader epochs a log takes, and what they change in its history of epochs."""

from logstore.errors import FencedLeaderEpochError
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment


class LeaderEpochs:
    """Notes each new leader before it writes, and refuses one whose epoch is over."""

    def __init__(self, environment: LogEnvironment, contents: LogContents) -> None:
        """Change the history of a log."""
        self._environment = environment
        self._contents = contents

    def begin(self, epoch: int, start_offset: int) -> None:
        """Note that `epoch` leads from `start_offset` on. Raises FencedLeaderEpochError, InvalidEpochEntryError."""
        self.refuse_lower(epoch)
        self.assign(epoch, start_offset, magic=2)

    def refuse_lower(self, epoch: int) -> None:
        """Refuse a leader whose epoch is over: what it did would make later ones be forgotten."""
        latest = self._contents.epochs.latest
        if latest is not None and epoch < latest.epoch and not self._environment.config.takes_lower_epochs:
            raise FencedLeaderEpochError(
                f"leader epoch {epoch} is fenced: epoch {latest.epoch} leads from offset {latest.start_offset:,} on",
                file=self._environment.directory,
                offset=self._contents.log_end_offset,
                advice="omit `leader_epoch` to use the latest one, or pass a higher one",
            )

    def assign(self, epoch: int, start_offset: int, *, magic: int) -> None:
        """Note whose batches come next; those of magic 0 and 1 have no epochs, and end the history."""
        contents = self._contents
        if magic < 2:
            if contents.epochs:
                contents.epochs.clear_and_flush()
            return
        contents.epochs.assign(epoch, start_offset)
        # From here on this epoch's batches change nothing, as long as the log only grows.
        contents.current_epoch = epoch if start_offset <= contents.log_end_offset else -1

    def truncate_to_end(self) -> None:
        """Make room for another leader: one that wrote nothing may have left an entry at the log's end."""
        self._contents.epochs.truncate_to(self._contents.log_end_offset)
        self._contents.current_epoch = -1
