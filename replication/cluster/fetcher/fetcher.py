"""Follows many partitions of one leader: which requests are due, and what their answers do. No socket, no clock."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from epoch import UNDEFINED_EPOCH, AskEndOffset, EndOffset
from epoch.base.resource_limits import is_limit, is_passing
from epoch.history import MAX_OFFSET
from logstore import Log, TopicPartition
from replication.cluster.fetcher.decisions.actions import Action, Append
from replication.cluster.fetcher.decisions.fetch_rules import FetchRules
from replication.cluster.fetcher.decisions.fetch_state import FetchState, Phase
from replication.cluster.fetcher.decisions.fetch_state_machine import (
    FetchQuestion,
    LeaderOffsets,
    OffsetsQuestion,
    Step,
    after_append,
    after_cut,
    after_epoch_answer,
    after_failed_exchange,
    after_fetch,
    after_offsets,
    ask,
    follow,
)
from replication.cluster.fetcher.errors import EarlyRecordsError, RefusedRecordsError, reason_of
from replication.cluster.fetcher.fetch_observer import FetchObserver
from replication.cluster.fetcher.fetcher_settings import FetcherSettings
from replication.cluster.fetcher.followed_log import FollowedLog, announce_cuts
from replication.cluster.fetcher.followed_partition import FollowedPartition
from replication.cluster.fetcher.leader_doubts import DOUBTFUL_ERRORS
from replication.cluster.fetcher.requests.due_partitions import DuePartitions
from replication.cluster.fetcher.requests.fetch_session import FetchSession
from replication.cluster.fetcher.requests.open_fetch import OpenFetch
from replication.cluster.fetcher.requests.open_questions import OpenQuestions, TruncationRequest
from replication.cluster.fetcher.requests.throttle import Throttle
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from replication.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from replication.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse

FetcherRequest = FetchRequest | TruncationRequest
FetcherResponse = FetchResponse | OffsetForLeaderEpochResponse | ListOffsetsResponse

DecidedStep = tuple[TopicPartition, FollowedPartition, Step]

_NO_OFFSETS: Final = LeaderOffsets(-1, -1)


class Fetcher:
    """The follower's side of many partitions of one leader (Kafka: AbstractFetcherThread, without its thread).

    Times are milliseconds of any clock that does not go back. Not for several threads at once.

    >>> for request in fetcher.requests(now):
    ...     fetcher.take(request, connection.ask(request), now)
    """

    def __init__(
        self,
        settings: FetcherSettings | None = None,
        *,
        observer: FetchObserver | None = None,
        throttle: Throttle | None = None,
        in_doubt: Callable[[TopicPartition], object] = lambda _: None,
    ) -> None:
        """`in_doubt` is called for each partition that another broker may lead by now."""
        self.settings = settings or FetcherSettings()
        self.rules = self.settings.effective_rules
        self.confirmed_at = -1
        """When the last fetch was asked that the leader has answered: where nothing came of it, all was fetched."""
        self._observer = observer or FetchObserver()
        self._throttle = throttle
        self._in_doubt = in_doubt
        self._partitions: dict[TopicPartition, FollowedPartition] = {}
        self._session = FetchSession()
        self._due_partitions = DuePartitions(throttle)
        self._questions = OpenQuestions(self.settings.identity)
        self._fetch = OpenFetch(self._session, self.settings, self._observer)

    def __len__(self) -> int:
        return len(self._partitions)

    # --- which partitions

    def follow(
        self, partition: TopicPartition, log: Log, leader_epoch: int, topic_id: UUID | None = None
    ) -> FetchState:
        """Follow a partition, or follow its leader of another epoch; return where it stands.

        A partition that follows this leader already goes on as it is; one that has failed begins anew.
        """
        known = self._partitions.get(partition)
        if known is not None and (known.log.log is not log or known.topic_id != topic_id):
            self.forget(partition)
            known = None
        if known is None:
            followed_log = FollowedLog(partition, log, self._observer)
            state = follow(self.rules, leader_epoch, followed_log.state())
            # None that is followed is never looked at, whatever breaks this off.
            self._due_partitions.add(partition)
            self._partitions[partition] = FollowedPartition(followed_log, state, topic_id)
            return state
        state = follow(self.rules, leader_epoch, known.log.state(), known.state)
        if state is not known.state:
            known.setbacks = None
            self._put(partition, known, state)
        return state

    def forget(self, partition: TopicPartition) -> Log | None:
        """Follow a partition no more; what still comes of it is dropped. Return its log, None where it was unknown."""
        self._session.drop(partition)
        self._due_partitions.forget(partition)
        followed = self._partitions.pop(partition, None)
        return followed.log.log if followed else None

    def fail(self, partition: TopicPartition, reason: str) -> None:
        """Give a partition up, for a reason that only the caller knows."""
        followed = self._partitions.get(partition)
        if followed is not None:
            self._put(partition, followed, followed.state.failed(reason))

    def state(self, partition: TopicPartition) -> FetchState | None:
        """Return where a partition stands; None where it is not followed."""
        followed = self._partitions.get(partition)
        return followed.state if followed else None

    @property
    def states(self) -> dict[TopicPartition, FetchState]:
        """Where all partitions stand, the failed ones too."""
        return {partition: followed.state for partition, followed in list(self._partitions.items())}

    def use_rules(self, rules: FetchRules) -> None:
        """Follow by other rules, which the leader's versions may demand: all partitions truncate anew."""
        if rules == self.rules:
            return
        for partition, followed in self._partitions.items():
            if followed.state.is_active:
                self._put(partition, followed, follow(rules, followed.state.leader_epoch, followed.log.state()))
        self.rules = rules

    def is_caught_up(self, partition: TopicPartition, since: int) -> bool:
        """Whether all was fetched that the leader had below its high watermark at `since`, or later."""
        state = self.state(partition)
        return state is not None and state.phase is Phase.FETCHING and state.lag == 0 and self.confirmed_at >= since

    # --- what is due

    def requests(self, now: int) -> list[FetcherRequest]:
        """Return what is to be sent now, in this order; each is then answered, or has failed.

        Truncates logs where no question is needed. Like Kafka's followers it does not fetch while a question about
        truncation is open: the answer to a fetch may take its time.
        """
        epochs: dict[TopicPartition, tuple[FetchState, int]] = {}
        offsets: dict[TopicPartition, FetchState] = {}
        due = self._due_partitions.due(self._session.partitions, now)
        followed_now = [(each, self._partitions[each]) for each in due if each in self._partitions]
        announce_cuts((followed.log, self._decided_alone(followed, now)) for _, followed in followed_now)
        for partition, followed in followed_now:
            match self._question(partition, followed, now):
                case AskEndOffset(epoch):
                    epochs[partition] = (followed.state, epoch)
                case OffsetsQuestion():
                    offsets[partition] = followed.state
                case FetchQuestion() as question:
                    self._want(partition, followed, question)
                case None:
                    self._session.drop(partition)
        questions = [*self._questions.ask_epochs(epochs), *self._questions.ask_offsets(offsets)]
        if questions or self._questions:
            return [*questions]
        fetch = self._fetch.ask(now)
        return [] if fetch is None else [fetch]

    def wake_at(self, now: int) -> int | None:
        """Return when `requests` will have something again without an answer; None: not by itself."""
        times = (self._due_partitions.wake_at(now), self._fetch.due_at(now))
        return min((time for time in times if time is not None), default=None)

    # --- what comes back

    def take(self, request: FetcherRequest, response: FetcherResponse, now: int) -> None:
        """Do what an answer says. One to a request that has failed meanwhile does nothing."""
        if isinstance(request, FetchRequest):
            if isinstance(response, FetchResponse):
                self._take_fetch(request, response, now)
            return
        states = self._questions.answered(request)
        if isinstance(response, OffsetForLeaderEpochResponse):
            self._take_epochs(states, response, now)
        elif isinstance(request, ListOffsetsRequest) and isinstance(response, ListOffsetsResponse):
            self._take_offsets(states, request, response, now)
        reason = "the leader's answer lacks this partition"
        self._delay([each for each, _ in self._still(states) if each not in response.partitions], reason, now)

    def disconnected(self, reason: str, now: int) -> None:
        """Handle a lost leader, or a broken exchange: back off all partitions; others may lead.

        Whatever it was broken off in the middle of, partitions go on from where their logs are.
        """
        self._fetch.failed()
        self._session.clear()
        self._questions.clear()
        for followed in self._partitions.values():
            followed.state = self._resumed(followed)
        self._delay(list(self._partitions), reason, now)
        for partition in self._partitions:
            self._in_doubt(partition)

    # --- fetches

    def _want(self, partition: TopicPartition, followed: FollowedPartition, question: FetchQuestion) -> None:
        state = followed.state
        if self._due_partitions.throttling and self._throttle is not None and self._throttle.limits(partition, state):
            self._session.drop(partition)
            self._due_partitions.hold_up(partition)
            return
        fetch = FetchPartition(
            question.offset,
            self.settings.max_partition_bytes,
            state.leader_epoch,
            question.last_fetched_epoch,
            -1 if self.settings.identity.is_mirror else followed.log.log.log_start_offset,
        )
        self._session.put(partition, fetch, followed.topic_id)

    def _take_fetch(self, request: FetchRequest, response: FetchResponse, now: int) -> None:
        asked_at, fault = self._fetch.answered(request, response, now, self.rules.back_off_ms)
        if fault:
            self._delay(self._session.partitions, fault, now)
        if asked_at is None:
            return
        steps = [self._take_fetched(partition, fetched, now) for partition, fetched in response.partitions.items()]
        self._take_steps([step for step in steps if step is not None], now)
        for partition in request.partitions.keys() - response.partitions.keys():
            self._take_silence(partition, now)
        self.confirmed_at = asked_at

    def _take_fetched(self, partition: TopicPartition, fetched: FetchedPartition, now: int) -> DecidedStep | None:
        """Append what was fetched; return what is to be done where that is something else."""
        followed, asked = self._partitions.get(partition), self._session.asked(partition)
        if followed is None or asked is None or not _is_answered(followed.state, asked, now):
            return None
        answer: Append | EndOffset = Append(fetched.records, fetched.high_watermark, fetched.log_start_offset)
        if fetched.diverging_epoch is not None:
            if asked.last_fetched_epoch == UNDEFINED_EPOCH:
                fault = RefusedRecordsError(partition, "it reports a diverging epoch, but was not asked for one")
                self._refuse(partition, followed, fault, now)
                return None
            answer = fetched.diverging_epoch
        error = self._noted(partition, fetched.error)
        step = after_fetch(followed.state, self.rules, followed.log.state(), error, answer, now)
        if isinstance(step.action, Append):
            self._append(partition, followed, step.action, now)
            return None
        return partition, followed, self._paced(followed, step, now)

    def _paced(self, followed: FollowedPartition, step: Step, now: int) -> Step:
        """Delay a partition that is sent back from fetching more often than can be explained.

        Each of its own epochs may be unknown to the leader, who may then have deleted what the log goes on with.
        """
        if not step.state.is_ready(now):
            return step
        explained = len(followed.log.log.epochs.history) + 1
        wait = followed.wait_ms(now, self.rules.back_off_ms, free=explained)
        state = step.state.delayed(now + wait, "the leader keeps sending this partition back") if wait else step.state
        return step._replace(state=state)

    def _take_silence(self, partition: TopicPartition, now: int) -> None:
        """Handle a partition absent from the answer: its lag is known now, if it was not."""
        followed, asked = self._partitions.get(partition), self._session.asked(partition)
        high_watermark = self._session.told_high_watermark(partition)
        if followed is None or asked is None or high_watermark is None or not _is_answered(followed.state, asked, now):
            return
        if followed.state.lag is None:
            lag = max(0, high_watermark - followed.state.fetch_offset)
            self._put(partition, followed, replace(followed.state, lag=lag))

    def _append(self, partition: TopicPartition, followed: FollowedPartition, action: Append, now: int) -> None:
        state = followed.state
        try:
            info = followed.log.append(action, state.leader_epoch, only_committed=self.settings.identity.is_mirror)
        except RefusedRecordsError as error:
            self._refuse(partition, followed, error, now)
            return
        except Exception as error:  # whatever is wrong with one partition, the others go on
            if _is_shortage(error, followed.log.log):
                raise
            self._take_failure(partition, followed, error, now)
            return
        after = after_append(state, self.rules, followed.log.state(), action)
        if after.phase is not state.phase:
            after = self._paced(followed, Step(after), now).state
        if after != state or self._is_told_another_start(partition, followed):
            self._put(partition, followed, after)
        if info.size:
            if self._throttle is not None:
                self._throttle.record(partition, info.size, now)
            self._observer.appended(partition, info, after)

    def _is_told_another_start(self, partition: TopicPartition, followed: FollowedPartition) -> bool:
        """Whether the leader last heard of another log start: who deletes records is answered once it hears of this."""
        asked = self._session.asked(partition)
        return asked is not None and asked.log_start_offset not in (-1, followed.log.log.log_start_offset)

    def _refuse(
        self, partition: TopicPartition, followed: FollowedPartition, error: RefusedRecordsError, now: int
    ) -> None:
        """Fetch again, at first after the usual time, then ever later."""
        is_early = isinstance(error, EarlyRecordsError)
        if not is_early:
            self._observer.refused(partition, error)
        wait = followed.wait_ms(now, self.rules.back_off_ms, free=is_early)
        state = after_cut(followed.state, followed.log.state())
        self._put(partition, followed, state.delayed(now + wait, str(error)) if wait else state)

    # --- questions

    def _question(
        self, partition: TopicPartition, followed: FollowedPartition, now: int
    ) -> AskEndOffset | OffsetsQuestion | FetchQuestion | None:
        """Return what to ask about a partition now, after doing what needs no asking; None: nothing."""
        while followed.state.is_ready(now):
            question = ask(followed.state, self.rules, followed.log.state())
            if not isinstance(question, Step):
                return question
            self._take_step(partition, followed, question, now)
            self._due_partitions.forget(partition)
        if followed.state.phase is not Phase.FAILED:
            self._due_partitions.delay(partition, followed.state.ready_at)
        return None

    def _take_epochs(
        self, states: Mapping[TopicPartition, FetchState], response: OffsetForLeaderEpochResponse, now: int
    ) -> None:
        steps: list[DecidedStep] = []
        for partition, followed in self._still(states):
            answer = response.partitions.get(partition)
            if answer is not None:
                error = self._noted(partition, answer.error)
                log = followed.log.state()
                step = after_epoch_answer(followed.state, self.rules, log, error, answer.end, now)
                steps.append((partition, followed, step))
        self._take_steps(steps, now)

    def _take_offsets(
        self,
        states: Mapping[TopicPartition, FetchState],
        request: ListOffsetsRequest,
        response: ListOffsetsResponse,
        now: int,
    ) -> None:
        steps: list[DecidedStep] = []
        for partition, followed in self._still(states):
            answer = response.partitions.get(partition)
            if answer is None:
                continue
            error = self._noted(partition, answer.error)
            offsets: LeaderOffsets | None = _NO_OFFSETS
            if error is ErrorCode.NONE:
                offsets = self._questions.offsets(partition, followed.state, request.partitions[partition], answer)
            step = None if offsets is None else self._located(partition, followed, error, offsets, now)
            if step is not None:
                steps.append((partition, followed, step))
        self._take_steps(steps, now)

    def _located(
        self, partition: TopicPartition, followed: FollowedPartition, error: ErrorCode, leader: LeaderOffsets, now: int
    ) -> Step | None:
        if error is ErrorCode.NONE and not 0 <= leader.log_start_offset <= leader.log_end_offset < MAX_OFFSET:
            reason = f"the leader's log cannot span {leader.log_start_offset:,} to {leader.log_end_offset:,}"
            self._put(partition, followed, after_failed_exchange(followed.state, self.rules, reason, now))
            return None
        return after_offsets(followed.state, self.rules, followed.log.state(), error, leader, now)

    def _still(self, states: Mapping[TopicPartition, FetchState]) -> Iterable[tuple[TopicPartition, FollowedPartition]]:
        """Those that stand as they did when they were asked about."""
        for partition, state in states.items():
            followed = self._partitions.get(partition)
            if followed is not None and followed.state is state:
                yield partition, followed

    # --- states

    def _decided_alone(self, followed: FollowedPartition, now: int) -> Action | None:
        """Return how a partition truncates that needs to ask nobody."""
        if followed.state.phase is not Phase.TRUNCATING or not followed.state.is_ready(now):
            return None
        question = ask(followed.state, self.rules, followed.log.state())
        return question.action if isinstance(question, Step) else None

    def _take_steps(self, steps: Sequence[DecidedStep], now: int) -> None:
        """Do what was decided about several partitions."""
        announce_cuts((followed.log, step.action) for _, followed, step in steps)
        for partition, followed, step in steps:
            self._take_step(partition, followed, step, now)

    def _take_step(self, partition: TopicPartition, followed: FollowedPartition, step: Step, now: int) -> None:
        if step.action is not None and not isinstance(step.action, Append):
            try:
                followed.log.cut(step.action, followed.state.leader_epoch)
            except Exception as error:  # whatever is wrong with one partition, the others go on
                if _is_shortage(error, followed.log.log):
                    raise
                self._take_failure(partition, followed, error, now)
                return
            step = Step(after_cut(step.state, followed.log.state()))
        self._put(partition, followed, step.state)

    def _take_failure(self, partition: TopicPartition, followed: FollowedPartition, error: Exception, now: int) -> None:
        """Give a partition up whose log could not be changed; a replica whose disk is full waits for space instead."""
        reason = reason_of(error)
        if self.settings.identity.is_mirror or not _is_full(error, followed.log.log):
            self._put(partition, followed, followed.state.failed(reason))
            return
        self._put(partition, followed, after_failed_exchange(self._resumed(followed), self.rules, reason, now))

    def _resumed(self, followed: FollowedPartition) -> FetchState:
        """Return how a partition goes on from where its log is, in the middle of whatever it was broken off."""
        state, log = followed.state, followed.log.state()
        if state.phase is Phase.FETCHING and state.fetch_offset != log.log_end_offset:
            return follow(self.rules, state.leader_epoch, log)
        return state

    def _put(self, partition: TopicPartition, followed: FollowedPartition, state: FetchState) -> None:
        """Set a partition's state."""
        before = followed.state.phase
        followed.state = state
        self._due_partitions.add(partition)
        if state.phase is Phase.FENCED and before is not Phase.FENCED:
            self._observer.fenced(partition, state)
        elif state.phase is Phase.FAILED and before is not Phase.FAILED:
            self._observer.failed(partition, state)

    def _noted(self, partition: TopicPartition, error: ErrorCode) -> ErrorCode:
        """Report an error to the observer, and return it."""
        if error is not ErrorCode.NONE:
            self._observer.erred(partition, error)
            if error in DOUBTFUL_ERRORS:
                self._in_doubt(partition)
        return error

    def _delay(self, partitions: Iterable[TopicPartition], reason: str, now: int) -> None:
        for partition in partitions:
            followed = self._partitions[partition]
            if followed.state.is_active:
                self._put(partition, followed, after_failed_exchange(followed.state, self.rules, reason, now))


def _is_shortage(error: Exception, log: Log) -> bool:
    """Whether the process is short of something, say of descriptors, and the log goes on: all wait, and try again."""
    return (is_limit(error) or isinstance(error, MemoryError)) and log.failure is None


def _is_full(error: Exception, log: Log) -> bool:
    """Whether only space was missing, and nothing has changed in the log."""
    return isinstance(error, OSError) and is_passing(error) and log.failure is None


def _is_answered(state: FetchState, asked: FetchPartition, now: int) -> bool:
    """Whether a partition still stands as it did when this was asked of it."""
    return (
        state.phase is Phase.FETCHING
        and state.fetch_offset == asked.fetch_offset
        and state.leader_epoch == asked.current_leader_epoch
        and state.ready_at <= now
    )
