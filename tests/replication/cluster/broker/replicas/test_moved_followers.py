"""A partition moves to another directory."""

import time
from dataclasses import replace
from pathlib import Path
from threading import Thread
from uuid import UUID

import pytest

from logstore import Log
from replication.records.metadata.records import (
    UNASSIGNED_DIRECTORY,
    PartitionRecord,
)
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.replicas.managed_broker import (
    ME,
    ORDERS,
    OTHER,
    TOPIC,
    Broker,
    changed,
    made,
    registered,
)


def test_a_follower_whose_log_has_moved_fetches_on_into_the_other(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "one", tmp_path / "other")
    one, other = broker.directories.roots
    topic, first = made(OTHER, OTHER, ME, epoch=2)
    assert isinstance(first, PartitionRecord)
    first = replace(first, directories=(UUID(int=50), UNASSIGNED_DIRECTORY))
    broker.take(registered(ME), registered(OTHER, 9_093), topic, first)
    log = broker.replicas.hosted[ORDERS].log
    assert isinstance(log, Log)
    assert broker.replicas.unassigned.popitem()[1] in {UUID(int=1_001), UUID(int=1_002)}
    target = one if log.directory.parent == other.root else other
    log.append([b"one", b"two"], leader_epoch=2)
    log.update_high_watermark(1)
    assert broker.replicas.moves.ask(ORDERS, str(target.root)) is ErrorCode.NONE
    deadline = time.monotonic() + 20
    while not broker.replicas.moves.caught_up():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    broker.replicas.move_on()
    assert broker.replicas.hosted[ORDERS].log is log, "not before the metadata says where it will lie"
    (directory,) = broker.replicas.unassigned.values()
    assert broker.fetchers.leaders[ORDERS][1] == 2
    broker.fetchers.leaders.clear()
    broker.take(changed(directories=(UUID(int=50), directory)))
    log.append([b"three"], leader_epoch=2)
    broker.replicas.move_on()
    moved = broker.replicas.hosted[ORDERS].log
    assert moved.directory == target.root / "orders-0"
    assert (moved.log_end_offset, moved.high_watermark) == (3, 1)
    assert broker.fetchers.leaders[ORDERS][1] == 2
    assert not (log.directory.parent / "orders-0").exists()
    broker.replicas.close()
    broker.directories.close()


def test_a_move_begins_once_the_process_may_have_a_thread_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    broker = Broker(tmp_path / "one", tmp_path / "other")
    source, target = broker.directories.roots
    source.create(ORDERS, topic_id=TOPIC).append([b"one"])
    broker.take(registered(ME), registered(OTHER, 9_093), *made(ME, ME, OTHER))
    with monkeypatch.context() as limited:
        limited.setattr(Thread, "start", refuse)
        assert broker.replicas.moves.ask(ORDERS, str(target.root)) is ErrorCode.NONE
        broker.replicas.move_on()
        assert broker.replicas.moves.described() == []
    broker.replicas.move_on()
    deadline = time.monotonic() + 20
    while not broker.replicas.moves.caught_up():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    broker.replicas.close()
    broker.directories.close()
