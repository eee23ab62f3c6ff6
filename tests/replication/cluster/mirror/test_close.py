"""A mirror and a follower end, whatever holds up their threads, and whatever is raised while they do."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from threading import enumerate as enumerate_threads
from typing import Any

import pytest

from epoch.errors import InheritedError
from logstore import AppendInfo, Log, Record, TopicPartition
from logstore.directory.log_directory import LogDirectory
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from replication import Follower
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.fetch_observer import FetchObserver
from replication.cluster.fetcher.fetcher_thread import FetcherThread
from replication.cluster.mirror.mirror import Mirror
from replication.cluster.mirror.mirror_settings import MirrorSettings
from replication.wire.client.client_settings import ClientSettings
from tests.interruption import exit_status_of
from tests.replication.cluster.mirror.mirror_process import wait_until
from tests.replication.cluster.mirror.wire_leader import WireLeader

ORDERS = TopicPartition("orders", 0)
SECONDS = 120


class Interrupted(BaseException):
    """Raised anywhere, as by a signal's handler."""


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[WireLeader]:
    (tmp_path / "leader").mkdir()
    with WireLeader() as leader, Log.open(tmp_path / "leader" / str(ORDERS), replicated=True) as log:
        log.append([Record.of(b"value")], leader_epoch=0)
        log.update_high_watermark(1)
        leader.lead(ORDERS, log, 0)
        yield leader


def settings(leader: WireLeader, root: Path) -> MirrorSettings:
    return MirrorSettings(bootstrap=leader.bootstrap, topics=("orders",), log_dir=root / "copy")


def is_awaiting(mirror: Mirror, what: str) -> bool:
    """Whether the thread that asks who leads waits for an answer, before or after its connection is ready."""
    connection = mirror._client._informant
    if connection is None or connection.closed or not connection._exchange.in_flight:
        return False
    return (connection._exchange.versions is None) == (what == "a handshake")


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
    LogDirectory.open(tmp_path / "copy", replicated=True).close()
    monkeypatch.undo()
    mirror.close()


def test_a_close_that_is_broken_off_is_gone_on_with_by_the_next(
    leader: WireLeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = Mirror.open(settings(leader, tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(FetcherThread, "stop", raising(lambda *_, **__: None))
        with pytest.raises(Interrupted):
            mirror.close()
    mirror.close()
    assert [each.name for each in enumerate_threads() if each.name.startswith("fetcher-")] == []


@pytest.mark.parametrize("awaited", ["an answer", "a handshake"])
def test_a_close_waits_for_no_answer(
    leader: WireLeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, awaited: str
) -> None:
    """Else it would wait for longer than this test does."""
    for module in ("worker_thread", "fetcher.fetcher_manager"):
        monkeypatch.setattr(f"replication.cluster.{module}.STOP_SECONDS", 10 * SECONDS)
    patient = replace(settings(leader, tmp_path), client=ClientSettings(request_timeout_ms=10 * SECONDS * 1_000))
    mirror = Mirror.open(patient)
    wait_until(mirror.has_caught_up, lambda: str(mirror.statuses()))
    with leader.held:
        if awaited == "a handshake":
            leader.hang_up()
        mirror._manager.doubts.add(ORDERS)
        wait_until(lambda: is_awaiting(mirror, awaited), lambda: str(enumerate_threads()))
        closing = Thread(target=mirror.close)
        closing.start()
        closing.join(SECONDS)
        assert not closing.is_alive()
    assert [each.name for each in enumerate_threads() if each.name.startswith(("fetcher-", "leader-tracker"))] == []


def test_a_forked_process_is_refused_at_once_and_disturbs_nothing(leader: WireLeader, tmp_path: Path) -> None:
    with Mirror.open(settings(leader, tmp_path)) as mirror:
        wait_until(mirror.has_caught_up, lambda: str(mirror.statuses()))
        # As one that is held by a thread at the time: there is none in the child that would let go of it.
        with mirror._manager._changing, mirror._manager.doubts._changed:
            taken = Thread(target=lambda: statuses.append(exit_status_of(use, refused=InheritedError, seconds=SECONDS)))
            statuses: list[int] = []

            def use() -> None:
                mirror.close()
                mirror.look_after()

            taken.start()
            taken.join()
        assert statuses == [7]
        led = leader.partitions[ORDERS].log
        with leader.held:
            led.append([Record.of(b"another")], leader_epoch=0)
            led.update_high_watermark(2)
        wait_until(lambda: mirror.statuses()[0].log_end_offset == 2, lambda: str(mirror.statuses()))
        assert mirror.statuses()[0].tally.errors == {}


def test_a_follower_is_its_own_process_s_alone(leader: WireLeader, tmp_path: Path) -> None:
    with Log.open(tmp_path / str(ORDERS), replicated=True) as log, Follower(leader.bootstrap, ORDERS, log) as follower:
        follower.catch_up(SECONDS)

        def use() -> None:
            follower.close()
            follower.catch_up()

        assert exit_status_of(use, refused=InheritedError, seconds=SECONDS) == 7
        follower.catch_up(SECONDS)


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
    with Log.open(tmp_path / str(ORDERS), replicated=True) as log:
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
