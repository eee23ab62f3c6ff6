"""A leader whose answers bring a partition no further is asked ever less often, until it makes sense again."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from epoch import EndOffset
from logstore import Log, Record
from replication.cluster.fetcher.decisions.fetch_state import Phase
from replication.cluster.fetcher.fetch_observer import FetchObserver
from replication.cluster.fetcher.fetcher import Fetcher, FetcherRequest, FetcherResponse
from replication.cluster.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from replication.cluster.fetcher.followed_partition import LONGEST_MS, Setbacks
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchedPartition, FetchRequest, FetchResponse
from replication.wire.messages.list_offsets import ListedOffset, ListOffsetsRequest, ListOffsetsResponse
from replication.wire.messages.offset_for_leader_epoch import EpochAnswer, OffsetForLeaderEpochResponse
from tests.replication.cluster.fetcher.drive import (
    CONFIG,
    PARTITION,
    assert_follows,
    batches,
    catch_up,
    exchange,
    open_log,
)
from tests.replication.cluster.fetcher.leader import Leader

MIRROR = FetcherSettings(max_partition_bytes=150)
REPLICA = FetcherSettings(identity=FetchIdentity(5), max_partition_bytes=150)
BOTH = pytest.mark.parametrize("settings", [MIRROR, REPLICA], ids=["mirror", "replica"])
MINUTE = 60_000
AT_MOST = 50
"""Requests in a minute of nonsense: some at once, then up to four after 1, 2, 4, 8 and every 10 seconds."""

Answer = Callable[[FetcherRequest], FetcherResponse]


@pytest.fixture
def leader_log(tmp_path: Path) -> Iterator[Log]:
    with open_log(tmp_path / "leader") as log:
        for epoch in (0, 1, 2, 2, 2):
            log.append([Record.of(b"%d" % epoch)] * 2, leader_epoch=epoch)
        log.update_high_watermark(log.log_end_offset)
        yield log


@pytest.fixture
def leader(leader_log: Log) -> Leader:
    leader = Leader()
    leader.lead(PARTITION, leader_log, 2)
    return leader


@pytest.fixture
def log(tmp_path: Path, leader_log: Log) -> Iterator[Log]:
    """A follower's, with all but the last batch."""
    with open_log(tmp_path / "follower") as log:
        for _, batch in batches(leader_log, 0, 8):
            log.append_batches(batch)
        yield log


class Drive:
    """Lets time pass as a fetcher asks for it, and as leaders do that have no news: they wait before they answer."""

    def __init__(self, fetcher: Fetcher) -> None:
        self.fetcher = fetcher
        self.now = 0
        self.asked: list[int] = []
        """When each request was sent."""

    def until(self, end: int, answer: Answer) -> None:
        while self.now <= end:
            requests = self.fetcher.requests(self.now)
            for request in requests:
                self.asked.append(self.now)
                assert len(self.asked) < 100 * AT_MOST, "it asks without end"
                response = answer(request)
                self.fetcher.take(request, response, self.now)
                if isinstance(response, FetchResponse) and not any(map(is_news, response.partitions.values())):
                    self.now += self.fetcher.settings.max_wait_ms
            if not requests:
                due = self.fetcher.wake_at(self.now)
                assert due is not None
                assert due > self.now
                self.now = due


def is_news(fetched: FetchedPartition) -> bool:
    """Whether a leader answers at once."""
    return bool(fetched.records) or fetched.error is not ErrorCode.NONE or fetched.diverging_epoch is not None


def nonsense(leader: Leader, fetched: FetchedPartition) -> Answer:
    """Answers fetches with this, and what else is asked with the truth."""

    def answer(request: FetcherRequest) -> FetcherResponse:
        if not isinstance(request, FetchRequest):
            return leader.answer(request)
        return FetchResponse(partitions={PARTITION: fetched})

    return answer


def followed(log: Log, leader: Leader, settings: FetcherSettings, answer: Answer) -> Drive:
    """A minute of these answers; then the truth again, until the follower has all."""
    fetcher = Fetcher(settings)
    fetcher.follow(PARTITION, log, 2)
    drive = Drive(fetcher)
    drive.until(MINUTE, answer)
    asked = [*drive.asked]
    drive.until(drive.now + LONGEST_MS, leader.answer)
    assert_follows(log, leader.partitions[PARTITION].log, 10)
    drive.asked = asked
    return drive


