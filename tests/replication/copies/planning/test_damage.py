"""A copy is damaged where files beside its records show that it lost some, or will: the records need not be read."""

import os
from pathlib import Path

import pytest

from logstore import TopicPartition
from logstore.files.offset_checkpoint import LOG_START_OFFSET_CHECKPOINT, OffsetCheckpoint
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
            "this copy at offset 6; check that another copy has them before this one leads",
        }
    ] * 4


@pytest.mark.parametrize("high_watermark", [0, 5, 6])
def test_copies_that_hold_all_that_was_committed_are_not(roots: list[Path], high_watermark: int) -> None:
    for root in roots:
        write(root, high_watermark)
    (advice,) = advise_replicas(open_replicas(roots))
    assert [standing.damage for standing in advice.replicas] == [None, None]


def damages(roots: list[Path]) -> list[str]:
    """What is said of both copies, by advice and by a plan alike."""
    replicas = open_replicas(roots)
    (advice,) = advise_replicas(replicas)
    (planned,) = plan_replicas(*replicas)
    told = [str(standing.damage) for standing in advice.replicas]
    assert told == [str(planned.leader_damage), str(planned.follower_damage)]
    return told


@pytest.mark.parametrize("clean", [True, False])
def test_a_copy_whose_start_lies_beyond_its_end_is_damaged_for_its_broker_drops_it(
    roots: list[Path], *, clean: bool
) -> None:
    for root in roots:
        write(root, 6)
        if clean:
            (root / ".kafka_cleanshutdown").write_text("")
    OffsetCheckpoint({TopicPartition("t", 0): 7}).write(roots[0] / LOG_START_OFFSET_CHECKPOINT)
    dropped, sound = damages(roots)
    assert sound == "None"
    assert dropped == (
        "its log counts as ending at offset 7: log-start-offset-checkpoint: the log start offset is 7, but its files "
        "end at 6: its broker drops all of it; correct the file with the broker stopped"
    )


@pytest.mark.parametrize("start", [0, 3, 6])
def test_a_copy_whose_start_lies_within_it_is_not(roots: list[Path], start: int) -> None:
    for root in roots:
        write(root, 6)
        OffsetCheckpoint({TopicPartition("t", 0): start}).write(root / LOG_START_OFFSET_CHECKPOINT)
    assert damages(roots) == ["None", "None"]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("stands", ["nothing", "pipe", "directory", "empty file", "file of no epochs"])
def test_a_copy_without_the_leader_epochs_that_its_batches_carry_is_damaged(
    stands: str, roots: list[Path], *, clean: bool
) -> None:
    for root in roots:
        write(root, 6)
        if clean:
            (root / ".kafka_cleanshutdown").write_text("")
    checkpoint = roots[1] / "t-0/leader-epoch-checkpoint"
    checkpoint.unlink()
    if stands == "pipe":
        os.mkfifo(checkpoint)
    elif stands == "directory":
        checkpoint.mkdir()
    elif stands != "nothing":
        checkpoint.write_text("0\n0\n" if stands == "file of no epochs" else "")
    what = {
        "nothing": "is missing",
        "pipe": "is not a regular file and was not read,",
        "directory": "is not a regular file and was not read,",
    }
    sound, lacking = damages(roots)
    assert sound == "None"
    assert lacking == (
        f"its log counts as ending at offset 6: {checkpoint}: the file {what.get(stands, 'has no leader epochs')} "
        "although batches carry leader epochs; `epochlog epochs DIR --rebuild --output DIR2` rebuilds it from the "
        "batches"
    )


def test_a_copy_whose_batches_carry_no_leader_epochs_needs_none(roots: list[Path]) -> None:
    for root in roots:
        write_partition(root, [ABatch(0, 3, -1)], [], high_watermark=3)
        (root / "t-0/leader-epoch-checkpoint").unlink()
    assert damages(roots) == ["None", "None"]
