"""What a follower must truncate before it may follow a leader: decisions only, no log and no network.

Three versions of the protocol exist, each of them a `TruncationProtocol`. The caller sends the requests to the leader
and truncates the log:

    truncation = Truncation(protocol, history, log_end_offset, high_watermark)
    while isinstance(step := truncation.next(), AskEndOffset) or not step.complete:
        if isinstance(step, AskEndOffset):
            truncation.answer(...)  # what the leader's end_offset_for(step.epoch) returned
        else:
            truncation.truncated(...)  # the log's end, after it was truncated to step.offset
    # truncate the log to step.offset and start to fetch

Since KIP-595 a leader may also find the divergence itself when it answers a Fetch: it calls `diverging_epoch`, and the
follower calls `truncation_for`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from epoch.entry import EndOffset
from epoch.errors import TruncationOrderError, UnknownEpochError

if TYPE_CHECKING:
    from epoch.history import EpochHistory


class TruncationProtocol(StrEnum):
    """How a follower finds out where its log stops agreeing with the leader's."""

    HIGH_WATERMARK = "high-watermark"
    """Truncate to the follower's high watermark (Kafka before 0.11). Loses committed records, lets logs diverge."""

    KIP_101 = "kip-101"
    """Ask the leader once where the follower's latest epoch ends. Lets logs diverge after unclean or fast elections."""

    KIP_320 = "kip-320"
    """Ask until leader and follower agree on an epoch (KIP-279, KIP-320)."""


@dataclass(frozen=True, slots=True)
class AskEndOffset:
    """Ask the leader where `epoch` ends: an OffsetForLeaderEpoch request."""

    epoch: int


@dataclass(frozen=True, slots=True)
class TruncateTo:
    """Truncate the log to `offset`; unless that is `complete`, more requests follow (Kafka: OffsetTruncationState)."""

    offset: int
    complete: bool


class Truncation:
    """Finds a follower's truncation offset: call `next()`, do what it returns, and report the result.

    This ends whatever the leader answers, after at most as many rounds as the follower has epochs: every truncation
    that is not complete removes at least the epoch that was asked about.
    """

    def __init__(
        self, protocol: TruncationProtocol, history: EpochHistory, log_end_offset: int, high_watermark: int
    ) -> None:
        self.protocol = protocol
        self.history: EpochHistory = history
        self.log_end_offset: int = log_end_offset
        self.high_watermark = high_watermark
        self._decision: TruncateTo | None = None

    def __repr__(self) -> str:
        ends = f"log_end_offset={self.log_end_offset}, high_watermark={self.high_watermark}"
        return f"Truncation({self.protocol.name}, {ends})"

    def next(self) -> AskEndOffset | TruncateTo:
        """Return the next step; the same one until its result is reported."""
        if self._decision is not None:
            return self._decision
        return first_step(self.protocol, self.history, self.log_end_offset, self.high_watermark)

    def answer(self, answer: EndOffset) -> None:
        """Report the leader's answer. Raises TruncationOrderError if no request was due."""
        if not isinstance(self.next(), AskEndOffset):
            raise TruncationOrderError(f"an answer was reported, but the next step is {self.next()}")
        self._decision = truncation_for(
            answer, self.history, self.log_end_offset, self.high_watermark, protocol=self.protocol
        )

    def truncated(self, log_end_offset: int) -> None:
        """Report the log's end after a truncation that was not complete; it may be lower than requested.

        Raises TruncationOrderError if no such truncation was due, or if the log still ends above its offset.
        """
        if self._decision is None or self._decision.complete:
            raise TruncationOrderError(f"a truncation was reported, but the next step is {self.next()}")
        if log_end_offset > self._decision.offset:
            raise TruncationOrderError(f"the log ends at {log_end_offset}, but the next step is {self._decision}")
        self.history = self.history.truncate_to(log_end_offset)
        self.log_end_offset = log_end_offset
        self._decision = None


def first_step(
    protocol: TruncationProtocol, history: EpochHistory, log_end_offset: int, high_watermark: int
) -> AskEndOffset | TruncateTo:
    """Decide which epoch to ask the leader about; without epochs, what to truncate unasked.

    Kafka: AbstractFetcherThread.maybeTruncate.
    """
    if protocol is TruncationProtocol.HIGH_WATERMARK or history.latest_epoch is None:
        return _to_high_watermark(high_watermark, log_end_offset)
    return AskEndOffset(history.latest_epoch)


def truncation_for(
    answer: EndOffset,
    history: EpochHistory,
    log_end_offset: int,
    high_watermark: int,
    *,
    protocol: TruncationProtocol = TruncationProtocol.KIP_320,
) -> TruncateTo:
    """Decide what to truncate, given where the leader says an epoch of the follower ends or the logs diverge.

    Kafka: AbstractFetcherThread.getOffsetTruncationState. After a diverging epoch in a Fetch response the follower
    truncates to the decision's offset and continues to fetch from there, complete or not.
    """
    if protocol is TruncationProtocol.KIP_101:
        # Leaders of that time sent no epoch.
        answer = EndOffset(-1, answer.end_offset)
    if answer.end_offset < 0:
        return _to_high_watermark(high_watermark, log_end_offset)
    leader_end = min(answer.end_offset, log_end_offset)
    own = history.end_offset_for(answer.epoch, log_end_offset)
    if own.end_offset < 0:
        # The leader sent no epoch, as before KIP-279, or one that lies above all that the follower knows.
        return TruncateTo(leader_end, complete=True)
    # Where the follower does not know the leader's epoch, the two may share nothing beyond the follower's last
    # epoch below it.
    agreed = own.epoch == answer.epoch
    limit = leader_end if agreed else log_end_offset
    return TruncateTo(min(own.end_offset, limit), complete=agreed)


def diverging_epoch(
    history: EpochHistory, log_end_offset: int, fetch_offset: int, last_fetched_epoch: int
) -> EndOffset | None:
    """Decide, as leader, whether a follower's log diverges from this one before its fetch offset (KIP-595).

    Returns the epoch and end offset for the Fetch response, or None if it does not diverge. Raises UnknownEpochError if
    the leader does not know where the epoch ends, which Kafka answers with OFFSET_OUT_OF_RANGE.
    """
    end = history.end_offset_for(last_fetched_epoch, log_end_offset)
    if end.end_offset < 0 or end.epoch < 0:
        raise UnknownEpochError(last_fetched_epoch)
    return end if end.epoch < last_fetched_epoch or end.end_offset < fetch_offset else None


class Round(NamedTuple):
    """One request to the leader, and its answer."""

    requested_epoch: int
    answer: EndOffset


class TruncationOutcome(NamedTuple):
    """The offset that a follower truncates to, and the rounds that led to it."""

    rounds: list[Round]
    truncate_to: int


def truncate_against(
    leader: EpochHistory,
    leader_log_end_offset: int,
    truncation: Truncation,
) -> TruncationOutcome:
    """Run a follower's whole truncation against a leader's history, without a network."""
    rounds: list[Round] = []
    while isinstance(step := truncation.next(), AskEndOffset) or not step.complete:
        if isinstance(step, AskEndOffset):
            answer = leader.end_offset_for(step.epoch, leader_log_end_offset)
            rounds.append(Round(step.epoch, answer))
            truncation.answer(answer)
        else:
            truncation.truncated(step.offset)
    return TruncationOutcome(rounds, step.offset)


def _to_high_watermark(high_watermark: int, log_end_offset: int) -> TruncateTo:
    return TruncateTo(min(high_watermark, log_end_offset), complete=True)
