"""Whatever happens to a copy, another replica heals it: byte for byte what it was."""

import random
import shutil
from collections import Counter
from pathlib import Path

from logstore.files.producer_snapshot import ProducerSnapshot
from logstore.offline.partition_directory import PartitionDirectory
from replication.repair import RepairReport, plan_repair
from tests.campaign import Campaign
from tests.replication.copies.repair.random_damage import (
    BESIDE_IT,
    TO_THE_LOG,
    damage_epochs,
    damage_index,
    logs,
    remove_log,
    remove_segment,
)
from tests.replication.copies.repair.random_replicas import random_batches, write_replica

DAMAGES = Campaign("repair: random damage", full=3_000, share=60)
SEGMENT_BYTES = (26_000, 60_000, 1 << 30)
"""The largest batch takes all of the smallest."""


def contents(directory: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in directory.iterdir() if each.is_file()}


def comparable(directory: Path) -> dict[str, object]:
    """All files; the producers of a snapshot in whatever order they are."""
    return {
        name: frozenset(ProducerSnapshot.parse(data).entries) if name.endswith(".snapshot") else data
        for name, data in contents(directory).items()
    }


def content(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in logs(directory))


def repaired(directory: Path, others: list[Path], target: Path) -> RepairReport:
    """Repair a partition; nothing that was there is changed."""
    before = [contents(each) for each in (directory, *others)]
    plan = plan_repair(PartitionDirectory.open(directory), [PartitionDirectory.open(each) for each in others])
    report = plan.write(target / directory.name)
    assert [contents(each) for each in (directory, *others)] == before
    assert plan.report().healed == report.healed, "the dry run is what happens"
    return report


def test_a_copy_is_healed_to_what_it_was(tmp_path: Path) -> None:
    rng = random.Random(DAMAGES.seed)
    done: Counter[str] = Counter()
    unproven = 0
    for number in range(DAMAGES.count):
        place = tmp_path / str(number)
        batches = random_batches(rng, rng.randint(1, 60))
        damaged = write_replica(place / "one", batches, rng.choice(SEGMENT_BYTES))
        others = [
            write_replica(place / f"two-{n}", batches, rng.choice(SEGMENT_BYTES)) for n in range(rng.randint(1, 2))
        ]
        original = shutil.copytree(damaged, place / "original" / damaged.name)
        chosen = rng.choices([*TO_THE_LOG, *BESIDE_IT], k=rng.randint(1, 3))
        for damage in chosen:
            damage(rng, damaged)
        names = (number, [each.__name__ for each in chosen])
        report = repaired(damaged, others, place / "copy")
        copy = place / "copy" / damaged.name
        if damage_epochs in chosen and report.left:
            # The leader epochs are gone, and nothing follows that would prove what belongs at the end.
            assert [each.end_offset for each in report.left] == [None], names
            unproven += 1
        elif remove_segment in chosen or {remove_log, damage_index} <= set(chosen):
            # Perhaps nothing tells where the segment began, or without leader epochs that there was a first one.
            assert content(original).endswith(content(copy)), names
            assert damage_epochs in chosen or content(copy) == content(original), names
            assert not report.findings, names
        else:
            assert not report.left, names
            assert comparable(copy) == comparable(original), names
            assert not report.findings, names
        done.update(names[1])
        shutil.rmtree(place)
    assert len(done) == len(TO_THE_LOG) + len(BESIDE_IT)
    DAMAGES.report(DAMAGES.count, f"{unproven:,} not proven; {sum(done.values()):,} damages")


BOTH = Campaign("repair: damage to two copies", full=1_000, share=20)


def test_copies_that_are_damaged_in_different_places_heal_each_other(tmp_path: Path) -> None:
    rng = random.Random(BOTH.seed)
    for number in range(BOTH.count):
        place = tmp_path / str(number)
        batches = random_batches(rng, rng.randint(12, 60))
        copies = [write_replica(place / name, batches, 1 << 30) for name in ("one", "two")]
        original = shutil.copytree(copies[0], place / "original" / copies[0].name)
        spans = rng.sample(range(len(batches) - 1), 2)
        for copy, which in zip(copies, spans, strict=True):
            [log] = logs(copy)
            data = bytearray(log.read_bytes())
            position = sum(len(batch.data) for batch in batches[:which]) + 61
            data[position] ^= 0xFF
            log.write_bytes(data)
        for damaged, other in (copies, copies[::-1]):
            report = repaired(damaged, [other], place / f"copy-of-{damaged.parent.name}")
            assert len(report.healed) == 1
            assert not report.left
            assert content(place / f"copy-of-{damaged.parent.name}" / damaged.name) == content(original)
        shutil.rmtree(place)
    BOTH.report(BOTH.count)
