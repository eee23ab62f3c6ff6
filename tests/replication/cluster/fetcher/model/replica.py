"""One replica of the model: its log, what it does, and what others know of it.

What the controller and leaders know of a replica is kept with the replica, and a leader is named by its epoch. So a
cluster is three replicas in any order, and two clusters that differ in the brokers' names alone are one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from epoch import EndOffset, EpochHistory
from replication.cluster.fetcher.decisions.actions import Append
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.decisions.fetch_state_machine import FetchQuestion, LeaderOffsets
from replication.cluster.fetcher.decisions.followed_log_state import FollowedLogState
from replication.wire.error_code import ErrorCode


class Record(NamedTuple):
    """Who wrote it, and what: two records of one epoch at one offset differ in their value."""

    epoch: int
    value: int

    def __str__(self) -> str:
        return f"{self.epoch}" + "'" * self.value


Log = tuple[Record, ...]
"""The record at each offset."""


class Answer(NamedTuple):
    """What a leader said, on its way back."""

    error: ErrorCode
    body: EndOffset | LeaderOffsets | Append


class Tracked(NamedTuple):
    """What one leader knows of this replica."""

    leader_epoch: int
    end_offset: int
    """The offset that it last fetched from; -1 before it did."""
    in_isr: bool
    of_this_life: bool
    """Whether that fetch came since the replica last started."""


class LateFetch(NamedTuple):
    """A fetch that is still on its way, though the replica has gone on to something else."""

    leader_epoch: int
    question: FetchQuestion
    of_this_life: bool


@dataclass(frozen=True, slots=True, eq=False)
class Replica:
    """A value: replicas with the same fields are the same object, so that comparing and hashing them costs nothing."""

    log: Log = ()
    history: EpochHistory = EpochHistory()  # noqa: RUF009  a value
    high_watermark: int = 0
    epoch: int = -1
    """The leader epoch that it acts in; after a start the one before the last that it knew, until it is told."""
    leads_from: int = -1
    """Where its log ended when it began to lead; -1 when it does not lead."""
    following: FetchState | None = None
    answer: Answer | None = None
    """The answer to what it asked, underway; None while its question is underway."""
    late: LateFetch | None = None
    is_down: bool = False
    """It crashed, and has not been registered since."""
    terms: frozenset[int] = frozenset()
    """The leader epochs that it was elected for."""
    in_isr: bool = True
    in_elr: bool = False
    tracked: tuple[Tracked, ...] = ()
    """By leaders that lead, or are yet to hear that they do."""
    serial: int = 0

    @property
    def leads(self) -> bool:
        return self.leads_from >= 0

    @property
    def end(self) -> int:
        """The log end offset."""
        return len(self.log)

    @property
    def log_state(self) -> FollowedLogState:
        return FollowedLogState(0, len(self.log), self.high_watermark, self.history)

    def but(self, **changes: Any) -> Replica:
        """Return the replica with these fields changed."""
        values = [changes.get(name, value) for name, value in zip(_NAMES, _values(self), strict=True)]
        return _intern(tuple(values))

    def truncated(self, offset: int) -> Replica:
        """Return the replica with its log, epochs and high watermark cut to end at `offset`."""
        return self.but(
            log=self.log[:offset],
            history=self.history.truncate_to(min(offset, self.end)),
            high_watermark=min(self.high_watermark, offset),
        )

    def appended(self, records: Log) -> Replica:
        """Return the replica with records appended."""
        history = self.history
        for offset, record in enumerate(records, self.end):
            history = history.assign(record.epoch, offset)
        return self.but(log=self.log + records, history=history)

    def tracked_by(self, leader_epoch: int) -> Tracked | None:
        """Return what the leader of this epoch knows of it."""
        for each in self.tracked:
            if each.leader_epoch == leader_epoch:
                return each
        return None

    @cache  # noqa: B019  replicas are kept for good
    def tracked_as(self, tracked: Tracked) -> Replica:
        """Return the replica as a leader knows it now."""
        others = [each for each in self.tracked if each.leader_epoch != tracked.leader_epoch]
        return self.but(tracked=tuple(sorted([*others, tracked])))

    @cache  # noqa: B019
    def forgotten_by(self, leader_epoch: int) -> Replica:
        """Return the replica when nobody leads this epoch any more, or ever will."""
        late = None if self.late is not None and self.late.leader_epoch == leader_epoch else self.late
        return self.but(late=late, tracked=tuple(each for each in self.tracked if each.leader_epoch != leader_epoch))

    @cache  # noqa: B019
    def committed(self, high_watermark: int) -> Replica:
        """Return the replica with another high watermark."""
        return self.but(high_watermark=high_watermark)

    @cache  # noqa: B019
    def eligible(self, *, in_isr: bool, in_elr: bool) -> Replica:
        """Return the replica as the controller counts on it now."""
        return self.but(in_isr=in_isr, in_elr=in_elr)

    @cache  # noqa: B019
    def elected(self, leader_epoch: int) -> Replica:
        """Return the replica when it was elected to lead in an epoch."""
        return self.but(terms=self.terms | {leader_epoch})

    @cache  # noqa: B019
    def delivered(self) -> Replica:
        """Return the replica when its late fetch has arrived."""
        return self.but(late=None)

    @cache  # noqa: B019
    def written(self, record: Record) -> Replica:
        """Return the replica with one record more."""
        return self.appended((record,))


_NAMES = tuple(field.name for field in fields(Replica) if field.name != "serial")
_values = attrgetter(*_NAMES)
_known: dict[tuple[Any, ...], Replica] = {}
_by_serial: list[Replica] = []


def _intern(values: tuple[Any, ...]) -> Replica:
    replica = _known.get(values)
    if replica is None:
        replica = _known[values] = Replica(*values, serial=len(_by_serial))
        _by_serial.append(replica)
    return replica


def replica_number(serial: int) -> Replica:
    """Return the replica with this serial number."""
    return _by_serial[serial]


def forget_replicas() -> None:
    """Let go of all replicas, of which none may be in use: those made from now on are other objects."""
    _known.clear()
    _by_serial.clear()
    for made in (
        Replica.tracked_as,
        Replica.forgotten_by,
        Replica.committed,
        Replica.eligible,
        Replica.elected,
        Replica.delivered,
        Replica.written,
    ):
        made.cache_clear()
