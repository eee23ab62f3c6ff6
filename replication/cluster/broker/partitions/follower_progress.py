"""How far a follower has got, as its leader learns from its fetches (Kafka: Replica)."""

from collections.abc import Iterable, Mapping
from typing import Final

from replication.records.metadata.nodes import BrokerRegistration
from replication.wire.messages.alter_partition import ANY_BROKER_EPOCH

UNKNOWN_OFFSET: Final = -1
_LONG_AGO: Final = -(1 << 62)


class FollowerProgress:
    """Times are in milliseconds of the leader's clock. Unknown until the follower fetches in the leader's epoch."""

    __slots__ = (
        "_fetched_at",
        "_leader_end_offset",
        "broker_epoch",
        "caught_up_at",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, caught_up_at: int = _LONG_AGO) -> None:
        """Know nothing; a member of the ISR counts as caught up when its leader begins."""
        self.log_end_offset: int = UNKNOWN_OFFSET
        self.log_start_offset: int = UNKNOWN_OFFSET
        self.broker_epoch: int | None = None
        """In which its broker was registered when it fetched; ANY_BROKER_EPOCH where the request does not say."""
        self.caught_up_at: int = caught_up_at
        """The last time at which it had all that its leader had."""
        self._fetched_at = _LONG_AGO
        self._leader_end_offset = UNKNOWN_OFFSET

    def note(self, offset: int, start_offset: int, broker_epoch: int, leader_end_offset: int, now: int) -> None:
        """Note a fetch.

        A follower that asks for what follows the leader's end at its last fetch had caught up at the time of that
        fetch, however much was appended since: otherwise none would be in sync while records keep coming.
        """
        if offset >= leader_end_offset:
            self.caught_up_at = max(self.caught_up_at, now)
        elif offset >= self._leader_end_offset:
            self.caught_up_at = max(self.caught_up_at, self._fetched_at)
        self.log_end_offset = offset
        self.log_start_offset = start_offset
        self.broker_epoch = broker_epoch
        self._leader_end_offset = max(self._leader_end_offset, leader_end_offset)
        self._fetched_at = now

    def follow_on(self, now: int, *, in_sync: bool) -> None:
        """Go on in another epoch of the same leader."""
        self.caught_up_at = self._fetched_at = now if in_sync else _LONG_AGO

    def is_caught_up(self, leader_end_offset: int, now: int, max_lag_ms: int) -> bool:
        """Whether it has all that the leader has, or had not long ago."""
        return self.log_end_offset == leader_end_offset or now - self.caught_up_at <= max_lag_ms

    def may_join(self, broker: BrokerRegistration | None) -> bool:
        """Whether it may be in the ISR: its broker is active, and in the same life in which it fetched (KIP-903)."""
        return broker is not None and broker.is_active and self.broker_epoch in (ANY_BROKER_EPOCH, broker.epoch)

    def is_of_former_life(self, broker_epoch: int, broker: BrokerRegistration | None) -> bool:
        """Whether a fetch was sent before the broker registered anew."""
        return (
            broker_epoch != ANY_BROKER_EPOCH
            and broker is not None
            and not broker.fenced
            and broker_epoch < broker.epoch
        )


def described_lag(followers: Mapping[int, FollowerProgress], behind: Iterable[int], end_offset: int) -> str:
    """Return how far each of those has come that have fallen behind."""
    ends = {each: followers[each].log_end_offset for each in sorted(behind) if each in followers}
    told = (f"broker {each} at {'an unknown offset' if end == UNKNOWN_OFFSET else end}" for each, end in ends.items())
    return f"{', '.join(told)} of {end_offset}"