def test_each_wait_is_twice_as_long_as_the_last() -> None:
    setbacks, now, waits = Setbacks(), 0, []
    for _ in range(7):
        waits.append(setbacks.wait_ms(now, 1_000, free=1))
        now += waits[-1]
    assert waits == [0, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]


def test_what_explains_setbacks_may_be_used_up_by_them() -> None:
    """A follower of four epochs that the leader never had cuts one of them at each."""
    setbacks = Setbacks()
    waits = [setbacks.wait_ms(now, 1_000, free=epochs) for now, epochs in enumerate((4, 3, 2, 1))]
    assert waits == [0, 0, 0, 0]
    assert setbacks.wait_ms(4, 1_000, free=1) == 1_000


def test_a_follower_in_an_epoch_that_the_leader_lacks_does_not_wait_where_the_leader_deleted_records(
    tmp_path: Path,
) -> None:
    leader = Leader()
    with open_log(tmp_path / "leader") as leader_log, open_log(tmp_path / "follower") as log:
        for epoch in (0, 3):
            leader_log.append([Record.of(b"record")] * 4, leader_epoch=epoch)
        leader_log.update_high_watermark(8)
        leader_log.delete_records(2)
        leader.lead(PARTITION, leader_log, 3)
        log.assign_epoch(1, 0)
        fetcher = Fetcher(REPLICA)
        fetcher.follow(PARTITION, log, 3)
        catch_up(fetcher, leader, to=8)
        assert (log.log_start_offset, log.log_end_offset) == (2, 8)


def test_another_leader_begins_without_setbacks(log: Log) -> None:
    fetcher = Fetcher(REPLICA)
    back_off = fetcher.rules.back_off_ms

    def wait_after_nonsense(now: int) -> int:
        (request,) = fetcher.requests(now)
        fetcher.take(
            request, FetchResponse(partitions={PARTITION: FetchedPartition(ErrorCode.NONE, 10, 0, b"?" * 99)}), now
        )
        state = fetcher.state(PARTITION)
        assert state is not None
        return state.ready_at - now

    fetcher.follow(PARTITION, log, 2)
    assert [wait_after_nonsense(0), wait_after_nonsense(back_off)] == [back_off, 2 * back_off]
    fetcher.follow(PARTITION, log, 3)
    assert wait_after_nonsense(3 * back_off) == back_off


def test_what_explained_setbacks_long_ago_explains_none_now() -> None:
    setbacks = Setbacks()
    assert setbacks.wait_ms(0, 1_000, free=4) == 0
    assert [setbacks.wait_ms(now, 1_000, free=1) for now in (MINUTE, MINUTE + 1)] == [0, 1_000]


def test_after_a_long_time_without_any_a_setback_is_the_first_again() -> None:
    setbacks = Setbacks()
    waits = [setbacks.wait_ms(now, 1_000) for now in (0, 1_000, 21_000, 41_001)]
    assert waits == [1_000, 2_000, 4_000, 1_000]


@BOTH
@pytest.mark.parametrize(
    "fetched",
    [
        FetchedPartition(ErrorCode.NONE, 10, 0, b"\xff" * 100),
        FetchedPartition(ErrorCode.NONE, 10, 0, b"\x00" * 40),
        FetchedPartition(ErrorCode.NONE, 10, 2**62, b""),
        FetchedPartition(ErrorCode.OFFSET_OUT_OF_RANGE, 10),
        FetchedPartition(ErrorCode.FENCED_LEADER_EPOCH, 10),
        *(FetchedPartition(ErrorCode.NONE, 10, 0, b"", EndOffset(1, end)) for end in (2, 4, 99, 2**63 - 1)),
        *(FetchedPartition(ErrorCode.NONE, 10, 0, b"", EndOffset(epoch, 8)) for epoch in (0, 2, 9)),
    ],
)
def test_an_answer_that_is_always_the_same_does_not_keep_it_busy(
    log: Log, leader: Leader, settings: FetcherSettings, fetched: FetchedPartition
) -> None:
    # One that was fenced asks each second, and a mirror for epochs first.
    limit = 2 * MINUTE // 1_000 + 4 if fetched.error is ErrorCode.FENCED_LEADER_EPOCH else AT_MOST
    drive = followed(log, leader, settings, nonsense(leader, fetched))
    assert len(drive.asked) <= limit


