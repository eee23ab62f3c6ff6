"""Copies that went another way are among those to heal from: nothing of theirs gets into a log where it never was."""

import random
import shutil
from pathlib import Path

from logstore.offline.log_file import LogFile
from tests.campaign import Campaign
from tests.replication.copies.repair.random_damage import BESIDE_IT, TO_THE_LOG, logs
from tests.replication.copies.repair.random_replicas import Batch, random_batches, write_replica
from tests.replication.copies.repair.test_random_damage import SEGMENT_BYTES, repaired

FORKS = Campaign("repair: forked copies", full=3_000, share=60)


def branch(rng: random.Random, common: list[Batch], epochs: int) -> list[Batch]:
    """Go on from a common beginning under leaders of epochs that no other branch has: 0 to 9 beyond `epochs`."""
    fork = common[rng.randrange(len(common))]
    begun = [each for each in common if each.base_offset < fork.base_offset]
    first = max([epochs, *(each.leader_epoch + 1 for each in begun)])
    return begun + [
        moved(each, fork.base_offset, first + number // 10)
        for number, each in enumerate(random_batches(rng, rng.randint(1, 30)))
    ]


def moved(batch: Batch, start: int, epoch: int) -> Batch:
    data = bytearray(batch.data)
    data[0:8] = (batch.base_offset + start).to_bytes(8, "big")
    data[12:16] = epoch.to_bytes(4, "big")
    return Batch(batch.base_offset + start, batch.end_offset + start, epoch, bytes(data))


def sound_batches(directory: Path) -> set[tuple[int, bytes]]:
    found = set()
    for path in logs(directory):
        with LogFile.open(path) as log:
            for columns in log.scan():
                for position, size, base in zip(
                    columns.position[columns.crc_valid].tolist(),
                    columns.size[columns.crc_valid].tolist(),
                    columns.base_offset[columns.crc_valid].tolist(),
                    strict=True,
                ):
                    found.add((base, bytes(log.data[position : position + size])))
    return found


def test_a_log_never_gets_what_it_never_had(tmp_path: Path) -> None:
    rng = random.Random(FORKS.seed)
    taken = left = 0
    for number in range(FORKS.count):
        place = tmp_path / str(number)
        common = random_batches(rng, rng.randint(5, 40))
        latest = common[-1].leader_epoch
        branches = [branch(rng, common, latest + 10 * (which + 1)) for which in range(rng.randint(2, 3))]
        damaged, *others = (
            write_replica(place / f"broker-{which}", held, rng.choice(SEGMENT_BYTES))
            for which, held in enumerate(branches)
        )
        chosen = rng.choices([*TO_THE_LOG, *BESIDE_IT], k=rng.randint(1, 3))
        for damage in chosen:
            damage(rng, damaged)
        flipped = sound_batches(damaged)
        report = repaired(damaged, others, place / "copy")
        had = {(each.base_offset, each.data) for each in branches[0]}
        assert sound_batches(place / "copy" / damaged.name) - flipped <= had, (number, chosen)
        taken += sum(each.batches for each in report.healed)
        left += len(report.left)
        shutil.rmtree(place)
    assert taken
    assert left
    FORKS.report(FORKS.count, f"{taken:,} batches healed, {left:,} ranges left")
