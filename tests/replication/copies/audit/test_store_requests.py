"""What an audit asks a store for: one listing of each root and copy, and each object once where its digest is known."""

import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Barrier, Event, Lock, Timer
from typing import NoReturn

import pytest

from logstore import TopicPartition
from replication.audit import audit_locally
from replication.copies.audit.examination.copies_ahead import AHEAD, AHEAD_BYTES, CopiesAhead
from replication.copies.audit.snapshots.remote import remote_directory
from replication.copies.audit.snapshots.remote.patience import patience_with
from replication.copies.audit.snapshots.remote.remote_directory import PARTS
from replication.copies.audit.snapshots.remote.requests import HELD_BYTES, IN_FLIGHT, ByteBudget, at_once, held
from replication.copies.audit.snapshots.remote.store_failure import Again
from replication.copies.audit.snapshots.remote.transfer import AGREED
from replication.copies.audit.snapshots.snapshot import list_snapshots
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import Copy
from tests.replication.copies.audit.loopback_store import LISTING, Answer, LoopbackStore, refused
from tests.replication.copies.audit.snapshot_roots import batches, write_root

PARTITIONS = 6
BROKERS = 2


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Brokers with partitions of three segments each, of which one has forked."""
    for node in range(BROKERS):
        logs = {f"t-{number}": batches(12) for number in range(PARTITIONS)}
        if node:
            logs["t-0"] = [*batches(9), *batches(3, epoch=1, start=27, branch="other")]
        write_root(tmp_path / f"broker-{node}", logs, node=node)
    return tmp_path


@pytest.fixture
def store(place: Path) -> Iterator[LoopbackStore]:
    with LoopbackStore(place, has_digests=True).running() as running:
        yield running


def audited(store: LoopbackStore) -> dict[str, list[str]]:
    patience_with.cache_clear()
    roots = [store.address(f"broker-{node}") for node in range(BROKERS)]
    partitions = audit_locally(roots, workers=0, task_bytes=1 << 30).document["partitions"]
    return {f"{each['topic']}-{each['partition']}": each["verdicts"] for each in partitions}


def objects(place: Path, pattern: str = "*") -> list[str]:
    return [str(path.relative_to(place)) for path in place.rglob(pattern) if path.is_file() and path.stat().st_size]


def test_a_copy_is_listed_with_its_root_and_once_more_when_it_was_read(store: LoopbackStore) -> None:
    assert "forked" in audited(store)["t-0"]
    roots_planned = 2 * BROKERS
    roots_examined = 2 * 2 * BROKERS
    copies_examined = BROKERS * PARTITIONS
    copies_compared = BROKERS
    assert store.requests[LISTING] == roots_planned + roots_examined + copies_examined + copies_compared


def test_an_object_whose_digest_the_store_gives_is_fetched_once(place: Path, store: LoopbackStore) -> None:
    audited(store)
    for name in objects(place, "t-*/*"):
        is_compared = "/t-0/" in name and name.endswith(".log")
        assert store.asked[name] <= (2 if is_compared else 1), name
        assert store.asked[name] >= 1, name


def test_without_digests_what_has_no_checksums_is_fetched_until_two_transfers_agree(
    place: Path, store: LoopbackStore
) -> None:
    store.has_digests = False
    audited(store)
    for name in objects(place, "t-1/*"):
        assert store.asked[name] == (1 if name.endswith(".log") else 2), name


def test_an_object_that_the_listing_shows_to_be_empty_is_not_asked_for(place: Path, store: LoopbackStore) -> None:
    (place / "broker-0/t-1/00000000000000000000.timeindex").touch()
    (place / "broker-0/.lock").touch()
    audited(store)
    assert not [key for key in store.asked if key.endswith((".lock", ".timeindex"))]


def test_the_files_of_a_copy_are_asked_for_at_once(place: Path, store: LoopbackStore) -> None:
    """All are held back until each was asked for: were one waited for before another, that would never be."""
    name = "broker-0/t-1"
    files = [file for file in objects(place, "t-1/*") if file.startswith(name)]
    assert 4 <= len(files) <= IN_FLIGHT
    everybody = Barrier(len(files))

    def held(answer: Answer, _: int) -> Answer:
        everybody.wait(timeout=30)
        return answer

    store.set_fault(lambda key: key in files, held, range(1))
    with Storage(store.address("broker-0")).local_copy("t-1") as directory:
        copied = {path.name: path.read_bytes() for path in directory.iterdir() if path.stat().st_size}
    assert copied == {Path(file).name: (place / file).read_bytes() for file in files}


@pytest.mark.parametrize("answers", [2, 3, PARTS, 2 * PARTS + 1])
def test_a_large_file_is_fetched_in_parts_at_once(
    answers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_directory, "CHUNK", 1_000)
    content = bytes(random.Random(answers).randbytes(1_000 * answers - 7))
    log = tmp_path / "broker/t-0/00000000000000000000.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(content)
    parts = -(-answers // -(-answers // min(answers, PARTS)))
    everybody = Barrier(parts)

    def held(answer: Answer, number: int) -> Answer:
        if number < parts:
            everybody.wait(timeout=30)
        return answer

    with LoopbackStore(tmp_path).running() as store:
        store.set_fault(lambda key: key.endswith(".log"), held, range(1_000))
        with Storage(store.address("broker")).local_copy("t-0") as directory:
            assert (directory / log.name).read_bytes() == content
        assert store.requests["GET"] == answers
        assert store.requests["HEAD"] == parts


def test_small_copies_that_follow_are_fetched_while_one_is_examined(store: LoopbackStore) -> None:
    """Two are held back until both were asked for."""
    logs = [f"broker-0/t-{number}/{0:020d}.log" for number in (1, 2)]
    both = Barrier(2)

    def held(answer: Answer, _: int) -> Answer:
        both.wait(timeout=30)
        return answer

    store.set_fault(lambda key: key in logs, held, range(1))
    found = audited(store)
    assert [found[f"t-{number}"] for number in (1, 2)] == [["identical"]] * 2
    assert [store.asked[key] for key in logs] == [1, 1]


def test_no_more_is_fetched_ahead_than_the_disk_is_to_hold() -> None:
    entered: list[str] = []

    @contextmanager
    def enter(copy: Copy) -> Iterator[str]:
        entered.append(copy.directory)
        yield copy.directory

    sizes = [1, 1, 1, 1, 1, 1, AHEAD_BYTES, 1, AHEAD_BYTES + 1, 1]
    copies = [
        Copy("a", "s3://a", f"t-{number}", TopicPartition("t", number), (), is_local=False, others={"x": size})
        for number, size in enumerate(sizes)
    ]
    most = []
    with CopiesAhead(copies, enter) as ahead:
        for copy in copies:
            with ahead.entered(copy) as fetched:
                assert fetched == copy.directory
                begun = [each.size for each in ahead._begun]
                assert len(begun) <= AHEAD
                assert sum(begun) <= AHEAD_BYTES
                most.append(len(begun))
            with ahead.entered(copy) as fetched:  # once more
                assert fetched == copy.directory
    assert max(most) == AHEAD
    assert sorted(entered) == sorted(2 * [copy.directory for copy in copies])


def test_a_part_that_fails_is_fetched_again_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_directory, "CHUNK", 1_000)
    log = tmp_path / "broker/t-0/00000000000000000000.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(bytes(range(256)) * 16)
    with LoopbackStore(tmp_path).running() as store:
        store.set_fault(lambda key: key.endswith(".log"), lambda *_: refused(503, "SlowDown"), range(1))
        with Storage(store.address("broker")).local_copy("t-0") as directory:
            assert (directory / log.name).read_bytes() == log.read_bytes()
        assert store.asked["broker/t-0/00000000000000000000.log"] == 5 + 1


def test_a_file_that_is_larger_than_it_was_listed_is_fetched_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_directory, "CHUNK", 1_000)
    log = tmp_path / "broker/t-0/00000000000000000000.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(bytes(range(256)) * 16)
    with LoopbackStore(tmp_path).running() as store:
        files = {log.name: 3_000}
        with Storage(store.address("broker")).local_copy("t-0", files=files) as directory:
            assert (directory / log.name).read_bytes() == log.read_bytes()


def test_no_more_bytes_are_held_at_once_than_the_budget_has() -> None:
    budget, held, most = ByteBudget(10), 0, 0
    counting = Lock()

    def hold(size: int) -> None:
        nonlocal held, most
        with budget.held(size):
            with counting:
                held += min(size, 10)
                most = max(most, held)
            with counting:
                held -= min(size, 10)

    with at_once(partial(hold, size) for size in [3, 7, 10, 25, 1] * 40):
        pass
    assert held == 0
    assert 0 < most <= 10


def test_who_interrupts_leaves_no_call_behind_that_writes() -> None:
    begun, written, may_write = Event(), Event(), Event()

    def call() -> None:
        begun.set()
        may_write.wait(timeout=30)
        written.set()

    def interrupted() -> NoReturn:
        begun.wait(timeout=30)
        Timer(0.05, may_write.set).start()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), at_once([call]):
        interrupted()
    assert written.is_set()


def test_a_forked_process_may_hold_what_threads_of_the_other_one_hold() -> None:
    begun, may_end = Event(), Event()

    def hold() -> None:
        with held(HELD_BYTES):
            begun.set()
            may_end.wait(timeout=60)

    with at_once([hold]):
        begun.wait(timeout=30)
        child = os.fork()
        if not child:
            signal.alarm(30)
            with held(1):
                os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        may_end.set()
    assert ended == 0


def test_each_part_of_a_large_file_is_asked_for_as_often_as_a_small_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_directory, "CHUNK", 1_000)
    log = tmp_path / "broker/t-0/00000000000000000000.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(bytes(4_096))
    with LoopbackStore(tmp_path).running() as store:
        store.set_fault(lambda key: key.endswith(".log"), lambda *_: refused(403, "AccessDenied"), range(1_000))
        with (
            pytest.raises(OSError, match="access denied") as denied,
            Storage(store.address("broker")).local_copy("t-0"),
        ):
            pass
        assert store.asked["broker/t-0/00000000000000000000.log"] == 5 * Again.ONCE_MORE.value
    assert str(denied.value).count("access denied") == 1


@pytest.mark.parametrize("name", ["two words", "brok\u00e9r", "day=00%3A00", "what?", "a#b"])
def test_a_directory_of_any_name_is_asked_for_over_other_connections_too(name: str, tmp_path: Path) -> None:
    log = tmp_path / name / "t-0/00000000000000000000.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"x")
    with LoopbackStore(tmp_path).running() as store:
        store.set_fault(lambda key: key.endswith(".log"), lambda *_: refused(500, "InternalError"), range(AGREED))
        (root,) = (
            root.storage
            for snapshot in list_snapshots([store.address("")])
            for root in snapshot.roots
            if "t-0" in root.partitions
        )
        with root.local_copy("t-0") as directory:
            assert (directory / log.name).read_bytes() == b"x"