@pytest.mark.parametrize("end", [4, 6, 7])
def test_a_leader_that_sends_records_and_takes_them_back_in_turn_is_asked_less_and_less(
    log: Log, leader: Leader, end: int
) -> None:
    def answer(request: FetcherRequest) -> FetcherResponse:
        assert isinstance(request, FetchRequest)
        if not request.partitions or log.log_end_offset < 8:
            return leader.answer(request)
        return FetchResponse(partitions={PARTITION: FetchedPartition(ErrorCode.NONE, 10, 0, b"", EndOffset(2, end))})

    drive = followed(log, leader, REPLICA, answer)
    assert len(drive.asked) <= 3 * AT_MOST


@pytest.mark.parametrize("offsets", [(0, 10), (0, 8), (10, 0), (-1, -1), (9, 9), (2**62, 2**62)])
@BOTH
def test_offsets_that_help_nobody_do_not_keep_it_busy(
    log: Log, settings: FetcherSettings, offsets: tuple[int, int]
) -> None:
    def answer(request: FetcherRequest) -> FetcherResponse:
        if isinstance(request, FetchRequest):
            return FetchResponse(partitions={PARTITION: FetchedPartition(ErrorCode.OFFSET_OUT_OF_RANGE, -1)})
        if isinstance(request, ListOffsetsRequest):
            offset = offsets[request.partitions[PARTITION].timestamp == -1]
            return ListOffsetsResponse(partitions={PARTITION: ListedOffset(ErrorCode.NONE, offset)})
        return OffsetForLeaderEpochResponse(partitions={PARTITION: EpochAnswer(ErrorCode.NONE, EndOffset(2, 8))})

    fetcher = Fetcher(settings)
    fetcher.follow(PARTITION, log, 2)
    drive = Drive(fetcher)
    drive.until(MINUTE, answer)
    assert len(drive.asked) <= 3 * MINUTE // 1_000
    state = fetcher.state(PARTITION)
    assert state is not None
    assert state.phase is not Phase.FAILED


@pytest.mark.parametrize("length", [-(2**31), -13, -12, -11, -1, 0, 13, 48])
@BOTH
def test_an_impossible_length_in_an_answer_larger_than_a_segment_is_refused(
    log: Log, leader: Leader, settings: FetcherSettings, length: int
) -> None:
    """These once made a follower look at the same place for ever, or at one that is not there."""
    records = bytearray(CONFIG.segment_bytes + 500)
    records[:17] = (8).to_bytes(8) + length.to_bytes(4, signed=True) + (2).to_bytes(4) + b"\x02"
    for position in (0, len(batches(log, 6, 8)[0][1])):
        before = batches(leader.partitions[PARTITION].log, 8, 10)[0][1][:position]
        told = Refusals()
        fetcher = Fetcher(settings, observer=told)
        fetcher.follow(PARTITION, log, 2)
        answer = nonsense(leader, FetchedPartition(ErrorCode.NONE, 10, 0, before + bytes(records)))
        Drive(fetcher).until(2_999, answer)
        assert log.log_end_offset == 8
        assert len(told.reasons) == 2
        assert all(f"no batch has a length of {length:,} at position {position}" in each for each in told.reasons)


