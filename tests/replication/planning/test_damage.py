"""A copy that has lost records which its broker knew to be committed is damaged, wherever its files end."""

from pathlib import Path

import pytest

from replication.planning import advise_replicas, open_replicas, plan_replicas
from tests.replication.partitions import ABatch, write_partition

BATCHES = [ABatch(0, 3, 0), ABatch(3, 3, 0)]


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    return [tmp_path / "a", tmp_path / "b"]


def write(root: Path, high_watermark: int) -> None:
    write_partition(root, BATCHES, [(0, 0)], high_watermark=high_watermark)


def test_copies_that_both_end_below_their_high_watermark_are_damaged(roots: list[Path]) -> None:
    for root in roots:
        write(root, 8)
    replicas = open_replicas(roots)
    (advice,) = advise_replicas(replicas)
    (planned,) = plan_replicas(*replicas)
    found = [*(standing.damage for standing in advice.replicas), planned.leader_damage, planned.follower_damage]
    assert [damage and damage.as_json() for damage in found] == [
        {
            "end_offset": 6,
            "file": "replication-offset-checkpoint",
            "position": None,
            "offset": 6,
            "message": "replication-offset-checkpoint: the high watermark was 8, so committed records are gone from "
            "this copy at offset 6; see that another copy has them before this one leads",
        }
    ] * 4


@pytest.mark.parametrize("high_watermark", [0, 5, 6])
def test_copies_that_hold_all_that_was_committed_are_not(roots: list[Path], high_watermark: int) -> None:
    for root in roots:
        write(root, high_watermark)
    (advice,) = advise_replicas(open_replicas(roots))
    assert [standing.damage for standing in advice.replicas] == [None, None]
