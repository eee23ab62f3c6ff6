"""Who leads a log says in which epoch, and appends nothing once another does."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from epoch import diverging_epoch
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.errors import FencedLeaderEpochError
from logstore.files.followed_mark import FOLLOWED_MARK
from logstore.log.leadership import Leadership
from logstore.log.log import Log
from logstore.offline.offline_log_directory import open_offline
from logstore.verify import verify
from tests.crash_states import crash_states, write_state
from tests.disk import FailingDisk
from tests.recording_disk import RecordingDisk


def fetched(log: Log, epoch: int, value: bytes = b"fetched") -> bytes:
    """A batch as it comes from the leader of an epoch."""
    return bytes(encode_batch([Record.of(value)], BatchTemplate(base_offset=log.log_end_offset, leader_epoch=epoch)))


def epochs_of(log: Log) -> list[int]:
    return [batch.leader_epoch for batch in log.read(log.log_start_offset, 1 << 20).batches()]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = Log.open(tmp_path / "t-0")
    log.append([b"one", b"two"])
    return log


def test_a_deposed_leader_writes_nothing_into_its_successors_epoch(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    with Log.open(tmp_path / "a" / "t-0") as a, Log.open(tmp_path / "b" / "t-0") as b:
        deposed = a.lead(0)
        deposed.append([b"1", b"2"])
        b.append_batches(bytes(a.read(0, 1 << 20).data))
        elected = b.lead(1)
        elected.append([b"3"])
        a.append_batches(bytes(b.read(2, 1 << 20).data))
        for late in (deposed.append, a.append, lambda records: a.append(records, leader_epoch=0)):
            with pytest.raises(FencedLeaderEpochError, match="epoch"):
                late([b"late"])
        elected.append([b"4"])
        assert diverging_epoch(b.epochs.history, b.log_end_offset, a.log_end_offset, 1) is None
        assert epochs_of(a) == [0, 1]
        assert a.epochs.entries == b.epochs.entries == [(0, 0), (1, 2)]


FENCES: dict[str, Callable[[Log], object]] = {
    "a later leadership": lambda log: log.lead(6),
    "a later epoch that is assigned": lambda log: log.assign_epoch(6, log.log_end_offset),
    "a later epoch that is appended in": lambda log: log.append([b"x"], leader_epoch=6),
    "a later epoch that is followed": lambda log: log.append_batches(fetched(log, 6)),
    "its own epoch that is followed": lambda log: log.append_batches(fetched(log, 5)),
    "a truncation": lambda log: log.truncate_to(1),
    "a truncation to its end": lambda log: log.truncate_to(log.log_end_offset),
    "a new beginning": lambda log: log.truncate_fully_and_start_at(7),
}


@pytest.mark.parametrize("has_appended", [True, False])
@pytest.mark.parametrize("fence", FENCES)
def test_a_leadership_is_fenced_by(log: Log, fence: str, has_appended: bool) -> None:
    leadership = log.lead(5)
    assert (leadership.epoch, leadership.start_offset, leadership.is_fenced) == (5, 2, False)
    if has_appended:
        leadership.append([b"three"])
    FENCES[fence](log)
    assert leadership.is_fenced
    end, entries, high_watermark = log.log_end_offset, log.epochs.entries, log.high_watermark
    calls: list[Callable[[], object]] = [
        lambda: leadership.append([b"late"]),
        lambda: leadership.append([b"late"], durable=True),
        lambda: leadership.append(encode_batch([Record.of(b"late")], BatchTemplate())),
        lambda: leadership.advance_high_watermark(end),
    ]
    for call in calls:
        with pytest.raises(FencedLeaderEpochError, match=r"leadership of epoch 5 is fenced.*append nothing more"):
            call()
    assert (log.log_end_offset, log.epochs.entries, log.high_watermark) == (end, entries, high_watermark)
    log.close()


def test_a_leadership_appends_all_that_a_log_does(log: Log) -> None:
    leadership = log.lead(5)
    assert leadership.append([b"three"]).last_offset == 2
    assert leadership.append([b"four"], durable=True).result(10).last_offset == 3
    template = BatchTemplate(producer_id=7, producer_epoch=0, base_sequence=0)
    assert leadership.append([b"five"], template=template).last_offset == 4
    assert log.append([b"six"], leader_epoch=5).last_offset == 5
    assert leadership.advance_high_watermark(3) == log.high_watermark == 3
    assert epochs_of(log) == [0, 5, 5, 5, 5]
    assert not leadership.is_fenced
    assert repr(leadership) == "Leadership(epoch=5, start_offset=2)"
    log.close()


def test_from_then_on_the_leader_moves_the_high_watermark(log: Log) -> None:
    log.flush()
    assert log.high_watermark == 2
    leadership = log.lead(5)
    leadership.append([b"three"])
    log.flush()
    assert log.high_watermark == 2
    leadership.advance_high_watermark(3)
    assert log.high_watermark == 3
    log.close()


@pytest.mark.parametrize("epoch", [0, 3, 5])
def test_each_leadership_has_an_epoch_above_all_before(log: Log, epoch: int) -> None:
    leadership = log.lead(5)
    with pytest.raises(FencedLeaderEpochError, match=rf"leader epoch {epoch} is no new one.*from 6 on"):
        log.lead(epoch)
    assert leadership.append([b"three"]).last_offset == 2
    log.close()


def test_behind_a_cut_nobody_leads_in_an_epoch_that_was_cut(log: Log) -> None:
    log.append([b"three"], leader_epoch=4)
    log.truncate_to(1)
    with pytest.raises(FencedLeaderEpochError, match="from 5 on"):
        log.lead(4)
    assert isinstance(log.lead(5), Leadership)
    log.close()


@pytest.mark.parametrize("stop", ["open", "close", "abandon"])
def test_nobody_appends_in_an_epoch_that_was_cut(log: Log, stop: str) -> None:
    """Whoever has read what is gone would not notice."""
    log.append([b"three"], leader_epoch=4)
    log.truncate_to(2)
    if stop != "open":
        log.close() if stop == "close" else log.abandon()
        log = Log.open(log.directory)
    next_epoch = log.epochs.reserved.epoch if log.epochs.reserved is not None else -1
    assert next_epoch == 5
    for epoch in range(next_epoch):
        with pytest.raises(FencedLeaderEpochError, match=f"begin epoch {next_epoch}, or pass that or a higher one"):
            log.append([b"four"], leader_epoch=epoch)
        with pytest.raises(FencedLeaderEpochError, match="over"):
            log.assign_epoch(epoch, log.log_end_offset)
        with pytest.raises(FencedLeaderEpochError, match=f"from {next_epoch} on"):
            log.lead(epoch)
    log.append([b"four"], leader_epoch=next_epoch)
    assert epochs_of(log) == [0, next_epoch]
    log.close()


@pytest.mark.parametrize("stop", ["open", "abandon"])
def test_the_leader_of_the_latest_epoch_that_ever_was_may_go_on_in_it(log: Log, stop: str) -> None:
    log.append([b"three"], leader_epoch=4)
    log.append([b"four"], leader_epoch=4)
    if stop == "open":
        log.truncate_to(3)
    else:
        log.abandon()
        log = Log.open(log.directory)
    for epoch in (0, 3):
        with pytest.raises(FencedLeaderEpochError, match="begin epoch 5"):
            log.append([b"five"], leader_epoch=epoch)
    log.append([b"five"], leader_epoch=4)
    with pytest.raises(FencedLeaderEpochError, match="from 5 on"):
        log.lead(4)
    log.lead(5).append([b"six"])
    assert epochs_of(log)[-3:] == [4, 4, 5]
    log.close()


@pytest.mark.parametrize("lead", ["lead", "assign"])
def test_an_epoch_that_was_begun_fences_those_before_also_once_the_log_is_opened_again(log: Log, lead: str) -> None:
    log.lead(1) if lead == "lead" else log.assign_epoch(1, log.log_end_offset)
    log.close()
    log = Log.open(log.directory)
    for late in (lambda: log.append([b"late"], leader_epoch=0), lambda: log.assign_epoch(0, log.log_end_offset)):
        with pytest.raises(FencedLeaderEpochError, match="leader epoch 0 is fenced: epoch 1 leads from offset 2 on"):
            late()
    log.append([b"three"], leader_epoch=1)
    assert epochs_of(log) == [0, 1]
    log.close()


@pytest.mark.parametrize("stop", ["close", "abandon"])
def test_nothing_is_said_to_be_gone_where_an_epoch_was_begun_that_is_not_the_next(log: Log, stop: str) -> None:
    log.flush()
    log.lead(5)
    log.close() if stop == "close" else log.abandon()
    log = Log.open(log.directory)
    next_epoch = 5 if stop == "close" else 6
    told = rf"what was written in epochs up to {next_epoch - 1} may be gone.*begin epoch {next_epoch}, or pass that"
    for epoch in range(next_epoch):
        with pytest.raises(FencedLeaderEpochError, match=rf"leader epoch {epoch} is over: {told}"):
            log.append([b"late"], leader_epoch=epoch)
    assert [record.value for record in log.records()] == [b"one", b"two"]
    log.append([b"three"])
    assert epochs_of(log) == [0, next_epoch]
    log.close()


UNDONE: dict[str, Callable[[Log], object]] = {
    "the leader of the latest epoch": lambda log: log.append([b"late"], leader_epoch=4),
    "the next leader": lambda log: log.append([b"late"]),
    "a later leader": lambda log: log.append([b"late"], leader_epoch=7),
    "a follower": lambda log: log.append_batches(fetched(log, 4)),
    "a follower of the next leader": lambda log: log.append_batches(fetched(log, 5)),
}


@pytest.mark.parametrize("append", UNDONE)
def test_an_append_that_was_undone_leaves_the_epoch_that_is_kept_for_the_next_leader(
    tmp_path: Path, append: str
) -> None:
    """Else whoever appends next goes on in an epoch of which readers have seen what is gone."""
    disk = FailingDisk(0)
    for step in count(1):
        log = Log.open(tmp_path / f"t-{step}", filesystem=disk)
        log.append([b"one"], leader_epoch=4)
        log.append([b"two"], leader_epoch=4)
        log.truncate_to(1)
        before = log.epochs.entries, log.epochs.reserved
        assert before == ([(4, 0)], (5, 1))
        disk.steps_left = step
        try:
            UNDONE[append](log)
        except OSError:
            assert (log.epochs.entries, log.epochs.reserved) == before
        has_failed = not disk.steps_left
        disk.steps_left = 0
        log.close()
        if not has_failed:
            break
        with Log.open(log.directory) as again:
            assert again.epochs.reserved == (5, 1)
    assert step > 1


def test_of_a_log_that_has_followed_it_is_said_which_epoch_to_be_elected_in(log: Log) -> None:
    log.append_batches(fetched(log, 3))
    log.append_batches(fetched(log, 5))
    log.flush()
    log.abandon()
    log = Log.open(log.directory)
    with pytest.raises(FencedLeaderEpochError, match="pass leader_epoch=6, or the later one that you were elected in"):
        log.append([b"four"], leader_epoch=4)
    log.append([b"four"], leader_epoch=6)
    log.close()


@pytest.mark.parametrize("stop", ["open", "close", "abandon"])
def test_a_log_that_has_followed_has_to_be_told_the_epoch(log: Log, stop: str) -> None:
    log.append_batches(fetched(log, 0))
    if stop != "open":
        log.close() if stop == "close" else log.abandon()
        log = Log.open(log.directory)
    for append in (log.append, log.producer(7).append):
        with pytest.raises(FencedLeaderEpochError, match=r"no leader epoch was given.*log\.lead"):
            append([b"four"])
    assert log.append([b"four"], leader_epoch=0).last_offset == 3
    with pytest.raises(FencedLeaderEpochError, match="no leader epoch was given"):
        log.append([b"five"])
    assert log.lead(1).append([b"five"]).last_offset == 4
    log.close()


def test_what_is_no_batch_is_not_followed(log: Log) -> None:
    assert log.append_batches(b"hello").size == 0
    assert log.append([b"three"]).last_offset == 2
    log.close()
    assert not (log.directory / FOLLOWED_MARK).exists()


def test_whatever_a_crash_leaves_no_batch_of_another_leader_is_taken_for_an_own_one(tmp_path: Path) -> None:
    disk = RecordingDisk()
    (tmp_path / "live").mkdir()
    log = Log.open(tmp_path / "live" / "t-0", filesystem=disk)
    log.append_batches(fetched(log, 3))
    log.flush()
    log.abandon()
    found = 0
    for number, (_, state) in enumerate(crash_states(disk.steps, tmp_path / "live")):
        root = tmp_path / f"state-{number}"
        root.mkdir()
        write_state(state, root)
        if (root / "t-0").is_dir():
            with Log.open(root / "t-0") as crashed:
                if crashed.log_end_offset:
                    found += 1
                    with pytest.raises(FencedLeaderEpochError, match="no leader epoch was given"):
                        crashed.append([b"mine"])
    assert found


@pytest.mark.parametrize("has_followed", [True, False])
def test_a_replicated_log_is_told_the_epoch_and_has_no_mark(tmp_path: Path, has_followed: bool) -> None:
    log = Log.open(tmp_path / "t-0", replicated=True)
    log.append([b"one"])
    if has_followed:
        log.append_batches(fetched(log, 0))
    else:
        log.close()
        log = Log.open(log.directory, replicated=True)
    with pytest.raises(FencedLeaderEpochError, match="no leader epoch was given"):
        log.append([b"two"])
    log.append([b"two"], leader_epoch=0)
    log.truncate_to(1)
    assert log.epochs.reserved is None
    log.close()
    assert not (log.directory / FOLLOWED_MARK).exists()


def test_the_mark_is_part_of_the_log(log: Log, tmp_path: Path) -> None:
    log.append_batches(fetched(log, 0))
    (tmp_path / "backups").mkdir()
    log.backup(tmp_path / "backups" / "t-0")
    log.close()
    assert list(verify(open_offline(log.directory))) == []
    with (
        Log.open(tmp_path / "backups" / "t-0") as restored,
        pytest.raises(FencedLeaderEpochError, match="no leader epoch was given"),
    ):
        restored.append([b"four"])
