"""The right to append to a log in one leader epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, overload

from logstore.arguments import ensure_bool
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.record import Record

if TYPE_CHECKING:
    from concurrent.futures import Future

    from logstore.append.append_info import AppendInfo
    from logstore.batch.batch_template import BatchTemplate

Records = Sequence[Record | bytes] | bytes | bytearray | memoryview


class LedAppend(Protocol):
    """Appends to the log of a leadership, unless that is fenced; see `Log.append`."""

    def __call__(
        self,
        leadership: Leadership,
        records: Records,
        template: BatchTemplate | None,
        origin: AppendOrigin,
        transaction_version: int | None,
        *,
        durable: bool,
    ) -> AppendInfo | Future[AppendInfo]:
        """Append as this leadership. Raises FencedLeaderEpochError."""
        ...


class Leadership:
    """Appends in one leader epoch until another one leads: `Log.lead` makes it.

    It is fenced by the next `lead`, by another epoch that is assigned or appended in, by batches that are appended as a
    follower, and by a truncation. So a thread that comes late writes nothing into its successor's epoch.

    >>> leadership = log.lead(4)
    >>> leadership.append([b"first"])
    """

    def __init__(
        self,
        epoch: int,
        start_offset: int,
        *,
        append: LedAppend,
        advance: Callable[[Leadership, int], int],
        is_current: Callable[[Leadership], bool],
    ) -> None:
        """Lead a log by these calls of it."""
        self.epoch = epoch
        """The leader epoch of all that is appended by it."""
        self.start_offset = start_offset
        """Where the log ended as it began."""
        self._append = append
        self._advance = advance
        self._is_current = is_current

    def __repr__(self) -> str:
        return f"{type(self).__name__}(epoch={self.epoch}, start_offset={self.start_offset})"

    @property
    def is_fenced(self) -> bool:
        """Whether it is over: its next call raises FencedLeaderEpochError."""
        return not self._is_current(self)

    @overload
    def append(
        self,
        records: Records,
        *,
        template: BatchTemplate | None = None,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int | None = None,
        durable: Literal[False] = False,
    ) -> AppendInfo: ...

    @overload
    def append(
        self,
        records: Records,
        *,
        template: BatchTemplate | None = None,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int | None = None,
        durable: Literal[True],
    ) -> Future[AppendInfo]: ...

    def append(
        self,
        records: Records,
        *,
        template: BatchTemplate | None = None,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int | None = None,
        durable: bool = False,
    ) -> AppendInfo | Future[AppendInfo]:
        """Append as `Log.append` does, in this leadership's epoch.

        Raises FencedLeaderEpochError once it is fenced, with nothing appended, and what `Log.append` raises.
        """
        ensure_bool(durable, "durable")
        return self._append(self, records, template, origin, transaction_version, durable=durable)

    def advance_high_watermark(self, offset: int) -> int:
        """Do as `Log.advance_high_watermark`. Raises FencedLeaderEpochError once it is fenced, and what that raises."""
        return self._advance(self, offset)
