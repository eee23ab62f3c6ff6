"""Which leader epochs a log takes, and what they change in its history of epochs."""

from collections.abc import Callable
from typing import Final, NoReturn

from epoch.entry import EpochEntry
from epoch.history import MAX_EPOCH
from logstore.errors import FencedLeaderEpochError
from logstore.files.followed_mark import is_followed, mark_followed
from logstore.log.leadership import Leadership
from logstore.log.state.log_contents import LogContents
from logstore.log.state.log_environment import LogEnvironment

_LEAD: Final = (
    "append by `leadership = log.lead(epoch)`, or pass `leader_epoch`, with the epoch that you were elected in"
)


class LeaderEpochs:
    """Notes each new leader before it writes, and refuses one whose epoch is over.

    An append that says no epoch never goes on in one of which readers may have seen records that are gone: the cache
    has reserved the next one then. Where epochs come from elsewhere, as a broker's from its controller, nothing is
    reserved, and no file says who wrote here: each append to what was there says in which epoch it is.
    """

    def __init__(self, environment: LogEnvironment, contents: LogContents) -> None:
        """Change the history of a log. Raises OSError."""
        self._environment = environment
        self._contents = contents
        self.note: Callable[[], object] = lambda: None
        """Called once a new epoch is in the checkpoint, and before its first batch is written."""
        # Of a replicated log nobody has noted who wrote what it has.
        is_noted = contents.needs_epoch or is_followed(environment.directory)
        contents.needs_epoch = bool(contents.epochs) if environment.is_replicated else is_noted

    # --- leading

    def own_epoch(self) -> int:
        """Return the epoch of an append that says none. Raises FencedLeaderEpochError where it has to."""
        contents = self._contents
        if contents.needs_epoch:
            raise FencedLeaderEpochError(
                "no leader epoch was given, and others lead this log, too",
                file=self._environment.directory,
                offset=contents.log_end_offset,
                advice=_LEAD,
            )
        reserved = contents.epochs.reserved
        return reserved.epoch if reserved is not None else contents.epochs.latest_epoch or 0

    def lead(self, leadership: Leadership) -> None:
        """Note that this one leads from the log's end on. Raises FencedLeaderEpochError."""
        contents, epoch = self._contents, leadership.epoch
        latest, reserved = contents.epochs.latest_epoch, contents.epochs.reserved
        lowest = reserved.epoch if reserved is not None else 0 if latest is None else latest + 1
        if epoch < lowest:
            raise FencedLeaderEpochError(
                f"leader epoch {epoch} is no new one: readers of this log may have seen epochs up to {lowest - 1}",
                file=self._environment.directory,
                offset=contents.log_end_offset,
                advice=f"pass the epoch that you were elected in, from {lowest} on",
            )
        self.assign(epoch, contents.log_end_offset, magic=2)
        contents.is_following = False
        contents.follows_flush = False  # a leader knows what is committed
        contents.leadership = leadership

    def ensure_leads(self, leadership: Leadership) -> None:
        """Raise FencedLeaderEpochError where this leadership is over."""
        contents = self._contents
        if contents.leadership is not leadership:
            latest = contents.epochs.latest
            raise FencedLeaderEpochError(
                f"the leadership of epoch {leadership.epoch} is fenced: "
                + (
                    f"epoch {latest.epoch} leads from offset {latest.start_offset:,} on"
                    if latest
                    else "the log was cut"
                ),
                file=self._environment.directory,
                offset=contents.log_end_offset,
                advice="append nothing more with it: a leader elected in a later epoch begins with `log.lead(epoch)`",
            )

    def begin(self, epoch: int, start_offset: int) -> None:
        """Note that `epoch` leads from `start_offset` on. Raises FencedLeaderEpochError, InvalidEpochEntryError."""
        self.refuse_lower(epoch)
        self.assign(epoch, start_offset, magic=2)

    def refuse_lower(self, epoch: int) -> None:
        """Refuse a leader whose epoch is over: what it did would make later ones be forgotten, or go unnoticed.

        Who leads on in the latest epoch that ever was here has to know that nobody has read what may be gone of it.
        """
        latest, reserved = self._contents.epochs.latest, self._contents.epochs.reserved
        if reserved is not None and epoch < reserved.epoch:
            is_latest = latest is not None and epoch == latest.epoch == reserved.epoch - 1
            if not is_latest:
                self._refuse_unnoticed(epoch, reserved.epoch)
            if reserved.epoch == self._contents.begun_epoch:
                self._refuse_deposed(epoch, reserved)
        if latest is not None and epoch < latest.epoch and not self._environment.config.takes_lower_epochs:
            self._refuse_deposed(epoch, latest)

    def _refuse_deposed(self, epoch: int, latest: EpochEntry) -> NoReturn:
        raise FencedLeaderEpochError(
            f"leader epoch {epoch} is fenced: epoch {latest.epoch} leads from offset {latest.start_offset:,} on",
            file=self._environment.directory,
            offset=self._contents.log_end_offset,
            advice=_LEAD
            if self._contents.needs_epoch
            else "omit `leader_epoch` to use the latest one, or pass a higher one",
        )

    def _refuse_unnoticed(self, epoch: int, reserved: int) -> NoReturn:
        needs_epoch = self._contents.needs_epoch
        raise FencedLeaderEpochError(
            f"leader epoch {epoch} is over: what was written in epochs up to {reserved - 1} may be gone, and may have "
            "been read",
            file=self._environment.directory,
            offset=self._contents.log_end_offset,
            advice=f"pass leader_epoch={reserved}, or the later one that you were elected in"
            if needs_epoch
            else f"omit `leader_epoch` to begin epoch {reserved}, or pass that or a higher one",
        )

    # --- following, and cuts

    def follow(self) -> None:
        """Note that another leader writes here. Raises OSError."""
        contents, environment = self._contents, self._environment
        if not contents.needs_epoch:
            if not environment.is_replicated:
                mark_followed(environment.directory, environment.filesystem)
            contents.needs_epoch = True
        contents.follows_flush = False  # that leader knows what is committed
        contents.epochs.reserve(None)
        contents.leadership = None
        contents.is_following = True

    def end_before_cut(self, first_gone: int) -> None:
        """End the current leadership before a cut, so that readers can distinguish what follows from what is gone.

        The next leader leads from the first offset on that is gone, where the log goes on behind a gap, too.
        """
        contents = self._contents
        contents.leadership = None
        epochs, latest = contents.epochs, contents.epochs.latest_epoch
        leads_alone = not (contents.needs_epoch or self._environment.is_replicated)
        kept = epochs.last_reserved  # also one that leads already: the cut may take its entry
        if leads_alone and epochs.reserved is None and latest is not None:
            epochs.reserve(EpochEntry(min(latest + 1, MAX_EPOCH), first_gone))
        elif kept is not None:
            epochs.reserve(EpochEntry(kept.epoch, min(kept.start_offset, first_gone)))

    def end_before_start_at(self, offset: int) -> None:
        """Do the same before a log begins anew at `offset`: nobody leads from below its start."""
        epochs = self._contents.epochs
        self.end_before_cut(offset)
        if epochs.last_reserved is not None:
            epochs.reserve(EpochEntry(epochs.last_reserved.epoch, offset))

    def truncate_to_end(self) -> None:
        """Make room for another leader: one that wrote nothing may have left an entry at the log's end."""
        contents = self._contents
        contents.leadership = None
        epochs, latest, end = contents.epochs, contents.epochs.latest, contents.log_end_offset
        epochs.truncate_to(end)
        leads_alone = not (contents.needs_epoch or self._environment.is_replicated)
        if leads_alone and epochs.reserved is None and latest is not None and latest.start_offset >= end:
            epochs.reserve(EpochEntry(latest.epoch, end))  # what it wrote may have been deleted since: readers know it
        contents.current_epoch = -1

    # --- both

    def assign(self, epoch: int, start_offset: int, *, magic: int) -> None:
        """Note whose batches come next; those of magic 0 and 1 have no epochs, and end the history."""
        contents = self._contents
        if contents.leadership is not None and contents.leadership.epoch != epoch:
            contents.leadership = None
        if magic < 2:
            contents.current_epoch = -1
            if contents.epochs:
                contents.epochs.clear_and_flush()
            return
        reserved = contents.epochs.reserved
        if reserved is not None and epoch >= reserved.epoch:
            start_offset = min(start_offset, reserved.start_offset)
        elif reserved is not None:
            contents.epochs.reserve(None)  # who says in which epoch it is knows who led
        if contents.epochs.assign(epoch, start_offset):
            self.note()
        # From here on this epoch's batches change nothing, as long as the log only grows.
        contents.current_epoch = epoch if start_offset <= contents.log_end_offset else -1
