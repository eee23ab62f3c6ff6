"""What a log was opened with: its directory and configuration, and the outside world that it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from logstore.clock import now_ms, watched
from logstore.log.observers.log_observers import LogObservers, hears
from logstore.log.observers.logging_observer import LoggingObserver
from logstore.log_config import MAX_INT64, NO_LIMIT
from logstore.recovery.damage_policy import DamagePolicy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from epoch.filesystem import FileSystem
    from logstore.clock import WatchedClock
    from logstore.files.only_copy.space_reserve import SpaceReserve
    from logstore.log.observers.log_observer import LogObserver
    from logstore.log.state.root_claims import RootClaims
    from logstore.log_config import LogConfig
    from logstore.segment.open_files import OpenFiles

T = TypeVar("T")


def ignore_shortage(_: OSError) -> None:
    """Ignore a full disk."""


class LogEnvironment:
    """Shared by all parts of a log."""

    __slots__ = (
        "accepts_unchanged",
        "clock",
        "config",
        "damage",
        "default_retention_ms",
        "directory",
        "events",
        "filesystem",
        "flushes_by_count",
        "observer",
        "open_files",
        "out_of_space",
        "reserve",
        "root_claims",
        "stands_alone",
        "watched_clock",
        "writes",
    )

    config: LogConfig
    accepts_unchanged: bool
    """`LogConfig.accepts_unchanged`, which each append asks for."""
    flushes_by_count: bool
    """Whether appends flush once `flush_messages` are not on stable storage."""

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        filesystem: FileSystem,
        clock: Callable[[], int],
        observer: LogObserver | None,
        open_files: OpenFiles | None,
        out_of_space: Callable[[OSError], object] = ignore_shortage,
        damage: DamagePolicy = DamagePolicy.RAISE,
        *,
        stands_alone: bool = False,
        default_retention_ms: int = NO_LIMIT,
        reserve: SpaceReserve | None = None,
        root_claims: RootClaims | None = None,
    ) -> None:
        """Open with these. Raises ValueError for what a log that stands alone cannot do."""
        self.directory: Path = directory
        self.filesystem: FileSystem = filesystem
        self.observer: LogObserver | None = observer
        """Called with all that happens; see `writes` and `events`."""
        self.open_files: OpenFiles | None = open_files
        self.out_of_space: Callable[[OSError], object] = out_of_space
        """Called with each error of a full disk, by whoever meets it, with the log's lock held."""
        self.damage: DamagePolicy = damage
        self.stands_alone: bool = stands_alone
        """Whether it is in no `LogDirectory`: nobody flushes it by time."""
        self.default_retention_ms: int = default_retention_ms
        """Where the configuration sets none."""
        self.reserve: SpaceReserve | None = reserve
        """Space for what a full disk must not prevent."""
        self.root_claims: RootClaims | None = root_claims
        """The checkpoint files of the root that the log lies in."""
        self.configure(config)
        self.watched_clock: WatchedClock | None = watched(clock)
        """By which the time is trusted or not; None where it always is."""
        # What a clock that is watched returns, without a call more for each append.
        self.clock: Callable[[], int] = clock if self.watched_clock is None else now_ms
        """Milliseconds since 1970 UTC."""
        listens = observer is not None and any(hears(observer, event) for event in ("appended", "flushed"))
        self.writes: LogObserver | None = observer if listens else None
        """Called at appends and flushes, which pay nothing where nobody listens to them."""
        self.events: LogObservers | LoggingObserver = (
            LogObservers(LoggingObserver(), observer) if observer else LoggingObserver()
        )
        """Called at rare events: all but appends and flushes."""

    def configure(self, config: LogConfig) -> None:
        """Change the configuration. Raises ValueError for what a log that stands alone cannot do."""
        if self.stands_alone and config.flush_ms < MAX_INT64:
            raise ValueError(
                f"flush_ms is {config.flush_ms:,}, and a log that stands alone has no thread that flushes it: append "
                "with durable=True, set flush_messages, or open it in a LogDirectory with periodic=True"
            )
        self.config = config
        self.accepts_unchanged = config.accepts_unchanged
        self.flushes_by_count = config.flush_messages < MAX_INT64

    def insist(self, call: Callable[[], T]) -> T:
        """Call, again where the disk is full, in the space that is kept for that. Raises OSError.

        Each step of `call` may be done again.
        """
        return call() if self.reserve is None else self.reserve.spend(call)

    @property
    def is_replicated(self) -> bool:
        """Whether other nodes have copies of the log, and its epochs come from whoever elects their leader."""
        return self.damage.is_replicated

    def expiry_ms(self) -> int:
        """Return the time by which something is too old; 0, when nothing is, while the clock is not trusted."""
        is_doubted = self.watched_clock is not None and self.watched_clock.doubt is not None
        return 0 if is_doubted else self.clock()

    @property
    def retention_ms(self) -> int:
        """How old a segment's records get; -1 without a limit."""
        retention_ms = self.config.retention_ms
        return self.default_retention_ms if retention_ms is None else retention_ms
