"""What a fetcher asks of one leader about many partitions, and what it makes of the answers."""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from epoch import EndOffset, TruncationProtocol
from logstore import AppendInfo, Log, Record, TopicPartition
from replication.cluster.fetcher.decisions.fetch_rules import MIRROR_RULES, REPLICA_RULES, FetchRules
from replication.cluster.fetcher.decisions.fetch_state import FetchState, Phase
from replication.cluster.fetcher.fetch_observer import Cut, FetchObserver
from replication.cluster.fetcher.fetcher import Fetcher
from replication.cluster.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from replication.cluster.fetcher.requests.throttle import Throttle
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchedPartition, FetchRequest, FetchResponse
from replication.wire.messages.list_offsets import ListedOffset, ListOffsetsRequest, ListOffsetsResponse
from replication.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from tests.disk import Unsynced
from tests.logstore.directories import assert_sound
from tests.replication.cluster.fetcher.drive import (
    CONFIG,
    PARTITION,
    Cuts,
    assert_follows,
    batches,
    catch_up,
    exchange,
    open_log,
)
from tests.replication.cluster.fetcher.leader import Leader

OTHER = TopicPartition("orders", 1)
MIRROR = FetcherSettings()
REPLICA = FetcherSettings(identity=FetchIdentity(5, 77))
BACK_OFF = REPLICA_RULES.back_off_ms


