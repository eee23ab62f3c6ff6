"""A broker of the model: its copy, what it does with it, and what is on its way between it and others."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from replication.cluster.fetcher.decisions.fetch_state_machine import FetchQuestion
from replication.wire.messages.alter_partition import IsrChange
from tests.replication.cluster.fetcher.model.replica import Replica
from tests.replication.cluster_model.canonical import Canonical
from tests.replication.cluster_model.metadata import Granted, Metadata


class SentChange(NamedTuple):
    """A change of the ISR on its way to the controller, or the answer on its way back."""

    change: IsrChange
    broker_epoch: int
    answer: Granted | None = None


class SentFetch(NamedTuple):
    """A fetch that may still arrive, though its sender has gone on to something else."""

    leader: int
    leader_epoch: int
    broker_epoch: int
    question: FetchQuestion


class Progress(NamedTuple):
    """What a leader knows of a follower: the fields of a FollowerProgress."""

    fetched_at: int
    leader_end_offset: int
    broker_epoch: int | None
    caught_up_at: int
    log_end_offset: int
    log_start_offset: int


@dataclass(frozen=True, eq=False)
class Leadership(metaclass=Canonical):
    """A LedPartition between two calls, as a value."""

    attributes: tuple[tuple[str, Any], ...]
    """All but those whom it works with, by name."""
    followers: tuple[tuple[int, Progress], ...]
    """By broker ids."""
    leader_epoch: int
    partition_epoch: int
    epoch_start_offset: int
    maximal_isr: frozenset[int]
    wanted: IsrChange | None


@dataclass(frozen=True, eq=False)
class Node(metaclass=Canonical):
    """A broker between two events."""

    replica: Replica
    """Its log, and the leader epoch and follower's state in which it acts."""
    led: Leadership | None = None
    view: Metadata | None = None
    """The newest metadata that it has heard; None until it has heard of its own registration."""
    broker_epoch: int = -1
    """In which it is registered; while it is down, in which it was."""
    is_up: bool = True
    has_stopped_in_order: bool = False
    changes: tuple[SentChange, ...] = ()
    late: SentFetch | None = None

    def but(self, **changes: Any) -> Node:
        """Return the node with these fields changed."""
        return Node(*[changes[name] if name in changes else getattr(self, name) for name in _NAMES])


_NAMES = tuple(field.name for field in fields(Node))
