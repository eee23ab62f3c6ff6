"""A queue that several processes have open: one owns it, and each finds another owner where that one is gone."""

import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from logstore.errors import LogClosedError, RecordTooLargeError
from logstore.queue import QueueCounts, QueueItem, WorkQueue
from logstore.queue.queue_log import QueueLog
from tests.bounded_disk import BoundedDisk
from tests.held_disk import HeldDisk

SECONDS = 60


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[WorkQueue]:
    with WorkQueue.open(tmp_path / "tasks") as owner:
        yield owner


@pytest.fixture
def client(owner: WorkQueue) -> Iterator[WorkQueue]:
    """Of a process that opened the queue later; here of the same one."""
    with WorkQueue.open(owner.directory) as client:
        assert (owner.is_owner, client.is_owner) == (True, False)
        yield client


@pytest.fixture(params=["owner", "client"])
def queue(request: pytest.FixtureRequest, client: WorkQueue, owner: WorkQueue) -> WorkQueue:
    """Either: nobody needs to know which."""
    return {"owner": owner, "client": client}[request.param]


def values(items: list[QueueItem]) -> list[bytes]:
    return [item.value for item in items]


def test_items_are_put_taken_and_done(queue: WorkQueue) -> None:
    assert queue.put([b"wash", b"dry", b""]) == [0, 1, 2]
    assert queue.put([]) == []
    [first] = queue.take()
    assert (first.id, first.value, first.attempt) == (0, b"wash", 1)
    assert first.ack()
    assert first.ack(), "it is done"
    rest = queue.take(max_items=9)
    assert values(rest) == [b"dry", b""]
    assert queue.counts() == QueueCounts(0, 0, 2, 0)
    assert queue.ack(rest) == []
    assert queue.take() == []
    assert queue.counts() == QueueCounts(0, 0, 0, 0)


def test_the_highest_priority_comes_first_and_what_was_put_first(queue: WorkQueue) -> None:
    queue.put([b"c", b"d"])
    queue.put([b"b"], priority=1)
    queue.put([b"a"], priority=255)
    assert values(queue.take(max_items=9)) == [b"a", b"b", b"c", b"d"]


def test_an_item_that_is_given_back_comes_again_until_it_is_dead(owner: WorkQueue) -> None:
    with WorkQueue.open(owner.directory, max_attempts=2) as queue:
        queue.put([b"task"])
        [item] = queue.take()
        assert item.nack()
        [again] = queue.take()
        assert (again.id, again.attempt) == (item.id, 2)
        assert not item.ack()
        assert not item.nack()
        assert not item.extend(1)
        assert queue.ack([item]) == [item]
        assert again.nack()
        assert queue.take() == []
        [dead] = queue.dead_letters()
        assert (dead.id, dead.value, dead.attempt) == (item.id, b"task", 2)
        assert queue.revive([dead]) == 1
        [revived] = queue.take()
        assert revived.attempt == 1
        revived.nack()
        queue.take()[0].nack()
        assert queue.discard(queue.dead_letters()) == 1
        assert queue.discard([dead]) == 0
        assert sum(queue.counts()) == 0


def test_delays_and_leases_end_by_the_clock_of_the_owner(tmp_path: Path) -> None:
    now = 1_000_000
    with (
        WorkQueue.open(tmp_path / "tasks", clock=lambda: now) as owner,
        WorkQueue.open(owner.directory, lease=10) as queue,
    ):
        queue.put([b"later"], delay=5)
        assert queue.take() == []
        now += 5_000
        [item] = queue.take()
        now += 9_999
        assert queue.take() == []
        assert item.extend(20)
        now += 19_999
        assert queue.take() == []
        assert item.nack(delay=1)
        now += 1_000
        [item] = queue.take()
        now += 10_000
        assert item.ack(), "it has not been given out once more"


def test_a_worker_iterates_until_the_queue_is_closed(queue: WorkQueue) -> None:
    done = []

    def work() -> None:
        for item in queue:
            item.ack()
            done.append(item.value)

    worker = Thread(target=work)
    worker.start()
    for number in range(20):
        queue.put([b"%d" % number])
    while len(done) < 20:
        pass
    queue.close()
    worker.join(SECONDS)
    assert done == [b"%d" % number for number in range(20)]
    with pytest.raises(LogClosedError, match="the queue is closed"):
        queue.take()


