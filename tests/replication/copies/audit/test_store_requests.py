"""What an audit asks a store for: one listing of each root and copy, and each object once where its digest is known."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.audit import audit_locally
from replication.copies.audit.snapshots.remote.patience import patience_with
from tests.replication.copies.audit.loopback_store import LISTING, LoopbackStore
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
