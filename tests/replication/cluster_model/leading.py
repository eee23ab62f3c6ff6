"""Leaders of the model: real LedPartitions, made again from a value for each thing that happens to them."""

from collections.abc import Callable
from threading import Lock
from typing import Any, Final, cast

from epoch import UNDEFINED_END_OFFSET
from logstore import Log
from replication.cluster.broker.partitions.follower_progress import FollowerProgress
from replication.cluster.broker.partitions.followers import Followers
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.leader_settings import LeaderSettings
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.broker.requests.partition_lookup import refusal
from replication.cluster.fetcher.decisions.actions import Append
from replication.records.metadata.nodes import BrokerRegistration
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import IsrChange
from tests.replication.cluster.fetcher.model import leader as answers
from tests.replication.cluster.fetcher.model.replica import Answer, Record
from tests.replication.cluster_model.memory_log import MemoryLog
from tests.replication.cluster_model.metadata import PARTITION, TOPIC_ID, Granted, registration
from tests.replication.cluster_model.node import Leadership, Node, Progress, SentChange, SentFetch
from tests.replication.cluster_model.scope import Scope

NOW_MS: Final = 0
LAG_MS: Final = 30_000
MUCH_LATER_MS: Final = 1_000_000
LONG_AGO_MS: Final = -(1 << 62)
RECORDS_PER_FETCH: Final = 1

_COLLABORATORS: Final = frozenset(
    {
        "partition",
        "topic_id",
        "settings",
        "_log",
        "_broker_id",
        "_isr_changes",
        "_clock",
        "_wake",
        "_tell",
        "_traffic",
        "_lock",
        "_followers",
    }
)
_PROGRESS: Final = (
    "_fetched_at",
    "_leader_end_offset",
    "broker_epoch",
    "caught_up_at",
    "log_end_offset",
    "log_start_offset",
)


class Leaders:
    """What leaders of a scope do: a node after it; each a function of values."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._settings = LeaderSettings(min_insync_replicas=scope.min_isr, replica_lag_time_max_ms=LAG_MS)

    def begun(self, node: Node, broker_id: int) -> Node:
        """Begin to lead, by the metadata that the node has heard."""
        log, asked = MemoryLog(node.replica), _Asked()
        assert node.view is not None
        led = self._scope.led(
            PARTITION,
            TOPIC_ID,
            cast("Log", log),
            node.view.partition,
            broker_id=broker_id,
            broker_of=_broker_of(node),
            isr_changes=asked,
            settings=self._settings,
            clock=lambda: NOW_MS,
        )
        return _after(node, led, log, asked)

    def resigned(self, node: Node, broker_id: int) -> Node:
        """Lead no more."""
        return self._done(node, broker_id, lambda led: led.resign()).but(led=None)

    def updated(self, node: Node, broker_id: int) -> Node:
        """Lead on, by the metadata that the node has heard."""
        partition = cast("Any", node.view).partition
        return self._done(node, broker_id, lambda led: led.update(partition))

    def written(self, node: Node, broker_id: int, record: Record) -> Node:
        """Append a producer's record."""
        data = answers.encoded((record,))
        return self._done(node, broker_id, lambda led: led.append(data, required_acks=1))

    def long_after(self, node: Node, broker_id: int) -> Node:
        """Let replica.lag.time.max.ms pass, and look who has fallen behind."""
        return self._done(node, broker_id, lambda led: led.check_lag(), now=MUCH_LATER_MS)

    def answered(self, node: Node, broker_id: int, change: IsrChange, answer: Granted) -> Node:
        """Hear what became of a change of the ISR."""
        return self._done(node, broker_id, lambda led: led.answered(change, *answer))

    def fetched(self, node: Node, broker_id: int, sender: int, fetch: SentFetch) -> tuple[Node, Answer]:
        """Answer a follower's fetch, and note how far it has got, as `ReplicaFetchPass` does."""
        is_leader = node.led is not None
        epoch = fetch.leader_epoch
        hosted = HostedPartition(cast("Any", None), node.replica.epoch, is_leader=is_leader)
        error = refusal(hosted, epoch, only_leader=True)
        if error is not ErrorCode.NONE:
            return node, _refused(error)
        answer = answers.answer(node.replica, fetch.question, RECORDS_PER_FETCH)
        if not isinstance(answer.body, Append):
            return node, answer
        errors: list[ErrorCode] = []
        node = self._done(
            node,
            broker_id,
            lambda led: errors.append(
                led.fetched(
                    sender,
                    fetch.broker_epoch,
                    fetch.question.offset,
                    0,
                    leader_end_offset=node.replica.end,
                    current_leader_epoch=epoch,
                )
            ),
        )
        return node, answer if errors == [ErrorCode.NONE] else _refused(errors[0])

    def _done(self, node: Node, broker_id: int, do: Callable[[LedPartition], object], *, now: int = NOW_MS) -> Node:
        log, asked = MemoryLog(node.replica), _Asked()
        led = self._made(node, broker_id, log, asked, now)
        do(led)
        return _after(node, led, log, asked, now)

    def _made(self, node: Node, broker_id: int, log: MemoryLog, asked: "_Asked", now: int) -> LedPartition:
        """Make a leader again from the value that it became."""
        assert node.led is not None
        led = object.__new__(self._scope.led)
        vars(led).update(node.led.attributes)
        vars(led).update(
            partition=PARTITION,
            topic_id=TOPIC_ID,
            settings=self._settings,
            _log=log,
            _broker_id=broker_id,
            _isr_changes=asked,
            _clock=lambda: now,
            _wake=lambda: None,
            _tell=lambda _: None,
            _traffic=_Uncounted(),
            _lock=Lock(),
            _followers=Followers(
                broker_id, _broker_of(node), {each: _progress(value) for each, value in node.led.followers}
            ),
        )
        return led


