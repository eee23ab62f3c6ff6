"""Replicas as lists: which epoch wrote each offset. Elections of any replica make them diverge as Kafka's do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from epoch import EndOffset, EpochHistory, Truncation, TruncationProtocol, diverging_epoch, truncation_for

if TYPE_CHECKING:
    from random import Random


@dataclass
class Replica:
    """`log[offset]` is the epoch of the record there; what lies below `start` has been deleted."""

    log: list[int] = field(default_factory=list)
    history: EpochHistory = field(default_factory=EpochHistory)
    start: int = 0
    high_watermark: int = 0

    @property
    def end(self) -> int:
        """The log end offset."""
        return len(self.log)

    def lead(self, epoch: int) -> None:
        """Be elected."""
        self.history = self.history.assign(epoch, self.end)

    def append(self, *epochs: int) -> Replica:
        """Append a record of each of these epochs."""
        for epoch in epochs:
            self.history = self.history.assign(epoch, self.end)
            self.log.append(epoch)
        return self

    def truncate(self, offset: int) -> None:
        """Remove the records from `offset` on."""
        del self.log[offset:]
        self.history = self.history.truncate_to(offset)
        self.start = min(self.start, self.end)
        self.high_watermark = min(self.high_watermark, self.end)

    def delete_records(self, before: int) -> None:
        """Delete the records before an offset."""
        self.start = max(self.start, min(before, self.end))
        self.history = self.history.truncate_from_start(self.start)

    def agrees_until(self, other: Replica) -> int:
        """The first offset at which the two logs, all that was ever written of them, differ or end."""
        shared = 0
        for own, others in zip(self.log, other.log, strict=False):
            if own != others:
                break
            shared += 1
        return shared

    def follow(self, leader: Replica, count: int) -> None:
        """Truncate what the leader does not have, and copy up to `count` records."""
        self.truncate(self.agrees_until(leader))
        self.append(*leader.log[self.end : self.end + count])

    def truncation(self, protocol: TruncationProtocol) -> Truncation:
        """What this replica does before it follows a leader."""
        return Truncation(protocol, self.history, self.end, self.high_watermark)


def after_elections(random: Random, elections: int, replicas: int = 3) -> list[Replica]:
    """Replicas after elections of any of them: each leader writes, and is followed by some, up to somewhere.

    The less they follow each other, the more epochs they have led apart.
    """
    cluster = [Replica() for _ in range(replicas)]
    followed = random.choice([0.02, 0.1, 0.5])
    epoch = 0
    for _ in range(elections):
        leader = random.choice(cluster)
        leader.lead(epoch)
        for _ in range(random.choice([0, 1, 1, 2])):
            leader.append(*[epoch] * random.randint(0, 4))
            for follower in cluster:
                if follower is not leader and random.random() < followed:
                    follower.follow(leader, random.choice([0, 1, 2, 100]))
        epoch += random.choice([1, 1, 1, 2])
    random.choice(cluster).lead(epoch)
    for replica in cluster:
        replica.high_watermark = random.randint(0, replica.end)
    return cluster


def elected(replica: Replica) -> EpochHistory:
    """The history of a replica that has just become leader, in an epoch of its own."""
    return replica.history.assign(100_000, replica.end)


def truncate_while_fetching(leader: EpochHistory, leader_end: int, follower: Replica) -> tuple[list[EndOffset], int]:
    """Truncate as fetch responses say (KIP-595), until one has no diverging epoch: these epochs, and the log end."""
    told: list[EndOffset] = []
    history, end = follower.history, follower.end
    while history.latest_epoch is not None:
        diverging = diverging_epoch(leader, leader_end, end, history.latest_epoch)
        if diverging is None:
            return told, end
        told.append(diverging)
        end = truncation_for(diverging, history, end, follower.high_watermark).offset
        history = history.truncate_to(end)
    return told, min(end, follower.high_watermark)
