"""Bits that are flipped on the way from a leader: the same is fetched again, and in the end nothing is missing."""

import random
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

import pytest

from logstore import BatchTemplate, Log, Record, encode_batch
from replication.cluster.fetcher.decisions.fetch_state import Phase
from replication.cluster.fetcher.fetcher import Fetcher, FetcherResponse
from replication.cluster.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from replication.wire.messages.fetch import FetchResponse
from tests.campaign import Campaign
from tests.replication.cluster.fetcher.drive import PARTITION, batches, open_log
from tests.replication.cluster.fetcher.leader import Leader

FLIPS = Campaign("fetcher: bits flipped in transit", full=4_000, share=200)

PER_LOG = 10
ROUND_MS = 1_001
ROUNDS = 40
OUTSIDE_OF_CHECKSUM = 21
"""Bytes of a batch's header that no checksum covers, or that are one: they are flipped more often than their share."""
BASE_OFFSET, EPOCH = range(8), range(12, 16)
SMALL_STEPS = 7
"""The byte of a base offset by which it changes least."""


LAST = -1


class Flip(NamedTuple):
    """Which bit of which answer that holds records."""

    answer: int
    batch: int
    byte: int
    bit: int

    def of(self, records: bytes) -> bytes:
        """The records with this bit flipped, as far as there is one."""
        flipped = bytearray(records)
        starts = [0]
        while starts[-1] + 12 <= len(records):
            starts.append(starts[-1] + 12 + int.from_bytes(records[starts[-1] + 8 : starts[-1] + 12]))
        whole = max(1, len(starts) - 1)
        place = starts[whole - 1 if self.batch == LAST else self.batch % whole] + self.byte
        if place < len(flipped):
            flipped[place] ^= 1 << self.bit
        return bytes(flipped)


class Transit:
    """Carries a leader's answers, and flips one bit of one of them."""

    def __init__(self, leader: Leader, flip: Flip) -> None:
        self.leader = leader
        self.flip = flip
        self.with_records = 0

    def answer(self, request: object) -> FetcherResponse:
        answer = self.leader.answer(request)  # type: ignore[arg-type]
        fetched = answer.partitions.get(PARTITION) if isinstance(answer, FetchResponse) else None
        if fetched is None or not isinstance(answer, FetchResponse) or not fetched.records:
            return answer
        self.with_records += 1
        if self.with_records - 1 != self.flip.answer:
            return answer
        flipped = fetched._replace(records=self.flip.of(bytes(fetched.records)))
        return FetchResponse(session_id=answer.session_id, partitions={PARTITION: flipped})


def written(rng: random.Random, root: Path, *, is_dense: bool) -> Log:
    """A leader's log, with gaps as compaction leaves them unless it is dense."""
    log, offset, epoch = open_log(root), 0, 0
    for number in range(rng.randint(1, 8)):
        epoch += rng.choice([0, 0, 0, 1, 4])
        offset += 0 if is_dense else rng.choice([0, 0, 1, 5])
        records = [Record(offset + each, 0, None, b"%d" % number) for each in range(rng.randint(1, 4))]
        log.append_batches(encode_batch(records, BatchTemplate(leader_epoch=epoch, base_offset=offset)))
        offset += len(records)
    log.update_high_watermark(log.log_end_offset)
    return log


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    rmtree(tmp_path)


def test_whatever_bit_is_flipped_the_copy_is_whole_in_the_end(root: Path) -> None:
    rng = random.Random(FLIPS.seed)
    for number in range(0, FLIPS.count, PER_LOG):
        is_dense = rng.random() < 0.5
        with written(rng, root / f"leader-{number}", is_dense=is_dense) as led:
            for each in range(PER_LOG):
                follow_one(rng, led, root / f"follower-{number}-{each}", is_dense=is_dense)
    FLIPS.report(FLIPS.count)


def follow_one(rng: random.Random, led: Log, root: Path, *, is_dense: bool) -> None:
    byte = rng.randrange(OUTSIDE_OF_CHECKSUM if rng.random() < 0.7 else 75)
    if byte == SMALL_STEPS and not is_dense:
        byte -= 1
    # Within a real gap a batch may be anywhere: only great steps are seen there, and those only of the last one.
    batch = LAST if byte in BASE_OFFSET and not is_dense else rng.randrange(8)
    flip = Flip(rng.choice([0, 0, 1, 2]), batch, byte, rng.randrange(8))
    identity = rng.choice([FetchIdentity(), FetchIdentity(5)])
    leader, leader_epoch = Leader(), (led.epochs.history.latest_epoch or 0) + rng.choice([0, 1, 9])
    leader.lead(PARTITION, led, leader_epoch)
    with open_log(root) as log:
        fetcher = Fetcher(FetcherSettings(identity=identity, max_partition_bytes=rng.choice([100, 250, 4_000])))
        fetcher.follow(PARTITION, log, leader_epoch)
        follow_through(fetcher, Transit(leader, flip))
        assert held(log, flip) == held(led, flip), flip
    rmtree(root)


def held(log: Log, flip: Flip) -> list[tuple[int, bytes]]:
    """All batches; without their epochs where one was flipped, since that may fit between those before and after it."""
    hidden = EPOCH if flip.byte in EPOCH else range(0)
    return [
        (offset, batch[: hidden.start] + batch[hidden.stop :]) for offset, batch in batches(log, 0, log.log_end_offset)
    ]


def follow_through(fetcher: Fetcher, transit: Transit) -> None:
    for number in range(ROUNDS):
        for request in fetcher.requests(number * ROUND_MS):
            fetcher.take(request, transit.answer(request), number * ROUND_MS)
        state = fetcher.state(PARTITION)
        assert state is not None
        assert state.phase is not Phase.FAILED, (transit.flip, state.reason)
        if fetcher.is_caught_up(PARTITION, number * ROUND_MS):
            return
    raise AssertionError(f"not caught up after {ROUNDS} rounds: {transit.flip}, {fetcher.state(PARTITION)}")