class _Uncounted:
    """Counts no traffic: the model's log does not tell what it has appended."""

    def appended(self, *_: object) -> None: ...


class _Asked(list[IsrChange]):
    """Takes the changes of the ISR that a leader asks for."""

    def ask(self, change: IsrChange) -> None:
        self.append(change)


def _after(node: Node, led: LedPartition, log: MemoryLog, asked: _Asked, now: int = NOW_MS) -> Node:
    attributes = tuple((name, value) for name, value in sorted(vars(led).items()) if name not in _COLLABORATORS)
    followers = tuple((each, _noted(led.progress_of(each), now)) for each in led.followers)
    sent = tuple(SentChange(change, node.broker_epoch) for change in asked)
    known = (led.leader_epoch, led.partition_epoch, led.epoch_start_offset, led.maximal_isr, led.wanted)
    return node.but(replica=log.replica, led=Leadership(attributes, followers, *known), changes=node.changes + sent)


def _noted(progress: FollowerProgress | None, now: int) -> Progress:
    """Return what is known of a follower, with times before now."""
    values = [getattr(progress, name) for name in _PROGRESS]
    fetched_at, end, epoch, caught_up_at, *offsets = values
    return Progress(_ago(fetched_at, now), end, epoch, _ago(caught_up_at, now), *offsets)


def _ago(time: int, now: int) -> int:
    """Return a time as the model knows it: just now, or longer ago than a follower may be behind."""
    return NOW_MS if now - time <= LAG_MS else LONG_AGO_MS


def _progress(value: Progress) -> FollowerProgress:
    progress = FollowerProgress()
    for name, field in zip(_PROGRESS, value, strict=True):
        setattr(progress, name, field)
    return progress


def _broker_of(node: Node) -> Callable[[int], BrokerRegistration | None]:
    view = node.view
    assert view is not None
    return lambda broker_id: registration(view.brokers[broker_id])


def _refused(error: ErrorCode) -> Answer:
    return Answer(error, UNDEFINED_END_OFFSET)
