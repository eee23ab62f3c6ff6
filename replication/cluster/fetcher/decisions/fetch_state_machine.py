"""A follower's decisions about one partition: values in, values out; no log, no network, no clock.

Every function takes the partition's state and what was learnt, and returns the next state, with what is to be done to
the log (Kafka: AbstractFetcherThread). One that follows runs them so:

    state = follow(rules, leader_epoch, log_state)
    match ask(state, rules, log_state):
        case AskEndOffset(): ...        # OffsetForLeaderEpoch, then after_epoch_answer
        case OffsetsQuestion(): ... # ListOffsets, then after_offsets
        case FetchQuestion(): ...   # Fetch, then after_fetch, and after_append where it says Append
        case Step(): ...            # nothing to ask: do its action, take its state
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from epoch import UNDEFINED_EPOCH, AskEndOffset, EndOffset, TruncateTo, TruncationProtocol, first_step, truncation_for
from replication.cluster.fetcher.decisions.actions import Action, Append, StartAfresh, Truncate
from replication.cluster.fetcher.decisions.fetch_rules import FetchRules
from replication.cluster.fetcher.decisions.fetch_state import FetchState, Phase
from replication.cluster.fetcher.decisions.followed_log_state import FollowedLogState
from replication.wire.error_code import ErrorCode


class Step(NamedTuple):
    """What comes next: the partition's new state, and what must be done to its log first."""

    state: FetchState
    action: Action | None = None


@dataclass(frozen=True, slots=True)
class OffsetsQuestion:
    """Where does the leader's log start and end? (ListOffsets)."""


@dataclass(frozen=True, slots=True)
class FetchQuestion:
    """What follows `offset`, after a batch of `last_fetched_epoch`? (Fetch)."""

    offset: int
    last_fetched_epoch: int


class LeaderOffsets(NamedTuple):
    """Where the leader's log starts and ends."""

    log_start_offset: int
    log_end_offset: int


def follow(
    rules: FetchRules, leader_epoch: int, log: FollowedLogState, current: FetchState | None = None
) -> FetchState:
    """Begin to follow the leader of `leader_epoch`; a partition that follows it already goes on as it is.

    Kafka: AbstractFetcherThread.partitionFetchState.
    """
    if current is not None and current.leader_epoch == leader_epoch and current.is_active:
        return current
    if rules.truncate_on_fetch and log.history:
        return FetchState(leader_epoch, log.fetch_offset, log.latest_epoch)
    return FetchState(leader_epoch, log.fetch_offset, phase=Phase.TRUNCATING)


def ask(
    state: FetchState, rules: FetchRules, log: FollowedLogState
) -> AskEndOffset | OffsetsQuestion | FetchQuestion | Step:
    """Decide what to ask the leader; a Step where the follower decides alone. Only for states that are ready."""
    if state.phase is Phase.FENCED:
        # Kafka waits to be told of the new leader; here the one followed may have been wrong, or nobody may tell.
        return Step(replace(follow(rules, state.leader_epoch, log), began_at=state.began_at))
    if state.phase is Phase.LOCATING:
        return OffsetsQuestion()
    if state.phase is Phase.FETCHING:
        return FetchQuestion(state.fetch_offset, state.last_fetched_epoch)
    step = first_step(rules.protocol, log.history, log.log_end_offset, log.high_watermark)
    if isinstance(step, TruncateTo):
        reason = "without leader epochs it is unknown which records above the high watermark the leader has"
        return _truncate(state, rules, log, step.offset, reason, complete=step.complete)
    return step


def after_epoch_answer(
    state: FetchState, rules: FetchRules, log: FollowedLogState, error: ErrorCode, answer: EndOffset, now: int
) -> Step:
    """Handle the answer to an OffsetForLeaderEpoch request: where the leader's epoch ends."""
    if error is not ErrorCode.NONE:
        return Step(_after_error(state, rules, error, now))
    return _truncate_as_told(state, rules, log, answer, rules.protocol)


def after_offsets(
    state: FetchState, rules: FetchRules, log: FollowedLogState, error: ErrorCode, leader: LeaderOffsets, now: int
) -> Step:
    """Handle the leader's start and end offsets, after it refused the fetch offset (Kafka: fetchOffsetAndTruncate).

    A log that goes on beyond the leader's is cut to the leader's end; one that ends before the leader's starts, or
    starts after the leader's ends, begins anew where that starts; any other goes on where it ends, once its epochs are
    known to agree. So does one begin anew that began too late, by a start which the same leader has taken back.
    """
    if error is not ErrorCode.NONE:
        return Step(_after_error(state, rules, error, now))
    if leader.log_start_offset < state.began_at:
        reason = f"the leader's log starts at offset {leader.log_start_offset:,}, and not at {state.began_at:,}"
        return _start_afresh(state, leader, reason)
    if leader.log_end_offset < log.log_start_offset:
        # Kafka's followers go on at the leader's end, and lack what the leader has below.
        reason = f"the leader's log ends at offset {leader.log_end_offset:,}, before this log's start"
        return _start_afresh(state, leader, reason)
    if leader.log_end_offset < log.log_end_offset:
        reason = f"the leader's log ends at offset {leader.log_end_offset:,}"
        return _truncate(state, rules, log, leader.log_end_offset, reason, complete=False)
    if leader.log_start_offset > log.log_end_offset:
        reason = f"the leader's log starts at offset {leader.log_start_offset:,}, beyond this log's end"
        return _start_afresh(state, leader, reason)
    lag = leader.log_end_offset - log.log_end_offset
    if rules.asks:
        return Step(replace(state, phase=Phase.TRUNCATING, lag=lag))
    return Step(_fetching(state, rules, log.log_end_offset, log, lag))


