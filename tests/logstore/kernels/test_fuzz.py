"""Real logs, damaged at random: bits flipped, cut off, spliced. Kernels and their twins must still agree."""

import random

from logstore.kernels.column_scan import scan
from logstore.kernels.scan import find_next_batch
from tests.campaign import Campaign
from tests.data.replicas import replicas
from tests.logstore.kernels import twins
from tests.logstore.kernels.guarded import guarded
from tests.logstore.kernels.sizes import FUZZED
from tests.logstore.kernels.test_decode import agrees_with_its_twin
from tests.logstore.kernels.test_scan import rows

PIECE = 4_000
"""Bytes taken of a log at a time: a batch or more, and quickly read by the twins."""


def pieces() -> list[bytes]:
    """Pieces of real logs that begin with a whole batch, of all codecs, and with control batches."""
    paths = [path for label in ("diverged", "healed") for path in sorted(replicas(label).glob("broker-*/*/*.log"))]
    logs = [path.read_bytes() for path in paths]
    batches = [(log, row) for log in logs for row in twins.scan(log, 0, check_crc=False, capacity=len(log))[0]]
    return [log[row.position :][:PIECE] for log, row in batches if row.size <= PIECE]


def damage(chance: random.Random, sound: list[bytes]) -> bytes:
    """Flip a few bits of a piece, cut it off, or go on with another one."""
    data = bytearray(chance.choice(sound))
    match chance.choice(["flip", "flip", "cut", "splice"]):
        case "flip":
            for _ in range(chance.randint(1, 4)):
                data[chance.randrange(chance.choice([min(len(data), 70), len(data)]))] ^= 1 << chance.randrange(8)
        case "cut":
            del data[chance.randrange(len(data)) :]
        case _:
            other = chance.choice(sound)
            data[chance.randrange(len(data)) :] = other[chance.choice([0, chance.randrange(len(other))]) :]
    return bytes(data[:PIECE])


def test_damaged_real_logs_equal_the_twins() -> None:
    campaign = Campaign("scan and record kernels on damaged real logs", full=100_000, share=FUZZED // 4)
    chance = random.Random(campaign.seed)
    sound, found = pieces(), 0
    for _ in range(campaign.count):
        data = damage(chance, sound)
        columns = scan(guarded(data), check_crc=True)
        expected = twins.scan(data, 0, check_crc=True, capacity=len(data))
        assert (rows(columns), columns.next_position, columns.stop) == expected
        next_batch = find_next_batch(guarded(data), 0, len(data), 0)
        assert next_batch == twins.find_next_batch(data, 0, len(data), 0)
        found += next_batch >= 0
        agrees_with_its_twin(data)
    assert found > campaign.count // 4, "damage that leaves no batch tests little"
    campaign.report(campaign.count)
