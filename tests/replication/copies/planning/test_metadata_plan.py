"""A follower of the quorum truncates by epochs, takes a snapshot where they do not reach, and keeps what counts."""

from pathlib import Path

import pytest

from logstore.offline.partition_directory import PartitionDirectory
from replication.base.errors import CannotFollowError
from replication.copies.planning.raft_log import NOWHERE, LogPosition, RaftLog, common_end
from replication.planning import Relation, TruncationPlan, plan_metadata
from tests.replication.copies.quorum_recovery.raft_simulation import Node
from tests.replication.copies.quorum_recovery.written_logs import node_of, write_node, write_snapshot_name


@pytest.fixture
def load(tmp_path: Path) -> "Load":
    return Load(tmp_path)


class Load:
    """Writes nodes and loads their logs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.written = 0

    def write(self, node: Node) -> Path:
        self.written += 1
        return write_node(self.directory / f"controller-{self.written}", node)

    def __call__(self, epochs: str, *, start: int = 0, snapshots: tuple[int, ...] = ()) -> RaftLog:
        return self.read(self.write(node_of(epochs, start=start, snapshots=snapshots)))

    def read(self, partition: Path) -> RaftLog:
        return RaftLog.load(PartitionDirectory.open(partition))

    def plan(self, leader: RaftLog, follower: RaftLog) -> TruncationPlan:
        return plan_metadata(leader, follower)


def test_a_log_alone(load: Load) -> None:
    log = load("11222")
    assert log.position == LogPosition(2, 5)
    assert not log.is_superseded
    assert not log.beginning_is_lost
    assert load("").position == NOWHERE


def test_positions_are_in_rafts_order() -> None:
    assert LogPosition(2, 1) > LogPosition(1, 9) > LogPosition(1, 8)
    assert str(LogPosition(2, 1_000)) == "epoch 2 up to offset 1,000"


def test_a_snapshot_beyond_the_end_takes_the_place_of_the_log(load: Load) -> None:
    written = load.write(node_of("1112"))
    write_snapshot_name(written, 3, 9)
    log = load.read(written)
    assert log.is_superseded
    assert (log.position, log.start_offset) == (LogPosition(3, 9), 9)
    assert log.history.entries == []


def test_a_snapshot_of_an_earlier_epoch_does_not(load: Load) -> None:
    written = load.write(node_of("1114"))
    write_snapshot_name(written, 3, 9)
    assert load.read(written).position == LogPosition(4, 4)


def test_a_log_that_begins_late_needs_a_snapshot(load: Load) -> None:
    assert load("1111222233", start=8).beginning_is_lost
    assert not load("1111222233", start=8, snapshots=(9,)).beginning_is_lost


def test_what_lies_behind_damage_does_not_count(load: Load) -> None:
    written = load.write(node_of("1112222222"))
    (segment,) = written.glob("*4.log")
    content = bytearray(segment.read_bytes())
    content[-1] ^= 1
    segment.write_bytes(content)
    log = load.read(written)
    assert log.position == LogPosition(2, 7)
    assert log.damage is not None


@pytest.mark.parametrize(
    ("leader", "follower", "truncate_to", "relation"),
    [
        ("1112", "1112", 4, Relation.IDENTICAL),
        ("11122", "1112", 4, Relation.LAGGING),
        ("1112", "11122", 4, Relation.AHEAD),
        ("11133", "1112222222", 3, Relation.FORKED),
        ("2", "1111", 0, Relation.FORKED),
        ("1123", "", 0, Relation.LAGGING),
    ],
)
def test_the_leaders_epochs_decide(
    load: Load, leader: str, follower: str, truncate_to: int, relation: Relation
) -> None:
    planned = load.plan(load(leader), load(follower))
    assert (planned.truncate_to, planned.relation) == (truncate_to, relation)
    assert planned.records_lost == len(follower) - truncate_to
    assert planned.snapshot is None
    assert not planned.takes_back_what_is_committed


def test_a_follower_to_which_the_leaders_log_does_not_reach_back_takes_its_snapshot(load: Load) -> None:
    planned = load.plan(load("1111222233", start=8, snapshots=(9,)), load("111122"))
    assert planned.snapshot == LogPosition(3, 9)
    assert (planned.truncate_to, planned.relation, planned.records_lost) == (0, Relation.LAGGING, 0)
    assert planned.as_json()["snapshot"] == {"epoch": 3, "end_offset": 9}


def test_a_fork_beyond_the_snapshot_that_takes_its_place_is_lost(load: Load) -> None:
    planned = load.plan(load("1111333333", start=8, snapshots=(8,)), load("1111222222222"))
    assert planned.snapshot == LogPosition(3, 8)
    assert planned.records_lost == 13 - 8


def test_a_leader_that_lacks_what_a_snapshot_has_takes_back_what_is_committed(load: Load) -> None:
    planned = load.plan(load("1113"), load("11122222", snapshots=(6,)))
    assert planned.truncate_to == 3
    assert planned.committed_end == 6
    assert planned.takes_back_what_is_committed


def test_a_follower_that_would_be_left_with_nothing_but_a_snapshot_cannot_follow(load: Load) -> None:
    with pytest.raises(CannotFollowError, match="controller-2/__cluster_metadata-0 has epoch 1 up to offset 4"):
        load.plan(load("22"), load("1111", snapshots=(2,)))


def test_a_snapshot_that_does_not_reach_beyond_the_log_is_not_taken(load: Load) -> None:
    with pytest.raises(CannotFollowError, match="the leader only a snapshot of epoch 1 up to offset 8"):
        load.plan(load("11111111", start=8, snapshots=(8,)), load("1112"))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("1112", "11133", 3), ("11", "1122", 2), ("", "11", 0), ("11", "22", 0), ("11", "11", 2)],
)
def test_where_logs_part(load: Load, one: str, other: str, expected: int) -> None:
    logs = load(one), load(other)
    assert common_end(*logs) == common_end(*logs[::-1]) == expected


def test_where_a_log_parts_from_one_whose_beginning_is_in_a_snapshot(load: Load) -> None:
    late = load("1111222233", start=8, snapshots=(8,))
    assert common_end(late, load("11112222")) == 8
    assert common_end(late, load("111122223")) == 9
    assert common_end(late, load("1111")) is None
    assert common_end(late, load("")) == 0