def after_fetch(
    state: FetchState, rules: FetchRules, log: FollowedLogState, error: ErrorCode, answer: Append | EndOffset, now: int
) -> Step:
    """Handle a fetch's answer: batches to append, or the diverging epoch and its end offset (KIP-595).

    After an Append, `after_append` gives the next state.
    """
    if error is ErrorCode.OFFSET_OUT_OF_RANGE:
        return Step(replace(state, phase=Phase.LOCATING))
    if error is not ErrorCode.NONE:
        return Step(_after_error(state, rules, error, now))
    if isinstance(answer, Append):
        if state.fetch_offset != log.log_end_offset:
            return Step(
                state.failed(f"fetched from offset {state.fetch_offset:,}, but the log ends at {log.log_end_offset:,}")
            )
        return Step(state, answer)
    return _truncate_as_told(state, rules, log, answer)


def after_append(state: FetchState, rules: FetchRules, log: FollowedLogState, answer: Append) -> FetchState:
    """Go on after the batches of an answer were appended; `log` is as they left it.

    A log that began where the leader said that its own starts lacks records where it starts earlier after all: a
    leader's log never does so, but what it says may be wrong.
    """
    lag = max(0, answer.high_watermark - log.log_end_offset)
    after = _fetching(state, rules, log.log_end_offset, log, lag)
    return replace(after, phase=Phase.LOCATING) if 0 <= answer.log_start_offset < state.began_at else after


def after_cut(state: FetchState, log: FollowedLogState) -> FetchState:
    """Go on where the log ends after it was cut: within a batch nothing can be cut, so that may be earlier."""
    if log.log_end_offset >= state.fetch_offset:
        return state
    asks_by_epoch = state.last_fetched_epoch != UNDEFINED_EPOCH
    return replace(
        state,
        fetch_offset=log.log_end_offset,
        last_fetched_epoch=log.latest_epoch if asks_by_epoch else UNDEFINED_EPOCH,
        lag=None,
    )


def after_failed_exchange(state: FetchState, rules: FetchRules, reason: str, now: int) -> FetchState:
    """Wait after an answer that never came, or that made no sense."""
    return state.delayed(now + rules.back_off_ms, reason)


def _after_error(state: FetchState, rules: FetchRules, error: ErrorCode, now: int) -> FetchState:
    name = error.name
    if error is ErrorCode.FENCED_LEADER_EPOCH:
        # Kafka marks the partition failed until it is told of the new leader.
        reason = f"{name}: there is a newer leader than that of epoch {state.leader_epoch}"
        return state.fenced(now + rules.back_off_ms, reason)
    return state.delayed(now + rules.back_off_ms, name)


def _truncate_as_told(
    state: FetchState,
    rules: FetchRules,
    log: FollowedLogState,
    answer: EndOffset,
    protocol: TruncationProtocol = TruncationProtocol.KIP_320,
) -> Step:
    """Truncate as follows from an epoch and its end in the leader's log; a Fetch that has them knows KIP-320."""
    decision = truncation_for(answer, log.history, log.log_end_offset, log.high_watermark, protocol=protocol)
    # Most often nothing is cut, and nobody asks why.
    reason = _what_was_told(state, answer) if decision.offset < log.log_end_offset else ""
    return _truncate(state, rules, log, decision.offset, reason, complete=decision.complete)


def _start_afresh(state: FetchState, leader: LeaderOffsets, reason: str) -> Step:
    offset = leader.log_start_offset
    following = FetchState(state.leader_epoch, offset, lag=leader.log_end_offset - offset, began_at=offset)
    return Step(following, StartAfresh(offset, reason))


def _what_was_told(state: FetchState, answer: EndOffset) -> str:
    known = f"epoch {answer.epoch} ends at offset {answer.end_offset:,}" if answer.end_offset >= 0 else "no such epoch"
    return f"in the log of the leader of epoch {state.leader_epoch}: {known}"


def _truncate(
    state: FetchState, rules: FetchRules, log: FollowedLogState, offset: int, reason: str, *, complete: bool
) -> Step:
    """Truncate, then fetch; or ask again, where epochs do not agree yet and no fetch will find that out.

    How far the leader is ahead is then to be learnt again, if records go.
    Kafka: updateFetchOffsetAndMaybeMarkTruncationComplete.
    """
    left = log.truncate_to(offset)
    lag = state.lag if offset >= log.log_end_offset else None
    if complete or not rules.asks:
        following = _fetching(state, rules, offset, left, lag)
    else:
        following = FetchState(state.leader_epoch, offset, phase=Phase.TRUNCATING, lag=lag, began_at=state.began_at)
    return Step(following, Truncate(offset, reason))


def _fetching(state: FetchState, rules: FetchRules, offset: int, log: FollowedLogState, lag: int | None) -> FetchState:
    last_fetched_epoch = log.latest_epoch if rules.truncate_on_fetch else UNDEFINED_EPOCH
    return FetchState(state.leader_epoch, offset, last_fetched_epoch, lag=lag, began_at=state.began_at)