def test_nothing_is_lost_where_the_owner_closes_while_others_ask(tmp_path: Path) -> None:
    first = WorkQueue.open(tmp_path / "tasks")
    clients = [WorkQueue.open(first.directory) for _ in range(3)]
    ids: list[int] = []

    def produce(client: WorkQueue) -> None:
        for number in range(100):
            ids.extend(client.put([b"%d" % number]))

    threads = [Thread(target=produce, args=[client]) for client in clients]
    for thread in threads:
        thread.start()
    while len(ids) < 50:
        pass
    first.close()
    for thread in threads:
        thread.join(SECONDS)
    assert [client.is_owner for client in clients].count(True) == 1
    taken = clients[0].take(max_items=1_000)
    assert [item.id for item in taken] == sorted(ids), "each put once"
    assert sorted(map(int, values(taken))) == sorted([*range(100)] * 3)
    for client in clients:
        client.close()


def test_one_of_those_who_open_it_at_once_owns_it(tmp_path: Path) -> None:
    for number in range(10):
        queues: list[WorkQueue] = []
        threads = [
            Thread(
                target=lambda place, opened: opened.append(WorkQueue.open(place)), args=[tmp_path / str(number), queues]
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert sorted(queue.is_owner for queue in queues) == [False, False, False, True]
        for queue in queues:
            queue.put([b"of each"])
        for queue in queues:
            queue.close()


def test_a_forked_process_connects_anew(owner: WorkQueue, client: WorkQueue) -> None:
    for queue in (owner, client):
        child = get_context("fork").Process(target=_take_and_ack, args=[queue])
        queue.put([b"for the child"])
        child.start()
        child.join(SECONDS)
        assert child.exitcode == 0
        queue.put([b"for the parent"])
        [item] = queue.take()
        assert item.value == b"for the parent"
        assert item.ack()


def _take_and_ack(queue: WorkQueue) -> None:
    [item] = queue.take()
    assert item.value == b"for the child"
    assert item.ack()
    assert not queue.is_owner


def test_a_forked_process_keeps_no_connection_of_an_owner_that_is_gone(tmp_path: Path) -> None:
    """Else a client would wait for ever for an answer, from sockets that nobody reads."""
    program = (
        "import os, sys, time; from logstore.queue import WorkQueue; queue = WorkQueue.open(sys.argv[1]);"
        "print(os.getpid(), flush=True); sys.stdin.readline();"
        "child = os.fork();"
        "print(child, flush=True) if child else None;"
        "time.sleep(600)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "tasks")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        with WorkQueue.open(tmp_path / "tasks") as queue:
            queue.put([b"item"])
            process.stdin.write("\n")
            process.stdin.flush()
            child = int(process.stdout.readline())
            try:
                process.kill()
                process.wait(SECONDS)
                assert values(queue.take()) == [b"item"]
                assert queue.is_owner
            finally:
                os.kill(child, signal.SIGKILL)


def test_who_waits_takes_nothing_once_it_is_gone(owner: WorkQueue) -> None:
    """An item that was given to it would be leased for nothing."""
    program = "import sys; from logstore.queue import WorkQueue; WorkQueue.open(sys.argv[1]).take(wait=None)"
    with subprocess.Popen([sys.executable, "-c", program, str(owner.directory)]) as worker:
        link = owner._link
        assert isinstance(link, QueueLog)
        while not link._changed._waiters:  # type: ignore[attr-defined]
            pass
        worker.kill()
        worker.wait(SECONDS)
    owner.put([b"item"])
    assert len(owner.take(wait=SECONDS)) == 1


def test_it_is_refused_by_name_what_is_passed_by_mistake(queue: WorkQueue) -> None:
    wrong: list[tuple[type[Exception], str, Any]] = [
        (TypeError, "an item is of type int: pass a list of bytes", lambda: queue.put(b"item")),
        (TypeError, "an item is of type str", lambda: queue.put(["item"])),  # type: ignore[list-item]
        (ValueError, "priority is 256: pass one from 0 to 255", lambda: queue.put([b"item"], priority=256)),
        (ValueError, "delay is -1: pass seconds from 0", lambda: queue.put([b"item"], delay=-1)),
        (TypeError, "delay is '1', of type str", lambda: queue.put([b"item"], delay="1")),  # type: ignore[arg-type]
        (TypeError, "max_items is 1.5", lambda: queue.take(max_items=1.5)),  # type: ignore[arg-type]
        (ValueError, "max_attempts is 0", lambda: WorkQueue.open(queue.directory, max_attempts=0)),
        (ValueError, "lease is -1", lambda: WorkQueue.open(queue.directory, lease=-1)),
    ]
    for kind, message, call in wrong:
        with pytest.raises(kind, match=message):
            call()
    with pytest.raises(RecordTooLargeError, match=r"at most 4,194,048 fit; put where its content is"):
        queue.put([bytes(5 << 20)])
    assert sum(queue.counts()) == 0


def test_a_client_learns_of_a_full_disk(memory_dir: Path) -> None:
    disk = BoundedDisk(memory_dir, 60)
    with WorkQueue.open(memory_dir / "tasks", filesystem=disk) as owner, WorkQueue.open(owner.directory) as queue:
        queue.put([b"before"])
        with pytest.raises(OSError, match="No space left on device") as full:
            queue.put([bytes(1 << 20)])
        assert full.value.errno == errno.ENOSPC
        assert str(queue.directory) in str(full.value.filename)
        [item] = queue.take(max_items=9)
        assert item.ack()
        queue.put([b"after"])


def test_an_owner_whose_disk_has_failed_gives_the_queue_up(tmp_path: Path) -> None:
    disk = HeldDisk()
    with WorkQueue.open(tmp_path / "tasks", filesystem=disk) as owner, WorkQueue.open(owner.directory) as queue:
        [first] = queue.put([b"before"])
        disk.failure = OSError(errno.EIO, os.strerror(errno.EIO))
        with pytest.raises(OSError, match="Input/output error"):
            queue.put([b"lost, or not"])
        [item] = queue.take()
        assert (item.id, item.value) == (first, b"before")
        assert item.ack()
        owner.put([b"after"])
        assert queue.take(max_items=9)[-1].value == b"after"
        assert (owner.is_owner, queue.is_owner) == (False, True)


def test_an_owner_whose_disk_has_failed_opens_the_log_again_where_nobody_else_does(tmp_path: Path) -> None:
    disk = HeldDisk()
    with WorkQueue.open(tmp_path / "tasks", filesystem=disk) as queue:
        queue.put([b"before"])
        disk.failure = OSError(errno.EIO, os.strerror(errno.EIO))
        with pytest.raises(OSError, match="Input/output error"):
            queue.put([b"lost, or not"])
        queue.put([b"after"])
        taken = values(queue.take(max_items=9))
        assert (taken[0], taken[-1]) == (b"before", b"after")


def test_nobody_else_may_connect(owner: WorkQueue) -> None:
    assert (owner.directory / "owner.socket").stat().st_mode & 0o777 == 0o600


def test_the_directory_may_have_a_name_that_is_longer_than_an_address(tmp_path: Path) -> None:
    with WorkQueue.open(tmp_path / ("x" * 150)) as owner, WorkQueue.open(owner.directory) as client:
        client.put([b"item"])
        assert values(owner.take()) == [b"item"]
    assert not (owner.directory / "owner.socket").exists()


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 8, b"\0\0\0\2\0\0\0\0{}", b"\0\0\0\2\0\0\0\0[]"])
def test_whoever_sends_nonsense_is_hung_up_on_and_others_are_not(owner: WorkQueue, sent: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as stranger, WorkQueue.open(owner.directory) as client:
        stranger.settimeout(SECONDS)
        stranger.connect(str(owner.directory / "owner.socket"))
        stranger.sendall(sent)
        stranger.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while stranger.recv(1 << 16):
                pass
        client.put([b"item"])
        assert values(client.take()) == [b"item"]


def test_what_is_no_list_of_items_is_refused(tmp_path: Path) -> None:
    with WorkQueue.open(tmp_path / "queue") as queue:
        queue.put([b"first"])
        (item,) = queue.take()
        for call in (queue.ack, queue.revive, queue.discard):
            wrongs: list[object] = [item, 5, [item.id]]
            for wrong in wrongs:
                with pytest.raises(TypeError, match="is no list of items: pass a list of what `take` has returned"):
                    call(wrong)  # type: ignore[arg-type]
        assert queue.counts().leased == 1
