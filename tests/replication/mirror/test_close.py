"""A mirror and a follower end, whatever holds up their threads, and whatever is raised while they do."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from logstore import AppendInfo, Log, Record, TopicPartition
from logstore.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.log_directory import LogDirectory
from replication import Follower
from replication.fetcher.fetch_observer import FetchObserver
from replication.fetcher.fetch_state import FetchState
from replication.mirror.mirror import Mirror
from replication.mirror.mirror_settings import MirrorSettings
from tests.replication.mirror.wire_leader import WireLeader

ORDERS = TopicPartition("orders", 0)
SECONDS = 120


class Interrupted(BaseException):
    """Raised anywhere, as by a signal's handler."""


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[WireLeader]:
    (tmp_path / "leader").mkdir()
    with WireLeader() as leader, Log.open(tmp_path / "leader" / str(ORDERS)) as log:
        log.append([Record.of(b"value")], leader_epoch=0)
        log.update_high_watermark(1)
        leader.lead(ORDERS, log, 0)
        yield leader


def settings(leader: WireLeader, root: Path) -> MirrorSettings:
    return MirrorSettings(bootstrap=leader.bootstrap, topics=("orders",), log_dir=root / "copy")


def raising(call: Callable[..., object]) -> Callable[..., object]:
    """Do as asked, and raise then."""

    def called(*arguments: Any, **named: Any) -> None:
        call(*arguments, **named)
        raise Interrupted

    return called


@pytest.mark.parametrize("part", ["_tracker.stop", "_manager.close", "_client.close"])
def test_what_is_raised_in_one_step_keeps_no_other_from_being_taken(
    leader: WireLeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    mirror = Mirror.open(settings(leader, tmp_path))
    name, method = part.split(".")
    whose = getattr(mirror, name)
    monkeypatch.setattr(whose, method, raising(getattr(whose, method)))
    with pytest.raises(Interrupted):
        mirror.close()
    assert (tmp_path / "copy" / CLEAN_SHUTDOWN_NAME).exists()
    # Nobody holds the lock any more, and once more does no harm.
    LogDirectory.open(tmp_path / "copy").close()
    monkeypatch.undo()
    mirror.close()


@pytest.mark.parametrize("method", ["_follow_new", "_refresh"])
def test_what_is_raised_while_it_opens_leaves_nothing_open(
    leader: WireLeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Mirror, method, raising(getattr(Mirror, method)))
        with pytest.raises(Interrupted):
            Mirror.open(settings(leader, tmp_path))
    with Mirror.open(settings(leader, tmp_path)):
        pass


class Blocking(FetchObserver):
    """An observer that takes as long as somebody lets it, such as a display whose pipe nobody reads."""

    def __init__(self) -> None:
        self.entered, self.left = Event(), Event()

    def appended(self, partition: TopicPartition, info: AppendInfo, state: FetchState) -> None:
        del partition, info, state
        self.entered.set()
        self.left.wait(SECONDS)


def test_a_follower_ends_though_its_observer_does_not_return(leader: WireLeader, tmp_path: Path) -> None:
    observer = Blocking()
    with Log.open(tmp_path / str(ORDERS)) as log:
        follower = Follower(leader.bootstrap, ORDERS, log, observer=observer)
        follower.start()
        assert observer.entered.wait(SECONDS)
        closing = Thread(target=follower.close, daemon=True)
        closing.start()
        closing.join(SECONDS / 2)
        try:
            assert not closing.is_alive()
        finally:
            observer.left.set()
