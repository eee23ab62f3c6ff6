"""What stands beside a root's partitions is fetched once for each task, and parsed once for all of them."""

from pathlib import Path

import pytest

from logstore import TopicPartition
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS, OffsetCheckpoint
from logstore.files.root_checkpoints import RootCheckpoints
from replication.audit import audit_locally
from tests.replication.copies.audit.counted_store import CountedStore
from tests.replication.copies.audit.snapshot_roots import batches, write_root


def write_copies(place: Path, partitions: int) -> list[Path]:
    """Write two brokers' roots of tiny partitions, without indexes, of which each copy is looked at again."""
    names = [TopicPartition("t", number) for number in range(partitions)]
    roots = [place / f"broker-{node}" for node in range(2)]
    for node, root in enumerate(roots):
        write_root(root, {str(name): batches(1) for name in names}, node=node)
        for name in OFFSET_CHECKPOINTS:
            OffsetCheckpoint(dict.fromkeys(names, 0)).write(root / name)
    return roots


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The roots whose checkpoint files were parsed."""
    roots: list[Path] = []
    real = RootCheckpoints.read

    def read(root: Path) -> RootCheckpoints:
        roots.append(root)
        return real(root)

    monkeypatch.setattr(RootCheckpoints, "read", read)
    return roots


def test_local_roots(tmp_path: Path, parsed: list[Path]) -> None:
    times = []
    for count in (2, 12):
        parsed.clear()
        audited = audit_locally(write_copies(tmp_path / str(count), count), workers=0)
        assert len(audited.document["partitions"]) == count
        times.append(len(parsed))
    assert times[0] == times[1]


def test_remote_roots(tmp_path: Path, parsed: list[Path]) -> None:
    times, fetched = [], []
    for count in (2, 12):
        parsed.clear()
        store = CountedStore()
        roots = write_copies(tmp_path / str(count), count)
        with store.in_place():
            audited = audit_locally([store.address(root) for root in roots], workers=0, task_bytes=1 << 30)
        assert {each["verdict"] for each in audited.document["partitions"]} == {"identical"}
        assert len(audited.document["partitions"]) == count
        times.append(len(parsed))
        fetched.append([store.read[str(root / name)] for root in roots for name in OFFSET_CHECKPOINTS])
    assert times[0] == times[1]
    assert fetched[0] == fetched[1]
