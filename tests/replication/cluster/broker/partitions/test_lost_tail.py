"""What a log has lost though it is counted on is known after a restart too."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from logstore import LogDirectory, open_offline
from logstore.errors import CorruptMetadataError
from logstore.files.broker.checked_json import encode_checked
from logstore.files.broker.lost_tail import LOST_TAIL_MARK, LostTail, forget_lost_tail
from logstore.verify import Severity, verify
from replication.records.metadata.partition import LeaderRecoveryState
from replication.records.metadata.records import MetadataRecord
from tests.replication.cluster.broker.replicas.managed_broker import (
    ME,
    ORDERS,
    OTHER,
    Broker,
    batch,
    changed,
    made,
    registered,
)

LOST = LostTail(end=1, former_end=2, leader_epoch=3, was_recovering=False)
RECOVERING = LeaderRecoveryState.RECOVERING


@contextmanager
def started(root: Path, *records: MetadataRecord) -> Iterator[Broker]:
    broker = Broker(root)
    try:
        broker.take(registered(ME), registered(OTHER, 9_093), *records)
        yield broker
    finally:
        broker.replicas.close()
        broker.directories.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A replica whose lost tail was noted by an earlier start of the broker."""
    with LogDirectory.open(tmp_path, replicated=True) as directory:
        directory.create(ORDERS).append([b"one"], leader_epoch=0)
    LostTail(end=1, former_end=2, leader_epoch=0, was_recovering=False).keep(tmp_path / "orders-0")
    return tmp_path


def test_a_mark_is_read_as_it_was_kept_and_a_later_loss_does_not_change_it(tmp_path: Path) -> None:
    assert LostTail.of(tmp_path) is None
    for lost in (LOST, LostTail(end=0, former_end=1, leader_epoch=9, was_recovering=True)):
        lost.keep(tmp_path)
        assert LostTail.of(tmp_path) == LOST
    for _ in range(2):
        forget_lost_tail(tmp_path)
        assert LostTail.of(tmp_path) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", *map(encode_checked, [{"version": 1}, {"version": 7, **asdict(LOST)}, {"end": 1}])],
)
def test_what_is_no_mark_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LOST_TAIL_MARK).write_bytes(content)
    with pytest.raises(CorruptMetadataError, match=f"{LOST_TAIL_MARK}: .*; make another replica the leader"):
        LostTail.of(tmp_path)


def test_a_mark_is_told_of_and_is_no_damage(root: Path) -> None:
    [found] = verify(open_offline(root / "orders-0"))
    assert (found.file, found.severity) == (LOST_TAIL_MARK, Severity.INFO)


def test_who_was_the_last_in_the_isr_is_not_elected_cleanly_for_what_it_has_lost(root: Path) -> None:
    """Without eligible leader replicas the controller leaves it in the ISR, however it has stopped."""
    with started(root, *made(ME, ME, OTHER), changed(leader=ME, isr=(ME,))) as broker:
        assert broker.replicas.hosted.offline == {ORDERS}
        assert broker.replicas.has_lost_tail
        broker.take(changed(leader=OTHER, isr=(OTHER,)))
        assert not broker.replicas.hosted.offline
        assert ORDERS in broker.fetchers.leaders
        assert not broker.replicas.has_lost_tail
    with started(root, *made(ME, ME, OTHER), changed(leader=ME, isr=(ME,))) as broker:
        assert broker.led()


def test_whose_mark_was_removed_leads(root: Path) -> None:
    (root / "orders-0" / LOST_TAIL_MARK).unlink()
    with started(root, *made(ME, ME, OTHER), changed(leader=ME, isr=(ME,))) as broker:
        led = broker.replicas.hosted[ORDERS].led
        assert led is not None
        assert led.append(batch(), required_acks=1).first_offset == 1


@pytest.mark.parametrize("was_recovering", [True, False])
def test_an_unclean_election_before_the_loss_does_not_stand_for_one_after_it(
    root: Path, *, was_recovering: bool
) -> None:
    forget_lost_tail(root / "orders-0")
    LostTail(end=1, former_end=2, leader_epoch=0, was_recovering=was_recovering).keep(root / "orders-0")
    again = changed(leader=ME, isr=(ME,), leader_recovery_state=RECOVERING)
    with started(root, *made(ME, ME, OTHER), again) as broker:
        assert broker.led() is not was_recovering
