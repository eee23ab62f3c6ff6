"""A follower of the model: the functions of `fetch_state_machine`, and what they say done to its log.

A question is sent as soon as it is due. That is all orders: nobody sees a question before the leader does, and what
it would say changes only when the follower does something else, whereupon it asks anew.
"""

from dataclasses import replace

from epoch import UNDEFINED_END_OFFSET, AskEndOffset
from replication.cluster.fetcher.decisions import fetch_state_machine as following
from replication.cluster.fetcher.decisions.actions import Append, StartAfresh
from replication.cluster.fetcher.decisions.fetch_rules import FetchRules
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.decisions.fetch_state_machine import (
    FetchQuestion,
    LeaderOffsets,
    Step,
)
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.fetcher.model.leader import Question, decoded
from tests.replication.cluster.fetcher.model.replica import Answer, LateFetch, Replica

NOW = 0
"""Nobody waits in the model: any time may pass between two steps."""


def question_of(replica: Replica, rules: FetchRules) -> Question | None:
    """Return what a follower has asked and not been answered."""
    if replica.following is None or not replica.following.is_active or replica.answer is not None:
        return None
    question = following.ask(replica.following, rules, replica.log_state)
    assert not isinstance(question, Step)
    return question


def begin(replica: Replica, rules: FetchRules, leader_epoch: int, current: FetchState | None) -> Replica:
    """Begin to follow the leader of an epoch."""
    state = following.follow(rules, leader_epoch, replica.log_state, current)
    return _onwards(replica.but(epoch=leader_epoch, leads_from=-1), Step(state), rules)


def left(replica: Replica, rules: FetchRules) -> Replica:
    """Stop following: a fetch that is underway may reach the leader all the same, as long as it leads."""
    question = question_of(replica, rules)
    late = replica.late
    if isinstance(question, FetchQuestion) and replica.tracked_by(replica.epoch) is not None:
        late = LateFetch(replica.epoch, question, of_this_life=True)
    return replica.but(following=None, answer=None, late=late)


def take(replica: Replica, rules: FetchRules, answer: Answer) -> Replica:
    """Take the answer to what was asked."""
    state, log = replica.following, replica.log_state
    assert state is not None
    question = following.ask(state, rules, log)
    error, body = answer
    if isinstance(question, AskEndOffset):
        end = body if error is ErrorCode.NONE else UNDEFINED_END_OFFSET
        assert not isinstance(end, LeaderOffsets | Append)
        step = following.after_epoch_answer(state, rules, log, error, end, NOW)
    elif isinstance(question, FetchQuestion):
        assert not isinstance(body, LeaderOffsets)
        step = following.after_fetch(state, rules, log, error, body, NOW)
    else:
        offsets = body if isinstance(body, LeaderOffsets) else LeaderOffsets(-1, -1)
        step = following.after_offsets(state, rules, log, error, offsets, NOW)
    return _onwards(replica.but(answer=None), step, rules)


def _onwards(replica: Replica, step: Step, rules: FetchRules) -> Replica:
    """Do what a step says, and what the follower then decides alone."""
    replica, state = _done(replica, step, rules)
    while state.is_active and isinstance(step := following.ask(state, rules, replica.log_state), Step):
        replica, state = _done(replica, step, rules)
    # Decisions read neither the lag nor the reason.
    return replica.but(following=replace(state, lag=None, reason="", ready_at=0))


def _done(replica: Replica, step: Step, rules: FetchRules) -> tuple[Replica, FetchState]:
    state, action = step
    if action is None:
        return replica, state
    if isinstance(action, Append):
        replica = replica.appended(decoded(action.records))
        replica = replica.but(high_watermark=min(action.high_watermark, replica.end))
        return replica, following.after_append(state, rules, replica.log_state, action)
    assert not isinstance(action, StartAfresh), "no log of the model starts above 0"
    return replica.truncated(action.offset), state
