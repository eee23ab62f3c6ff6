"""What verify says of the log of the cluster's metadata beside its snapshots and quorum-state."""

from pathlib import Path

import pytest

from logstore.verify import Finding
from tests.logstore.batches import batch
from tests.logstore.verify.logs import findings

METADATA = "__cluster_metadata-0"


def write_metadata(
    root: Path, *, first: int = 0, epochs: str = "1122", snapshots: tuple[tuple[int, int], ...] = ()
) -> Path:
    """A record for each digit, its epoch; snapshots, of which only the names count, by end offset and epoch."""
    directory = root / METADATA
    directory.mkdir(parents=True)
    batches = [batch(base_offset=first + n, leader_epoch=int(epoch)) for n, epoch in enumerate(epochs)]
    (directory / f"{first:020d}.log").write_bytes(b"".join(batches))
    for end_offset, epoch in snapshots:
        (directory / f"{end_offset:020d}-{epoch:010d}.checkpoint").touch()
    return directory


def write_state(directory: Path, epoch: int) -> None:
    (directory / "quorum-state").write_text(f'{{"leaderId":1,"leaderEpoch":{epoch},"votedId":-1,"data_version":1}}')


def of_the_quorum(directory: Path) -> list[Finding]:
    """Without what is said of snapshots for being empty, and of the epoch checkpoint, which these logs lack."""
    known = {"metadata-beginning-lost", "metadata-snapshot-beyond-log-end", "quorum-state-behind"}
    return [each for each in findings(directory) if each.kind in known]


@pytest.mark.parametrize(
    ("first", "snapshots"),
    [(0, ()), (0, ((3, 2),)), (0, ((4, 2),)), (0, ((9, 1),)), (5, ((5, 1),)), (5, ((7, 2),)), (5, ((2, 1), (6, 1)))],
)
def test_a_log_that_its_snapshots_reach_has_no_findings(
    tmp_path: Path, first: int, snapshots: tuple[tuple[int, int], ...]
) -> None:
    directory = write_metadata(tmp_path, first=first, snapshots=snapshots)
    write_state(directory, 2)
    assert of_the_quorum(directory) == []


@pytest.mark.parametrize("snapshots", [(), ((4, 2),)])
def test_a_log_whose_beginning_no_snapshot_has(tmp_path: Path, snapshots: tuple[tuple[int, int], ...]) -> None:
    [found] = of_the_quorum(write_metadata(tmp_path, first=5, snapshots=snapshots))
    assert (found.kind, found.severity.value, found.offset) == ("metadata-beginning-lost", "error", 5)


@pytest.mark.parametrize("snapshot", [(5, 2), (1, 3)])
def test_a_snapshot_that_is_ahead_of_the_log_in_rafts_order(tmp_path: Path, snapshot: tuple[int, int]) -> None:
    [found] = of_the_quorum(write_metadata(tmp_path, snapshots=((2, 1), snapshot)))
    assert (found.kind, found.severity.value) == ("metadata-snapshot-beyond-log-end", "warning")
    assert found.file == f"{snapshot[0]:020d}-{snapshot[1]:010d}.checkpoint"


@pytest.mark.parametrize(("epoch", "count"), [(1, 1), (2, 0), (3, 0)])
def test_a_quorum_state_from_before_the_log(tmp_path: Path, epoch: int, count: int) -> None:
    directory = write_metadata(tmp_path)
    write_state(directory, epoch)
    assert [each.kind for each in of_the_quorum(directory)] == ["quorum-state-behind"] * count


def test_other_partitions_have_no_quorum(tmp_path: Path) -> None:
    directory = write_metadata(tmp_path, first=5).rename(tmp_path / "orders-0")
    write_state(directory, 0)
    assert of_the_quorum(directory) == []
