"""Who is recommended: the most up-to-date log, by epochs first, then by its end, then by what the others lose."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from replication.planning import Advice, Relation, TruncationProtocol, advise, plan
from tests.campaign import run_seed
from tests.replication.partitions import ABatch, write_partition

OLD = ABatch(0, 5, 0)


def log(
    root: Path, batches: list[ABatch], *, checkpoint: bool = True, high_watermark: int | None = None
) -> RecoveredLog:
    epochs: dict[int, int] = {}
    for each in batches:
        epochs.setdefault(each.epoch, each.base_offset)
    entries = sorted(epochs.items()) if checkpoint else []
    path = write_partition(root, batches, entries, high_watermark=high_watermark)
    if not checkpoint:
        (root / ".kafka_cleanshutdown").write_text("")
    return RecoveredLog.load(PartitionDirectory.open(path))


def judge(**logs: RecoveredLog) -> Advice:
    return advise(next(iter(logs.values())).partition.topic_partition, logs)


def test_a_higher_epoch_goes_before_a_longer_log(tmp_path: Path) -> None:
    longer, newer = log(tmp_path / "1", [OLD, ABatch(5, 50, 0)]), log(tmp_path / "2", [OLD, ABatch(5, 1, 1)])
    assert judge(a=longer, b=newer).recommended == "b"


def test_between_equal_epochs_the_longer_log_leads(tmp_path: Path) -> None:
    shorter, longer = log(tmp_path / "1", [OLD]), log(tmp_path / "2", [OLD, ABatch(5, 5, 0)])
    assert judge(a=shorter, b=longer).recommended == "b"


def test_the_longer_log_leads_even_where_the_others_lose_more_under_it(tmp_path: Path) -> None:
    third = [OLD, ABatch(5, 5, 3)]
    longer = log(tmp_path / "1", [OLD, ABatch(5, 20, 5)])
    shorter = log(tmp_path / "2", [*third, ABatch(10, 10, 5)])
    others = {name: log(tmp_path / name, third) for name in "cdefg"}
    advice = judge(a=shorter, b=longer, **others)
    lost = {each.replica: sum(loss.records_lost for loss in each.lost.values()) for each in advice.replicas}
    assert lost["b"] > lost["a"]
    assert advice.recommended == "b"


def test_between_equal_logs_the_one_leads_under_which_least_is_lost(tmp_path: Path) -> None:
    # Both end at 20 in epoch 5; what a third wrote in epoch 3 only one of them shares.
    third = [OLD, ABatch(5, 5, 3)]
    alone = log(tmp_path / "1", [OLD, ABatch(5, 15, 5)])
    shared = log(tmp_path / "2", [*third, ABatch(10, 10, 5)])
    assert judge(a=alone, b=shared, c=log(tmp_path / "3", third)).recommended == "b"


def test_between_equal_logs_a_sound_one_leads(tmp_path: Path) -> None:
    batches = [OLD, ABatch(5, 5, 0)]
    damaged, sound = (write_partition(tmp_path / name, batches, [(0, 0)]) for name in "12")
    with open(damaged / f"{0:020d}.log", "ab") as file:
        file.write(b"torn")
    logs = [RecoveredLog.load(PartitionDirectory.open(path)) for path in (damaged, sound)]
    advice = judge(a=logs[0], b=logs[1])
    assert advice.recommended == "b"
    assert [str(each.damage).partition(" at position")[0] for each in advice.replicas] == [
        f"its log counts as ending at offset 10: {damaged}/{0:020d}.log: the file ends 4 bytes into a batch of 26",
        "None",
    ]


def test_a_log_that_lost_its_epochs_counts_by_its_batches(tmp_path: Path) -> None:
    newer = log(tmp_path / "1", [OLD, ABatch(5, 5, 4)], checkpoint=False, high_watermark=5)
    older = log(tmp_path / "2", [OLD])
    advice = judge(a=older, b=newer)
    assert advice.recommended == "b"
    assert {each.replica: each.last_epoch for each in advice.replicas} == {"a": 0, "b": 4}


@pytest.mark.parametrize(
    ("leads", "follows", "relation"), [(10, 10, "identical"), (10, 5, "lagging"), (5, 10, "ahead")]
)
def test_logs_without_any_epochs_are_told_apart_by_their_ends(
    leads: int, follows: int, relation: str, tmp_path: Path
) -> None:
    leader, follower = (
        log(tmp_path / str(number), [ABatch(0, end, -1)], checkpoint=False, high_watermark=end)
        for number, end in enumerate((leads, follows))
    )
    assert plan(leader, follower).relation == relation


def test_a_fork_is_costly_even_under_a_protocol_that_does_not_see_it(tmp_path: Path) -> None:
    leader = log(tmp_path / "1", [OLD, ABatch(5, 5, 1)])
    follower = log(tmp_path / "2", [OLD, ABatch(5, 5, 2)], high_watermark=10)
    planned = plan(leader, follower, TruncationProtocol.HIGH_WATERMARK)
    assert (planned.records_lost, planned.relation) == (0, Relation.FORKED)
    assert planned.is_costly


def test_each_record_that_a_leader_lacks_is_counted_once(tmp_path: Path) -> None:
    random = Random(run_seed())
    for history in range(20):
        written = forked(random)
        logs = {f"{number}": log(tmp_path / f"{history}-{number}", each) for number, each in enumerate(written)}
        advice = judge(**logs)
        held = [set(records(each)) for each in written]
        for leader in range(len(written)):
            assert advice.lost_under(f"{leader}") == len(set().union(*held) - held[leader]), written


def records(batches: list[ABatch]) -> Iterator[tuple[int, int]]:
    for each in batches:
        yield from ((each.epoch, offset) for offset in range(each.base_offset, each.end))


def forked(random: Random) -> list[list[ABatch]]:
    """Return logs that begin alike, each the beginning of an earlier one and what a leader of its own wrote."""
    logs = [[OLD]]
    for epoch in range(1, random.randint(3, 6)):
        base = random.choice(logs)
        kept = base[: random.randint(1, len(base))]
        for _ in range(random.randint(0, 3)):
            kept = [*kept, ABatch(kept[-1].end, random.randint(1, 5), epoch)]
        logs.append(kept)
    return logs