class Logs:
    """Logs by the side that they are on, and their partition."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self.root, self.stack = root, stack
        self.opened: dict[tuple[str, TopicPartition], Log] = {}

    def __call__(self, side: str, partition: TopicPartition = PARTITION) -> Log:
        if (side, partition) not in self.opened:
            self.opened[side, partition] = self.stack.enter_context(open_log(self.root / side, partition))
        return self.opened[side, partition]


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Logs]:
    with ExitStack() as stack:
        yield Logs(tmp_path, stack)


def write(log: Log, epoch: int, *values: bytes) -> None:
    """Write batches of one record each, the same for the same values; all of them are committed."""
    for value in values:
        log.append([Record(0, 1_700_000_000_000, None, value)], leader_epoch=epoch)
    log.update_high_watermark(log.log_end_offset)


class Told(FetchObserver):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []

    def erred(self, partition: TopicPartition, error: ErrorCode) -> None:
        self.events.append(("erred", partition, error))

    def refused(self, partition: TopicPartition, _: Exception) -> None:
        self.events.append(("refused", partition))

    def fenced(self, partition: TopicPartition, _: FetchState) -> None:
        self.events.append(("fenced", partition))

    def failed(self, partition: TopicPartition, _: FetchState) -> None:
        self.events.append(("failed", partition))

    def throttled(self, asked_ms: int, waited_ms: int) -> None:
        self.events.append(("throttled", asked_ms, waited_ms))


class Appended(Told):
    """Remembers what was appended too."""

    def appended(self, partition: TopicPartition, info: AppendInfo, state: FetchState) -> None:
        self.events.append(("appended", partition, info.last_offset, state.fetch_offset))


def leading(logs: Logs, epoch: int, *partitions: TopicPartition) -> Leader:
    leader = Leader()
    for partition in partitions or (PARTITION,):
        leader.lead(partition, logs("leader", partition), epoch)
    return leader


def standing(fetcher: Fetcher, partition: TopicPartition = PARTITION) -> FetchState:
    state = fetcher.state(partition)
    assert state is not None
    return state


# --- asking


def test_a_mirror_asks_for_epochs_and_then_fetches_as_a_consumer_does(logs: Logs) -> None:
    write(logs("leader"), 0, b"a", b"b")
    write(logs("follower"), 0, b"a")
    leader = leading(logs, 0)
    fetcher = Fetcher(MIRROR)
    fetcher.follow(PARTITION, logs("follower"), 0)
    catch_up(fetcher, leader)
    question, fetch = leader.asked[:2]
    assert isinstance(question, OffsetForLeaderEpochRequest)
    assert (question.replica_id, question.partitions[PARTITION]) == (-1, (0, 0))
    assert isinstance(fetch, FetchRequest)
    assert (fetch.replica_id, fetch.replica_epoch) == (-1, -1)
    asked = fetch.partitions[PARTITION]
    assert (asked.fetch_offset, asked.current_leader_epoch) == (1, 0)
    assert (asked.last_fetched_epoch, asked.log_start_offset) == (-1, -1)


def test_a_replica_only_fetches_and_says_who_it_is_and_what_it_has(logs: Logs) -> None:
    write(logs("leader"), 3, b"a", b"b")
    write(logs("follower"), 3, b"a")
    leader = leading(logs, 4)
    fetcher = Fetcher(REPLICA)
    fetcher.follow(PARTITION, logs("follower"), 4)
    exchange(fetcher, leader)
    (fetch,) = leader.asked
    assert isinstance(fetch, FetchRequest)
    assert (fetch.replica_id, fetch.replica_epoch) == (5, 77)
    asked = fetch.partitions[PARTITION]
    assert (asked.fetch_offset, asked.current_leader_epoch) == (1, 4)
    assert (asked.last_fetched_epoch, asked.log_start_offset) == (3, 0)


def test_questions_come_before_fetches(logs: Logs) -> None:
    write(logs("follower"), 0, b"a")
    fetcher = Fetcher(MIRROR)
    fetcher.follow(PARTITION, logs("follower"), 0)
    fetcher.follow(OTHER, logs("follower", OTHER), 0)
    (question,) = fetcher.requests(0)
    assert isinstance(question, OffsetForLeaderEpochRequest)
    assert set(question.partitions) == {PARTITION}
    assert fetcher.requests(0) == []


def test_what_has_not_changed_is_not_asked_again(logs: Logs) -> None:
    leader = leading(logs, 0, PARTITION, OTHER)
    fetcher = Fetcher()
    for partition in (PARTITION, OTHER):
        fetcher.follow(partition, logs("follower", partition), 0, leader.topic_ids[partition.topic])
    exchange(fetcher, leader)
    write(logs("leader", OTHER), 0, b"a")
    for expected in ([], [OTHER], []):
        (fetch,) = exchange(fetcher, leader)
        assert isinstance(fetch, FetchRequest)
        assert [*fetch.partitions] == expected


@pytest.mark.parametrize(
    ("fetch_version", "tells_epochs", "expected"),
    [
        (18, True, REPLICA_RULES),
        (12, True, REPLICA_RULES),
        (11, True, FetchRules(truncate_on_fetch=False)),
        (4, False, FetchRules(TruncationProtocol.HIGH_WATERMARK, truncate_on_fetch=False)),
    ],
)
def test_what_a_leader_speaks_decides_the_rules(
    fetch_version: int, *, tells_epochs: bool, expected: FetchRules
) -> None:
    assert REPLICA_RULES.for_leader(fetch_version, tells_epochs=tells_epochs) == expected


def test_under_new_rules_all_partitions_truncate_anew(logs: Logs) -> None:
    write(logs("follower"), 0, b"a")
    fetcher = Fetcher(REPLICA)
    fetcher.follow(PARTITION, logs("follower"), 0)
    assert standing(fetcher).phase is Phase.FETCHING
    fetcher.use_rules(MIRROR_RULES)
    assert standing(fetcher).phase is Phase.TRUNCATING
    assert fetcher.rules == MIRROR_RULES


def test_how_far_a_silent_leader_is_ahead_is_known_from_what_it_told_before(logs: Logs) -> None:
    write(logs("leader"), 0, b"a", b"b")
    leader = leading(logs, 0)
    fetcher = Fetcher()
    fetcher.follow(PARTITION, logs("follower"), 0)
    catch_up(fetcher, leader)
    fetcher.forget(PARTITION)
    fetcher.follow(PARTITION, logs("follower"), 0)
    assert standing(fetcher).lag is None
    catch_up(fetcher, leader)
    assert standing(fetcher).lag == 0


def test_a_silent_leader_may_be_ahead(logs: Logs) -> None:
    write(logs("leader"), 0, b"a", b"b")
    leader = leading(logs, 0)
    fetcher = Fetcher()
    fetcher.follow(PARTITION, logs("follower"), 0)
    catch_up(fetcher, leader)
    fetcher.follow(PARTITION, logs("another follower"), 0)
    (request,) = fetcher.requests(fetcher.confirmed_at + 1)
    assert isinstance(request, FetchRequest)
    fetcher.take(request, FetchResponse(session_id=request.session_id, partitions={}), fetcher.confirmed_at + 1)
    assert standing(fetcher).lag == 2


def test_a_silence_about_what_is_followed_no_more_says_nothing(logs: Logs) -> None:
    leader = leading(logs, 0, PARTITION, OTHER)
    fetcher = Fetcher(REPLICA)
    fetcher.follow(PARTITION, logs("follower"), 0)
    catch_up(fetcher, leader)
    now = fetcher.confirmed_at + 1
    fetcher.follow(OTHER, logs("follower", OTHER), 0)
    (request,) = fetcher.requests(now)
    assert isinstance(request, FetchRequest)
    assert OTHER in request.partitions
    fetcher.forget(OTHER)
    fetcher.take(request, FetchResponse(session_id=request.session_id, partitions={}), now)
    assert fetcher.confirmed_at == now
    assert fetcher.state(OTHER) is None


def test_who_follows_the_same_leader_with_the_same_log_goes_on(logs: Logs) -> None:
    write(logs("leader"), 0, b"a", b"b")
    fetcher = Fetcher()
    fetcher.follow(PARTITION, logs("follower"), 0)
    catch_up(fetcher, leading(logs, 0))
    state = standing(fetcher)
    assert fetcher.follow(PARTITION, logs("follower"), 0) is state
    assert fetcher.follow(PARTITION, logs("another follower"), 0).fetch_offset == 0
    assert fetcher.forget(PARTITION) is logs("another follower")


def test_it_knows_where_each_of_its_partitions_stands(logs: Logs) -> None:
    fetcher = Fetcher()
    for partition in (PARTITION, OTHER):
        fetcher.follow(partition, logs("follower", partition), 0)
    fetcher.fail(PARTITION, "nobody wants it")
    fetcher.fail(TopicPartition("unknown", 0), "nobody has it")
    assert len(fetcher) == 2
    assert {partition: state.phase for partition, state in fetcher.states.items()} == {
        PARTITION: Phase.FAILED,
        OTHER: Phase.TRUNCATING,
    }
    assert standing(fetcher).reason == "nobody wants it"


def test_what_was_appended_is_told(logs: Logs) -> None:
    write(logs("leader"), 0, b"a", b"b")
    told = Appended()
    fetcher = Fetcher(observer=told)
    fetcher.follow(PARTITION, logs("follower"), 0)
    catch_up(fetcher, leading(logs, 0))
    assert told.events == [("appended", PARTITION, 1, 2)]


def test_of_a_partition_that_waited_nothing_is_left_once_it_is_forgotten(logs: Logs) -> None:
    fetcher = Fetcher()
    fetcher.follow(PARTITION, logs("follower"), 0)
    fetcher.forget(PARTITION)
    assert fetcher.wake_at(0) is None
    fetcher.follow(PARTITION, logs("follower"), 0)
    fetcher.disconnected("gone", 0)
    assert fetcher.requests(0) == []
    fetcher.forget(PARTITION)
    assert fetcher.requests(BACK_OFF) == []


def test_it_wakes_for_what_comes_first(logs: Logs) -> None:
    leader = leading(logs, 0, PARTITION, OTHER)
    fetcher = Fetcher(REPLICA)
    for partition in (PARTITION, OTHER):
        fetcher.follow(partition, logs("follower", partition), 0)
    (request,) = fetcher.requests(0)
    answer = leader.answer(request)
    assert isinstance(answer, FetchResponse)
    refused = FetchedPartition(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    fetcher.take(request, replace(answer, partitions={**answer.partitions, OTHER: refused}), 0)
    exchange(fetcher, leader)
    assert standing(fetcher, OTHER).ready_at == BACK_OFF
    assert fetcher.wake_at(1) == 1


# --- truncating


def forked(logs: Logs) -> None:
    """Both have `a` and `b`; then the follower led in epoch 1, and the leader in epoch 2."""
    for side, epoch, values in [("leader", 2, (b"x",)), ("follower", 1, (b"c", b"d", b"e"))]:
        write(logs(side), 0, b"a", b"b")
        write(logs(side), epoch, *values)


@pytest.mark.parametrize("settings", [MIRROR, REPLICA])
def test_a_cut_is_told_with_its_reason_before_and_after(logs: Logs, settings: FetcherSettings) -> None:
    forked(logs)
    told = Cuts()
    fetcher = Fetcher(settings, observer=told)
    fetcher.follow(PARTITION, logs("follower"), 2)
    catch_up(fetcher, leading(logs, 2))
    (cut,) = told.cuts
    assert (cut.partition, cut.first_offset, cut.log_end_offset, cut.offset_count) == (PARTITION, 2, 5, 3)
    assert (cut.high_watermark, cut.is_below_high_watermark, cut.leader_epoch) == (5, True, 2)
    assert cut.reason == "in the log of the leader of epoch 2: epoch 0 ends at offset 2"
    assert_follows(logs("follower"), logs("leader"), 3)


class Keeper(FetchObserver):
    """Wants to keep what is cut, and cannot."""

    def truncating(self, log: Log, cut: Cut) -> None:
        assert log.log_end_offset == cut.log_end_offset
        error = OSError(28, "No space left on device", "kept.log")
        error.add_note("make room and start again")
        raise error


def test_what_cannot_be_kept_is_not_cut(logs: Logs) -> None:
    forked(logs)
    fetcher = Fetcher(observer=Keeper())
    fetcher.follow(PARTITION, logs("follower"), 2)
    exchange(fetcher, leading(logs, 2))
    assert logs("follower").log_end_offset == 5
    assert standing(fetcher).phase is Phase.FAILED
    assert standing(fetcher).reason == "kept.log: No space left on device; make room and start again"


@pytest.mark.parametrize("settings", [MIRROR, REPLICA])
def test_a_log_without_epochs_is_cut_to_its_high_watermark(logs: Logs, settings: FetcherSettings) -> None:
    write(logs("follower"), 0, b"a", b"b")
    logs("follower").update_high_watermark(1)
    logs("follower").epochs.clear()
    write(logs("leader"), 0, b"a", b"c")
    told = Cuts()
    fetcher = Fetcher(settings, observer=told)
    fetcher.follow(PARTITION, logs("follower"), 0)
    catch_up(fetcher, leading(logs, 0))
    assert [(cut.offset, cut.is_below_high_watermark) for cut in told.cuts] == [(1, False)]
    assert "high watermark" in told.cuts[0].reason


# --- out of range


@pytest.mark.parametrize("settings", [MIRROR, REPLICA])
def test_a_log_that_ends_before_the_leaders_starts_begins_there(logs: Logs, settings: FetcherSettings) -> None:
    write(logs("leader"), 0, b"a", b"b", b"c", b"d")
    logs("leader").delete_records(3)
    write(logs("follower"), 0, b"a")
    told = Cuts()
    fetcher = Fetcher(settings, observer=told)
    fetcher.follow(PARTITION, logs("follower"), 0)
    leader = leading(logs, 0)
    catch_up(fetcher, leader)
    assert [(cut.starts_afresh, cut.offset, cut.offset_count) for cut in told.cuts] == [(True, 3, 1)]
    assert (logs("follower").log_start_offset, logs("follower").log_end_offset) == (3, 4)
    replicas = [each.replica_id for each in leader.asked if isinstance(each, ListOffsetsRequest)]
    # A mirror is told the leader's end, and not only its high watermark.
    assert replicas == [settings.identity.offsets_replica_id] * 2


@pytest.mark.parametrize("settings", [MIRROR, REPLICA])
def test_a_log_that_starts_after_the_leaders_ends_begins_where_that_starts(
    logs: Logs, settings: FetcherSettings
) -> None:
    """As after a leader that said once that its log starts far beyond."""
    write(logs("leader"), 0, b"a", b"b", b"c")
    logs("leader").delete_records(1)
    logs("follower").truncate_fully_and_start_at(1_000_000)
    fetcher = Fetcher(settings)
    fetcher.follow(PARTITION, logs("follower"), 0)
    catch_up(fetcher, leading(logs, 0), to=3)
    assert (logs("follower").log_start_offset, logs("follower").log_end_offset) == (1, 3)
    assert_follows(logs("follower"), logs("leader"), 3)


@pytest.mark.parametrize("settings", [MIRROR, REPLICA])
def test_a_log_that_began_where_the_leaders_does_not_start_begins_anew(logs: Logs, settings: FetcherSettings) -> None:
    """As after a leader that says that its log starts far beyond, and then that it starts before that after all."""
    write(logs("leader"), 0, b"a", b"b", b"c")
    write(logs("liar"), 0, b"a", b"b", b"c")
    logs("liar").delete_records(2)
    told = Cuts()
    fetcher = Fetcher(replace(settings, rules=replace(settings.effective_rules, back_off_ms=1)), observer=told)
    fetcher.follow(PARTITION, logs("follower"), 0)
    liar, leader = Leader(), leading(logs, 0)
    liar.lead(PARTITION, logs("liar"), 0)
    catch_up(fetcher, liar)
    assert logs("follower").log_start_offset == 2
    catch_up(fetcher, leader, to=3)
    assert (logs("follower").log_start_offset, logs("follower").log_end_offset) == (0, 3)
    assert_follows(logs("follower"), logs("leader"), 3)
    assert told.cuts[-1].reason == "the leader's log starts at offset 0, and not at 2"


@pytest.mark.parametrize("settings", [MIRROR, REPLICA])
@pytest.mark.parametrize(("start", "end"), [(-1, -1), (5, 3), (2**63 - 1, 2**63 - 1)])
def test_where_no_log_can_be_the_leader_is_asked_again(
    logs: Logs, settings: FetcherSettings, start: int, end: int
) -> None:
    write(logs("leader"), 0, b"a", b"b", b"c")
    write(logs("follower"), 0, b"a")
    logs("leader").delete_records(2)
    fetcher = Fetcher(settings)
    fetcher.follow(PARTITION, logs("follower"), 0)
    leader = leading(logs, 0)
    now = 0
    while standing(fetcher).phase is not Phase.LOCATING:
        exchange(fetcher, leader, now := now + 1)
    for request, offset in zip(fetcher.requests(now), (end, start), strict=True):
        assert isinstance(request, ListOffsetsRequest)
        answer = ListOffsetsResponse(partitions={PARTITION: ListedOffset(ErrorCode.NONE, offset)})
        fetcher.take(request, answer, now)
    assert standing(fetcher).reason == f"the leader's log cannot span {start:,} to {end:,}"
    for _ in range(3):
        exchange(fetcher, leader, now + BACK_OFF)
    assert logs("follower").log_start_offset == 2


def test_a_log_that_goes_on_beyond_the_leaders_is_cut_and_asks_again(logs: Logs) -> None:
    write(logs("leader"), 0, b"a", b"b")
    write(logs("follower"), 0, b"a", b"b")
    leader = leading(logs, 0)
    fetcher = Fetcher(MIRROR)
    fetcher.follow(PARTITION, logs("follower"), 0)
    catch_up(fetcher, leader)
    # Nobody but a leader that loses what it had, and leads on.
    logs("leader").truncate_to(1)
    leader.forget_sessions()
    catch_up(fetcher, leader)
    assert_follows(logs("follower"), logs("leader"), 1)


def test_an_empty_log_may_begin_within_the_leaders_first_batch(logs: Logs) -> None:
    for side in ("leader",):
        logs(side).append([Record.of(b"a"), Record.of(b"b"), Record.of(b"c")], leader_epoch=0)
        logs(side).update_high_watermark(3)
        logs(side).delete_records(1)
    logs("follower").truncate_fully_and_start_at(1)
    fetcher = Fetcher()
    fetcher.follow(PARTITION, logs("follower"), 0)
    catch_up(fetcher, leading(logs, 0))
    assert (logs("follower").log_start_offset, logs("follower").log_end_offset) == (1, 3)


@pytest.mark.parametrize("settings", [MIRROR, REPLICA])
def test_a_log_that_loses_all_that_it_has_begins_with_what_comes_next(logs: Logs, settings: FetcherSettings) -> None:
    """Its first batch goes, within which it starts; the leader has other batches, and starts at the same offset."""
    follower = logs("follower")
    logs("before").append([Record.of(b"a"), Record.of(b"b"), Record.of(b"c")], leader_epoch=0)
    logs("before").update_high_watermark(3)
    logs("before").delete_records(1)
    before = Leader()
    before.lead(PARTITION, logs("before"), 0)
    fetcher = Fetcher(settings)
    fetcher.follow(PARTITION, follower, 0)
    catch_up(fetcher, before)
    assert (follower.log_start_offset, follower.segments[0].base_offset) == (1, 0)
    write(logs("leader"), 1, b"x", b"y", b"z")
    logs("leader").delete_records(1)
    fetcher.follow(PARTITION, follower, 1)
    catch_up(fetcher, leading(logs, 1))
    assert_follows(follower, logs("leader"), 3)
    assert [segment.base_offset for segment in follower.segments] == [1]
    follower.close()
    assert_sound(follower.directory)


# --- what the leader tells beside records


def test_high_watermark_and_log_start_follow_the_leaders(logs: Logs) -> None:
    write(logs("leader"), 0, b"a", b"b", b"c", b"d")
    leader = leading(logs, 0)
    fetcher = Fetcher(REPLICA)
    fetcher.follow(PARTITION, logs("follower"), 0)
    exchange(fetcher, leader)
    assert logs("follower").high_watermark == 4
    logs("leader").delete_records(2)
    exchange(fetcher, leader)
    assert logs("follower").log_start_offset == 2


def test_the_leader_is_told_of_a_new_log_start_though_no_records_come(logs: Logs) -> None:
    """Or DeleteRecords waits for it until it times out, as the leader answers when all replicas have deleted them."""
    write(logs("leader"), 0, b"a", b"b", b"c", b"d")
    leader = leading(logs, 0)
    fetcher = Fetcher(REPLICA)
    fetcher.follow(PARTITION, logs("follower"), 0)
    catch_up(fetcher, leader)
    logs("leader").delete_records(2)
    exchange(fetcher, leader)
    assert told_starts(fetcher, leader) == [2]
    logs("follower").delete_records(4)  # as by a retention of its own
    logs("leader").delete_records(3)
    exchange(fetcher, leader)
    assert told_starts(fetcher, leader) == [4]


def told_starts(fetcher: Fetcher, leader: Leader) -> list[int]:
    """The log starts that the next fetch tells."""
    leader.exchanges.clear()
    exchange(fetcher, leader)
    fetches = [each for each in leader.asked if isinstance(each, FetchRequest)]
    return [each.partitions[PARTITION].log_start_offset for each in fetches if PARTITION in each.partitions]


def test_an_answer_larger_than_a_segment_fills_several(logs: Logs) -> None:
    write(logs("leader"), 0, *[b"x" * 500] * 20)
    fetcher = Fetcher()
    fetcher.follow(PARTITION, logs("follower"), 0)
    answer = b"".join(each for _, each in batches(logs("leader"), 0, 20))
    assert len(answer) > CONFIG.segment_bytes
    (request,) = fetcher.requests(0)
    fetcher.take(request, FetchResponse(partitions={PARTITION: FetchedPartition(ErrorCode.NONE, 20, 0, answer)}), 0)
    assert_follows(logs("follower"), logs("leader"), 20)


def test_of_an_answer_larger_than_a_segment_what_comes_before_damage_is_kept(logs: Logs) -> None:
    write(logs("leader"), 0, *[b"x" * 500] * 10)
    leader = leading(logs, 0)
    told = Told()
    fetcher = Fetcher(observer=told)
    fetcher.follow(PARTITION, logs("follower"), 0)
    damaged = b"".join(each for _, each in batches(logs("leader"), 0, 10))[:-1] + b"!"
    assert len(damaged) > CONFIG.segment_bytes
    (request,) = fetcher.requests(0)
    fetcher.take(request, FetchResponse(partitions={PARTITION: FetchedPartition(ErrorCode.NONE, 10, 0, damaged)}), 0)
    assert 0 < logs("follower").log_end_offset < 10
    assert standing(fetcher).phase is Phase.FETCHING
    catch_up(fetcher, leader, to=10)
    assert told.events == []


def test_a_leaders_start_beyond_what_was_asked_for_is_not_believed(logs: Logs) -> None:
    write(logs("follower"), 0, b"a", b"b")
    told = Told()
    fetcher = Fetcher(REPLICA, observer=told)
    fetcher.follow(PARTITION, logs("follower"), 0)
    (request,) = fetcher.requests(0)
    fetcher.take(request, FetchResponse(partitions={PARTITION: FetchedPartition(ErrorCode.NONE, 9, 9)}), 0)
    assert logs("follower").log_start_offset == 0
    assert told.events == [("refused", PARTITION)]
    assert standing(fetcher).ready_at == BACK_OFF


# --- errors


def answered_with(error: ErrorCode, fetcher: Fetcher, now: int = 0) -> None:
    (request,) = fetcher.requests(now)
    fetcher.take(request, FetchResponse(partitions={PARTITION: FetchedPartition(error, -1)}), now)


@pytest.mark.parametrize(
    ("error", "in_doubt"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, True),
        (ErrorCode.UNKNOWN_LEADER_EPOCH, True),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True),
        (ErrorCode.UNKNOWN_TOPIC_ID, True),
        (ErrorCode.KAFKA_STORAGE_ERROR, True),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, False),
        (ErrorCode.UNKNOWN_SERVER_ERROR, False),
    ],
)
def test_after_an_error_a_partition_waits_and_asks_again(logs: Logs, error: ErrorCode, *, in_doubt: bool) -> None:
    told, doubts = Told(), list[TopicPartition]()
    fetcher = Fetcher(observer=told, in_doubt=doubts.append)
    fetcher.follow(PARTITION, logs("follower"), 0)
    answered_with(error, fetcher)
    assert standing(fetcher).reason == error.name
    assert doubts == [PARTITION] * in_doubt
    assert told.events == [("erred", PARTITION, error)]
    assert fetcher.requests(BACK_OFF - 1) == []
    assert fetcher.wake_at(1) == BACK_OFF
    assert len(fetcher.requests(BACK_OFF)) == 1


def test_a_fenced_partition_follows_a_newer_leader(logs: Logs) -> None:
    write(logs("leader"), 1, b"a")
    told, doubts = Told(), list[TopicPartition]()
    fetcher = Fetcher(observer=told, in_doubt=doubts.append)
    fetcher.follow(PARTITION, logs("follower"), 0)
    answered_with(ErrorCode.FENCED_LEADER_EPOCH, fetcher)
    assert standing(fetcher).phase is Phase.FENCED
    assert doubts == [PARTITION]
    assert ("fenced", PARTITION) in told.events
    assert fetcher.requests(BACK_OFF - 1) == []
    fetcher.follow(PARTITION, logs("follower"), 1)
    catch_up(fetcher, leading(logs, 1))


@pytest.mark.parametrize("settings", [MIRROR, REPLICA])
def test_a_partition_that_was_fenced_by_mistake_goes_on(logs: Logs, settings: FetcherSettings) -> None:
    write(logs("leader"), 1, b"a", b"b")
    write(logs("follower"), 1, b"a")
    doubts = list[TopicPartition]()
    fetcher = Fetcher(settings, in_doubt=doubts.append)
    fetcher.follow(PARTITION, logs("follower"), 1)
    if settings is MIRROR:
        exchange(fetcher, leading(logs, 1))
    for tries in range(3):
        answered_with(ErrorCode.FENCED_LEADER_EPOCH, fetcher, tries * BACK_OFF)
        assert standing(fetcher).phase is Phase.FENCED
        assert fetcher.requests(tries * BACK_OFF) == []
        assert fetcher.wake_at(tries * BACK_OFF) == (tries + 1) * BACK_OFF
        assert doubts == [PARTITION] * (tries + 1)
        if settings is MIRROR:
            # It asks for epochs once more.
            exchange(fetcher, leading(logs, 1), (tries + 1) * BACK_OFF)
    exchange(fetcher, leading(logs, 1), 3 * BACK_OFF)
    assert_follows(logs("follower"), logs("leader"), 2)


def test_a_disk_that_fails_fails_its_partition_alone(logs: Logs) -> None:
    leader = leading(logs, 0, PARTITION, OTHER)
    told = Told()
    fetcher = Fetcher(observer=told)
    for partition in (PARTITION, OTHER):
        write(logs("leader", partition), 0, b"a")
        fetcher.follow(partition, logs("follower", partition), 0)
    logs("follower").abandon()
    exchange(fetcher, leader)
    exchange(fetcher, leader)
    assert standing(fetcher).phase is Phase.FAILED
    assert "closed" in standing(fetcher).reason
    assert told.events == [("failed", PARTITION)]
    assert fetcher.is_caught_up(OTHER, 0)


class Breaking(Unsynced):
    """A disk that takes no more records once it is broken."""

    is_broken = False

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        if self.is_broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().write(descriptor, data)


def test_a_disk_that_takes_no_records_fails_the_partition_at_once(logs: Logs, tmp_path: Path) -> None:
    write(logs("leader"), 0, b"a")
    leader, disk = leading(logs, 0), Breaking()
    (tmp_path / "breaking").mkdir()
    log = Log.open(tmp_path / "breaking" / str(PARTITION), CONFIG, filesystem=disk, replicated=True)
    fetcher = Fetcher()
    fetcher.follow(PARTITION, log, 0)
    disk.is_broken = True
    exchange(fetcher, leader)
    assert standing(fetcher).phase is Phase.FAILED
    log.abandon()


def test_a_leader_that_is_gone_puts_all_in_doubt(logs: Logs) -> None:
    doubts = set[TopicPartition]()
    fetcher = Fetcher(in_doubt=doubts.add)
    for partition in (PARTITION, OTHER):
        fetcher.follow(partition, logs("follower", partition), 0)
    (request,) = fetcher.requests(0)
    fetcher.disconnected("broker1:9092: the connection broke", 0)
    assert doubts == {PARTITION, OTHER}
    assert standing(fetcher).reason == "broker1:9092: the connection broke"
    fetcher.take(request, FetchResponse(partitions={PARTITION: FetchedPartition(ErrorCode.NONE, 0)}), 1)
    assert fetcher.confirmed_at == -1
    (again,) = fetcher.requests(BACK_OFF)
    assert isinstance(again, FetchRequest)
    assert set(again.partitions) == {PARTITION, OTHER}


def test_a_connection_that_breaks_leaves_a_partition_where_its_log_is(logs: Logs) -> None:
    write(logs("leader"), 0, b"a", b"b")
    leader = leading(logs, 0)
    fetcher = Fetcher(replace(MIRROR, rules=replace(MIRROR_RULES, back_off_ms=1)))
    for partition in (PARTITION, OTHER):
        fetcher.follow(partition, logs("follower", partition), 0)
    leader.lead(OTHER, logs("leader", OTHER), 0)
    catch_up(fetcher, leader)
    # As if the exchange were broken off between a cut and what is known of it.
    logs("follower").truncate_to(1)
    fetcher.disconnected("the connection broke", 9)
    assert (standing(fetcher).fetch_offset, standing(fetcher).phase) == (1, Phase.TRUNCATING)
    assert (standing(fetcher, OTHER).fetch_offset, standing(fetcher, OTHER).phase) == (0, Phase.FETCHING)
    catch_up(fetcher, leader, to=2)
    assert_follows(logs("follower"), logs("leader"), 2)


def test_a_connection_that_breaks_takes_open_questions_with_it(logs: Logs) -> None:
    write(logs("leader"), 0, b"a", b"b")
    write(logs("follower"), 0, b"a")
    leader = leading(logs, 0)
    fetcher = Fetcher(MIRROR)
    fetcher.follow(PARTITION, logs("follower"), 0)
    (question,) = fetcher.requests(0)
    fetcher.disconnected("the connection broke", 0)
    assert isinstance(question, OffsetForLeaderEpochRequest)
    fetcher.forget(PARTITION)
    fetcher.follow(PARTITION, logs("follower"), 0)
    catch_up(fetcher, leader)
    assert_follows(logs("follower"), logs("leader"), 2)


def test_a_full_fetch_whose_answer_lacks_partitions_is_asked_again_later(logs: Logs) -> None:
    leader = leading(logs, 0, PARTITION, OTHER)
    fetcher = Fetcher(REPLICA)
    for partition in (PARTITION, OTHER):
        fetcher.follow(partition, logs("follower", partition), 0)
    (request,) = fetcher.requests(0)
    answer = leader.answer(request)
    assert isinstance(answer, FetchResponse)
    fetcher.take(request, replace(answer, partitions={PARTITION: answer.partitions[PARTITION]}), 0)
    for partition in (PARTITION, OTHER):
        assert standing(fetcher, partition).ready_at == BACK_OFF
        assert "lacks 1 partitions" in standing(fetcher, partition).reason
    assert fetcher.requests(BACK_OFF - 1) == []


def test_a_failed_fetch_is_asked_again_in_full(logs: Logs) -> None:
    leader = leading(logs, 0)
    fetcher = Fetcher()
    fetcher.follow(PARTITION, logs("follower"), 0)
    exchange(fetcher, leader)
    fetcher.requests(0)
    fetcher.disconnected("the answer is malformed", 0)
    assert standing(fetcher).reason == "the answer is malformed"
    (again,) = fetcher.requests(BACK_OFF)
    assert isinstance(again, FetchRequest)
    assert (set(again.partitions), again.session_epoch) == ({PARTITION}, 0)


def test_a_session_that_the_leader_forgot_costs_one_round(logs: Logs) -> None:
    leader = leading(logs, 0)
    fetcher = Fetcher()
    fetcher.follow(PARTITION, logs("follower"), 0)
    exchange(fetcher, leader)
    leader.forget_sessions()
    exchange(fetcher, leader)
    assert fetcher.confirmed_at == 0
    (again,) = exchange(fetcher, leader, 1)
    assert isinstance(again, FetchRequest)
    assert set(again.partitions) == {PARTITION}
    assert fetcher.confirmed_at == 1


# --- answers that come too late


def test_an_answer_counts_only_where_the_partition_stands_as_it_did(logs: Logs) -> None:
    write(logs("leader"), 0, b"a", b"b")
    write(logs("follower"), 0, b"a")
    leader = leading(logs, 0)
    log = logs("follower")

    def forget(fetcher: Fetcher) -> None:
        fetcher.forget(PARTITION)

    def follow_anew(fetcher: Fetcher) -> None:
        fetcher.forget(PARTITION)
        fetcher.follow(PARTITION, log, 0)

    def follow_another_leader(fetcher: Fetcher) -> None:
        fetcher.follow(PARTITION, log, 1)

    def follow_another_topic(fetcher: Fetcher) -> None:
        fetcher.follow(PARTITION, log, 0, uuid4())

    for change in (forget, follow_anew, follow_another_leader, follow_another_topic):
        # A replica, which fetches from another leader at once.
        fetcher = Fetcher(REPLICA)
        fetcher.follow(PARTITION, log, 0)
        (request,) = fetcher.requests(0)
        answer = leader.answer(request)
        change(fetcher)
        fetcher.take(request, answer, 0)
        assert log.log_end_offset == 1


def test_an_answer_about_epochs_counts_only_for_the_leader_that_was_asked(logs: Logs) -> None:
    forked(logs)
    fetcher = Fetcher(MIRROR)
    fetcher.follow(PARTITION, logs("follower"), 1)
    (request,) = fetcher.requests(0)
    fetcher.follow(PARTITION, logs("follower"), 2)
    answer = OffsetForLeaderEpochResponse(partitions={PARTITION: (ErrorCode.NONE, EndOffset(0, 1))})  # type: ignore[dict-item]
    fetcher.take(request, answer, 0)
    assert logs("follower").log_end_offset == 5
    assert standing(fetcher).phase is Phase.TRUNCATING


def test_a_partition_that_an_answer_lacks_asks_again_later(logs: Logs) -> None:
    write(logs("follower"), 0, b"a")
    fetcher = Fetcher(MIRROR)
    fetcher.follow(PARTITION, logs("follower"), 0)
    (request,) = fetcher.requests(0)
    fetcher.take(request, OffsetForLeaderEpochResponse(partitions={}), 0)
    assert "lacks" in standing(fetcher).reason
    assert len(fetcher.requests(BACK_OFF)) == 1


def test_so_does_one_that_an_answer_about_offsets_lacks(logs: Logs) -> None:
    fetcher = Fetcher(REPLICA)
    fetcher.follow(PARTITION, logs("follower"), 0)
    (fetch,) = fetcher.requests(0)
    refused = FetchedPartition(ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    fetcher.take(fetch, FetchResponse(partitions={PARTITION: refused}), 0)
    for request in fetcher.requests(0):
        assert isinstance(request, ListOffsetsRequest)
        fetcher.take(request, ListOffsetsResponse(partitions={}), 0)
    assert "lacks" in standing(fetcher).reason
    assert len(fetcher.requests(BACK_OFF)) > 0


# --- throttling


def test_a_throttle_holds_up_what_lags_and_lets_through_what_does_not(logs: Logs) -> None:
    leader = leading(logs, 0, PARTITION, OTHER)
    write(logs("leader", PARTITION), 0, *[b"x" * 100] * 20)
    throttle = Throttle(100, windows=2)
    fetcher = Fetcher(FetcherSettings(max_partition_bytes=500), throttle=throttle)
    for partition in (PARTITION, OTHER):
        fetcher.follow(partition, logs("follower", partition), 0)
    exchange(fetcher, leader, 0)
    fetched = logs("follower").log_end_offset
    assert 0 < fetched < 20
    (held_up,) = exchange(fetcher, leader, 1)
    assert isinstance(held_up, FetchRequest)
    assert held_up.forgotten == {PARTITION}
    free_at = throttle.free_at(1)
    assert free_at > 1
    write(logs("leader", OTHER), 0, b"y")
    exchange(fetcher, leader, 2)
    assert logs("follower", OTHER).log_end_offset == 1
    assert logs("follower").log_end_offset == fetched
    exchange(fetcher, leader, free_at)
    assert logs("follower").log_end_offset > fetched


@pytest.mark.parametrize(("asked_ms", "waited_ms"), [(9_999, 9_999), (10_000, 10_000), (2**31 - 1, 10_000), (-1, 0)])
def test_a_leader_that_asks_for_a_long_silence_is_asked_again_within_ten_seconds(
    logs: Logs, asked_ms: int, waited_ms: int
) -> None:
    write(logs("leader"), 0, b"a")
    told = Told()
    fetcher = Fetcher(observer=told)
    fetcher.follow(PARTITION, logs("follower"), 0)
    exchange(fetcher, leading(logs, 0))
    (request,) = fetcher.requests(0)
    assert isinstance(request, FetchRequest)
    answer = FetchResponse(session_id=request.session_id, throttle_time_ms=asked_ms, partitions={})
    fetcher.take(request, answer, 0)
    assert fetcher.wake_at(0) == waited_ms
    assert told.events == [("throttled", asked_ms, waited_ms)] * (waited_ms > 0)


def test_over_its_quota_a_follower_waits_and_has_not_caught_up(logs: Logs) -> None:
    write(logs("leader"), 0, b"a")
    leader = leading(logs, 0)
    fetcher = Fetcher()
    fetcher.follow(PARTITION, logs("follower"), 0)
    nothing = FetchResponse(throttle_time_ms=30, partitions={})
    (full,) = fetcher.requests(0)
    fetcher.take(full, nothing, 0)
    assert (standing(fetcher).reason, fetcher.requests(29), fetcher.wake_at(1)) == ("", [], 30)
    (answered,) = exchange(fetcher, leader, 30)
    assert isinstance(answered, FetchRequest)
    assert answered.session_epoch == 0
    exchange(fetcher, leader, 31)
    assert fetcher.is_caught_up(PARTITION, 31)
    write(logs("leader"), 0, b"b")
    (incremental,) = fetcher.requests(32)
    answer = leader.answer(incremental)
    assert isinstance(answer, FetchResponse)
    fetcher.take(incremental, replace(nothing, session_id=answer.session_id), 32)
    assert not fetcher.is_caught_up(PARTITION, 32)
    assert fetcher.requests(61) == []
    leader.forget_sessions()
    catch_up(fetcher, leader, to=2)


class ShortOfDescriptors(Unsynced):
    """A disk of a process that may open no more files, for a time."""

    is_short = False

    def open(self, path: Path, *, truncate: bool = False) -> int:
        if self.is_short:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().open(path, truncate=truncate)


def test_a_limit_of_the_process_fails_no_partition_which_goes_on_once_it_is_over(logs: Logs, tmp_path: Path) -> None:
    leader, disk = Leader(), ShortOfDescriptors()
    write(logs("leader"), 0, *(bytes(400) for _ in range(9)))
    leader.lead(PARTITION, logs("leader"), 0)
    (tmp_path / "short").mkdir()
    with Log.open(tmp_path / "short" / str(PARTITION), CONFIG, filesystem=disk, replicated=True) as log:
        fetcher = Fetcher(FetcherSettings(rules=replace(MIRROR_RULES, back_off_ms=1)))
        fetcher.follow(PARTITION, log, 0)
        disk.is_short = True
        with pytest.raises(OSError, match="Too many open files"):
            catch_up(fetcher, leader)
        fetcher.disconnected("there are no descriptors left", 5)
        disk.is_short = False
        catch_up(fetcher, leader)
        assert_follows(log, logs("leader"), 9)


class OutOfMemory(FetchObserver):
    """Raises after a cut, of which the fetcher does not know yet."""

    def truncated(self, log: Log, cut: Cut) -> None:
        del log, cut
        raise MemoryError


def test_what_was_broken_off_after_a_cut_goes_on_from_where_the_log_is(logs: Logs) -> None:
    leader = Leader()
    write(logs("leader"), 0, b"one")
    write(logs("leader"), 2, b"other")
    leader.lead(PARTITION, logs("leader"), 2)
    log = logs("follower")
    write(log, 0, b"one", b"two", b"three")
    fetcher = Fetcher(replace(REPLICA, rules=replace(REPLICA_RULES, back_off_ms=1)), observer=OutOfMemory())
    fetcher.follow(PARTITION, log, 2)
    with pytest.raises(MemoryError):
        catch_up(fetcher, leader)
    assert log.log_end_offset == 1
    fetcher.disconnected("there is no memory left", 5)
    catch_up(fetcher, leader)
    assert_follows(log, logs("leader"), 2)
