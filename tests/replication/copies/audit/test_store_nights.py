"""Night after night over an object store: what has the same digest is not fetched again, however new it looks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from logstore.batch.layout import HEADER_SIZE
from replication.audit import audit_locally
from replication.copies.audit.snapshots.remote.patience import patience_with
from tests.replication.copies.audit.examination.kept.test_rotation import write_broker
from tests.replication.copies.audit.loopback_store import LISTING, LoopbackStore
from tests.replication.copies.audit.snapshot_roots import batches, write_root

BROKERS = ("broker-0", "broker-1")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two brokers with a partition of three segments each."""
    for node, name in enumerate(BROKERS):
        write_root(tmp_path / "store" / name, {"t-0": batches(12)}, node=node)
    return tmp_path / "store"


@pytest.fixture
def store(place: Path) -> Iterator[LoopbackStore]:
    with LoopbackStore(place, has_digests=True).running() as running:
        yield running


def closed(place: Path) -> list[Path]:
    return [file for name in BROKERS for file in sorted((place / name / "t-0").glob("*.log"))[:-1]]


def fetched(store: LoopbackStore, place: Path) -> list[Path]:
    """The closed segments that an audit fetches, the history's first or a further one."""
    patience_with.cache_clear()
    store.asked.clear()
    with audit_locally(
        [store.address(name) for name in BROKERS], workers=0, history=place.parent / "history"
    ) as audited:
        assert [each["verdict"] for each in audited.document["partitions"]] in (["identical"], ["damaged"])
        audited.keep()
    return [file for file in closed(place) if store.asked[file.relative_to(place).as_posix()]]


def test_the_second_night_asks_for_the_digests_of_closed_segments_alone(store: LoopbackStore, place: Path) -> None:
    assert fetched(store, place) == closed(place)
    before = store.requests["HEAD"]
    assert fetched(store, place) == []
    assert store.requests["HEAD"] > before


def test_objects_that_were_only_copied_are_not_fetched(store: LoopbackStore, place: Path) -> None:
    fetched(store, place)
    store.modified = "2024-06-01T00:00:00"
    assert fetched(store, place) == []


def test_an_object_of_the_same_size_and_time_with_other_bytes_is_fetched(store: LoopbackStore, place: Path) -> None:
    fetched(store, place)
    changed = closed(place)[1]
    data = bytearray(changed.read_bytes())
    data[HEADER_SIZE + 5] ^= 1
    changed.write_bytes(data)
    for _ in range(2):  # what is damaged is fetched each time
        assert changed in fetched(store, place)


def test_without_digests_those_are_fetched_that_were_copied(store: LoopbackStore, place: Path) -> None:
    store.has_digests = False
    fetched(store, place)
    before = store.sent
    assert fetched(store, place) == closed(place), "their last batches are looked at"
    only_last_batches = store.sent - before
    store.modified = "2024-06-01T00:00:00"
    assert fetched(store, place) == closed(place)
    assert (
        store.sent - before - only_last_batches
        > only_last_batches + sum(file.stat().st_size for file in closed(place)) // 2
    )


@pytest.fixture
def sound(tmp_path: Path) -> Iterator[LoopbackStore]:
    """Two brokers with a partition in which nothing is wrong."""
    for node, name in enumerate(BROKERS):
        write_broker(tmp_path / "store" / name, node)
    with LoopbackStore(tmp_path / "store", has_digests=True).running() as running:
        yield running


def files_fetched(store: LoopbackStore, history: Path) -> set[str]:
    """The directories of partitions from which an audit fetches anything."""
    patience_with.cache_clear()
    store.asked.clear()
    with audit_locally([store.address(name) for name in BROKERS], workers=0, history=history) as audited:
        assert [each["verdict"] for each in audited.document["partitions"]] in (["identical"], ["damaged"])
        audited.keep()
    return {str(Path(key).parent) for key in store.asked if "t-0/" in key and not key.startswith(LISTING)}


BOTH = {"broker-0/t-0", "broker-1/t-0"}


def test_nothing_is_fetched_of_copies_that_stand_as_they_were(sound: LoopbackStore, tmp_path: Path) -> None:
    assert files_fetched(sound, tmp_path / "history") == BOTH
    sound.requests.clear()
    assert files_fetched(sound, tmp_path / "history") == set()
    segments = len(list((tmp_path / "store").rglob("*.log")))
    beside = [file for name in BROKERS for file in (tmp_path / "store" / name).iterdir() if file.is_file()]
    not_empty = sum(file.stat().st_size > 0 for file in beside)
    assert sound.requests["HEAD"] <= segments + 3 * not_empty
    assert sound.requests[LISTING] <= 6 * len(BROKERS)


def test_what_was_replaced_at_the_same_size_and_time_is_fetched(sound: LoopbackStore, tmp_path: Path) -> None:
    files_fetched(sound, tmp_path / "history")
    changed = max((tmp_path / "store/broker-1/t-0").glob("*.log"))
    data = bytearray(changed.read_bytes())
    data[HEADER_SIZE + 5] ^= 1
    changed.write_bytes(data)
    assert files_fetched(sound, tmp_path / "history") >= {"broker-1/t-0"}


def test_what_was_written_since_is_fetched(sound: LoopbackStore, tmp_path: Path) -> None:
    files_fetched(sound, tmp_path / "history")
    sound.modified = "2024-06-01T00:00:00"
    assert files_fetched(sound, tmp_path / "history") == BOTH
    assert files_fetched(sound, tmp_path / "history") == set()