class Refusals(FetchObserver):
    """Remembers what was refused."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def refused(self, partition: object, error: Exception) -> None:
        del partition
        self.reasons.append(str(error))


# --- records that are not known to be committed, and gaps


def tail(leader_log: Log) -> bytes:
    return batches(leader_log, 8, 10)[0][1]


@pytest.mark.parametrize("high_watermark", [-1, 0, 7, 8])
def test_a_mirror_takes_nothing_that_is_not_committed_by_the_same_answer(
    log: Log, leader_log: Log, leader: Leader, high_watermark: int
) -> None:
    answer = nonsense(leader, FetchedPartition(ErrorCode.NONE, high_watermark, 0, tail(leader_log)))
    fetcher = Fetcher(MIRROR)
    fetcher.follow(PARTITION, log, 2)
    drive = Drive(fetcher)
    drive.until(MINUTE, answer)
    assert log.log_end_offset == 8
    # The first time at once: leaders look at their high watermark before they read.
    assert drive.asked[:4] == [0, 0, 0, 1_000]
    assert len(drive.asked) <= AT_MOST
    drive.until(drive.now + 1, leader.answer)
    assert_follows(log, leader_log, 10)


def test_a_mirror_takes_what_is_committed_of_an_answer(log: Log, leader_log: Log, leader: Leader) -> None:
    log.truncate_to(4)
    records = b"".join(batch for _, batch in batches(leader_log, 4, 10))
    fetcher = Fetcher(MIRROR)
    fetcher.follow(PARTITION, log, 2)
    Drive(fetcher).until(0, nonsense(leader, FetchedPartition(ErrorCode.NONE, 8, 0, records)))
    assert log.log_end_offset == 8


@pytest.mark.parametrize("high_watermark", [-1, 0, 8])
def test_a_replica_takes_what_goes_on_whatever_is_committed(
    log: Log, leader_log: Log, leader: Leader, high_watermark: int
) -> None:
    fetcher = Fetcher(REPLICA)
    fetcher.follow(PARTITION, log, 2)
    (request,) = fetcher.requests(0)
    fetched = FetchedPartition(ErrorCode.NONE, high_watermark, 0, tail(leader_log))
    fetcher.take(request, nonsense(leader, fetched)(request), 0)
    assert log.log_end_offset == 10


def moved(batch: bytes, base_offset: int) -> bytes:
    return base_offset.to_bytes(8) + batch[8:]


@BOTH
@pytest.mark.parametrize("base_offset", [11, 12, 72, 2**40, 2**62])
def test_a_gap_above_the_high_watermark_is_refused(
    log: Log, leader_log: Log, leader: Leader, settings: FetcherSettings, base_offset: int
) -> None:
    told = Refusals()
    fetcher = Fetcher(settings, observer=told)
    fetcher.follow(PARTITION, log, 2)
    drive = Drive(fetcher)
    fetched = FetchedPartition(ErrorCode.NONE, 10, 0, moved(tail(leader_log), base_offset))
    drive.until(2_000, nonsense(leader, fetched))
    assert log.log_end_offset == 8
    assert [reason.count("above the reported high watermark") for reason in told.reasons] == [1, 1]
    drive.until(drive.now + 2_000, leader.answer)
    assert_follows(log, leader_log, 10)


@BOTH
def test_a_batch_at_the_last_offset_that_can_be_is_refused_and_fetched_again(
    log: Log, leader_log: Log, leader: Leader, settings: FetcherSettings
) -> None:
    """No log could go on behind it, whatever high watermark comes with it."""
    told = Refusals()
    fetcher = Fetcher(settings, observer=told)
    fetcher.follow(PARTITION, log, 2)
    drive = Drive(fetcher)
    last = 2**63 - 1
    fetched = FetchedPartition(ErrorCode.NONE, last, 0, moved(tail(leader_log), last - 1))
    drive.until(MINUTE, nonsense(leader, fetched))
    assert log.log_end_offset == 8
    assert any(f"would end at offset {last:,}" in reason for reason in told.reasons)
    drive.until(drive.now + LONGEST_MS, leader.answer)
    assert_follows(log, leader_log, 10)


@BOTH
def test_a_gap_at_the_end_of_an_answer_is_stored_once_two_answers_show_it(
    log: Log, leader_log: Log, leader: Leader, settings: FetcherSettings
) -> None:
    told = Refusals()
    fetcher = Fetcher(settings, observer=told)
    fetcher.follow(PARTITION, log, 2)
    drive = Drive(fetcher)

    def once(offset: int) -> None:
        """Take one answer that holds records."""
        fetches = 0
        while not fetches:
            requests = fetcher.requests(drive.now)
            for request in requests:
                is_fetch = isinstance(request, FetchRequest)
                fetched = FetchedPartition(ErrorCode.NONE, 99, 0, moved(tail(leader_log), offset))
                answer = nonsense(leader, fetched)(request) if is_fetch else leader.answer(request)
                fetcher.take(request, answer, drive.now)
                fetches += is_fetch
            if not requests:
                drive.now = fetcher.wake_at(drive.now) or drive.now

    for offset, refused in ((40, 0), (41, 1), (42, 2)):
        once(offset)
        assert (log.log_end_offset, len(told.reasons)) == (8, refused)
    once(42)
    assert log.log_end_offset == 44
    assert [offset for offset, _ in batches(log, 8, 99)] == [42]


@BOTH
@pytest.mark.parametrize("rounds", [2, 9])
def test_another_leader_may_begin_its_epoch_where_the_one_before_did(
    tmp_path: Path, log: Log, leader_log: Log, settings: FetcherSettings, rounds: int
) -> None:
    """Whether the first leader's batch is stored by then, or was shown once."""
    told, leaders = Refusals(), [Leader(), Leader()]
    fetcher = Fetcher(settings, observer=told)
    with open_log(tmp_path / "first") as first, open_log(tmp_path / "second") as second:
        for epoch, leader, led in ((3, leaders[0], first), (4, leaders[1], second)):
            for _, batch in batches(leader_log, 0, 8):
                led.append_batches(batch)
            led.append([Record.of(b"of %d" % epoch)], leader_epoch=epoch)
            led.update_high_watermark(9)
            leader.lead(PARTITION, led, epoch)
        fetcher.follow(PARTITION, log, 3)
        for now in range(rounds):
            exchange(fetcher, leaders[0], now)
        fetcher.follow(PARTITION, log, 4)
        catch_up(fetcher, leaders[1], to=9)
        assert_follows(log, second, 9)
    assert told.reasons == []


@BOTH
def test_a_gap_that_was_a_flipped_bit_is_gone_the_next_time(
    log: Log, leader_log: Log, leader: Leader, settings: FetcherSettings
) -> None:
    fetcher = Fetcher(settings)
    fetcher.follow(PARTITION, log, 2)
    drive = Drive(fetcher)
    flipped = iter([FetchedPartition(ErrorCode.NONE, 99, 0, moved(tail(leader_log), 40))])

    def answer(request: FetcherRequest) -> FetcherResponse:
        fetched = next(flipped, None) if isinstance(request, FetchRequest) else None
        return leader.answer(request) if fetched is None else nonsense(leader, fetched)(request)

    drive.until(0, answer)
    assert_follows(log, leader_log, 10)


# --- logs that end where no batch of the leader's does


@BOTH
@pytest.mark.parametrize(("held", "odd"), [(6, 1), (5, 2), (4, 3), (2, 5), (4, 5)])
def test_a_log_that_ends_within_a_batch_of_the_leaders_is_cut_once_two_answers_show_it(
    tmp_path: Path, leader_log: Log, leader: Leader, settings: FetcherSettings, held: int, odd: int
) -> None:
    """It holds other records from some offset on; all that do not end with a batch of the leader's go."""
    told = Refusals()
    with open_log(tmp_path / "odd") as log:
        for _, batch in batches(leader_log, 0, held):
            log.append_batches(batch)
        log.append([Record.of(b"odd")] * (held + odd - log.log_end_offset), leader_epoch=2)
        fetcher = Fetcher(settings, observer=told)
        fetcher.follow(PARTITION, log, 2)
        drive = Drive(fetcher)
        drive.until(999, leader.answer)
        assert len(told.reasons) == 1
        drive.until(MINUTE, leader.answer)
        assert_follows(log, leader_log, 10)


@BOTH
def test_a_log_that_was_cut_within_a_batch_goes_on_without_a_hole(
    log: Log, leader_log: Log, leader: Leader, settings: FetcherSettings
) -> None:
    log.truncate_to(7)
    assert log.log_end_offset == 7
    fetcher = Fetcher(settings)
    fetcher.follow(PARTITION, log, 2)
    Drive(fetcher).until(MINUTE, leader.answer)
    assert_follows(log, leader_log, 10)
